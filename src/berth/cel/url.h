// URLs in expressions. Source: k8s.io/apiserver/pkg/cel/library urls.go (Go's net/url).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace berth::cel {

struct Url {
  std::string text;
  std::string scheme;
  std::string host; ///< with its port
  std::string hostname;
  std::string port;
  std::string path;                                       ///< as written, escaped
  std::vector<std::pair<std::string, std::string>> query; ///< decoded, in their order

  bool operator==(const Url& other) const { return text == other.text; }
};

/// An absolute URI, or a path that begins with "/".
std::optional<Url> parse_url(std::string_view text);

} // namespace berth::cel
