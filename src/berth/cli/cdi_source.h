// The GPUs that berth cdi generate describes: of this machine, or of a simulated one.
#pragma once

#include <string>
#include <vector>

#include "berth/base/result.h"
#include "berth/cdi/nvidia.h"
#include "berth/cli/terminal.h"

namespace berth::cli {

struct CdiSource {
  std::vector<cdi::NvidiaGpu> gpus;
  cdi::NvidiaSpecOptions options; ///< driver, files and device numbers are set
  std::vector<std::string> notes; ///< what is left out, and why
};

struct SimulatedSource {
  std::string platform;
  std::string node;              ///< "": PLATFORM-1
  std::vector<std::string> cuts; ///< "0:1g.10gb=7": GPU 0 cut into these MIG instances
};

/// Errors NotFound: no such platform; BadRequest: a cut that is none, or does not fit.
Result<CdiSource> simulated_cdi_source(const SimulatedSource& simulated);
/// Through NVML. `root` is where the machine's file system is seen, "/". Errors as of
/// NvmlInventory::open, and NotFound for a driver without files.
Result<CdiSource> local_cdi_source(const Environment& environment, const std::string& root);

} // namespace berth::cli
