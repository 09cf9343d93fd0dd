#include "berth/cel/semver.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace berth::cel {
namespace {

bool is_number(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

bool is_identifier(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-';
  });
}

bool has_leading_zero(std::string_view number) {
  return number.size() > 1 && number.front() == '0';
}

std::vector<std::string_view> split(std::string_view text, char by) {
  std::vector<std::string_view> out;
  for (;;) {
    const std::size_t at = text.find(by);
    out.push_back(text.substr(0, at));
    if (at == std::string_view::npos) {
      return out;
    }
    text.remove_prefix(at + 1);
  }
}

std::optional<std::uint64_t> number(std::string_view text, SemverForm form) {
  std::uint64_t out = 0;
  if (!is_number(text) || (form == SemverForm::Strict && has_leading_zero(text)) ||
      std::from_chars(text.data(), text.data() + text.size(), out).ec != std::errc()) {
    return std::nullopt;
  }
  return out;
}

std::strong_ordering compare_identifiers(const std::string& a, const std::string& b) {
  const bool a_number = is_number(a);
  const bool b_number = is_number(b);
  if (a_number != b_number) {
    return a_number ? std::strong_ordering::less : std::strong_ordering::greater;
  }
  if (a_number && a.size() != b.size()) {
    return a.size() <=> b.size();
  }
  return a <=> b;
}

} // namespace

std::optional<Semver> parse_semver(std::string_view text, SemverForm form) {
  Semver out;
  if (form == SemverForm::Normalized && text.starts_with('v')) {
    text.remove_prefix(1);
  }
  if (const std::size_t plus = text.find('+'); plus != std::string_view::npos) {
    out.build = text.substr(plus + 1);
    text = text.substr(0, plus);
    if (!std::ranges::all_of(split(out.build, '.'), is_identifier)) {
      return std::nullopt;
    }
  }
  if (const std::size_t dash = text.find('-'); dash != std::string_view::npos) {
    for (const std::string_view one : split(text.substr(dash + 1), '.')) {
      if (!is_identifier(one) || (is_number(one) && has_leading_zero(one))) {
        return std::nullopt;
      }
      out.pre.emplace_back(one);
    }
    text = text.substr(0, dash);
  }
  const auto parts = split(text, '.');
  const std::size_t least = form == SemverForm::Strict ? 3 : 1;
  if (parts.size() > 3 || parts.size() < least) {
    return std::nullopt;
  }
  std::uint64_t* const into[] = {&out.major, &out.minor, &out.patch};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto read = number(parts[i], form);
    if (!read) {
      return std::nullopt;
    }
    *into[i] = *read;
  }
  return out;
}

std::string to_string(const Semver& version) {
  return fmt::format("{}.{}.{}{}{}{}{}", version.major, version.minor, version.patch,
                     version.pre.empty() ? "" : "-", fmt::join(version.pre, "."),
                     version.build.empty() ? "" : "+", version.build);
}

std::strong_ordering compare(const Semver& a, const Semver& b) {
  if (const auto order =
          std::tie(a.major, a.minor, a.patch) <=> std::tie(b.major, b.minor, b.patch);
      order != 0) {
    return order;
  }
  if (a.pre.empty() != b.pre.empty()) {
    return a.pre.empty() ? std::strong_ordering::greater : std::strong_ordering::less;
  }
  return std::lexicographical_compare_three_way(a.pre.begin(), a.pre.end(), b.pre.begin(),
                                                b.pre.end(), compare_identifiers);
}

} // namespace berth::cel
