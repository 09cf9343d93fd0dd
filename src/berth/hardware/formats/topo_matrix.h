// The matrix of `nvidia-smi topo -m`: who reaches whom by which kind of path. Read from what people
// paste (with or without colour codes, tabs, NUMA columns, NIC legend; older drivers name NICs in
// the columns and say SOC for SYS) and written exactly as nvidia-smi of driver 535 and later prints
// it to a pipe. Format: the tool's own output on H100, H200 and L40S machines.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/base/result.h"
#include "berth/hardware/devices.h"

namespace berth::hardware {

struct Platform;

/// One cell. `nvlinks` is the number behind "NV", 0 for every other kind.
struct TopoCell {
  Link kind = Link::Self;
  int nvlinks = 0;
  bool operator==(const TopoCell&) const = default;
};

struct TopoDevice {
  enum class Kind { Gpu, Nic };
  Kind kind = Kind::Gpu;
  std::string name;               ///< "GPU0"; of a NIC what the legend or the column says: "mlx5_0"
  std::string cpus;               ///< CPU affinity, a Linux CPU list; "" if not said
  std::string numa_affinity;      ///< memory NUMA nodes as printed, "0" or "0,3-9"; "" if not said
  std::optional<int> memory_numa; ///< GPU NUMA ID: the node of the GPU's own memory (Grace)
  bool operator==(const TopoDevice&) const = default;
};

/// GPUs in the order of their numbers, then NICs in the order of their columns. `cells` is square;
/// the diagonal is Self.
struct TopoMatrix {
  std::string product; ///< the GPUs', as in nvidia.com/gpu.product; "" if the text does not name it
  std::vector<TopoDevice> devices;
  std::vector<std::vector<TopoCell>> cells;

  std::size_t gpus() const;
  bool operator==(const TopoMatrix&) const = default;
};

/// Bounds of what is read: 1 MiB of text, 16 GPUs, 64 NICs.
inline constexpr std::size_t kMaxTopoBytes = 1 << 20;
inline constexpr std::size_t kMaxTopoGpus = 16;
inline constexpr std::size_t kMaxTopoNics = 64;

/// Finds the first matrix in `text` and reads it. What stands before and after it is skipped, but
/// for the NIC legend and the lines by which nvidia-smi -L names GPUs. Columns may come in any
/// order. Errors name file, line and the cell: no matrix, an unknown word, a row or column missing,
/// two halves that differ, a CPU list that is none. O(text).
Result<TopoMatrix> parse_topo_matrix(std::string_view text, std::string_view file);

/// Does `text` hold a line that starts such a matrix?
bool looks_like_topo_matrix(std::string_view text);

/// The matrix that nvidia-smi would print on such a machine. O(devices^2).
TopoMatrix topo_matrix(const Platform& platform);

enum class TopoStyle {
  Plain,      ///< as `nvidia-smi topo -m` with its colour codes removed
  Underlined, ///< with the header's underline codes, byte for byte as nvidia-smi prints
};
/// Tabs between columns; NICs are NIC0, NIC1, ... with a legend below.
std::string to_text(const TopoMatrix& matrix, TopoStyle style);

/// "NV12", " X " without its blanks, "PXB".
std::string to_string(const TopoCell& cell);

} // namespace berth::hardware
