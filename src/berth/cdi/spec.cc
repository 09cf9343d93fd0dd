#include "berth/cdi/spec.h"

#include <utility>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <fmt/format.h>

#include "berth/cdi/spec_reader.h"

namespace berth::cdi {
namespace {

DeviceNode read_device_node(StrictReader& in) {
  DeviceNode node;
  in.text("path", node.path);
  in.text("hostPath", node.host_path);
  in.text("type", node.type);
  in.number("major", node.major);
  in.number("minor", node.minor);
  in.number("fileMode", node.file_mode);
  in.text("permissions", node.permissions);
  in.number("uid", node.uid);
  in.number("gid", node.gid);
  return node;
}

Mount read_mount(StrictReader& in) {
  Mount mount;
  in.text("hostPath", mount.host_path);
  in.text("containerPath", mount.container_path);
  in.texts("options", mount.options);
  in.text("type", mount.type);
  return mount;
}

Hook read_hook(StrictReader& in) {
  Hook hook;
  in.text("hookName", hook.hook_name);
  in.text("path", hook.path);
  in.texts("args", hook.args);
  in.texts("env", hook.env);
  in.number("timeout", hook.timeout);
  return hook;
}

IntelRdt read_intel_rdt(StrictReader& in) {
  IntelRdt rdt;
  in.text("closID", rdt.clos_id);
  in.text("l3CacheSchema", rdt.l3_cache_schema);
  in.text("memBwSchema", rdt.mem_bw_schema);
  in.texts("schemata", rdt.schemata);
  in.flag("enableCMT", rdt.enable_cmt);
  in.flag("enableMBM", rdt.enable_mbm);
  in.flag("enableMonitoring", rdt.enable_monitoring);
  return rdt;
}

ContainerEdits read_edits(StrictReader& in) {
  ContainerEdits edits;
  in.texts("env", edits.env);
  in.objects("deviceNodes",
             [&](StrictReader& item) { edits.device_nodes.push_back(read_device_node(item)); });
  in.objects("netDevices", [&](StrictReader& item) {
    NetDevice& device = edits.net_devices.emplace_back();
    item.text("hostInterfaceName", device.host_interface_name);
    item.text("name", device.name);
  });
  in.objects("hooks", [&](StrictReader& item) { edits.hooks.push_back(read_hook(item)); });
  in.objects("mounts", [&](StrictReader& item) { edits.mounts.push_back(read_mount(item)); });
  in.object("intelRdt", [&](StrictReader& item) { edits.intel_rdt = read_intel_rdt(item); });
  in.numbers("additionalGids", edits.additional_gids);
  return edits;
}

void put(json::object& out, std::string_view key, const std::string& text) {
  if (!text.empty()) {
    out[key] = text;
  }
}

template <class T>
void put(json::object& out, std::string_view key, const std::optional<T>& number) {
  if (number) {
    out[key] = static_cast<std::int64_t>(*number);
  }
}

void put(json::object& out, std::string_view key, const std::vector<std::string>& texts) {
  if (!texts.empty()) {
    out[key] = json::array(texts.begin(), texts.end());
  }
}

void put(json::object& out, std::string_view key, const api::Labels& labels) {
  if (!labels.empty()) {
    json::object& object = out[key].emplace_object();
    for (const auto& [name, value] : labels) {
      object[name] = value;
    }
  }
}

void put_flag(json::object& out, std::string_view key, const bool& flag) {
  if (flag) {
    out[key] = true;
  }
}

json::object write(const DeviceNode& node) {
  json::object out;
  put(out, "path", node.path);
  put(out, "hostPath", node.host_path);
  put(out, "type", node.type);
  put(out, "major", node.major);
  put(out, "minor", node.minor);
  put(out, "fileMode", node.file_mode);
  put(out, "permissions", node.permissions);
  put(out, "uid", node.uid);
  put(out, "gid", node.gid);
  return out;
}

json::object write(const NetDevice& device) {
  json::object out;
  put(out, "hostInterfaceName", device.host_interface_name);
  put(out, "name", device.name);
  return out;
}

json::object write(const Hook& hook) {
  json::object out;
  put(out, "hookName", hook.hook_name);
  put(out, "path", hook.path);
  put(out, "args", hook.args);
  put(out, "env", hook.env);
  put(out, "timeout", hook.timeout);
  return out;
}

json::object write(const Mount& mount) {
  json::object out;
  put(out, "hostPath", mount.host_path);
  put(out, "containerPath", mount.container_path);
  put(out, "options", mount.options);
  put(out, "type", mount.type);
  return out;
}

json::object write(const IntelRdt& rdt) {
  json::object out;
  put(out, "closID", rdt.clos_id);
  put(out, "l3CacheSchema", rdt.l3_cache_schema);
  put(out, "memBwSchema", rdt.mem_bw_schema);
  put(out, "schemata", rdt.schemata);
  put_flag(out, "enableCMT", rdt.enable_cmt);
  put_flag(out, "enableMBM", rdt.enable_mbm);
  put_flag(out, "enableMonitoring", rdt.enable_monitoring);
  return out;
}

json::object write(const Device& device);

template <class T>
void put_items(json::object& out, std::string_view key, const std::vector<T>& items) {
  if (!items.empty()) {
    json::array& array = out[key].emplace_array();
    for (const T& item : items) {
      array.emplace_back(write(item));
    }
  }
}

json::object write(const ContainerEdits& edits) {
  json::object out;
  put(out, "env", edits.env);
  put_items(out, "deviceNodes", edits.device_nodes);
  put_items(out, "netDevices", edits.net_devices);
  put_items(out, "hooks", edits.hooks);
  put_items(out, "mounts", edits.mounts);
  if (edits.intel_rdt) {
    out["intelRdt"] = write(*edits.intel_rdt);
  }
  if (!edits.additional_gids.empty()) {
    json::array& gids = out["additionalGids"].emplace_array();
    for (const std::uint32_t gid : edits.additional_gids) {
      gids.emplace_back(static_cast<std::int64_t>(gid));
    }
  }
  return out;
}

json::object write(const Device& device) {
  json::object out{{"name", device.name}};
  put(out, "annotations", device.annotations);
  out["containerEdits"] = write(device.edits);
  return out;
}

} // namespace

bool ContainerEdits::empty() const {
  return *this == ContainerEdits{};
}

std::string qualified_name(std::string_view kind, std::string_view device) {
  return fmt::format("{}={}", kind, device);
}

namespace {

Result<Spec> read_spec(const json::value& document, std::string_view file, Scalars scalars) {
  Spec spec;
  StrictReader in(document, file, "", scalars);
  in.text("cdiVersion", spec.cdi_version);
  in.text("kind", spec.kind);
  in.labels("annotations", spec.annotations);
  in.objects("devices", [&](StrictReader& item) {
    Device& device = spec.devices.emplace_back();
    item.text("name", device.name);
    item.labels("annotations", device.annotations);
    item.object("containerEdits", [&](StrictReader& edits) { device.edits = read_edits(edits); });
  });
  in.object("containerEdits", [&](StrictReader& edits) { spec.edits = read_edits(edits); });
  BERTH_CHECK(in.finish());
  if (auto valid = validate(spec); !valid) {
    Error error = std::move(valid).error();
    if (error.where) {
      error.where->file = std::string(file);
    }
    return tl::unexpected(std::move(error));
  }
  return spec;
}

} // namespace

Result<Spec> parse_spec(const json::value& document, std::string_view file) {
  return read_spec(document, file, Scalars::Strict);
}

Result<Spec> parse_yaml_spec(const json::value& document, std::string_view file) {
  return read_spec(document, file, Scalars::BecomeText);
}

json::value to_json(const Spec& spec) {
  json::object out;
  put(out, "cdiVersion", spec.cdi_version);
  put(out, "kind", spec.kind);
  put(out, "annotations", spec.annotations);
  put_items(out, "devices", spec.devices);
  if (!spec.edits.empty()) {
    out["containerEdits"] = write(spec.edits);
  }
  return out;
}

} // namespace berth::cdi
