// What has to run so that containers share GPUs by MPS: the commands that NVIDIA's control daemon
// manager gives (cmd/mps-control-daemon), for one resource.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "berth/deviceplugin/resource_plan.h"

namespace berth::deviceplugin {

struct Command {
  std::vector<std::string> argv;
  std::map<std::string, std::string> environment; ///< beside the process's own
  std::string input;                              ///< on standard input

  bool operator==(const Command&) const = default;
};

/// "nvidia-cuda-mps-control -d", for errors and logs.
std::string to_string(const Command& command);

struct MpsPlan {
  std::string resource;
  Command alive;               ///< answered by a daemon that runs, and fails otherwise
  std::vector<Command> launch; ///< one after the other, where none runs
  std::vector<Command> limits; ///< then these; after the last they are in force
  std::vector<Command> stop;
};

/// Of the replicated GPUs of the resource: exclusive compute mode, the daemon, and of each GPU's
/// memory and threads the part that one replica gets. Directories are below `root`, the MPS root.
MpsPlan plan_mps(const PlannedResource& resource, const inventory::NodeFacts& facts,
                 std::string_view root);

} // namespace berth::deviceplugin
