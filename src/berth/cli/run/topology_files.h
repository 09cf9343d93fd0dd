// The files of --topology: labels for nodes that lack them.
#pragma once

#include "berth/cli/run/load.h"

namespace berth::cli {

/// Adds the labels to load.spec, whose nodes must be known; errors, and a note on names that are no
/// node's, go to `load`.
void read_topology_files(const RunOptions& options, Load& load);

} // namespace berth::cli
