// Carrying out one check of a container, for a probe or a hook.
#pragma once

#include <functional>
#include <string>

#include "berth/base/loop.h"
#include "berth/node/pod_view.h"
#include "berth/node/probes/check.h"
#include "berth/node/probes/network.h"
#include "berth/runtime/runtime.h"

namespace berth::node {

/// The pod's address, or `host_ip` if it has none of its own, and where that is reached from.
PodReach reach_of(const PodView& view, const std::string& host_ip);

/// What it stands on; everything outlives it.
struct CheckPlace {
  Loop* loop = nullptr;
  runtime::Runtime* runtime = nullptr;
  ProbeNetwork* network = nullptr; ///< may be null: then checks over the network cannot be made
  std::string host_ip;             ///< that of pods on the machine's own network
};

struct CheckResult {
  enum class Kind {
    Success,
    Failure, ///< the container's answer is no
    Errored, ///< there was no asking
  };
  Kind kind = Kind::Success;
  std::string output; ///< why, for people
};

/// `done` comes once.
void run_check(const CheckPlace& place, const std::string& container_id, const Check& check,
               Duration timeout, std::function<void(CheckResult)> done);

} // namespace berth::node
