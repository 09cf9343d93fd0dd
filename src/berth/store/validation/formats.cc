#include "berth/store/validation/formats.h"

#include <algorithm>
#include <array>
#include <charconv>

#include <arpa/inet.h>

#include "berth/store/naming.h"

namespace berth::store {
namespace {

constexpr std::size_t kMaxPortName = 15;
constexpr std::size_t kMaxSubdomain = 253;
constexpr std::size_t kMaxLabel = 63;
constexpr std::int64_t kHighestMode = 0777;

bool lower(char c) {
  return c >= 'a' && c <= 'z';
}
bool digit(char c) {
  return c >= '0' && c <= '9';
}
bool alnum(char c) {
  return lower(c) || digit(c) || (c >= 'A' && c <= 'Z');
}

std::string no_more_than(std::size_t limit) {
  return fmt::format("must be no more than {} bytes", limit);
}

/// Whether a part of the path is "..".
bool steps_back(std::string_view path) {
  for (std::size_t start = 0; start <= path.size();) {
    const std::size_t end = std::min(path.find('/', start), path.size());
    if (path.substr(start, end - start) == "..") {
      return true;
    }
    start = end + 1;
  }
  return false;
}

void check_requirement(const Judged& requirement) {
  const std::string_view op = requirement.text("operator");
  const std::size_t values = requirement.size("values");
  if (op == "In" || op == "NotIn") {
    if (values == 0) {
      requirement["values"].required("must be specified when `operator` is 'In' or 'NotIn'");
    }
  } else if (op == "Exists" || op == "DoesNotExist") {
    if (values > 0) {
      requirement["values"].forbidden(
          "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
    }
  } else {
    requirement["operator"].invalid("not a valid selector operator");
  }
  requirement["key"].label_name();
  requirement.each("values",
                   [](const Judged& value) { value.invalid(label_value_errors(value.text())); });
}

} // namespace

std::string from_base64(std::string_view base64) {
  static constexpr std::string_view kAlphabet =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  unsigned bits = 0;
  int count = 0;
  for (const char c : base64) {
    const std::size_t at = kAlphabet.find(c);
    if (at == std::string_view::npos) {
      continue;
    }
    bits = (bits << 6U) | static_cast<unsigned>(at);
    count += 6;
    if (count >= 8) {
      count -= 8;
      out += static_cast<char>((bits >> static_cast<unsigned>(count)) & 0xffU);
    }
  }
  return out;
}

std::vector<std::string> port_name_errors(std::string_view name) {
  std::vector<std::string> errors;
  if (name.size() > kMaxPortName) {
    errors.push_back(no_more_than(kMaxPortName));
  }
  if (name.empty() ||
      !std::ranges::all_of(name, [](char c) { return lower(c) || digit(c) || c == '-'; })) {
    errors.emplace_back("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)");
  }
  if (!std::ranges::any_of(name, lower)) {
    errors.emplace_back("must contain at least one letter (a-z)");
  }
  if (name.find("--") != std::string_view::npos) {
    errors.emplace_back("must not contain consecutive hyphens");
  }
  if (!name.empty() && (name.front() == '-' || name.back() == '-')) {
    errors.emplace_back("must not begin or end with a hyphen");
  }
  return errors;
}

std::vector<std::string> config_key_errors(std::string_view key) {
  std::vector<std::string> errors;
  if (key.size() > kMaxSubdomain) {
    errors.push_back(no_more_than(kMaxSubdomain));
  }
  if (key.empty() || !std::ranges::all_of(key, [](char c) {
        return alnum(c) || c == '-' || c == '_' || c == '.';
      })) {
    errors.emplace_back(
        "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. "
        "'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is "
        "'[-._a-zA-Z0-9]+')");
  }
  if (key == "." || key == "..") {
    errors.push_back(fmt::format("must not be '{}'", key));
  } else if (key.starts_with("..")) {
    errors.emplace_back("must not start with '..'");
  }
  return errors;
}

std::vector<std::string> variable_name_errors(std::string_view name) {
  if (!std::ranges::all_of(name, [](char c) { return c >= ' ' && c <= '~' && c != '='; })) {
    return {"a valid environment variable name must consist only of printable ASCII characters "
            "other than '='"};
  }
  return {};
}

std::vector<std::string> dns1035_label_errors(std::string_view name) {
  std::vector<std::string> errors;
  if (name.size() > kMaxLabel) {
    errors.push_back(no_more_than(kMaxLabel));
  }
  const bool sound =
      !name.empty() && lower(name.front()) && (lower(name.back()) || digit(name.back())) &&
      std::ranges::all_of(name, [](char c) { return lower(c) || digit(c) || c == '-'; });
  if (!sound) {
    errors.emplace_back(
        "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an "
        "alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or "
        "'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')");
  }
  return errors;
}

std::vector<std::string> wildcard_errors(std::string_view name) {
  std::vector<std::string> errors;
  if (name.size() > kMaxSubdomain) {
    errors.push_back(no_more_than(kMaxSubdomain));
  }
  if (!name.starts_with("*.") || !subdomain_errors(name.substr(2)).empty()) {
    errors.emplace_back(
        "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, "
        "which must consist of lower case alphanumeric characters, '-' or '.' and end with an "
        "alphanumeric character (e.g. '*.example.com', regex used for validation is "
        "'\\*\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')");
  }
  return errors;
}

bool is_ipv4(std::string_view text) {
  in_addr parsed{};
  return inet_pton(AF_INET, std::string(text).c_str(), &parsed) == 1;
}

bool is_ip(std::string_view text) {
  in6_addr parsed{};
  return is_ipv4(text) || inet_pton(AF_INET6, std::string(text).c_str(), &parsed) == 1;
}

bool is_cidr(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos || !is_ip(text.substr(0, slash))) {
    return false;
  }
  const std::string_view bits = text.substr(slash + 1);
  int length = -1;
  const auto [end, error] = std::from_chars(bits.data(), bits.data() + bits.size(), length);
  return error == std::errc() && end == bits.data() + bits.size() && length >= 0 &&
         length <= (is_ipv4(text.substr(0, slash)) ? 32 : 128);
}

void check_port_or_name(const Judged& port) {
  if (port.json() != nullptr && port.json()->is_string()) {
    port.invalid(port_name_errors(port.text()));
  } else if (const auto number = port.number().value_or(0); number < 1 || number > kHighestPort) {
    port.invalid(fmt::to_string(number), "must be between 1 and 65535, inclusive");
  }
}

void check_ip(const Judged& text) {
  if (!is_ip(text.text())) {
    text.invalid("must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)");
  }
}

void check_no_backsteps(const Judged& path) {
  if (steps_back(path.text())) {
    path.invalid("must not contain '..'");
  }
}

void check_descending_path(const Judged& path) {
  if (path.text().starts_with('/')) {
    path.invalid("must be a relative path");
  }
  check_no_backsteps(path);
}

void check_local_path(const Judged& path) {
  check_descending_path(path);
  if (path.text().starts_with("..") && !path.text().starts_with("../")) {
    path.invalid("must not start with '..'");
  }
}

void check_file_mode(const Judged& mode) {
  if (const auto given = mode.number(); given && (*given < 0 || *given > kHighestMode)) {
    mode.invalid("must be a number between 0 and 0777 (octal), both inclusive");
  }
}

void check_label_map(const Judged& labels) {
  for (const std::string& name : labels.names()) {
    const std::string_view value = labels.text(name);
    add_invalid(labels.errors(), labels.path(), name, qualified_name_errors(name));
    add_invalid(labels.errors(), labels.path(), value, label_value_errors(value));
  }
}

void check_label_selector(const Judged& selector) {
  if (!selector) {
    return;
  }
  if (selector.has("matchLabels")) {
    check_label_map(selector["matchLabels"]);
  }
  selector.each("matchExpressions", check_requirement);
}

} // namespace berth::store
