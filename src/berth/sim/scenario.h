// A random cluster life, by seed: machines, workloads of every sort, deletions and faults, each at
// its time.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "berth/api/object.h"
#include "berth/client/faulty_client.h"
#include "berth/cluster/spec.h"
#include "berth/sched/framework.h"

namespace berth::sim {

/// Objects created together, e.g. a PodGroup and its Job.
struct Create {
  std::vector<api::Object> objects;
};
struct Delete {
  api::Ref what;
};
/// The whole process stands still for a while.
struct Stall {
  Duration length;
};
using Action = std::variant<Create, Delete, cluster::Fault, Stall>;

struct TimedAction {
  Duration at;
  Action action;
};

/// One line for people, e.g. "12.5s delete Job default/train-3".
std::string to_string(const TimedAction& action);

struct Scenario {
  std::uint64_t seed = 0;
  cluster::ClusterSpec cluster;
  std::vector<sched::Profile> profiles; ///< Berth's own, and one for HAMi's vGPUs
  client::Faults line_faults;
  std::vector<TimedAction> actions; ///< by time
  Duration length;                  ///< after this nothing bad happens any more
};

/// A function of the seed: 1 to 6 nodes of several platforms, 3 to 14 workloads, up to 20 faults
/// and deletions.
Scenario random_scenario(std::uint64_t seed);

} // namespace berth::sim
