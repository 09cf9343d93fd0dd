#include "berth/runtime/cri/cdi_fallback.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "berth/cdi/spec.h"

namespace berth::runtime::cri {
namespace {

// A later edit of the same place replaces the earlier one, as in an OCI spec.
template <class T> void put(std::vector<T>& all, T added) {
  std::erase_if(all, [&](const T& each) { return each.container_path == added.container_path; });
  all.push_back(std::move(added));
}

Mount mount_of(const cdi::Mount& edit) {
  const auto has = [&](std::string_view option) {
    return std::ranges::find(edit.options, option) != edit.options.end();
  };
  return {.container_path = edit.container_path,
          .host_path = edit.host_path,
          .read_only = has("ro"),
          .propagation = has("rshared") || has("shared") ? Mount::Propagation::Bidirectional
                         : has("rslave") || has("slave") ? Mount::Propagation::HostToContainer
                                                         : Mount::Propagation::Private};
}

Device device_of(const cdi::DeviceNode& node) {
  return {.container_path = node.path,
          .host_path = node.host_path.empty() ? node.path : node.host_path,
          .permissions = node.permissions.empty() ? "rwm" : node.permissions};
}

void apply_edits(const cdi::ContainerEdits& edits, ContainerConfig& config, LeftOut& left_out) {
  for (const std::string& assignment : edits.env) {
    const std::size_t equals = assignment.find('=');
    const std::string name = assignment.substr(0, equals);
    std::erase_if(config.envs, [&](const auto& each) { return each.first == name; });
    config.envs.emplace_back(name,
                             equals == std::string::npos ? "" : assignment.substr(equals + 1));
  }
  for (const cdi::DeviceNode& node : edits.device_nodes) {
    if (node.permissions == "none") {
      left_out.what.push_back(fmt::format("device node {} without a cgroup rule", node.path));
    } else {
      put(config.devices, device_of(node));
    }
  }
  for (const cdi::Mount& mount : edits.mounts) {
    put(config.mounts, mount_of(mount));
  }
  for (const std::uint32_t group : edits.additional_gids) {
    if (group != 0) {
      config.security.supplemental_groups.push_back(group);
    }
  }
  for (const cdi::Hook& hook : edits.hooks) {
    left_out.what.push_back(fmt::format("hook {} {}", hook.hook_name, hook.path));
  }
  for (const cdi::NetDevice& device : edits.net_devices) {
    left_out.what.push_back(fmt::format("network device {}", device.host_interface_name));
  }
  if (edits.intel_rdt) {
    left_out.what.emplace_back("Intel RDT settings");
  }
}

} // namespace

Result<LeftOut> apply_cdi_devices(const cdi::Registry& registry, ContainerConfig& config) {
  std::vector<std::string> unknown;
  std::vector<cdi::Resolved> resolved;
  for (const std::string& name : config.cdi_devices) {
    const cdi::Resolved found = registry.find(name);
    if (found.device) {
      resolved.push_back(found);
    } else {
      unknown.push_back(name);
    }
  }
  if (!unknown.empty()) {
    return fail(Code::Invalid, fmt::format("CDI device injection failed: unresolvable CDI devices "
                                           "{}",
                                           fmt::join(unknown, ", ")));
  }
  LeftOut left_out;
  std::set<const cdi::Spec*> begun;
  for (const cdi::Resolved& each : resolved) {
    if (begun.insert(each.spec).second) {
      apply_edits(each.spec->edits, config, left_out);
    }
    apply_edits(each.device->edits, config, left_out);
  }
  config.cdi_devices.clear();
  return left_out;
}

} // namespace berth::runtime::cri
