// One model of machine: sockets, NUMA nodes, PCIe, NVLink, NICs, GPUs, as the catalogue's data
// files say.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "berth/base/result.h"
#include "berth/hardware/devices.h"
#include "berth/model/node.h"

namespace berth::hardware {

class PlacementTable;

/// Immutable; shared by every node of the model. Invariants (checked by finish_platform):
/// gpus[i].index == i, 1 to 16 GPUs, numa[i].id == i, pcie_switches[i].id == i, `nvlinks` square
/// and symmetric.
struct Platform {
  std::string name;    ///< catalogue name, "dgx-h100"
  std::string title;   ///< for people, "NVIDIA DGX H100"
  std::string machine; ///< DMI product name, blanks as '-' in nvidia.com/gpu.machine: "DGXH100"
  std::string instance_type;
  std::vector<std::string> also_products; ///< gpu.product values of machines with the same graph
  std::vector<std::string> also_instance_types; ///< cloud instance types with the same graph
  int sockets = 0;
  int numa_nodes = 0;
  int cpus = 0; ///< logical
  std::int64_t memory_gib = 0;
  int inter_socket_mbps = 0;
  CpuModel cpu_model;
  Disks disks;
  GpuModel gpu_model;
  std::vector<NumaNode> numa;
  std::vector<PcieSwitch> pcie_switches;
  std::vector<Gpu> gpus;
  std::vector<Nic> nics;
  bool nvswitch = false;      ///< every GPU reaches every other at full rate
  bool nvls = false;          ///< in-switch reduction (NVLink SHARP)
  bool c2c = false;           ///< GPUs hang on the CPU by NVLink-C2C, not by PCIe
  int nvlink_domain_gpus = 0; ///< size of a multi-node NVLink domain, 0: none
  std::vector<std::vector<int>>
      nvlinks; ///< links between GPUs i and j (via switch: all of a GPU's)
  /// What choosing and prediction look up, made once by finish_platform from the fields above.
  /// Never null in a finished platform.
  std::shared_ptr<const PlacementTable> table;

  Link link(int gpu_a, int gpu_b) const;
  /// The same without NVLink, as `nvidia-smi topo -mp`.
  Link pcie_link(int gpu_a, int gpu_b) const;
  Link nic_link(int gpu, int nic) const;
  Link link_of_nics(int nic_a, int nic_b) const;
  int socket_of(int numa_node) const { return numa[static_cast<std::size_t>(numa_node)].socket; }
  /// The outermost switch above `pcie_switch`; -1 for -1.
  int top_switch(int pcie_switch) const;
};

/// Checks the invariants, derives what follows from them and attaches the table. Every Platform
/// comes from here.
Result<Platform> finish_platform(Platform platform);

/// The catalogue, by name. Immutable; copies share their platforms, which live as long as one of
/// them does.
class Catalogue {
 public:
  /// The platforms shipped with Berth (embedded data files). Parsed once; a broken file is a bug of
  /// ours.
  static const Catalogue& builtin();
  /// Reads one platform file's text. Errors name file, line and field.
  static Result<Platform> parse_platform(std::string_view yaml, std::string_view file);

  /// This catalogue and one platform more. Error AlreadyExists: it has one of that name.
  Result<Catalogue> with(Platform platform) const;

  const Platform* find(std::string_view name) const;
  std::vector<std::string> names() const;

  /// The platform of a Kubernetes node: label berth.dev/platform, else instance type, else
  /// gpu.product with gpu.count; nullptr if unknown (GPUs are then counted, not chosen). Also
  /// nullptr where gpu.count or the node's capacity contradict the platform, and where
  /// nvidia.com/gpu does not stand for whole GPUs: time-slicing or MPS replicas, MIG strategy
  /// single.
  const Platform* of_node(const model::Node& node) const;

 private:
  std::map<std::string, std::shared_ptr<const Platform>, std::less<>> by_name_;
};

/// Labels GPU feature discovery sets on such a node (all with values), plus berth.dev/platform. As
/// discovery run with
/// --no-timestamp and MIG strategy none: no gfd.timestamp, no mig.strategy.
api::Labels node_labels(const Platform& platform);

/// A Node document as a healthy agent would register it: labels, capacity, allocatable, conditions,
/// nodeInfo. A function of its arguments; times are left to whoever writes it.
api::json::value node_document(const Platform& platform, std::string_view name);

/// nvidia.com/gpu.clique of a node in a multi-node NVLink domain, "" elsewhere. Nodes NAME-1 ...
/// NAME-k that fill one domain share it, the next k the next one; names without a number share the
/// first.
std::string gpu_clique(const Platform& platform, std::string_view node_name);

/// Stable UUID of a simulated GPU: "GPU-...", a function of node name and index.
std::string gpu_uuid(std::string_view node_name, int index);

} // namespace berth::hardware
