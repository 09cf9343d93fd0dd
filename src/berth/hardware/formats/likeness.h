// What importers share: the catalogue platform an unknown machine is most like, and filling in from
// it what a dump leaves out.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "berth/base/result.h"
#include "berth/hardware/platform.h"

namespace berth::hardware {

/// What is known of a machine before its platform is chosen.
struct Traits {
  std::size_t gpus = 0;
  int nvlinks = 0;    ///< of one GPU, 0: none
  int pci_device = 0; ///< of the GPUs, 0: not known
  int compute = 0;    ///< compute capability as NCCL's sm: 90; 0: not known
  bool c2c = false;
};

/// The builtin platform with most in common: PCI device first, then compute capability, C2C,
/// NVLinks and the number of GPUs; of equals the one with the oldest GPU, then the first by name.
const Platform& nearest_platform(const Traits& traits);

/// Name, title and what has nothing to do with how devices hang together: GPU model, disks, memory.
Platform outline_of(const Platform& like, const std::string& name);

/// A CPU list for every NUMA node from 0 to the highest in `cpus` and `also`: known ones as given;
/// others get the CPUs that lie between known ones, or as many more as a known node has. Sets
/// numa, cpus and sockets. `like` says how many sockets. Error Invalid: more than 65536 CPUs.
Result<void> fill_numa(Platform& platform, const std::map<int, std::string>& cpus, int highest,
                       const Platform& like, std::vector<std::string>& notes);

/// Speeds and models as in `like` where they are not known. Rails as in `like` if the NICs have the
/// same names; else, in their order, the NICs that share a PCIe switch with a GPU, or all where
/// none does.
void fill_nics(Platform& platform, const Platform& like, std::vector<std::string>& notes);

/// Links between GPUs whose matrix is all one number that a GPU cannot have to each peer at once:
/// then they go through an NVSwitch. Sets nvswitch, nvls, domain and the model's number of links.
void fill_fabric(Platform& platform, const Platform& like);

} // namespace berth::hardware
