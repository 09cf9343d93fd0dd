// What NVML says of the machine when it is asked once: each GPU's facts, and the paths between them
// as the matrix that nvidia-smi topo -m prints.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "berth/hardware/formats/topo_matrix.h"
#include "berth/inventory/facts.h"
#include "berth/inventory/inventory.h"
#include "berth/inventory/nvml_library.h"

namespace berth::inventory::nvml {

struct Reading {
  NodeFacts facts;
  std::vector<Device> devices;    ///< by index; nullptr: the GPU does not answer
  std::vector<std::string> notes; ///< what could not be read, and why
};

/// What the system says of a PCI device, beside the driver.
struct PciFacts {
  std::optional<int> numa; ///< none: it does not say
  int pci_class = 0;       ///< 0x030200; 0: it does not say
};
/// Asks for the device with a bus id such as "0000:1b:00.0".
using PciOf = std::function<PciFacts(const std::string& bus_id)>;

/// Facts of every GPU, at most 64. A GPU that does not answer is kept in its place with the UUID
/// "GPU-lost-INDEX". Error Unavailable: not even their number can be read.
Result<Reading> read_machine(const Library& library, const PciOf& pci_of);

/// NVLinks count where the other end is a GPU of the machine, or a switch. Paths that cannot be
/// read are SYS. O(gpus^2) calls.
hardware::TopoMatrix read_matrix(const Library& library, const Reading& reading);

/// MIG mode and devices of a GPU as they are now, in place of what `facts` says of them.
void refresh_mig(const Library& library, Device device, GpuFacts& facts);

/// Has the GPU joined its NVLink domain?
FabricState read_fabric_state(const Library& library, Device device);

/// The MIG devices of a GPU now; empty if there are none, or the driver knows of none.
std::vector<MigDevice> read_mig(const Library& library, Device device,
                                std::int64_t gpu_memory_bytes);

/// Who computes on a GPU now. Error Unavailable with the library's reason.
Result<std::vector<GpuProcess>> read_processes(const Library& library, Device device);

} // namespace berth::inventory::nvml
