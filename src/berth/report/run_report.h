// What `berth run` found out, as plain values: filled by cli/run, shown by run_text.h and
// run_json.h. Lists are in the order they are shown in: pods by creation, nodes by name with
// numbers compared as numbers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/json/value.hpp>

#include "berth/base/result.h"
#include "berth/base/time.h"

namespace berth::report {

struct ProfileLine {
  std::string scheduler_name;
  std::vector<std::string> other_names;
  std::string kubernetes_version; ///< whose rules it follows, e.g. "1.36"
};

struct ClusterLine {
  std::vector<std::pair<std::string, int>>
      platforms; ///< name and number of nodes; "" for unknown hardware
  int nodes = 0;
  int gpus = 0;
  std::uint64_t seed = 1;
  std::string gpu_policy;                 ///< topology, binpack or spread
  std::string speed;                      ///< virtual or real
  std::string scheduler_config = {};      ///< file of the profiles; "" for Berth's own
  std::vector<ProfileLine> profiles = {}; ///< of the scheduler
};

/// Why the run ended.
enum class Outcome {
  Settled,     ///< nothing more will happen: every pod is done, runs for good or is stuck
  TimeUp,      ///< the time limit is reached
  Interrupted, ///< the user's Ctrl-C
};
std::string_view to_string(Outcome outcome);

struct ObjectName {
  std::string api_version;
  std::string kind;
  std::string ns;
  std::string name;
  std::string source; ///< "FILE:LINE"; "" when not from a file
};

struct Rejection {
  ObjectName object;
  std::string code; ///< the API's reason: Invalid, Forbidden, ...
  std::string message;
};

/// A kind that is stored although nothing here acts on it.
struct UnhandledKind {
  std::string api_version;
  std::string kind;
  std::vector<std::string> objects; ///< namespace/name
};

/// Something about the input that the user should know.
struct Note {
  bool warning = false;
  Where where = {}; ///< empty file: about the run as a whole
  std::string message;
};
/// "FILE:LINE:COLUMN: FIELD: MESSAGE", without what is unknown.
std::string to_string(const Note& note);

struct StateEntry {
  std::string state;
  Duration at; ///< after the start of the run
};

struct PodLine {
  std::string ns;
  std::string name;
  std::string phase; ///< Pending, Running, Succeeded, Failed, Deleted; Bound pods without status
                     ///< are Pending
  std::string reason;
  bool terminating = false; ///< being deleted, and not gone yet
  std::string owner;        ///< "Job/NAME"; "" for a bare pod
  std::string gang;         ///< PodGroup's name, same namespace
  std::string node;
  std::int64_t gpu_request = 0;
  std::vector<int> gpus; ///< indices on the node, ascending
  std::vector<std::string> gpu_uuids;
  std::int64_t all_reduce_mbps = 0; ///< 0: fewer than two GPUs, or unknown hardware
  Duration waiting;                 ///< until bound
  Duration starting;                ///< bound, containers being made
  Duration running;
  std::int64_t restarts = 0; ///< of its containers, init containers too
  std::vector<StateEntry> states;
  std::vector<boost::json::value> containers; ///< what each container sees
};

struct JobLine {
  std::string ns;
  std::string name;
  std::string status; ///< Complete, Failed, Running, Suspended, Waiting
  std::int64_t succeeded = 0;
  std::int64_t failed = 0;
  std::int64_t wanted = 0;
  Duration duration; ///< from first start to completion, or to the end of the run
  std::string message;
};

struct GangLine {
  std::string ns;
  std::string name;
  std::string phase;
  std::int64_t min_member = 0;
  std::int64_t members = 0; ///< pods seen
  std::int64_t placed = 0;  ///< most pods that held a node at one time
  std::vector<std::string> nodes;
  std::int64_t gpus = 0;
  std::int64_t all_reduce_mbps = 0;
  Duration waiting; ///< from the first member's creation to the last one's binding
};

struct GpuCell {
  enum class State { Free, Held, Unhealthy };
  State state = State::Free;
  std::string holder; ///< namespace/name of the pod
};

struct NodeMap {
  std::string node;
  std::string platform;
  std::vector<GpuCell> gpus;
};

/// Who holds which GPU at one moment.
struct GpuMap {
  Duration at;
  std::vector<NodeMap> nodes; ///< nodes with GPUs only

  int total() const;
  int held() const;
  int unhealthy() const;
};

struct NodeLine {
  std::string name;
  std::string platform;
  std::string product;
  bool ready = false;
  int gpus = 0;
  std::vector<int> unhealthy;
  std::vector<std::string> gpu_uuids;
};

/// Whether the pod would run had it (with its gang) the whole cluster for itself.
enum class Alone {
  Runs,    ///< it waits for others
  Never,   ///< no state of this cluster lets it run
  Unknown, ///< not asked: it is not the scheduler's to decide
};
std::string_view to_string(Alone alone);

/// A pod that is not running and has not succeeded, or that is being deleted and does not go.
struct StuckPod {
  std::string ns;
  std::string name;
  std::string phase;
  std::string code;    ///< stable: GPU_EXCEEDS_NODE, GPU_BUSY, ... (docs/run-report.md)
  std::string summary; ///< one sentence
  std::string message; ///< Kubernetes' own text
  std::string asks;    ///< "8 nvidia.com/gpu, 96 cpu, 900Gi memory"
  Alone alone = Alone::Unknown;
  Duration waiting;
};

struct TimelineLine {
  Duration at;
  std::string object;
  std::string what;
  std::string detail;
  bool warning = false;
};

struct RunReport {
  ClusterLine cluster;
  TimePoint start;
  Duration elapsed;
  Outcome outcome = Outcome::Settled;
  int exit_code = 0;
  std::vector<ObjectName> applied;
  std::vector<Rejection> rejected;
  std::vector<UnhandledKind> unhandled;
  std::vector<Note> notes;
  std::vector<PodLine> pods;
  std::vector<JobLine> jobs;
  std::vector<GangLine> gangs;
  std::vector<NodeLine> nodes;
  GpuMap busiest;
  GpuMap at_end;
  std::int64_t gpu_millis_held = 0; ///< summed over GPUs
  std::vector<StuckPod> stuck;
  std::vector<TimelineLine> timeline;
  /// Of pods that --explain asked for (explain/decisions_json.h), by first attempt.
  std::vector<boost::json::value> decisions;
};

/// Pods in a phase.
std::int64_t count_phase(const RunReport& report, std::string_view phase);

} // namespace berth::report
