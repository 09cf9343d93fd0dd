// A plugin of the Container Network Interface for pods with nothing but a loopback of their own: it
// brings `lo` up. What a runtime asks and what it is answered; the kernel is others' business.
// Source: CNI specification 0.4.0, 1.0.0 and 1.1.0 (github.com/containernetworking/cni, SPEC.md).
#pragma once

#include <functional>
#include <string>

#include "berth/base/result.h"

namespace berth::runtime::cni {

/// What a runtime says: CNI_COMMAND and its like, and the network's configuration on stdin.
struct PluginCall {
  std::string command;
  std::string container_id;
  std::string netns; ///< path of the pod's network namespace
  std::string ifname;
  std::string config;
};

struct PluginAnswer {
  std::string out; ///< for stdout: a result, an error, or nothing
  int exit_code = 0;
};

/// The loopback device of a network namespace, which is named by its path.
struct LoopbackDevice {
  std::function<Result<void>(const std::string& netns)> bring_up;
  std::function<Result<bool>(const std::string& netns)> is_up;
};

/// Carries out ADD, DEL, CHECK, GC, STATUS or VERSION. A runtime takes no pod without an address on
/// the interface that it asked for, often eth0; there is none, and 127.0.0.1 is told as its.
PluginAnswer answer(const PluginCall& call, const LoopbackDevice& device);

} // namespace berth::runtime::cni
