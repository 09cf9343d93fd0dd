#include "berth/runtime/oci.h"

#include <algorithm>
#include <charconv>
#include <utility>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <fmt/format.h>

namespace berth::runtime {
namespace {

namespace json = boost::json;

json::object virtual_mount(std::string_view type, std::string_view source, std::string_view at) {
  return {{"destination", at}, {"type", type}, {"source", source}};
}

json::object default_spec(const ContainerConfig& config, std::string_view hostname) {
  json::object spec;
  spec["ociVersion"] = "1.1.0";
  json::array args(config.command.begin(), config.command.end());
  for (const std::string& arg : config.args) {
    args.emplace_back(arg);
  }
  json::array env{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"};
  env.emplace_back(fmt::format("HOSTNAME={}", hostname));
  spec["process"] = {
      {"user", {{"uid", 0}, {"gid", 0}}}, {"args", args}, {"env", env}, {"cwd", "/"}};
  spec["root"] = {{"path", "rootfs"}};
  spec["hostname"] = hostname;
  spec["mounts"] = {virtual_mount("proc", "proc", "/proc"),
                    virtual_mount("tmpfs", "tmpfs", "/dev"),
                    virtual_mount("sysfs", "sysfs", "/sys"),
                    virtual_mount("devpts", "devpts", "/dev/pts"),
                    virtual_mount("tmpfs", "shm", "/dev/shm"),
                    virtual_mount("cgroup", "cgroup", "/sys/fs/cgroup")};
  json::object annotations;
  for (const auto& [key, value] : config.annotations) {
    annotations[key] = value;
  }
  spec["annotations"] = std::move(annotations);
  json::array rules;
  rules.emplace_back(json::object{{"allow", false}, {"access", "rwm"}});
  json::object resources{{"devices", rules}};
  json::object cpu;
  if (!config.cpuset_cpus.empty()) {
    cpu["cpus"] = config.cpuset_cpus;
  }
  if (!config.cpuset_mems.empty()) {
    cpu["mems"] = config.cpuset_mems;
  }
  if (!cpu.empty()) {
    resources["cpu"] = std::move(cpu);
  }
  spec["linux"] = {{"devices", json::array()}, {"resources", std::move(resources)}};
  return spec;
}

// Environment, mounts and devices of the configuration, in the form that CDI edits have.
cdi::ContainerEdits edits_of(const ContainerConfig& config) {
  cdi::ContainerEdits edits;
  for (const auto& [name, value] : config.envs) {
    edits.env.push_back(fmt::format("{}={}", name, value));
  }
  for (const Device& device : config.devices) {
    edits.device_nodes.push_back({.path = device.container_path,
                                  .host_path = device.host_path,
                                  .permissions = device.permissions});
  }
  for (const Mount& mount : config.mounts) {
    edits.mounts.push_back({.host_path = mount.host_path,
                            .container_path = mount.container_path,
                            .options = {"rbind", "rprivate", mount.read_only ? "ro" : "rw"},
                            .type = "bind"});
  }
  return edits;
}

const json::array& array_at(const json::object& document, std::string_view dotted) {
  static const json::array kNone;
  const json::value* value = &document.at(dotted.substr(0, dotted.find('.')));
  if (const std::size_t dot = dotted.find('.'); dot != std::string_view::npos) {
    value = api::find_path(*value, dotted.substr(dot + 1));
  }
  return value && value->is_array() ? value->get_array() : kNone;
}

std::int64_t number_at(const json::value& item, std::string_view key) {
  const json::value* value = api::find(item, key);
  return value && (value->is_int64() || value->is_uint64()) ? value->to_number<std::int64_t>() : -1;
}

std::string text_at(const json::object& oci_spec, std::string_view cpu_member) {
  const json::value* cpu = api::find_path(oci_spec.at("linux"), "resources.cpu");
  return cpu ? std::string(api::string_at(*cpu, cpu_member)) : "";
}

// The union of what the cgroup rules for this device allow, in the order r, w, m.
std::string access_of(const json::array& rules, const DeviceNode& device) {
  std::string granted;
  for (const json::value& rule : rules) {
    const json::value* allow = api::find(rule, "allow");
    if (allow && allow->is_bool() && allow->get_bool() &&
        number_at(rule, "major") == device.major && number_at(rule, "minor") == device.minor) {
      granted += api::string_at(rule, "access");
    }
  }
  std::string access;
  for (const char letter : std::string_view("rwm")) {
    if (granted.find(letter) != std::string::npos) {
      access += letter;
    }
  }
  return access;
}

} // namespace

Result<json::object> make_oci_spec(const ContainerConfig& config, std::string_view hostname,
                                   const cdi::Registry& registry,
                                   const cdi::StatDevice& stat_device) {
  json::object spec = default_spec(config, hostname);
  BERTH_CHECK(cdi::apply_edits(edits_of(config), spec, stat_device));
  BERTH_CHECK(cdi::apply_devices(registry, config.cdi_devices, spec, stat_device));
  return spec;
}

Result<void> check_oci_spec(const ContainerConfig& config, const cdi::Registry& registry,
                            const cdi::StatDevice& stat_device) {
  BERTH_CHECK(cdi::check_edits(edits_of(config), stat_device));
  return cdi::check_devices(registry, config.cdi_devices, stat_device);
}

ContainerFacts facts_of(const json::object& oci_spec, const ContainerConfig& config) {
  ContainerFacts facts{.container = config.name,
                       .cdi_devices = config.cdi_devices,
                       .cpuset_cpus = text_at(oci_spec, "cpus"),
                       .cpuset_mems = text_at(oci_spec, "mems")};
  for (const json::value& item : array_at(oci_spec, "process.env")) {
    const std::string_view text = item.is_string() ? std::string_view(item.get_string()) : "";
    const std::size_t equals = text.find('=');
    facts.env.emplace_back(text.substr(0, equals),
                           equals == std::string_view::npos ? "" : text.substr(equals + 1));
  }
  const json::array& rules = array_at(oci_spec, "linux.resources.devices");
  for (const json::value& item : array_at(oci_spec, "linux.devices")) {
    DeviceNode device{.path = std::string(api::string_at(item, "path")),
                      .type = api::string_at(item, "type").starts_with('b') ? 'b' : 'c',
                      .major = number_at(item, "major"),
                      .minor = number_at(item, "minor")};
    device.permissions = access_of(rules, device);
    facts.devices.push_back(std::move(device));
  }
  for (const json::value& item : array_at(oci_spec, "mounts")) {
    const std::string_view type = api::string_at(item, "type");
    if (!type.empty() && type != "bind") {
      continue;
    }
    MountPoint mount{.source = std::string(api::string_at(item, "source")),
                     .destination = std::string(api::string_at(item, "destination"))};
    if (const json::value* options = api::find(item, "options"); options && options->is_array()) {
      for (const json::value& option : options->get_array()) {
        mount.options.emplace_back(option.get_string());
      }
    }
    facts.mounts.push_back(std::move(mount));
  }
  return facts;
}

Result<cdi::DeviceNumber> nvidia_device_number(const std::string& path) {
  constexpr std::int64_t kNvidia = 195;
  constexpr std::int64_t kUvm = 510;
  if (path == "/dev/nvidiactl") {
    return cdi::DeviceNumber{"c", kNvidia, 255};
  }
  if (path == "/dev/nvidia-modeset") {
    return cdi::DeviceNumber{"c", kNvidia, 254};
  }
  if (path == "/dev/nvidia-uvm" || path == "/dev/nvidia-uvm-tools") {
    return cdi::DeviceNumber{"c", kUvm, path.ends_with("tools") ? 1 : 0};
  }
  constexpr std::int64_t kCaps = 508;
  constexpr std::pair<std::string_view, std::int64_t> kNumbered[] = {
      {"/dev/nvidia-caps/nvidia-cap", kCaps}, {"/dev/nvidia", kNvidia}};
  for (const auto& [stem, major] : kNumbered) {
    int minor = -1;
    const char* end = path.data() + path.size();
    const auto read = path.starts_with(stem)
                          ? std::from_chars(path.data() + stem.size(), end, minor)
                          : std::from_chars_result{end, std::errc::invalid_argument};
    if (read.ec == std::errc() && read.ptr == end && minor >= 0) {
      return cdi::DeviceNumber{"c", major, minor};
    }
  }
  return fail(Code::NotFound, fmt::format("no such file or directory: {}", path));
}

} // namespace berth::runtime
