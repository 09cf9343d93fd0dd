#include "berth/sched/plugins/fgd.h"

#include <cmath>
#include <optional>

#include "berth/sched/plugins/gpu_policy.h"
#include "berth/sched/plugins/gpu_share.h"
#include "berth/sched/plugins/idle_memo.h"
#include "berth/sched/plugins/target_workload.h"

namespace berth::sched {
namespace {

/// Closer to a whole number than this, a score is computed as published, rounding included.
constexpr double kTooClose = 1e-7;

/// sigmoid_percent(0)
constexpr std::int64_t kUnchanged = kMaxNodeScore / 2;

double sigmoid_percent(double fall) {
  return 1 / (1 + std::exp(-fall / kWholeGpuMilli)) * kMaxNodeScore;
}

/// Scores of what a node could become.
class Descent {
 public:
  Descent(const FragmentMeter& meter, IdleNode before)
      : meter_(&meter), before_(before), fragment_(meter.fragment(before)) {}

  std::int64_t score(const IdleNode& after) {
    const auto fall = static_cast<double>(fragment_ - meter_->fragment(after));
    double score = sigmoid_percent(fall / static_cast<double>(meter_->weight()));
    if (std::abs(score - std::round(score)) < kTooClose) {
      if (!published_) {
        published_ = meter_->published_fragment(before_);
      }
      score = sigmoid_percent(*published_ - meter_->published_fragment(after));
    }
    return static_cast<std::int64_t>(score);
  }

 private:
  const FragmentMeter* meter_;
  IdleNode before_;
  std::int64_t fragment_;
  std::optional<double> published_;
};

struct Best {
  std::int64_t score = -1;
  hardware::GpuMask gpus = 0;
};

/// The best way to take the pod. Precondition: it fits.
Best best_way(const FragmentMeter& meter, const GpuWish& wish, std::int64_t cpu, GpuRoom& room) {
  if (wish.gpus == 0 && meter.cpu_step(cpu) == meter.cpu_step(cpu - wish.cpu)) {
    return {.score = kUnchanged, .gpus = 0}; // most pods without GPUs
  }
  const std::span<const std::int32_t> left(room.milli.data(), room.count);
  Descent descent(meter, {.cpu = cpu, .milli = left});
  GpuRoom after = room;
  const IdleNode then{.cpu = cpu - wish.cpu, .milli = {after.milli.data(), after.count}};
  if (!wish.shares_one()) {
    int missing = wish.gpus;
    hardware::GpuMask gpus = 0;
    for (std::size_t i = 0; i < room.count && missing > 0; ++i) {
      if (room.milli[i] >= wish.milli) {
        after.milli[i] -= wish.milli;
        gpus |= hardware::GpuMask{1} << i;
        --missing;
      }
    }
    return {.score = descent.score(then), .gpus = gpus};
  }
  Best best;
  for (std::size_t i = 0; i < room.count; ++i) {
    const auto end = left.begin() + static_cast<std::ptrdiff_t>(i);
    if (left[i] < wish.milli || std::find(left.begin(), end, left[i]) != end) {
      continue; // an equal GPU came before
    }
    after.milli[i] -= wish.milli;
    if (const std::int64_t score = descent.score(then); score > best.score) {
      best = {.score = score, .gpus = hardware::GpuMask{1} << i};
    }
    after.milli[i] = left[i];
  }
  return best;
}

class FgdRun final : public Run {
 public:
  FgdRun(const PodPtr& pod, const ClusterState& state, std::shared_ptr<FragmentMeters> meters)
      : wish_(gpu_wish(*pod)), shares_(pod->share != nullptr), state_(&state),
        meters_(std::move(meters), state) {}

  Reach reach() const override { return Reach::Node; }
  Grading grading() const override { return Grading::Absolute; }

  std::int64_t score(NodeId id) const override {
    IdleView idle = idle_view(*state_, id);
    return scores_.of(idle, [&] {
      return best_way(meters_.of(idle.node->parts.model), wish_, idle.cpu, idle.room).score;
    });
  }

  Status reserve(const PodInfo&, const ClusterState& state, Reservation& reservation) override {
    if (!shares_ || !wish_.shares_one() || wish_.milli == 0) {
      return Status::success(); // GpuShare's choice is as good
    }
    // The pod is on the node already.
    const NodeInfo& node = state.node(reservation.node);
    GpuRoom room = gpu_room(state, node, reservation.slot);
    const std::int64_t cpu = node.allocatable.get(kCpu) - node.requested.get(kCpu) + wish_.cpu;
    reserve_parts(reservation, best_way(meters_.of(node.parts.model), wish_, cpu, room).gpus);
    return Status::success();
  }

 private:
  GpuWish wish_;
  bool shares_;
  const ClusterState* state_;
  mutable MetersOf meters_; ///< memos
  mutable IdleMemo<std::int64_t> scores_;
};

class Fgd final : public Plugin {
 public:
  explicit Fgd(TargetWorkload target)
      : meters_(std::make_shared<FragmentMeters>(std::move(target))) {}

  std::string_view name() const override { return kFgd; }
  Points points() const override { return Point::Score | Point::Reserve; }

  Prepared prepare(const PodPtr& pod, const ClusterState& state) const override {
    return {.status = {}, .run = std::make_unique<FgdRun>(pod, state, meters_), .nodes = {}};
  }

 private:
  std::shared_ptr<FragmentMeters> meters_;
};

} // namespace

std::unique_ptr<Plugin> make_fgd(TargetWorkload target) {
  return std::make_unique<Fgd>(std::move(target));
}

} // namespace berth::sched
