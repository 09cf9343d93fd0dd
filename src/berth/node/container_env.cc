#include "berth/node/container_env.h"

#include <algorithm>
#include <optional>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

namespace berth::node {
namespace {

namespace json = boost::json;

// The value of "metadata.labels['KEY']" or of annotations; nullopt if the path is none.
std::optional<std::string> map_entry(const json::value& pod, std::string_view path) {
  const std::size_t bracket = path.find("['");
  if (bracket == std::string_view::npos || !path.ends_with("']")) {
    return std::nullopt;
  }
  const std::string_view key = path.substr(bracket + 2, path.size() - bracket - 4);
  const json::value* map = api::find_path(pod, path.substr(0, bracket));
  const json::value* value = map ? api::find(*map, key) : nullptr;
  return value && value->is_string() ? std::string(value->get_string()) : std::string();
}

} // namespace

std::string downward_field(const json::value& pod, std::string_view path,
                           const PodAddress& address) {
  if (path == "status.podIP" || path == "status.podIPs") {
    return address.pod_ip;
  }
  if (path == "status.hostIP" || path == "status.hostIPs") {
    return address.host_ip;
  }
  if (const auto entry = map_entry(pod, path)) {
    return *entry;
  }
  return std::string(api::string_at(pod, path));
}

std::string expand_references(std::string_view text, const Environment& known) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '$' || i + 1 == text.size()) {
      out += text[i];
      continue;
    }
    if (text[i + 1] == '$') {
      out += '$';
      ++i;
      continue;
    }
    const std::size_t close = text[i + 1] == '(' ? text.find(')', i) : std::string_view::npos;
    if (close == std::string_view::npos) {
      out += text[i];
      continue;
    }
    const std::string_view name = text.substr(i + 2, close - i - 2);
    const auto value = std::find_if(known.rbegin(), known.rend(),
                                    [&](const auto& entry) { return entry.first == name; });
    out += value == known.rend() ? text.substr(i, close - i + 1) : std::string_view(value->second);
    i = close;
  }
  return out;
}

Environment container_env(const json::value& pod, const json::value& container,
                          const PodAddress& address) {
  Environment env;
  const json::value* entries = api::find(container, "env");
  if (!entries || !entries->is_array()) {
    return env;
  }
  for (const json::value& entry : entries->get_array()) {
    const std::string name(api::string_at(entry, "name"));
    if (const json::value* from = api::find(entry, "valueFrom")) {
      if (const std::string_view path = api::string_at(*from, "fieldRef.fieldPath");
          !path.empty()) {
        env.emplace_back(name, downward_field(pod, path, address));
      }
      continue;
    }
    env.emplace_back(name, expand_references(api::string_at(entry, "value"), env));
  }
  return env;
}

} // namespace berth::node
