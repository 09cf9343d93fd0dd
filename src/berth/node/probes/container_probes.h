// The probes of one running container: startup first, then liveness and readiness, each at its own
// pace, judged by thresholds. Rule: kubelet pkg/kubelet/prober.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "berth/base/loop.h"
#include "berth/node/probes/probe_spec.h"
#include "berth/node/probes/run_check.h"
#include "berth/node/tell.h"

namespace berth::node {

struct ContainerProbesEvents {
  Tell tell;
  /// It has started, or become ready or unready.
  std::function<void()> on_change;
  /// It is to be ended, and, if its pod's policy says so, started anew.
  std::function<void(ProbeKind, std::optional<Duration> grace)> on_failed;
};

struct ProbedContainer {
  std::string id;
  TimePoint started_at;
  PodReach pod;
};

/// To be owned by a shared_ptr: nothing is called back once it is gone. Has a timer only while a
/// probe is to come.
class ContainerProbes : public std::enable_shared_from_this<ContainerProbes> {
 public:
  ContainerProbes(CheckPlace place, ProbedContainer container, ContainerProbesEvents events);

  /// `spec` is the container's document. Once.
  void begin(const api::json::value& spec);
  /// Its startup probe, if it has one, has succeeded.
  bool started() const { return started_; }
  /// It has started and its readiness probe, if it has one, says so.
  bool ready() const { return started_ && ready_; }
  /// The pod is to end: only its readiness matters still.
  void pod_ends();

 private:
  struct Probe {
    Probe(Loop& loop, ProbeSpec with) : spec(std::move(with)), timer(loop) {}
    ProbeSpec spec;
    Timer timer;
    std::optional<bool> last; ///< the last answer
    int run = 0;              ///< how often it came in a row
    int errors = 0;           ///< how often there was no asking, in this turn
    bool asking = false;      ///< an answer is to come
  };
  void schedule(ProbeKind kind);
  void turn(ProbeKind kind);
  void ask(ProbeKind kind);
  void answered(ProbeKind kind, const CheckResult& result);
  void judge(ProbeKind kind, Probe& probe);
  void startup_over();

  CheckPlace place_;
  ProbedContainer container_;
  ContainerProbesEvents events_;
  std::map<ProbeKind, Probe> probes_;
  bool started_ = true;
  bool ready_ = true;
};

} // namespace berth::node
