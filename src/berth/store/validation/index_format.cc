#include "berth/store/validation/index_format.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

namespace berth::store {
namespace {

Result<std::int64_t> parse_index(std::string_view text, std::int64_t completions) {
  std::int64_t out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc() || end != text.data() + text.size()) {
    return fail(Code::Invalid,
                fmt::format("cannot convert string to integer for index: \"{}\"", text));
  }
  if (out >= completions) {
    return fail(Code::Invalid, fmt::format("too large index: \"{}\"", text));
  }
  return out;
}

tl::unexpected<Error> not_rising(std::int64_t before, std::int64_t now) {
  return fail(Code::Invalid,
              fmt::format("non-increasing order, previous: {}, current: {}", before, now));
}

Result<IndexRange> parse_range(std::string_view text, std::int64_t completions) {
  const std::size_t dash = text.find('-');
  if (dash != std::string_view::npos && text.find('-', dash + 1) != std::string_view::npos) {
    return fail(Code::Invalid,
                fmt::format("the fragment \"{}\" violates the requirement that an index interval "
                            "can have at most two parts separated by '-'",
                            text));
  }
  BERTH_TRY(const std::int64_t first, parse_index(text.substr(0, dash), completions));
  if (dash == std::string_view::npos) {
    return IndexRange{.first = first, .last = first};
  }
  BERTH_TRY(const std::int64_t last, parse_index(text.substr(dash + 1), completions));
  if (first >= last) {
    return not_rising(first, last);
  }
  return IndexRange{.first = first, .last = last};
}

} // namespace

Result<std::vector<IndexRange>> parse_indexes(std::string_view text, std::int64_t completions) {
  std::vector<IndexRange> out;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    BERTH_TRY(const IndexRange range, parse_range(text.substr(0, comma), completions));
    if (!out.empty() && out.back().last >= range.first) {
      return not_rising(out.back().last, range.first);
    }
    out.push_back(range);
    if (comma == std::string_view::npos) {
      break;
    }
    text.remove_prefix(comma + 1);
    if (text.empty()) {
      BERTH_CHECK(parse_range(text, completions)); // nothing behind the comma
    }
  }
  return out;
}

std::int64_t first_shared(const std::vector<IndexRange>& a, const std::vector<IndexRange>& b) {
  auto one = a.begin();
  auto two = b.begin();
  while (one != a.end() && two != b.end()) {
    const std::int64_t both = std::max(one->first, two->first);
    if (both <= std::min(one->last, two->last)) {
      return both;
    }
    if (one->last < two->last) {
      ++one;
    } else {
      ++two;
    }
  }
  return -1;
}

} // namespace berth::store
