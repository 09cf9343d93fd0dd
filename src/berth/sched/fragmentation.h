// How much of a node's idle GPUs a target workload cannot use: the fragmentation measure of FGD
// (Weng et al., USENIX ATC'23; spec simulators A.3, A.6).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace berth::sched {

/// What one kind of pod asks for.
struct GpuDemand {
  std::int64_t cpu = 0;   ///< milli
  std::int32_t milli = 0; ///< of each GPU, 0..1000
  int gpus = 0;
  std::vector<std::string> models = {}; ///< any of them; empty: any

  auto operator<=>(const GpuDemand&) const = default;
};

struct TypicalPod {
  GpuDemand demand;
  std::int64_t count = 0; ///< pods like it

  bool operator==(const TypicalPod&) const = default;
};

/// The workload to leave room for. Invariant: every count is above 0.
struct TargetWorkload {
  std::vector<TypicalPod> pods; ///< most frequent first
  std::int64_t all = 0;         ///< pods it was taken from, with those too rare to be typical

  std::int64_t typical() const;
};

/// The most frequent kinds that together are 95 % of the pods: by count, then the larger (cpu,
/// milli, gpus, models as written "A|B") first. A pod without cpu counts as 100 milli, as in
/// scoring elsewhere. O(n log n).
TargetWorkload typical_pods(std::span<const GpuDemand> pods);

/// What is left on a node.
struct IdleNode {
  std::int64_t cpu = 0;                ///< milli
  std::span<const std::int32_t> milli; ///< of each GPU
};

/// Measures nodes of one GPU model. Immutable.
class FragmentMeter {
 public:
  /// `model`: what the nodes call theirs; "" accepts only pods that take any.
  FragmentMeter(const TargetWorkload& target, std::string_view model);

  /// Milli of GPUs that a pod drawn from the target could not use, times weight(): all of it for a
  /// pod that needs no GPU or does not fit, else what is left of GPUs too full for it. O(GPUs +
  /// ways to ask for GPUs). Precondition: at most 32 GPUs.
  std::int64_t fragment(const IdleNode& node) const;
  /// Nodes with the same GPUs left and equal steps are measured alike, to the last bit.
  std::size_t cpu_step(std::int64_t cpu) const;
  /// The number of typical pods.
  std::int64_t weight() const { return weight_; }
  /// The same as an expectation, in milli, added up in floating point exactly as the published
  /// implementation does: class by class, pod by pod. It differs from fragment() / weight() by
  /// rounding alone. O(typical pods x GPUs).
  double published_fragment(const IdleNode& node) const;

 private:
  /// Pods that ask alike of GPUs.
  struct Group {
    std::int32_t milli = 0;
    int gpus = 0;

    auto operator<=>(const Group&) const = default;
  };
  struct Entry {
    std::int64_t cpu = 0;
    std::int32_t milli = 0;
    int gpus = 0;
    bool accepted = false;
    double frequency = 0;
  };
  std::vector<Group> groups_;      ///< sorted; of pods that take the model
  std::vector<std::int64_t> cpus_; ///< sorted; what pods that do not refuse the model ask for
  /// By cpu_step and group: the group's pods that ask for no more cpu.
  std::vector<std::int64_t> hosted_;
  std::vector<Entry> entries_;
  std::int64_t weight_ = 0;
};

} // namespace berth::sched
