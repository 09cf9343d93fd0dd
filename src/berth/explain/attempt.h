// One attempt to place one pod, as values to show: when, why then, what came of it, and the whole
// table of the decision with nodes that share everything in one row, so that 5,000 nodes are a
// page.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "berth/base/time.h"
#include "berth/sched/cycle.h"
#include "berth/sched/plugin.h"

namespace berth::explain {

/// What one plugin has against a node.
struct Objection {
  std::string plugin;
  std::string code; ///< Unschedulable, UnschedulableAndUnresolvable, Pending: Kubernetes' words
  std::vector<std::string> reasons;
  auto operator<=>(const Objection&) const = default;
};

/// Of a row of refused nodes, one resource that is short: the node with the most of it left.
struct Shortage {
  std::string resource;
  std::int64_t asked = 0; ///< cpu in milli, others whole
  std::int64_t free = 0;
  std::string node;
  bool operator==(const Shortage&) const = default;
};

struct Score {
  std::int64_t raw = 0;      ///< as the plugin gave it, in its own range
  std::int64_t weighted = 0; ///< normalised to [0, 100], times the plugin's weight
  auto operator<=>(const Score&) const = default;
};

enum class Verdict { Fits, Refused, NotLookedAt };

/// Nodes of which everything is the same.
struct Row {
  std::vector<std::string> nodes; ///< in the cluster's order
  Verdict verdict = Verdict::Fits;
  bool best = false;                 ///< the one node with the best total; first of equals
  std::vector<Objection> objections; ///< the first refused the node; the rest would have
  std::vector<Shortage> shortages;   ///< Refused only
  std::int64_t total = 0;
  std::vector<Score> scores; ///< by Attempt::scorers; empty where nothing was scored
  bool operator==(const Row&) const = default;
};

struct Scorer {
  std::string plugin;
  std::int64_t weight = 1;
};

struct Attempt {
  std::string ns;
  std::string pod;
  std::string owner;    ///< "Job/NAME"; "" for a bare pod
  std::string group;    ///< PodGroup's name
  std::string profile;  ///< spec.schedulerName of the profile that decided
  int number = 1;       ///< counts from 1
  TimePoint at;         ///< when it was decided
  TimePoint first;      ///< of attempt 1
  std::string woken_by; ///< what brought the pod to the active queue, in kube-scheduler's words
  std::string outcome;  ///< Scheduled, Waiting (at Permit), Unschedulable, Error
  std::string message;  ///< why not, Kubernetes' own text
  std::string node;     ///< Scheduled and Waiting
  std::vector<int> gpus;
  std::string
      slices; ///< of which GPUs its replicas and MIG devices are: "nvidia.com/mig-1g.5gb=2x1"
  std::string vgpus; ///< HAMi's, of its containers: "GPU-a,NVIDIA,4000,30:;"
  std::optional<std::string> nominated_node; ///< "" ends an earlier nomination
  std::vector<std::string> victims;          ///< namespace/name
  std::vector<std::string> waits_for;        ///< plugins that hold it at Permit
  std::int64_t nodes = 0;
  std::int64_t feasible = 0;
  std::vector<Scorer> scorers;
  /// Fitting rows best first, then refused ones: fewest objections first, then most nodes. Empty:
  /// no table (no node, a fault, or the pod's group was refused before its members were tried).
  std::vector<Row> rows;
};

/// Of the decision just made; the state must still know its nodes. O(nodes log nodes).
Attempt make_attempt(const sched::QueuedPod& queued, const sched::Decision& decision,
                     const sched::ClusterState& state, std::string_view profile, TimePoint now);

/// Names of nodes as people write them: "gpu-[1-40,42],login". At most `most` of its parts, then
/// "and 12 more". Numbers at the end of names sort as numbers.
std::string fold_names(const std::vector<std::string>& names, std::size_t most = 6);

} // namespace berth::explain
