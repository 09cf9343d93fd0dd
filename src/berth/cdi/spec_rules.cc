// The rules a CDI spec must keep: names, versions, edits.
#include "berth/cdi/spec.h"

#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>

namespace berth::cdi {
namespace {

constexpr bool letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
constexpr bool digit(char c) {
  return c >= '0' && c <= '9';
}
constexpr bool alnum(char c) {
  return letter(c) || digit(c);
}

// First character by `first`, last alphanumeric, inner ones alphanumeric or of `inner`.
bool well_formed(std::string_view name, bool (*first)(char), std::string_view inner) {
  return !name.empty() && first(name.front()) && alnum(name.back()) &&
         std::ranges::all_of(
             name, [&](char c) { return alnum(c) || inner.find(c) != std::string_view::npos; });
}

bool valid_kind(std::string_view kind) {
  const std::size_t slash = kind.find('/');
  return slash != std::string_view::npos && well_formed(kind.substr(0, slash), letter, "_-.") &&
         well_formed(kind.substr(slash + 1), letter, "_-.");
}

bool valid_device_name(std::string_view name) {
  return well_formed(
      name, [](char c) { return alnum(c); }, "_-.:");
}

// Oldest first.
constexpr std::array<std::string_view, 10> kVersions{"0.1.0", "0.2.0", "0.3.0", "0.4.0", "0.5.0",
                                                     "0.6.0", "0.7.0", "0.8.0", "1.0.0", "1.1.0"};

std::size_t rank(std::string_view version) {
  return static_cast<std::size_t>(std::ranges::find(kVersions, version) - kVersions.begin());
}

std::string_view minimum(const ContainerEdits& edits) {
  std::string_view version = "0.3.0";
  const auto raise = [&](std::string_view to) { version = std::max(version, to); };
  for (const Mount& mount : edits.mounts) {
    if (!mount.type.empty()) {
      raise("0.4.0");
    }
  }
  for (const DeviceNode& node : edits.device_nodes) {
    if (!node.host_path.empty()) {
      raise("0.5.0");
    }
  }
  if (edits.intel_rdt || !edits.additional_gids.empty()) {
    raise("0.7.0");
  }
  const bool new_rdt =
      edits.intel_rdt && (!edits.intel_rdt->schemata.empty() || edits.intel_rdt->enable_monitoring);
  if (!edits.net_devices.empty() || new_rdt) {
    raise("1.1.0");
  }
  return version;
}

tl::unexpected<Error> wrong(std::string field, std::string message) {
  return fail_at({.file = "", .field = std::move(field)}, std::move(message));
}

Result<void> check_env(const std::vector<std::string>& env, const std::string& path) {
  for (std::size_t i = 0; i < env.size(); ++i) {
    const std::size_t equals = env[i].find('=');
    if (equals == 0 || equals == std::string::npos) {
      return wrong(fmt::format("{}[{}]", path, i),
                   fmt::format("invalid environment variable, want NAME=value: \"{}\"", env[i]));
    }
  }
  return {};
}

Result<void> check_device_node(const DeviceNode& node, const std::string& path) {
  if (node.path.empty()) {
    return wrong(path + ".path", "invalid (empty) device path");
  }
  if (node.type.size() > 1 || std::string_view("bcup").find(node.type) == std::string_view::npos) {
    return wrong(path + ".type",
                 fmt::format("invalid device type, want b, c, u or p: \"{}\"", node.type));
  }
  if (node.permissions != "none" && !std::ranges::all_of(node.permissions, [](char c) {
        return std::string_view("rwm").find(c) != std::string_view::npos;
      })) {
    return wrong(
        path + ".permissions",
        fmt::format("invalid permissions, want letters of rwm, or none: \"{}\"", node.permissions));
  }
  return {};
}

constexpr std::array<std::string_view, 6> kHookNames{
    "prestart", "createRuntime", "createContainer", "startContainer", "poststart", "poststop"};

Result<void> check_hook(const Hook& hook, const std::string& path) {
  if (std::ranges::find(kHookNames, hook.hook_name) == kHookNames.end()) {
    return wrong(path + ".hookName", fmt::format("invalid hook name \"{}\"", hook.hook_name));
  }
  if (hook.path.empty()) {
    return wrong(path + ".path",
                 fmt::format("invalid hook \"{}\" with empty path", hook.hook_name));
  }
  return check_env(hook.env, path + ".env");
}

Result<void> check_net_devices(const std::vector<NetDevice>& devices, const std::string& path) {
  std::set<std::string> hosts;
  std::set<std::string> names;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const std::string at = fmt::format("{}[{}]", path, i);
    if (devices[i].host_interface_name.empty() || devices[i].name.empty()) {
      return wrong(at, "invalid network device, hostInterfaceName and name must be set");
    }
    if (!hosts.insert(devices[i].host_interface_name).second ||
        !names.insert(devices[i].name).second) {
      return wrong(at, fmt::format("invalid, duplicate network device \"{}\"", devices[i].name));
    }
  }
  return {};
}

Result<void> check_intel_rdt(const IntelRdt& rdt, const std::string& path) {
  const std::string& id = rdt.clos_id;
  if (id == "." || id == ".." || id.size() >= 4096 ||
      id.find_first_of("/\n") != std::string::npos) {
    return wrong(path + ".closID", fmt::format("invalid closID \"{}\"", id.substr(0, 64)));
  }
  return {};
}

Result<void> check_edits(const ContainerEdits& edits, const std::string& path) {
  BERTH_CHECK(check_env(edits.env, path + ".env"));
  for (std::size_t i = 0; i < edits.device_nodes.size(); ++i) {
    BERTH_CHECK(
        check_device_node(edits.device_nodes[i], fmt::format("{}.deviceNodes[{}]", path, i)));
  }
  BERTH_CHECK(check_net_devices(edits.net_devices, path + ".netDevices"));
  for (std::size_t i = 0; i < edits.hooks.size(); ++i) {
    BERTH_CHECK(check_hook(edits.hooks[i], fmt::format("{}.hooks[{}]", path, i)));
  }
  for (std::size_t i = 0; i < edits.mounts.size(); ++i) {
    const std::string at = fmt::format("{}.mounts[{}]", path, i);
    if (edits.mounts[i].host_path.empty()) {
      return wrong(at + ".hostPath", "invalid mount, empty host path");
    }
    if (edits.mounts[i].container_path.empty()) {
      return wrong(at + ".containerPath", "invalid mount, empty container path");
    }
  }
  if (edits.intel_rdt) {
    BERTH_CHECK(check_intel_rdt(*edits.intel_rdt, path + ".intelRdt"));
  }
  return {};
}

Result<void> check_devices(const std::vector<Device>& devices) {
  if (devices.empty()) {
    return wrong("devices", "invalid spec, no devices");
  }
  std::set<std::string> names;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const Device& device = devices[i];
    const std::string at = fmt::format("devices[{}]", i);
    if (!valid_device_name(device.name)) {
      return wrong(at + ".name", fmt::format("invalid device name \"{}\"", device.name));
    }
    if (!names.insert(device.name).second) {
      return wrong(at + ".name", fmt::format("invalid spec, multiple device \"{}\"", device.name));
    }
    if (device.edits.empty()) {
      return wrong(at + ".containerEdits",
                   fmt::format("invalid device, empty device edits: \"{}\"", device.name));
    }
    BERTH_CHECK(check_edits(device.edits, at + ".containerEdits"));
  }
  return {};
}

} // namespace

