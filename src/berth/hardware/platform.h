// One model of machine: sockets, NUMA nodes, PCIe, NVLink, NICs, GPUs, as the catalogue's data files say.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "berth/base/result.h"
#include "berth/model/node.h"

namespace berth::hardware {

/// How two GPUs (or a GPU and a NIC) reach each other, nvidia-smi's words, best first.
enum class Link { Self, NVLink, C2C, PIX, PXB, PHB, NODE, SYS };

struct Gpu {
  int index = 0;
  int numa = 0;           ///< NUMA node id
  int pcie_switch = -1;   ///< -1: attached to the root complex
  int root_complex = 0;   ///< PCIe host bridge
  std::string pci_bus_id; ///< "00000000:1b:00.0"
};

struct Nic {
  std::string name; ///< e.g. "mlx5_0"
  int rail = -1;    ///< compute rail, -1: storage or management
  int gbits = 0;
  int numa = 0;
  int pcie_switch = -1;
  int root_complex = 0;
};

struct GpuModel {
  std::string product;      ///< nvidia.com/gpu.product, e.g. "NVIDIA-H100-80GB-HBM3"
  std::string family;       ///< "hopper"
  int compute_major = 0;
  int compute_minor = 0;
  std::int64_t memory_mib = 0;
  int nvlink_links = 0;     ///< per GPU
  int nvlink_mbps_per_link = 0; ///< usable by NCCL, one direction
  int pcie_mbps = 0;        ///< usable, one direction
  bool mig_capable = false;
};

/// Immutable; shared by every node of the model. Invariant: gpus[i].index == i, at most 16 GPUs.
struct Platform {
  std::string name;    ///< catalogue name, "dgx-h100"
  std::string machine; ///< nvidia.com/gpu.machine, "NVIDIA DGX H100"
  std::string instance_type;
  int sockets = 0;
  int numa_nodes = 0;
  int cpus = 0;            ///< logical
  std::int64_t memory_gib = 0;
  int inter_socket_mbps = 0;
  GpuModel gpu_model;
  std::vector<Gpu> gpus;
  std::vector<Nic> nics;
  bool nvswitch = false;     ///< every GPU reaches every other at full rate
  bool nvls = false;         ///< in-switch reduction (NVLink SHARP)
  int nvlink_domain_gpus = 0; ///< size of a multi-node NVLink domain, 0: none
  std::vector<std::vector<int>> nvlinks; ///< links between GPUs i and j (via switch: all of a GPU's)

  Link link(int gpu_a, int gpu_b) const;
  Link nic_link(int gpu, int nic) const;
};

/// The catalogue, by name. Immutable after loading.
class Catalogue {
public:
  /// The platforms shipped with Berth (embedded data files). Parsed once; a broken file is a bug of ours.
  static const Catalogue& builtin();
  /// Reads one platform file's text. Errors name file, line and field.
  static Result<Platform> parse_platform(std::string_view yaml, std::string_view file);

  const Platform* find(std::string_view name) const;
  std::vector<std::string> names() const;

  /// The platform of a Kubernetes node: label berth.dev/platform, else instance type, else gpu.product with
  /// gpu.count; nullptr if unknown (GPUs are then counted, not chosen).
  const Platform* of_node(const model::Node& node) const;

private:
  std::map<std::string, std::shared_ptr<const Platform>, std::less<>> by_name_;
};

/// Labels GPU feature discovery sets on such a node (all with values), plus berth.dev/platform.
api::Labels node_labels(const Platform& platform);

/// A Node document as a healthy agent would register it: labels, capacity, allocatable, conditions, nodeInfo.
api::json::value node_document(const Platform& platform, std::string_view name);

/// Stable UUID of a simulated GPU: "GPU-...", a function of node name and index.
std::string gpu_uuid(std::string_view node_name, int index);

} // namespace berth::hardware
