#include "berth/cdi/oci_parts.h"

#include <string>
#include <string_view>

#include <fmt/format.h>

namespace berth::cdi {
namespace {

/// The parts of a document that edits go into.
constexpr struct {
  std::string_view path; ///< dotted
  json::kind kind;
} kParts[] = {{"process", json::kind::object},
              {"process.env", json::kind::array},
              {"process.user", json::kind::object},
              {"process.user.additionalGids", json::kind::array},
              {"mounts", json::kind::array},
              {"hooks", json::kind::object},
              {"hooks.prestart", json::kind::array},
              {"hooks.createRuntime", json::kind::array},
              {"hooks.createContainer", json::kind::array},
              {"hooks.startContainer", json::kind::array},
              {"hooks.poststart", json::kind::array},
              {"hooks.poststop", json::kind::array},
              {"linux", json::kind::object},
              {"linux.devices", json::kind::array},
              {"linux.netDevices", json::kind::object},
              {"linux.resources", json::kind::object},
              {"linux.resources.devices", json::kind::array},
              {"linux.intelRdt", json::kind::object}};

std::string_view kind_text(const json::value& value) {
  return value.is_object()   ? "an object"
         : value.is_array()  ? "a list"
         : value.is_string() ? "a string"
         : value.is_bool()   ? "a boolean"
                             : "a number";
}

/// nullptr: it is absent or null.
const json::value* part_of(const json::object& oci, std::string_view path) {
  const std::size_t dot = path.find('.');
  const json::value* top = oci.if_contains(path.substr(0, dot));
  if (top != nullptr && dot != std::string_view::npos) {
    return api::find_path(*top, path.substr(dot + 1));
  }
  return top == nullptr || top->is_null() ? nullptr : top;
}

} // namespace

Result<void> check_oci_parts(const json::object& oci) {
  for (const auto& part : kParts) {
    const json::value* value = part_of(oci, part.path);
    if (value != nullptr && value->kind() != part.kind) {
      return fail_at({.file = {}, .field = std::string(part.path)},
                     fmt::format("want {}, got {}",
                                 part.kind == json::kind::object ? "an object" : "a list",
                                 kind_text(*value)));
    }
  }
  return {};
}

} // namespace berth::cdi
