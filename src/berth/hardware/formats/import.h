// A platform made from what a machine says of itself. Neither `nvidia-smi topo -m` nor NCCL's
// topology file says everything that a platform file holds (GPU memory, disks, rates), so the rest
// is taken from a catalogue platform that is like it, and every such assumption is named in a note.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "berth/base/result.h"
#include "berth/hardware/platform.h"

namespace berth::hardware {

struct TopoMatrix;

struct ImportOptions {
  std::string name;               ///< of the platform; see check_platform_name
  const Platform* like = nullptr; ///< where the rest comes from; nullptr: the nearest builtin one
};

struct Imported {
  Platform platform;              ///< finished
  std::vector<std::string> notes; ///< what was assumed or could not be kept, for people
};

/// Names nodes and label values: 1 to 50 of a-z, 0-9, '-' and '.', from letter or digit to letter
/// or digit. Error Invalid.
Result<void> check_platform_name(std::string_view name);

/// The PCIe tree that gives these paths, as far as a tree can. Devices are placed by the classes of
/// their paths: PIX one switch, PXB one outermost switch, PHB one host bridge, NODE one NUMA node.
/// Bus ids are made up. Error Invalid: no GPU, or a bad name. O(devices^2).
Result<Imported> import_topo_matrix(const TopoMatrix& matrix, const ImportOptions& options);

/// NCCL's topology file (NCCL_TOPO_DUMP_FILE writes it, NCCL_TOPO_FILE reads it): CPUs, the PCIe
/// tree, NVLinks, NICs and their speeds. Errors name file, line and element. At most 4 MiB, 4096
/// elements, 16 levels, 16 GPUs, 64 NICs. O(text).
Result<Imported> import_nccl_xml(std::string_view text, std::string_view file,
                                 const ImportOptions& options);

/// Either of the two, told apart by its first character.
Result<Imported> import_machine(std::string_view text, std::string_view file,
                                const ImportOptions& options);

} // namespace berth::hardware
