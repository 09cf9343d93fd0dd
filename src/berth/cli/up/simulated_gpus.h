// What the GPUs of simulated machines do, as their drivers would tell it: who has them, how busy
// and full the containers that run keep them, and what follows of power, clocks and traffic.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/base/time.h"
#include "berth/node/simulated_machine.h"
#include "berth/runtime/load_model.h"
#include "berth/server/nodes.h"

namespace berth::cli {

/// A container that runs, by pod uid and name.
using ContainerKey = std::pair<std::string, std::string>;

/// Something of a GPU that a container which runs has.
struct GpuClaim {
  int gpu = 0; ///< index
  ContainerKey container;
  double time = 1;        ///< of the GPU's, when all who share it want it
  std::int64_t bytes = 0; ///< of its memory that it may fill
};

/// Of all containers that run on the machine, whose agent runs. A GPU that is shared by replicas is
/// shared equally.
std::vector<GpuClaim> gpu_claims(const node::SimulatedMachine& machine,
                                 const std::vector<runtime::ContainerStatus>& running);

/// What drivers count goes on from look to look, at the rate that is found at each: like the rest
/// it is of no machine, and nobody is woken for it.
class SimulatedGpus {
 public:
  /// The machine's GPUs, by index. Precondition: its agent runs. Claims and loads are of the
  /// containers that run.
  std::vector<server::GpuUsage> usage(const node::SimulatedMachine& machine,
                                      const std::vector<runtime::ContainerStatus>& running,
                                      const std::vector<GpuClaim>& claims,
                                      const std::map<ContainerKey, runtime::Load>& loads,
                                      TimePoint now);

 private:
  struct Counters {
    TimePoint at;
    double energy_mj = 0;
    double nvlink_kib = 0;
  };
  void count(const std::string& machine, server::GpuUsage& gpu, double nvlink_kib_per_second,
             TimePoint now);
  std::map<std::pair<std::string, int>, Counters> counters_; ///< by machine, GPU
};

} // namespace berth::cli
