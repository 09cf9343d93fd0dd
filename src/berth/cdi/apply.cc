#include "berth/cdi/apply.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "berth/cdi/oci_parts.h"

namespace berth::cdi {
namespace {

json::array& array_at(json::object& parent, std::string_view key) {
  json::value& value = parent[key];
  if (!value.is_array()) {
    value.emplace_array();
  }
  return value.get_array();
}

std::string_view text_of(const json::value& item, std::string_view key) {
  const json::value* value = api::find(item, key);
  return value && value->is_string() ? std::string_view(value->get_string()) : std::string_view();
}

// Removes the elements whose member `key` is `text`.
void remove_where(json::array& items, std::string_view key, std::string_view text) {
  items.erase(std::remove_if(items.begin(), items.end(),
                             [&](const json::value& item) { return text_of(item, key) == text; }),
              items.end());
}

void apply_env(const std::vector<std::string>& edits, json::object& oci) {
  if (edits.empty()) {
    return;
  }
  json::array& env = array_at(api::object_at(oci, "process"), "env");
  for (const std::string& edit : edits) {
    const std::string key = edit.substr(0, edit.find('=')) + "=";
    const auto it = std::ranges::find_if(env, [&](const json::value& item) {
      return item.is_string() && std::string_view(item.get_string()).starts_with(key);
    });
    if (it != env.end()) {
      *it = edit;
    } else {
      env.emplace_back(edit);
    }
  }
}

// uid and gid default to those of the process, where they are not root's.
std::optional<std::int64_t> owner_id(const json::object& oci, std::optional<std::uint32_t> given,
                                     std::string_view key) {
  if (given) {
    return *given;
  }
  const json::value* process = oci.if_contains("process");
  const json::value* user = process ? api::find(*process, "user") : nullptr;
  const json::value* id = user ? api::find(*user, key) : nullptr;
  if (!id || !(id->is_int64() || id->is_uint64())) {
    return std::nullopt;
  }
  const auto value = id->to_number<std::int64_t>();
  return value > 0 ? std::optional(value) : std::nullopt;
}

Result<DeviceNode> completed(DeviceNode node, const StatDevice& stat_device) {
  const bool has_numbers = (node.major && node.minor) || node.type == "p";
  if (!node.type.empty() && has_numbers) {
    return node;
  }
  const std::string& path = node.host_path.empty() ? node.path : node.host_path;
  if (!stat_device) {
    return fail(Code::Invalid,
                fmt::format("failed to stat CDI host device \"{}\": no device files here", path));
  }
  const auto found = stat_device(path);
  if (!found) {
    return fail(Code::Invalid, fmt::format("failed to stat CDI host device \"{}\": {}", path,
                                           found.error().message));
  }
  if (!node.type.empty() && node.type != found->type) {
    return fail(Code::Invalid,
                fmt::format("CDI device (\"{}\", \"{}\"), host type mismatch ({}, {})", node.path,
                            path, node.type, found->type));
  }
  node.type = found->type;
  if (!node.major || !node.minor) {
    node.major = found->major;
    node.minor = found->minor;
  }
  return node;
}

void add_cgroup_rule(const DeviceNode& node, json::object& linux_part) {
  if (node.permissions == "none" || (node.type != "c" && node.type != "b")) {
    return;
  }
  json::array& rules = array_at(api::object_at(linux_part, "resources"), "devices");
  json::object rule{{"allow", true}, {"type", node.type}};
  rule["major"] = *node.major;
  rule["minor"] = *node.minor;
  rule["access"] = node.permissions.empty() ? "rwm" : node.permissions;
  rules.emplace_back(std::move(rule));
}

Result<std::vector<Resolved>> resolve(const Registry& registry,
                                      std::span<const std::string> names) {
  std::vector<Resolved> devices;
  std::vector<std::string> unresolved;
  for (const std::string& name : names) {
    const Resolved resolved = registry.find(name);
    if (resolved.device) {
      devices.push_back(resolved);
    } else {
      unresolved.push_back(name);
    }
  }
  if (!unresolved.empty()) {
    return fail(Code::Invalid,
                fmt::format("unresolvable CDI devices {}", fmt::join(unresolved, ", ")));
  }
  return devices;
}

Result<void> apply_device_nodes(const std::vector<DeviceNode>& nodes, json::object& oci,
                                const StatDevice& stat_device) {
  for (const DeviceNode& edit : nodes) {
    BERTH_TRY(const DeviceNode node, completed(edit, stat_device));
    json::object device{{"path", node.path}, {"type", node.type}};
    device["major"] = node.major.value_or(0);
    device["minor"] = node.minor.value_or(0);
    if (node.file_mode) {
      device["fileMode"] = *node.file_mode;
    }
    if (const auto uid = owner_id(oci, node.uid, "uid")) {
      device["uid"] = *uid;
    }
    if (const auto gid = owner_id(oci, node.gid, "gid")) {
      device["gid"] = *gid;
    }
    json::object& linux_part = api::object_at(oci, "linux");
    json::array& devices = array_at(linux_part, "devices");
    remove_where(devices, "path", node.path);
    devices.emplace_back(std::move(device));
    add_cgroup_rule(node, linux_part);
  }
  return {};
}

void apply_net_devices(const std::vector<NetDevice>& edits, json::object& oci) {
  if (edits.empty()) {
    return;
  }
  json::object& devices = api::object_at(api::object_at(oci, "linux"), "netDevices");
  for (const NetDevice& edit : edits) {
    devices[edit.host_interface_name] = json::object{{"name", edit.name}};
  }
}

// Parents before what is mounted inside them.
auto path_depth(const json::value& mount) {
  const std::string_view path = text_of(mount, "destination");
  const std::string_view trimmed =
      path.size() > 1 && path.ends_with('/') ? path.substr(0, path.size() - 1) : path;
  return trimmed == "/" ? 0 : std::ranges::count(trimmed, '/');
}

void apply_mounts(const std::vector<Mount>& edits, json::object& oci) {
  if (edits.empty()) {
    return;
  }
  json::array& mounts = array_at(oci, "mounts");
  for (const Mount& edit : edits) {
    remove_where(mounts, "destination", edit.container_path);
    json::object mount{{"destination", edit.container_path}};
    if (!edit.type.empty()) {
      mount["type"] = edit.type;
    }
    mount["source"] = edit.host_path;
    if (!edit.options.empty()) {
      mount["options"] = json::array(edit.options.begin(), edit.options.end());
    }
    mounts.emplace_back(std::move(mount));
  }
  std::stable_sort(mounts.begin(), mounts.end(), [](const json::value& a, const json::value& b) {
    return path_depth(a) < path_depth(b);
  });
}

void apply_hooks(const std::vector<Hook>& edits, json::object& oci) {
  for (const Hook& edit : edits) {
    json::object hook{{"path", edit.path}};
    if (!edit.args.empty()) {
      hook["args"] = json::array(edit.args.begin(), edit.args.end());
    }
    if (!edit.env.empty()) {
      hook["env"] = json::array(edit.env.begin(), edit.env.end());
    }
    if (edit.timeout) {
      hook["timeout"] = *edit.timeout;
    }
    array_at(api::object_at(oci, "hooks"), edit.hook_name).emplace_back(std::move(hook));
  }
}

void apply_intel_rdt(const IntelRdt& edit, json::object& oci) {
  json::object rdt;
  const auto put_text = [&](const char* key, const std::string& text) {
    if (!text.empty()) {
      rdt[key] = text;
    }
  };
  put_text("closID", edit.clos_id);
  put_text("l3CacheSchema", edit.l3_cache_schema);
  put_text("memBwSchema", edit.mem_bw_schema);
  if (!edit.schemata.empty()) {
    rdt["schemata"] = json::array(edit.schemata.begin(), edit.schemata.end());
  }
  const auto put_flag = [&](const char* key, bool flag) {
    if (flag) {
      rdt[key] = true;
    }
  };
  put_flag("enableCMT", edit.enable_cmt);
  put_flag("enableMBM", edit.enable_mbm);
  put_flag("enableMonitoring", edit.enable_monitoring);
  api::object_at(oci, "linux")["intelRdt"] = std::move(rdt);
}

void apply_gids(const std::vector<std::uint32_t>& edits, json::object& oci) {
  for (const std::uint32_t gid : edits) {
    if (gid == 0) {
      continue;
    }
    json::array& gids =
        array_at(api::object_at(api::object_at(oci, "process"), "user"), "additionalGids");
    if (std::ranges::find(gids, json::value(gid)) == gids.end()) {
      gids.emplace_back(gid);
    }
  }
}

} // namespace

Result<void> apply_edits(const ContainerEdits& edits, json::object& oci,
                         const StatDevice& stat_device) {
  BERTH_CHECK(check_oci_parts(oci));
  apply_env(edits.env, oci);
  BERTH_CHECK(apply_device_nodes(edits.device_nodes, oci, stat_device));
  apply_net_devices(edits.net_devices, oci);
  apply_mounts(edits.mounts, oci);
  apply_hooks(edits.hooks, oci);
  if (edits.intel_rdt) {
    apply_intel_rdt(*edits.intel_rdt, oci);
  }
  apply_gids(edits.additional_gids, oci);
  return {};
}

Result<void> apply_devices(const Registry& registry, std::span<const std::string> names,
                           json::object& oci, const StatDevice& stat_device) {
  BERTH_TRY(const std::vector<Resolved> devices, resolve(registry, names));
  json::object changed = oci;
  std::set<const Spec*> seen;
  for (const Resolved& resolved : devices) {
    if (seen.insert(resolved.spec).second) {
      BERTH_CHECK(apply_edits(resolved.spec->edits, changed, stat_device));
    }
    BERTH_CHECK(apply_edits(resolved.device->edits, changed, stat_device));
  }
  oci = std::move(changed);
  return {};
}

Result<void> check_edits(const ContainerEdits& edits, const StatDevice& stat_device) {
  for (const DeviceNode& node : edits.device_nodes) {
    BERTH_CHECK(completed(node, stat_device));
  }
  return {};
}

Result<void> check_devices(const Registry& registry, std::span<const std::string> names,
                           const StatDevice& stat_device) {
  BERTH_TRY(const std::vector<Resolved> devices, resolve(registry, names));
  for (const Resolved& resolved : devices) {
    BERTH_CHECK(check_edits(resolved.spec->edits, stat_device));
    BERTH_CHECK(check_edits(resolved.device->edits, stat_device));
  }
  return {};
}

} // namespace berth::cdi
