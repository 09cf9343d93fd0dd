// NCCL's topology file, as NCCL_TOPO_DUMP_FILE writes it and NCCL_TOPO_FILE reads it (version 1):
// system > cpu > pci > gpu | nic > net. Source: NCCL's graph/xml.cc and graph/topo.cc, and the
// files that cloud providers ship. Reading it is import.h's import_nccl_xml.
#pragma once

#include <string>
#include <string_view>

#include "berth/hardware/platform.h"

namespace berth::hardware {

/// The file that NCCL would dump on such a machine. PCIe switches have no bus ids in a platform and
/// get those that cloud providers use for switches nobody sees (ffff:ff:01.0). What a platform does
/// not know (subsystem ids) is left out, which NCCL allows. O(devices^2).
std::string nccl_xml(const Platform& platform);

/// What the names of NICs' models are on the PCI bus.
struct NicModel {
  std::string_view name; ///< "ConnectX-7"
  int vendor = 0;        ///< 0x15b3
  int device = 0;        ///< 0x1021
  int gbits = 0;         ///< of one port, as most are sold
};
/// nullptr if the model, or the pair of ids, is not known.
const NicModel* nic_model(std::string_view name);
const NicModel* nic_model(int vendor, int device);

/// "0-55,112-167" as a Linux CPU mask of 32-bit words, highest first: "000000ff,ff000000,...".
/// `cpus` is the machine's number of CPUs; `list` is one that count_cpus accepts.
std::string cpu_mask(std::string_view list, int cpus);
/// The reverse; "" if the text is no mask, is empty of CPUs, or is longer than 65536 CPUs.
std::string cpus_of_mask(std::string_view mask);

} // namespace berth::hardware
