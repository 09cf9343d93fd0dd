// Container Device Interface specs: what a device adds to a container, as a value. Read strictly,
// validated, written. Source: CDI specification 1.1.0 (field set, minimum versions, name rules).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/api/json.h"
#include "berth/api/object.h"
#include "berth/base/result.h"

namespace berth::cdi {

namespace json = boost::json;

struct DeviceNode {
  std::string path;      ///< in the container
  std::string host_path; ///< "" means `path`
  std::string type;      ///< "c", "b", "u", "p"; "" is found by stat when applied
  std::optional<std::int64_t> major;
  std::optional<std::int64_t> minor;
  std::optional<std::uint32_t> file_mode;
  std::string permissions; ///< of "rwm"; "" means "rwm"; "none": no cgroup rule
  std::optional<std::uint32_t> uid;
  std::optional<std::uint32_t> gid;

  bool operator==(const DeviceNode&) const = default;
};

struct Mount {
  std::string host_path;
  std::string container_path;
  std::vector<std::string> options;
  std::string type;

  bool operator==(const Mount&) const = default;
};

struct Hook {
  std::string
      hook_name; ///< prestart, createRuntime, createContainer, startContainer, poststart, poststop
  std::string path;
  std::vector<std::string> args;
  std::vector<std::string> env;
  std::optional<std::int64_t> timeout;

  bool operator==(const Hook&) const = default;
};

struct NetDevice {
  std::string host_interface_name;
  std::string name;

  bool operator==(const NetDevice&) const = default;
};

/// Intel resource director settings; replaced as a whole when applied.
struct IntelRdt {
  std::string clos_id;
  std::string l3_cache_schema;
  std::string mem_bw_schema;
  std::vector<std::string> schemata;
  bool enable_cmt = false;
  bool enable_mbm = false;
  bool enable_monitoring = false;

  bool operator==(const IntelRdt&) const = default;
};

struct ContainerEdits {
  std::vector<std::string> env; ///< "NAME=value"
  std::vector<DeviceNode> device_nodes;
  std::vector<NetDevice> net_devices;
  std::vector<Hook> hooks;
  std::vector<Mount> mounts;
  std::optional<IntelRdt> intel_rdt;
  std::vector<std::uint32_t> additional_gids;

  bool empty() const;
  bool operator==(const ContainerEdits&) const = default;
};

struct Device {
  std::string name;
  api::Labels annotations;
  ContainerEdits edits;

  bool operator==(const Device&) const = default;
};

struct Spec {
  std::string cdi_version;
  std::string kind; ///< "vendor/class"
  api::Labels annotations;
  std::vector<Device> devices;
  ContainerEdits edits; ///< applied once when any of the devices is

  bool operator==(const Spec&) const = default;
};

/// A name as requested: "vendor/class=device".
std::string qualified_name(std::string_view kind, std::string_view device);
/// Splits a qualified name into kind and device; Invalid if a part breaks the naming rules.
struct QualifiedName {
  std::string kind;
  std::string device;
};
Result<QualifiedName> parse_qualified_name(std::string_view text);

/// Reads and validates a spec document. An unknown field is an error, as in the reference library.
/// Errors name `file` and the field.
Result<Spec> parse_spec(const json::value& document, std::string_view file);
/// The same of a document that was YAML: a number or a boolean becomes its text where a string is
/// wanted, as with the reference library. Who writes "name: 0" rarely quotes it.
Result<Spec> parse_yaml_spec(const json::value& document, std::string_view file);
/// Names, versions, non-empty devices, well-formed edits. Error Invalid with the field.
Result<void> validate(const Spec& spec);
/// The document; fields that are empty are left out. parse_spec(to_json(s)) == s for a valid s.
json::value to_json(const Spec& spec);
/// The oldest CDI version that has every feature the spec uses, e.g. "0.5.0".
std::string minimum_version(const Spec& spec);

} // namespace berth::cdi
