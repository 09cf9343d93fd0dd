// How the device plugin is configured: the values of NVIDIA's k8s-device-plugin, file version v1,
// with its defaults. Names, defaults and error texts are its own (api/config/v1, 0.20), so that a
// file written for it works here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/base/result.h"
#include "berth/base/time.h"
#include "berth/inventory/discovery_labels.h"
#include "berth/model/gpu_slices.h"

namespace berth::deviceplugin {

/// How a container is told which devices it has. Several may be given at once.
struct DeviceListStrategies {
  bool envvar = true;           ///< NVIDIA_VISIBLE_DEVICES names them
  bool volume_mounts = false;   ///< a mount below /var/run/nvidia-container-devices for each
  bool cdi_annotations = false; ///< an annotation cdi.k8s.io/... with their CDI names
  bool cdi_cri = false;         ///< the CDI names themselves

  bool any_cdi() const { return cdi_annotations || cdi_cri; }
  bool operator==(const DeviceListStrategies&) const = default;
};

enum class DeviceIdStrategy { Uuid, Index };

enum class DiscoveryStrategy { Auto, Nvml, Tegra };

/// Which GPU's replicas are preferred for a request.
enum class AllocationPolicy {
  Distributed, ///< of the GPU with the fewest taken
  Packed,      ///< of the GPU with the most taken
  Spread,      ///< of GPUs that the request has nothing of yet
};

struct PluginFlags {
  bool pass_device_specs = false;
  DeviceListStrategies device_list_strategies;
  DeviceIdStrategy device_id_strategy = DeviceIdStrategy::Uuid;
  std::string cdi_annotation_prefix = "cdi.k8s.io/";
  std::string nvidia_ctk_path = "/usr/bin/nvidia-ctk"; ///< the program of hooks in CDI specs
  std::string container_driver_root = "/driver-root";
  AllocationPolicy shared_devices_allocation_policy = AllocationPolicy::Distributed;

  bool operator==(const PluginFlags&) const = default;
};

/// Of GPU feature discovery, which reads the same file.
struct DiscoveryFlags {
  bool oneshot = false;
  bool no_timestamp = false;
  Duration sleep_interval = Duration::seconds(60);
  std::string output_file = "/etc/kubernetes/node-feature-discovery/features.d/gfd";
  std::string machine_type_file = "/sys/class/dmi/id/product_name";

  bool operator==(const DiscoveryFlags&) const = default;
};

struct Flags {
  inventory::MigStrategy mig_strategy = inventory::MigStrategy::None;
  bool fail_on_init_error = true;
  std::string mps_root; ///< on the host; needed for MPS
  std::string nvidia_driver_root = "/";
  std::string nvidia_dev_root; ///< where device nodes are; "" in a file means the driver's root
  bool gdrcopy_enabled = false;
  bool gds_enabled = false;
  bool mofed_enabled = false;
  bool use_node_feature_api = true;
  DiscoveryStrategy device_discovery_strategy = DiscoveryStrategy::Auto;
  PluginFlags plugin;
  DiscoveryFlags gfd;

  bool operator==(const Flags&) const = default;
};

/// Which devices of a resource are shared: every one, the first few, or those named by index ("0",
/// "0:1") or UUID.
struct SharedDevices {
  std::optional<int> count;
  std::optional<std::vector<std::string>> list;

  bool all() const { return !count && !list; }
  bool operator==(const SharedDevices&) const = default;
};

struct SharedResource {
  std::string name;   ///< "nvidia.com/gpu"
  std::string rename; ///< what its replicas are called; "" as the resource itself
  SharedDevices devices;
  int replicas = 0;

  bool operator==(const SharedResource&) const = default;
};

/// The section sharing.timeSlicing or sharing.mps.
struct SharedResources {
  bool rename_by_default = false;
  bool fail_requests_greater_than_one = false;
  /// Berth's own: a request for several replicas is refused unless each is of another GPU.
  bool require_distinct_devices = false;
  std::vector<SharedResource> resources;

  bool operator==(const SharedResources&) const = default;
};

struct Sharing {
  std::optional<SharedResources> time_slicing;
  std::optional<SharedResources> mps; ///< wins over time slicing

  inventory::Sharing strategy() const;
  /// Of the strategy that counts; nullptr: nothing is shared.
  const SharedResources* resources() const;
  bool operator==(const Sharing&) const = default;
};

/// How many replicas Allocate gives to one container.
model::ReplicaLimit replica_limit(const Sharing& sharing);

struct Imex {
  std::vector<std::int64_t> channel_ids; ///< none, or channel 0
  bool required = false;

  bool operator==(const Imex&) const = default;
};

/// DP_DISABLE_HEALTHCHECKS and DP_ENABLE_HEALTHCHECKS. What is enabled wins.
struct HealthChecks {
  bool off = false;          ///< "all": nothing makes a device unhealthy
  bool no_xids = false;      ///< "xids": no Xid does, what is lost still does
  bool every_xid = false;    ///< all are enabled, the application's own errors too
  std::vector<int> disabled; ///< ascending
  std::vector<int> enabled;  ///< ascending

  bool operator==(const HealthChecks&) const = default;
};

struct Config {
  Flags flags;
  Sharing sharing;
  Imex imex;
  HealthChecks health;
  std::vector<std::string> remarks; ///< what was given and is without effect, for people

  bool operator==(const Config&) const = default;
};

inline constexpr std::size_t kLongestResourceName = 63;

/// "gpu" -> "nvidia.com/gpu". Error Invalid: too long, or not a name.
Result<std::string> resource_name(std::string_view name);

/// Rules that span fields: MPS needs a root and no mixed MIG. Error Invalid in the plugin's words.
Result<void> validate(const Config& config);

} // namespace berth::deviceplugin
