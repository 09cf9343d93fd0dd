#include "berth/deviceplugin/config/sharing_section.h"

#include <algorithm>

#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/api/strict.h"
#include "berth/deviceplugin/config/device_ref.h"

namespace berth::deviceplugin {
namespace {

namespace json = api::json;
using api::Field;

/// More would make lists of devices that no kubelet takes.
constexpr std::int64_t kMostReplicas = 10'000;

void read_name(const Field& in, std::string_view member, std::string& out) {
  in.within(member, [&](const Field& field) {
    std::string text;
    decode(field, text);
    if (field.failed()) {
      return;
    }
    if (auto name = resource_name(text)) {
      out = *std::move(name);
    } else {
      field.fail(name.error().message);
    }
  });
}

void read_device_list(const Field& in, SharedDevices& out) {
  std::vector<std::string>& list = out.list.emplace();
  in.each([&](const Field& entry) {
    const json::value& value = entry.value();
    std::string ref;
    if (value.is_string()) {
      ref = std::string(value.get_string());
    } else if (value.is_int64() && value.get_int64() >= 0) {
      ref = fmt::to_string(value.get_int64());
    }
    if (!is_device_ref(ref)) {
      entry.fail(fmt::format("unsupported type for device in devices list: {}; want an index such "
                             "as 0 or \"0:1\", or a UUID",
                             api::to_json(value)));
      return;
    }
    list.push_back(std::move(ref));
  });
}

void read_devices(const Field& in, SharedDevices& out) {
  const json::value& value = in.value();
  if (const json::string* text = value.if_string()) {
    if (*text != "all") {
      in.fail(fmt::format("devices set as '{}' but the only valid string input is 'all'",
                          std::string_view(*text)));
    }
    return;
  }
  if (const std::int64_t* count = value.if_int64()) {
    if (*count <= 0) {
      in.fail(fmt::format("devices set as '{}' but a count of devices must be > 0", *count));
      return;
    }
    out.count = static_cast<int>(std::min<std::int64_t>(*count, INT32_MAX));
    return;
  }
  if (value.is_array()) {
    read_device_list(in, out);
    return;
  }
  in.fail(fmt::format("unrecognized type for devices spec: {}", api::to_json(value)));
}

void read_resource(const Field& in, SharedResource& out) {
  api::refuse_unknown(in, {"name", "rename", "devices", "replicas"});
  read_name(in, "name", out.name);
  if (out.name.empty()) {
    in.fail_member("name", "no resource name specified");
  }
  read_name(in, "rename", out.rename);
  in.within("devices", [&](const Field& field) { read_devices(field, out.devices); });
  bool said = false;
  in.within("replicas", [&](const Field& field) {
    said = true;
    std::int64_t replicas = 0;
    decode(field, replicas);
    if (!field.failed() && replicas < 2) {
      field.fail("number of replicas must be >= 2");
    } else if (!field.failed() && replicas > kMostReplicas) {
      field.fail(fmt::format("number of replicas must be <= {}: {}", kMostReplicas, replicas));
    }
    out.replicas = static_cast<int>(std::clamp<std::int64_t>(replicas, 0, kMostReplicas));
  });
  if (!said) {
    in.fail_member("replicas", "no replicas specified");
  }
}

void settle_renames(const Field& in, std::string_view section, SharedResources& out,
                    std::vector<std::string>& remarks) {
  for (SharedResource& resource : out.resources) {
    if (!out.rename_by_default && !resource.rename.empty()) {
      remarks.push_back(fmt::format("sharing.{}: 'rename' of {} has no effect without "
                                    "renameByDefault",
                                    section, resource.name));
      resource.rename.clear();
    }
    if (out.rename_by_default && resource.rename.empty()) {
      const auto renamed = resource_name(resource.name + ".shared");
      if (!renamed) {
        in.fail(renamed.error().message);
        return;
      }
      resource.rename = *renamed;
    }
  }
}

void refuse_repeated(const Field& in, const SharedResources& shared) {
  for (auto it = shared.resources.begin(); it != shared.resources.end(); ++it) {
    if (std::find_if(shared.resources.begin(), it, [&](const SharedResource& earlier) {
          return earlier.name == it->name;
        }) != it) {
      in.fail_member("resources", fmt::format("resource is listed twice: {}", it->name));
    }
  }
}

void read_shared(const Field& in, std::string_view section, SharedResources& out,
                 std::vector<std::string>& remarks) {
  api::refuse_unknown(
      in, {"renameByDefault", "failRequestsGreaterThanOne", "requireDistinctDevices", "resources"});
  in.read("renameByDefault", out.rename_by_default);
  in.read("failRequestsGreaterThanOne", out.fail_requests_greater_than_one);
  in.read("requireDistinctDevices", out.require_distinct_devices);
  in.within("resources", [&](const Field& list) {
    list.each([&](const Field& entry) { read_resource(entry, out.resources.emplace_back()); });
  });
  if (out.resources.empty()) {
    in.fail_member("resources", "no resources specified");
  }
  refuse_repeated(in, out);
  settle_renames(in, section, out, remarks);
}

} // namespace

void read_sharing(const Field& in, Sharing& out, std::vector<std::string>& remarks) {
  api::refuse_unknown(in, {"timeSlicing", "mps"});
  // An empty section is what generated files have for "none".
  in.within("timeSlicing", [&](const Field& field) {
    if (const json::object* object = field.as_object(); object != nullptr && !object->empty()) {
      read_shared(field, "timeSlicing", out.time_slicing.emplace(), remarks);
    }
  });
  in.within("mps", [&](const Field& field) {
    SharedResources& mps = out.mps.emplace();
    mps.fail_requests_greater_than_one = true;
    read_shared(field, "mps", mps, remarks);
  });
  if (out.mps && out.time_slicing) {
    remarks.emplace_back("sharing.timeSlicing has no effect beside sharing.mps");
  }
}

} // namespace berth::deviceplugin