Result<QualifiedName> parse_qualified_name(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) {
    return fail(Code::Invalid,
                fmt::format("unqualified device, want vendor/class=device: \"{}\"", text));
  }
  QualifiedName name{std::string(text.substr(0, equals)), std::string(text.substr(equals + 1))};
  if (!valid_kind(name.kind)) {
    return fail(Code::Invalid, fmt::format("invalid vendor or class in device \"{}\"", text));
  }
  if (!valid_device_name(name.device)) {
    return fail(Code::Invalid, fmt::format("invalid device name in \"{}\"", text));
  }
  return name;
}

std::string minimum_version(const Spec& spec) {
  std::string_view version = minimum(spec.edits);
  const auto raise = [&](std::string_view to) { version = std::max(version, to); };
  if (!spec.annotations.empty() || spec.kind.find('.', spec.kind.find('/')) != std::string::npos) {
    raise("0.6.0");
  }
  for (const Device& device : spec.devices) {
    raise(minimum(device.edits));
    if (!device.name.empty() && digit(device.name.front())) {
      raise("0.5.0");
    }
    if (!device.annotations.empty()) {
      raise("0.6.0");
    }
  }
  return std::string(version);
}

Result<void> validate(const Spec& spec) {
  if (rank(spec.cdi_version) == kVersions.size()) {
    return wrong("cdiVersion", fmt::format("unknown CDI version \"{}\"", spec.cdi_version));
  }
  if (!valid_kind(spec.kind)) {
    return wrong("kind", fmt::format("invalid kind, want vendor/class: \"{}\"", spec.kind));
  }
  if (const std::string needed = minimum_version(spec); rank(spec.cdi_version) < rank(needed)) {
    return wrong("cdiVersion", fmt::format("the spec version must be at least {}, is {}", needed,
                                           spec.cdi_version));
  }
  BERTH_CHECK(check_edits(spec.edits, "containerEdits"));
  return check_devices(spec.devices);
}

} // namespace berth::cdi
