// The kubelet's device plugin contract v1beta1 as C++: messages and both services. The in-process
// form calls these directly; the gRPC form carries the same values. Names and fields are those of
// the protobuf package v1beta1.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/base/result.h"

namespace berth::deviceplugin {

inline constexpr std::string_view kVersion = "v1beta1";
inline constexpr std::string_view kHealthy = "Healthy";
inline constexpr std::string_view kUnhealthy = "Unhealthy";

struct DevicePluginOptions {
  bool pre_start_required = false;
  bool get_preferred_allocation_available = false;

  bool operator==(const DevicePluginOptions&) const = default;
};

struct Device {
  std::string id;
  std::string health = std::string(kHealthy);
  /// TopologyInfo.nodes; none is "no topology", which is not NUMA node 0.
  std::vector<std::int64_t> numa_nodes;

  bool operator==(const Device&) const = default;
};

struct PreferredAllocationRequest {
  std::vector<std::string> available;
  std::vector<std::string> must_include;
  int allocation_size = 0;

  bool operator==(const PreferredAllocationRequest&) const = default;
};

struct Mount {
  std::string container_path;
  std::string host_path;
  bool read_only = false;

  bool operator==(const Mount&) const = default;
};

struct DeviceSpec {
  std::string container_path;
  std::string host_path;
  std::string permissions; ///< subset of "rwm"

  bool operator==(const DeviceSpec&) const = default;
};

struct ContainerAllocateResponse {
  std::map<std::string, std::string> envs;
  std::vector<Mount> mounts;
  std::vector<DeviceSpec> devices;
  std::map<std::string, std::string> annotations;
  std::vector<std::string> cdi_devices; ///< qualified names

  bool operator==(const ContainerAllocateResponse&) const = default;
};

template <class T> using Done = std::function<void(Result<T>)>;

/// A running ListAndWatch. Dropping it hangs up; nothing is delivered afterwards.
class DeviceStream {
 public:
  virtual ~DeviceStream() = default;
};

/// The plugin's service as its client holds it: the connection to one life of one plugin. Every
/// callback is a later task of the Loop and comes exactly once. When the plugin goes, streams end
/// and calls fail with Unavailable.
class DevicePlugin {
 public:
  virtual ~DevicePlugin() = default;

  virtual void get_options(Done<DevicePluginOptions> done) = 0;
  /// `on_list` gets the full list at once and at every change; `on_end` is last.
  virtual std::unique_ptr<DeviceStream>
  list_and_watch(std::function<void(std::vector<Device>)> on_list,
                 std::function<void(Error)> on_end) = 0;
  /// One container's request; the answer need not be obeyed.
  virtual void get_preferred_allocation(const PreferredAllocationRequest& request,
                                        Done<std::vector<std::string>> done) = 0;
  /// One list of ids a container; the answer has as many entries.
  virtual void allocate(const std::vector<std::vector<std::string>>& containers,
                        Done<std::vector<ContainerAllocateResponse>> done) = 0;
  virtual void pre_start_container(const std::vector<std::string>& ids, Done<void> done) = 0;
};

struct RegisterRequest {
  std::string version = std::string(kVersion);
  std::string resource_name;
  std::shared_ptr<DevicePlugin> endpoint; ///< what the socket named in the message leads to
};

/// The kubelet's side.
class Registration {
 public:
  virtual ~Registration() = default;
  virtual void register_plugin(RegisterRequest request, Done<void> done) = 0;
};

} // namespace berth::deviceplugin
