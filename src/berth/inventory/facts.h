// The facts of a node's GPUs by the names of this room, which finds them on machines; what they are
// is hardware/discovery's to say, and so is what a simulated machine has.
#pragma once

#include "berth/hardware/discovery/facts.h"

namespace berth::inventory {

using hardware::gpu_family;
using hardware::GpuFacts;
using hardware::GpuInfo;
using hardware::GpuProcess;
using hardware::mig_profile_name;
using hardware::MigDevice;
using hardware::NodeFacts;
using hardware::simulated_facts;

} // namespace berth::inventory
