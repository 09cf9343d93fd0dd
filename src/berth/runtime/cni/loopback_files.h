// What makes a runtime give pods a network of nothing but loopback: a network configuration and two
// plugins, which are scripts that run this program. Each agent has a configuration of its own, so
// that agents which share a runtime do not take each other's away; its name sorts last, so that any
// other one wins, for runtimes take the first.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "berth/base/result.h"

namespace berth::runtime::cni {

/// Where a runtime looks for network configurations and for plugins.
struct Directories {
  std::string conf;
  std::string bin;
  bool operator==(const Directories&) const = default;
};
inline constexpr std::string_view kConfDirectory = "/etc/cni/net.d";
inline constexpr std::string_view kBinDirectory = "/opt/cni/bin";

/// Name of the network, and of the plugin that it consists of.
inline constexpr std::string_view kLoopbackNetwork = "berth-loopback";

/// Nothing here touches a file that no agent of Berth's has written.
class LoopbackFiles {
 public:
  /// `owner`: the node's name; `program`: this one, as a runtime can start it.
  LoopbackFiles(std::string owner, std::string program)
      : owner_(std::move(owner)), program_(std::move(program)) {}

  /// "FOLDER/zz-berth-loopback-OWNER.conflist".
  std::string configuration(const Directories& where) const;
  /// The owner's configuration is there.
  bool installed(const Directories& where) const;
  /// Writes what is not there as it should be. The plugin `loopback`, which containerd before 2
  /// calls for every pod, is only made if nobody else has one. Blocks. Error: which path, why, and
  /// what to try.
  Result<void> install(const Directories& where) const;
  /// Takes the owner's configuration away, and with the last one the plugins. Blocks.
  Result<void> remove(const Directories& where) const;

 private:
  Result<void> put_plugin(const std::string& path) const;

  std::string owner_;
  std::string program_;
};

/// The configurations that a runtime finds there, first the one that it takes.
std::vector<std::string> configurations(const Directories& where);
/// That one is an agent's: pods get nothing but loopback.
bool loopback_in_force(const Directories& where);

} // namespace berth::runtime::cni
