// The parts a machine is made of, as the catalogue's data files state them. Words and numbers are
// those of nvidia-smi, lspci and NCCL's topology files, so that `nvidia-smi topo -m` and NCCL XML
// can be printed from them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace berth::hardware {

/// How two GPUs (or a GPU and a NIC) reach each other, nvidia-smi's words, best first.
enum class Link { Self, NVLink, C2C, PIX, PXB, PHB, NODE, SYS };

/// nvidia-smi's word, e.g. "PXB"; "X" for Self.
std::string_view to_string(Link link);

/// Where a device hangs in the PCIe tree.
struct PciePlace {
  int numa = 0;         ///< NUMA node id
  int root_complex = 0; ///< PCIe host bridge
  int pcie_switch = -1; ///< id of the switch directly above, -1: the root complex itself
};

struct Gpu {
  int index = 0;
  int numa = 0;           ///< NUMA node id
  int pcie_switch = -1;   ///< -1: attached to the root complex
  int root_complex = 0;   ///< PCIe host bridge
  std::string pci_bus_id; ///< "00000000:1b:00.0"
  int memory_numa = -1; ///< NUMA id of the GPU's own memory on coherent machines (Grace), -1: none

  PciePlace place() const {
    return {.numa = numa, .root_complex = root_complex, .pcie_switch = pcie_switch};
  }
};

struct Nic {
  std::string name; ///< e.g. "mlx5_0"
  int rail = -1;    ///< compute rail, -1: storage or management
  int gbits = 0;
  int numa = 0;
  int pcie_switch = -1;
  int root_complex = 0;
  std::string pci_bus_id;
  std::string model; ///< "ConnectX-7"
  std::string layer; ///< "infiniband" or "ethernet"

  PciePlace place() const {
    return {.numa = numa, .root_complex = root_complex, .pcie_switch = pcie_switch};
  }
};

/// A PCIe switch, or one of the bridges inside it: devices below the same one are PIX, below the
/// same top one PXB.
struct PcieSwitch {
  int id = 0;
  int parent = -1; ///< the switch above, -1: the root complex
  int root_complex = 0;
};

struct NumaNode {
  int id = 0;
  int socket = 0;
  std::string cpus; ///< logical CPUs as Linux lists them, "0-55,112-167"
};

struct CpuModel {
  std::string name;         ///< "Intel Xeon Platinum 8480C"
  std::string vendor;       ///< CPUID's, "GenuineIntel"
  std::string architecture; ///< kubernetes.io/arch: "amd64" or "arm64"
  int family = 0;
  int model = 0;
};

struct Disks {
  int root_gib = 0;    ///< the file system kubelet counts as ephemeral-storage
  int nvme_drives = 0; ///< data drives beside it
  int nvme_gib = 0;    ///< each
};

struct GpuModel {
  std::string product; ///< nvidia.com/gpu.product, e.g. "NVIDIA-H100-80GB-HBM3"
  std::string family;  ///< "hopper"
  int compute_major = 0;
  int compute_minor = 0;
  std::int64_t memory_mib = 0;
  int nvlink_links = 0;         ///< per GPU
  int nvlink_mbps_per_link = 0; ///< usable by NCCL, one direction
  int pcie_mbps = 0;            ///< usable, one direction
  bool mig_capable = false;
  int pcie_gen = 0;
  int pcie_width = 0;
  int pci_device = 0; ///< PCI device id, 0x2330 for H100 SXM
  int nvls_efficiency_percent =
      0; ///< share of the link rate NVLink SHARP reaches, 0: no in-switch reduction
  int nvls_ceiling_mbps =
      0; ///< bus bandwidth no number of GPUs exceeded in measurements, 0: none known
};

} // namespace berth::hardware
