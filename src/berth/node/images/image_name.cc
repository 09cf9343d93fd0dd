#include "berth/node/images/image_name.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

namespace berth::node {
namespace {

constexpr std::size_t kLongestPath = 255;
constexpr std::size_t kLongestTag = 128;

bool is_lower(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}
bool is_alnum(char c) {
  return is_lower(c) || (c >= 'A' && c <= 'Z');
}

// Lower-case words joined by ".", "_", "__" or dashes.
bool is_path_component(std::string_view text) {
  if (text.empty() || !is_lower(text.front()) || !is_lower(text.back())) {
    return false;
  }
  for (std::size_t i = 0; i < text.size();) {
    if (is_lower(text[i])) {
      ++i;
      continue;
    }
    const std::size_t from = i;
    while (i < text.size() && text[i] == text[from]) {
      ++i;
    }
    const std::size_t run = i - from;
    const bool separator =
        (text[from] == '.' && run == 1) || (text[from] == '_' && run <= 2) || text[from] == '-';
    if (!separator || !is_lower(text[i])) {
      return false;
    }
  }
  return true;
}

bool is_path(std::string_view text) {
  if (text.empty() || text.size() > kLongestPath) {
    return false;
  }
  while (true) {
    const std::size_t slash = text.find('/');
    if (!is_path_component(text.substr(0, slash))) {
      return false;
    }
    if (slash == std::string_view::npos) {
      return true;
    }
    text.remove_prefix(slash + 1);
  }
}

bool is_tag(std::string_view text) {
  const auto word = [](char c) { return is_alnum(c) || c == '_'; };
  return !text.empty() && text.size() <= kLongestTag && word(text.front()) &&
         std::ranges::all_of(text, [&](char c) { return word(c) || c == '.' || c == '-'; });
}

bool is_digest(std::string_view text) {
  constexpr std::size_t kShortestHex = 32;
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos || colon == 0 || !is_alnum(text.front())) {
    return false;
  }
  const std::string_view hex = text.substr(colon + 1);
  return hex.size() >= kShortestHex &&
         std::ranges::all_of(hex, [](unsigned char c) { return std::isxdigit(c) != 0; });
}

bool is_registry(std::string_view text) {
  if (text.starts_with('[')) {
    return text.find(']') != std::string_view::npos;
  }
  const std::size_t colon = text.find(':');
  const std::string_view host = text.substr(0, colon);
  const std::string_view port = colon == std::string_view::npos ? "0" : text.substr(colon + 1);
  return !host.empty() && is_alnum(host.front()) && is_alnum(host.back()) && !port.empty() &&
         std::ranges::all_of(host, [](char c) { return is_alnum(c) || c == '-' || c == '.'; }) &&
         std::ranges::all_of(port, [](char c) { return c >= '0' && c <= '9'; });
}

// A first part is a host if nothing else could look so.
bool names_registry(std::string_view part) {
  return part.find_first_of(".:[") != std::string_view::npos || part == "localhost" ||
         std::ranges::any_of(part, [](char c) { return c >= 'A' && c <= 'Z'; });
}

tl::unexpected<Error> bad_name(std::string_view text) {
  return fail(Code::Invalid,
              fmt::format("couldn't parse image name \"{}\": invalid reference format", text));
}

} // namespace

Result<ImageName> parse_image_name(std::string_view text) {
  ImageName name{.registry = "docker.io"};
  std::string_view rest = text;
  if (const std::size_t at = rest.find('@'); at != std::string_view::npos) {
    name.digest = rest.substr(at + 1);
    rest = rest.substr(0, at);
    if (!is_digest(name.digest)) {
      return bad_name(text);
    }
  }
  const std::size_t slash = rest.rfind('/');
  const std::size_t colon = rest.find(':', slash == std::string_view::npos ? 0 : slash);
  if (colon != std::string_view::npos) {
    name.tag = rest.substr(colon + 1);
    rest = rest.substr(0, colon);
    if (!is_tag(name.tag)) {
      return bad_name(text);
    }
  }
  const std::size_t first = rest.find('/');
  if (first != std::string_view::npos && names_registry(rest.substr(0, first))) {
    name.registry = rest.substr(0, first);
    rest = rest.substr(first + 1);
    if (!is_registry(name.registry)) {
      return bad_name(text);
    }
  }
  if (!is_path(rest)) {
    return bad_name(text);
  }
  const bool short_name = name.registry == "docker.io" && rest.find('/') == std::string_view::npos;
  name.path = short_name ? fmt::format("library/{}", rest) : std::string(rest);
  if (name.tag.empty() && name.digest.empty()) {
    name.tag = "latest";
  }
  return name;
}

PullPolicy pull_policy(const api::json::value& container, const ImageName& image) {
  const std::string_view given = api::string_at(container, "imagePullPolicy");
  if (given == "Always") {
    return PullPolicy::Always;
  }
  if (given == "Never") {
    return PullPolicy::Never;
  }
  if (given == "IfNotPresent") {
    return PullPolicy::IfNotPresent;
  }
  return image.tag == "latest" && image.digest.empty() ? PullPolicy::Always
                                                       : PullPolicy::IfNotPresent;
}

} // namespace berth::node
