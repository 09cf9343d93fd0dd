#include "berth/node/volumes/downward_api.h"

#include <algorithm>
#include <map>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <fmt/format.h>

#include "berth/node/contents/resource_field.h"
#include "berth/node/contents/spec_field.h"

namespace berth::node {
namespace {

namespace json = boost::json;

// A string as Go's %q writes it.
std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    switch (c) {
    case '"':
    case '\\':
      out += '\\';
      out += c;
      break;
    case '\n':
      out += "\\n";
      break;
    case '\t':
      out += "\\t";
      break;
    case '\r':
      out += "\\r";
      break;
    default:
      if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') {
        out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
      } else {
        out += c;
      }
    }
  }
  return out + "\"";
}

std::string map_text(const json::value& pod, std::string_view path) {
  std::map<std::string, std::string> sorted;
  const json::value* map = api::find_path(pod, path);
  if (map && map->is_object()) {
    for (const auto& [key, value] : map->get_object()) {
      if (value.is_string()) {
        sorted[std::string(key)] = std::string_view(value.get_string());
      }
    }
  }
  std::string out;
  for (const auto& [key, value] : sorted) {
    out += fmt::format("{}{}={}", out.empty() ? "" : "\n", key, quoted(value));
  }
  return out;
}

Result<std::string> resource_text(const json::value& ref, const DownwardFacts& facts) {
  const std::string_view name = api::string_at(ref, "containerName");
  for (const auto* list : {&facts.pod->spec.containers, &facts.pod->spec.init_containers}) {
    const auto found = std::ranges::find(*list, name, &model::Container::name);
    if (found != list->end()) {
      return resource_field(*found, ref, facts.allocatable);
    }
  }
  return fail(Code::NotFound, fmt::format("container {} not found", name));
}

} // namespace

std::string downward_text(const json::value& pod, std::string_view path,
                          const PodAddress& address) {
  if (path == "metadata.labels" || path == "metadata.annotations") {
    return map_text(pod, path);
  }
  return downward_field(pod, path, address);
}

Result<Payload> downward_files(const json::value& source, std::uint32_t mode,
                               const DownwardFacts& facts) {
  Payload files;
  for (const json::value& item : list_at(source, "items")) {
    PayloadFile file{.path = std::string(api::string_at(item, "path")),
                     .mode =
                         static_cast<std::uint32_t>(int_at(item, "mode").value_or(mode)) & 0777};
    if (const json::value* field = api::find(item, "fieldRef")) {
      file.bytes =
          downward_text(*facts.document, api::string_at(*field, "fieldPath"), facts.address);
    } else if (const json::value* resource = api::find(item, "resourceFieldRef")) {
      BERTH_TRY(file.bytes, resource_text(*resource, facts));
    } else {
      return fail(Code::Invalid, fmt::format("a file of a downwardAPI volume needs fieldRef or "
                                             "resourceFieldRef: {}",
                                             file.path));
    }
    merge_payload(files, {std::move(file)});
  }
  return files;
}

} // namespace berth::node
