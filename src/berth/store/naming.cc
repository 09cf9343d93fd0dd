#include "berth/store/naming.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace berth::store {
namespace {

constexpr std::size_t kMaxLabel = 63;
constexpr std::size_t kMaxSubdomain = 253;

constexpr std::string_view kSubdomainText =
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', and must start "
    "and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
constexpr std::string_view kLabelText =
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "
    "must start and end "
    "with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
constexpr std::string_view kQualifiedText =
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end "
    "with an alphanumeric "
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
constexpr std::string_view kLabelValueText =
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
    "and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used "
    "for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

bool lower_alnum(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}
bool alnum(char c) {
  return lower_alnum(c) || (c >= 'A' && c <= 'Z');
}

bool is_label(std::string_view text) {
  return !text.empty() && lower_alnum(text.front()) && lower_alnum(text.back()) &&
         std::ranges::all_of(text, [](char c) { return lower_alnum(c) || c == '-'; });
}

bool is_subdomain(std::string_view text) {
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t dot = std::min(text.find('.', start), text.size());
    if (!is_label(text.substr(start, dot - start))) {
      return false;
    }
    start = dot + 1;
  }
  return true;
}

bool is_qualified_part(std::string_view text) {
  return !text.empty() && alnum(text.front()) && alnum(text.back()) &&
         std::ranges::all_of(text,
                             [](char c) { return alnum(c) || c == '-' || c == '_' || c == '.'; });
}

std::string too_long(std::size_t limit) {
  return fmt::format("must be no more than {} bytes", limit);
}

} // namespace

std::vector<std::string> subdomain_errors(std::string_view name) {
  std::vector<std::string> errors;
  if (name.size() > kMaxSubdomain) {
    errors.push_back(too_long(kMaxSubdomain));
  }
  if (!is_subdomain(name)) {
    errors.emplace_back(kSubdomainText);
  }
  return errors;
}

std::vector<std::string> label_name_errors(std::string_view name) {
  std::vector<std::string> errors;
  if (name.size() > kMaxLabel) {
    errors.push_back(too_long(kMaxLabel));
  }
  if (!is_label(name)) {
    errors.emplace_back(kLabelText);
  }
  return errors;
}

std::vector<std::string> qualified_name_errors(std::string_view name) {
  std::vector<std::string> errors;
  const std::size_t slash = name.find('/');
  std::string_view part = name;
  if (slash != std::string_view::npos) {
    const std::string_view prefix = name.substr(0, slash);
    part = name.substr(slash + 1);
    if (part.find('/') != std::string_view::npos) {
      return {fmt::format(
          "a qualified name must consist of alphanumeric characters, '-', '_' or '.', and must "
          "start "
          "and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', "
          "regex "
          "used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS "
          "subdomain prefix and '/' (e.g. 'example.com/MyName')")};
    }
    if (prefix.empty()) {
      errors.emplace_back("prefix part must be non-empty");
    } else {
      for (const std::string& text : subdomain_errors(prefix)) {
        errors.push_back("prefix part " + text);
      }
    }
  }
  if (part.empty()) {
    errors.emplace_back("name part must be non-empty");
  } else if (part.size() > kMaxLabel) {
    errors.push_back("name part " + too_long(kMaxLabel));
  }
  if (!is_qualified_part(part)) {
    errors.emplace_back(kQualifiedText);
  }
  return errors;
}

std::vector<std::string> label_value_errors(std::string_view value) {
  std::vector<std::string> errors;
  if (value.size() > kMaxLabel) {
    errors.push_back(too_long(kMaxLabel));
  }
  if (!value.empty() && !is_qualified_part(value)) {
    errors.emplace_back(kLabelValueText);
  }
  return errors;
}

void add_invalid(FieldErrors& errors, const std::string& field, std::string_view value,
                 const std::vector<std::string>& texts) {
  for (const std::string& text : texts) {
    errors.push_back(invalid_value(field, quote(value), text));
  }
}

} // namespace berth::store
