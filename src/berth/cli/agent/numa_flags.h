// The flags for topology, CPU and memory manager policies and for what is kept back for the system:
// names, forms and error texts are the kubelet's.
#pragma once

#include <vector>

#include "berth/cli/command.h"
#include "berth/node/machine_facts.h"
#include "berth/topology/settings.h"

namespace berth::cli {

struct NumaChoice {
  topology::Settings settings;
  node::SystemReserve reserve;
};

std::vector<Flag> numa_flags();

/// Errors name the flag. --reserved-cpus says how many CPUs are kept back, whatever the reserves
/// say.
Result<NumaChoice> numa_choice(const Values& values);

} // namespace berth::cli
