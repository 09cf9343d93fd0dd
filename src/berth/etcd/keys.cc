#include "berth/etcd/keys.h"

#include <array>

#include <fmt/format.h>

namespace berth::etcd {
namespace {

std::string_view shown(std::string_view part) {
  return part.empty() ? "-" : part;
}

std::string hidden(std::string_view part) {
  return part == "-" ? std::string() : std::string(part);
}

} // namespace

std::string objects_below(std::string_view prefix) {
  return fmt::format("{}/objects/", prefix);
}

std::string key_of(std::string_view prefix, const Place& place) {
  return fmt::format("{}{}/{}/{}/{}", objects_below(prefix), shown(place.kind.group),
                     place.kind.kind, shown(place.key.ns), place.key.name);
}

std::optional<Place> place_of(std::string_view prefix, std::string_view key) {
  const std::string below = objects_below(prefix);
  if (!key.starts_with(below)) {
    return std::nullopt;
  }
  key.remove_prefix(below.size());
  std::array<std::string_view, 4> parts;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::size_t slash = key.find('/');
    if ((slash == std::string_view::npos) != (i + 1 == parts.size())) {
      return std::nullopt;
    }
    parts[i] = key.substr(0, slash);
    key.remove_prefix(slash == std::string_view::npos ? key.size() : slash + 1);
    if (parts[i].empty()) {
      return std::nullopt;
    }
  }
  return Place{.kind = {hidden(parts[0]), std::string(parts[1])},
               .key = {hidden(parts[2]), std::string(parts[3])}};
}

} // namespace berth::etcd
