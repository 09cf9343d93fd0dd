#include "berth/schema/format.h"

#include <algorithm>
#include <charconv>

#include "berth/base/time.h"
#include "berth/schema/scalar.h"

namespace berth::schema {
namespace {

bool is_hex(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}
bool is_alphanumeric(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/// Calls `visit` for each part between separators; false as soon as one is refused.
template <class Visit> bool all_parts(std::string_view text, char separator, const Visit& visit) {
  for (;;) {
    const std::size_t at = text.find(separator);
    if (!visit(text.substr(0, at))) {
      return false;
    }
    if (at == std::string_view::npos) {
      return true;
    }
    text.remove_prefix(at + 1);
  }
}

bool is_number_below(std::string_view text, int limit) {
  int value = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value);
  return ec == std::errc() && end == text.data() + text.size() && value >= 0 && value < limit &&
         text[0] != '+' && (text.size() == 1 || text[0] != '0');
}

bool is_ipv4(std::string_view text) {
  int parts = 0;
  return all_parts(text, '.',
                   [&](std::string_view part) {
                     ++parts;
                     return !part.empty() && is_number_below(part, 256);
                   }) &&
         parts == 4;
}

bool is_ipv6(std::string_view text) {
  const std::size_t gap = text.find("::");
  if (gap != std::string_view::npos && text.find("::", gap + 1) != std::string_view::npos) {
    return false;
  }
  int groups = 0;
  const auto count = [&](std::string_view part) {
    if (part.empty()) {
      return true;
    }
    return all_parts(part, ':', [&](std::string_view group) {
      const bool dotted = group.find('.') != std::string_view::npos;
      groups += dotted ? 2 : 1;
      return dotted ? is_ipv4(group)
                    : !group.empty() && group.size() <= 4 && std::ranges::all_of(group, is_hex);
    });
  };
  if (gap == std::string_view::npos) {
    return !text.empty() && count(text) && groups == 8;
  }
  return count(text.substr(0, gap)) && count(text.substr(gap + 2)) && groups < 8;
}

bool is_cidr(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) {
    return false;
  }
  const std::string_view address = text.substr(0, slash);
  const std::string_view bits = text.substr(slash + 1);
  return !bits.empty() && ((is_ipv4(address) && is_number_below(bits, 33)) ||
                           (is_ipv6(address) && is_number_below(bits, 129)));
}

bool is_mac(std::string_view text) {
  const char separator = text.size() > 2 ? text[2] : ':';
  int parts = 0;
  return (separator == ':' || separator == '-') &&
         all_parts(text, separator,
                   [&](std::string_view part) {
                     ++parts;
                     return part.size() == 2 && std::ranges::all_of(part, is_hex);
                   }) &&
         (parts == 6 || parts == 8 || parts == 20);
}

bool is_uuid(std::string_view text) {
  std::size_t digits = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '-' && (digits == 8 || digits == 12 || digits == 16 || digits == 20)) {
      continue;
    }
    if (!is_hex(text[i])) {
      return false;
    }
    ++digits;
  }
  return digits == 32 && text.size() <= 36;
}

bool is_hostname(std::string_view text) {
  return !text.empty() && text.size() <= 255 && all_parts(text, '.', [](std::string_view label) {
    return !label.empty() && label.size() <= 63 && is_alphanumeric(label.front()) &&
           is_alphanumeric(label.back()) &&
           std::ranges::all_of(label, [](char c) { return is_alphanumeric(c) || c == '-'; });
  });
}

bool is_uri(std::string_view text) {
  const std::size_t colon = text.find(':');
  const bool absolute = colon != std::string_view::npos && colon > 0 &&
                        std::ranges::all_of(text.substr(0, colon), [](char c) {
                          return is_alphanumeric(c) || c == '+' || c == '-' || c == '.';
                        });
  return (absolute || text.starts_with('/')) &&
         std::ranges::none_of(text, [](char c) { return static_cast<unsigned char>(c) <= ' '; });
}

bool is_email(std::string_view text) {
  const std::size_t at = text.rfind('@');
  return at != std::string_view::npos && at > 0 && is_hostname(text.substr(at + 1)) &&
         text.substr(0, at).find_first_of(" <>()[],;:\"") == std::string_view::npos;
}

bool is_date(std::string_view text) {
  return parse_rfc3339(std::string(text) + "T00:00:00Z").has_value() && text.size() == 10;
}

} // namespace

bool has_format(std::string_view text, std::string_view format) {
  if (format == "date-time") {
    return parse_rfc3339(text).has_value();
  }
  if (format == "date") {
    return is_date(text);
  }
  if (format == "duration") {
    return parse_duration(text).has_value();
  }
  if (format == "byte") {
    return check_base64(text).has_value();
  }
  if (format == "ipv4") {
    return is_ipv4(text);
  }
  if (format == "ipv6") {
    return is_ipv6(text);
  }
  if (format == "cidr") {
    return is_cidr(text);
  }
  if (format == "mac") {
    return is_mac(text);
  }
  if (format == "uuid") {
    return is_uuid(text);
  }
  if (format == "uri") {
    return is_uri(text);
  }
  if (format == "email") {
    return is_email(text);
  }
  return format != "hostname" || is_hostname(text);
}

} // namespace berth::schema
