// A CDI spec and an OCI runtime spec, a zero byte between them. Reading never crashes; a spec that
// is read is written and read as itself; its devices go into the OCI spec whole, or not at all.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "berth/api/json.h"
#include "berth/api/yaml.h"
#include "berth/base/assert.h"
#include "berth/cdi/apply.h"
#include "berth/cdi/registry.h"
#include "berth/cdi/spec.h"

namespace {

using namespace berth;

bool has_device(const api::json::object& oci, std::string_view path) {
  const api::json::value document(oci); // what is found points into it
  const api::json::value* devices = api::find_path(document, "linux.devices");
  if (devices && devices->is_array()) {
    for (const api::json::value& device : devices->get_array()) {
      if (api::string_at(device, "path") == path) {
        return true;
      }
    }
  }
  return false;
}

void apply_all(const cdi::Spec& spec, api::json::object oci) {
  cdi::Registry registry;
  if (!registry.put("fuzz.json", cdi::Registry::kDynamic, spec)) {
    return;
  }
  const auto number = [](const std::string& path) -> Result<cdi::DeviceNumber> {
    if (path.size() % 7 == 0) {
      return fail(Code::NotFound, "no such device");
    }
    return cdi::DeviceNumber{"c", 195, static_cast<std::int64_t>(path.size())};
  };
  for (const std::string& name : registry.names()) {
    const api::json::object before = oci;
    const auto applied = cdi::apply_devices(registry, std::vector{name}, oci, number);
    if (!applied) {
      BERTH_ASSERT(oci == before, name);
      continue;
    }
    for (const cdi::DeviceNode& node : registry.find(name).device->edits.device_nodes) {
      BERTH_ASSERT(has_device(oci, node.path), name);
    }
  }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t zero = std::min(input.find('\0'), input.size());
  const auto documents = api::parse_yaml(input.substr(0, zero), "spec.yaml");
  if (!documents || documents->size() != 1) {
    return 0;
  }
  const auto spec = cdi::parse_spec(documents->front().value, "spec.yaml");
  if (!spec) {
    return 0;
  }
  const auto again = cdi::parse_spec(cdi::to_json(*spec), "again");
  BERTH_ASSERT(again.has_value() && *again == *spec, "a spec is not what was written of it");
  const auto oci = api::parse_json(zero < input.size() ? input.substr(zero + 1) : "{}");
  if (oci && oci->is_object()) {
    apply_all(*spec, oci->get_object());
  }
  return 0;
}
