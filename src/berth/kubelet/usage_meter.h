// What the containers of this machine and the machine itself use: two looks, and the difference.
// Looks when somebody asks, never on its own.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "berth/base/loop.h"
#include "berth/kubelet/machine_usage.h"
#include "berth/runtime/runtime.h"

namespace berth::kubelet {

struct MeasuredContainer {
  runtime::ContainerUsage told;
  TimePoint started_at;
  std::optional<std::int64_t> nanocores;
};

struct MeasuredPod {
  std::string uid;
  std::string ns;
  std::string name;
  TimePoint started_at;
  runtime::Usage usage; ///< the sandbox's where the runtime tells it, else its containers' together
  std::optional<std::int64_t> nanocores;
  std::vector<runtime::SandboxUsage::Interface> interfaces; ///< of a network of its own
  std::optional<std::int64_t> processes;
  std::vector<MeasuredContainer> containers; ///< those that run, by name
};

struct Measurement {
  TimePoint at;
  Duration window; ///< between the two looks
  MachineUsage machine;
  std::optional<std::int64_t> nanocores; ///< of the machine
  std::vector<MeasuredPod> pods;         ///< by namespace and name
};

/// Loop and runtime must outlive it; what is under way when it goes is not told.
class UsageMeter {
 public:
  UsageMeter(Loop& loop, runtime::Runtime& runtime, MachineSource source);
  ~UsageMeter();

  using Told = std::function<void(const Result<std::shared_ptr<const Measurement>>&)>;
  /// In the call if the last measurement is younger than a second. If the look before is older than
  /// a minute, or there is none, it takes a second. Error: the runtime does not answer.
  void measure(Told done);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

} // namespace berth::kubelet
