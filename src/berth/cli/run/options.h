// What the flags of `berth run` mean, checked. Table of the flags: commands/run_command.cc.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "berth/base/result.h"
#include "berth/base/time.h"
#include "berth/cli/command.h"
#include "berth/cli/listen_address.h"
#include "berth/cluster/cluster.h"
#include "berth/cluster/spec.h"

namespace berth::cli {

enum class Speed { Virtual, Real };
enum class Output { Text, Wide, Json, Yaml };
enum class Depth { Folder, Recursive };

struct RunOptions {
  std::vector<std::string> files;
  Depth depth = Depth::Folder;
  std::string ns = "default"; ///< for objects that name none
  std::vector<std::string> cluster_files;
  std::vector<std::string> topology_files;
  std::string scheduler_config; ///< file of the scheduler's profiles; "" for Berth's own
  std::vector<cluster::NodeGroup> nodes;
  hardware::Catalogue catalogue = hardware::Catalogue::builtin(); ///< with the files of --nodes
  std::vector<cluster::Fault> faults;
  cluster::ClusterOptions cluster;
  Speed speed = Speed::Virtual;
  std::optional<Duration> until;
  Output output = Output::Text;
  std::string record;                       ///< "" for none
  std::optional<ListenAddress> listen;      ///< Real speed only
  std::string metrics;                      ///< file, or "-"; "" for none
  std::vector<std::string> show_containers; ///< "NAME" or "NAMESPACE/NAME"
  bool quiet = false;
  bool exit_code = false;
};

/// Errors are usage errors: they name the flag and the value.
Result<RunOptions> read_run_options(const Values& values);

} // namespace berth::cli
