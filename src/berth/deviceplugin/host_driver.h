// The NVIDIA driver as this machine's file system shows it: device numbers, device files,
// libraries. `root` is where the machine's own root is seen, "/" or a container's mount of it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "berth/cdi/nvidia.h"
#include "berth/deviceplugin/allocation.h"
#include "berth/deviceplugin/config/config.h"

namespace berth::deviceplugin {

/// Control files that there are, files of what goes beside GPUs, numbers from /proc, and those of
/// the configured IMEX channels that there are. A number that the system does not say keeps its
/// default. Error NotFound: a channel is required
/// and is not there.
Result<DriverNodes> host_driver_nodes(const std::string& root, const Imex& imex);

struct HostDriverFiles {
  cdi::DriverFiles files;
  std::string library_dir; ///< of libcuda
};

/// The driver's libraries of this version with firmware, tools and sockets that there are, as seen
/// from the machine's own root. Error NotFound: there is no libcuda of the version.
Result<HostDriverFiles> host_driver_files(const std::string& root, std::string_view version);

/// "/dev/dri/card1" and the like of the device with a PCI bus id such as "00000000:1b:00.0".
std::vector<std::string> host_drm_nodes(const std::string& root, std::string_view pci_bus_id);

} // namespace berth::deviceplugin
