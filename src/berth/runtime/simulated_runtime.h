// A machine's containers without a machine: they run for as long as their pod says, exit as it
// says, survive agents, and have an OCI spec like a real one. The pod's annotations steer it; see
// docs/concepts.md.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "berth/api/json.h"
#include "berth/base/loop.h"
#include "berth/cdi/apply.h"
#include "berth/cdi/registry.h"
#include "berth/runtime/container_log.h"
#include "berth/runtime/facts.h"
#include "berth/runtime/runtime.h"

namespace berth::runtime {

struct SimulatedRuntimeOptions {
  std::string machine; ///< seeds ids and addresses
  /// For containers without annotation berth.dev/run-for; Duration::max() means until stopped.
  Duration default_run_for = Duration::minutes(10);
  Duration init_runs_for = Duration::seconds(1);
  Duration sandbox_takes = Duration::millis(400);
  Duration create_takes = Duration::millis(100);
  Duration start_takes = Duration::millis(100);
  /// From SIGTERM to the end of a container without annotation berth.dev/stop-takes.
  Duration stop_takes = Duration::millis(500);
  cdi::StatDevice stat_device; ///< none: the numbers of the NVIDIA driver (see oci.h)
};

/// How a container is steered (on the pod; with ".CONTAINER" appended for one container alone):
/// berth.dev/run-for: Go duration or "forever"; berth.dev/exit-code: 0..255 at the end of the run;
/// berth.dev/fail-times: N first attempts end with exit code 1 (or exit-code, if not 0), later ones
/// with 0; berth.dev/stop-takes: Go duration or "forever" (SIGTERM is ignored).
inline constexpr std::string_view kExitCodeAnnotation = "berth.dev/exit-code";
inline constexpr std::string_view kFailTimesAnnotation = "berth.dev/fail-times";
inline constexpr std::string_view kStopTakesAnnotation = "berth.dev/stop-takes";

/// Loop and CDI registry must outlive it. Deterministic.
class SimulatedRuntime final : public Runtime {
 public:
  SimulatedRuntime(Loop& loop, const cdi::Registry& cdi, SimulatedRuntimeOptions options);
  ~SimulatedRuntime() override;

  std::string boot_id() const override;
  void run_pod_sandbox(SandboxConfig config, Done<SandboxStatus> done) override;
  void stop_pod_sandbox(const std::string& id, Done<void> done) override;
  void remove_pod_sandbox(const std::string& id, Done<void> done) override;
  void create_container(const std::string& sandbox_id, ContainerConfig config,
                        Done<std::string> done) override;
  void start_container(const std::string& id, Done<void> done) override;
  void stop_container(const std::string& id, Duration grace, Done<void> done) override;
  void remove_container(const std::string& id, Done<void> done) override;
  void set_cpus(const std::string& id, const std::string& cpus, Done<void> done) override;
  void list(Done<Listing> done) override;
  void container_status(const std::string& id, Done<ContainerStatus> done) override;
  std::unique_ptr<EventStream> events(std::function<void(const ContainerEvent&)> on_event) override;

  /// The machine loses power: every container ends (exit code 255, reason "Unknown"), sandboxes are
  /// not ready, calls in flight are lost. power_on() begins a new boot.
  void power_off();
  void power_on();

  /// What each container of a pod sees, latest attempt of each, in order of creation.
  std::vector<ContainerFacts> facts(std::string_view pod_uid) const;
  /// What a container has printed so far; nullopt if it is unknown (removed, or of an earlier
  /// process).
  std::optional<std::vector<LogLine>> log(std::string_view container_id) const;
  /// The container runs, so that more may come.
  bool runs(std::string_view container_id) const;
  /// Calls `on_more`, as a later task, when the container has printed more, has ended or is
  /// removed.
  std::unique_ptr<EventStream> follow(std::string_view container_id, std::function<void()> on_more);
  /// What runs now, by creation: for invariants.
  std::vector<ContainerStatus> running() const;
  /// Grows whenever what runs changes.
  std::uint64_t changes() const;
  /// When the next container ends by itself; TimePoint::max() if none will.
  TimePoint next_end() const;
  /// Uids of the pods that have a container which will end by itself.
  std::set<std::string> pods_with_an_end() const;

 private:
  struct State;
  class Listener;
  std::shared_ptr<State> state_;
};

} // namespace berth::runtime
