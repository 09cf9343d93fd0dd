// Everything discovery says of a node's GPUs beyond what a device plugin needs: software versions,
// MIG instances, NVLink domain, who uses them. From NVML, or of a simulated machine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/hardware/platform.h"

namespace berth::hardware {

struct GpuInfo {
  int index = 0;
  std::string uuid;        ///< "GPU-..."
  std::string pci_bus_id;  ///< "00000000:1b:00.0"
  std::optional<int> numa; ///< none: the machine does not say (never the same as node 0)
  int minor = 0;           ///< of /dev/nvidia<minor>
  std::int64_t memory_mib = 0;
  std::string product;
};

/// One MIG device: a GPU instance with a compute instance on it.
struct MigDevice {
  std::string uuid;    ///< "MIG-..."
  std::string profile; ///< "1g.10gb", "1g.10gb+me", "1c.2g.20gb"
  int gpu_instance = 0;
  int compute_instance = 0;
  int start = -1; ///< first memory slice; -1: this driver does not say
  int size = 0;   ///< memory slices
  std::int64_t memory_mib = 0;
  int multiprocessors = 0;
  int gpu_slices = 0;
  int compute_slices = 0;
  int copy_engines = 0;
  int decoders = 0;
  int encoders = 0;
  int jpeg_engines = 0;
  int ofa_engines = 0;
  bool operator==(const MigDevice&) const = default;
};

struct GpuFacts {
  GpuInfo info;
  bool answers = true; ///< false: it was lost before anything could be read
  std::string name;    ///< as the driver says it, "NVIDIA H100 80GB HBM3"
  int compute_major = 0;
  int compute_minor = 0;
  std::string family; ///< "hopper"; "undefined" if not known
  int pci_class = 0;  ///< 0x030200 a 3D controller, 0x030000 a display; 0: not known
  bool mig_capable = false;
  bool mig_enabled = false;
  bool mig_pending = false; ///< MIG mode is to change, when the GPU is reset or at the next boot
  std::vector<MigDevice> mig;
  std::string fabric; ///< "CLUSTER-UUID.CLIQUE" of a multi-node NVLink domain; "" outside of one
  int nvlinks = 0;    ///< active
};

struct NodeFacts {
  std::string driver; ///< "580.95.05"
  int cuda_major = 0; ///< the newest CUDA the driver runs
  int cuda_minor = 0;
  std::string machine; ///< DMI product name; "" if not known
  std::vector<GpuFacts> gpus;
};

struct GpuProcess {
  unsigned pid = 0;
  std::int64_t memory_mib = -1; ///< -1: not known
  int gpu_instance = -1;        ///< that it computes on; -1: on the GPU as a whole
};

/// What discovery would find on a node of the platform. The same versions as its Node object.
NodeFacts simulated_facts(const Platform& platform, std::string_view node_name);

/// Feature discovery's word for an architecture, from the compute capability: "ampere".
std::string_view gpu_family(int compute_major, int compute_minor);

/// The name of a MIG profile: slices, and memory as the share of the whole GPU's in eighths.
/// "1g.10gb", "+me" for the one with media engines, "1c.2g.20gb" for a part of an instance.
std::string mig_profile_name(const MigDevice& device, std::int64_t gpu_memory_bytes);

} // namespace berth::hardware
