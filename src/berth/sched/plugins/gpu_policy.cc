#include "berth/sched/plugins/gpu_policy.h"

#include <algorithm>

namespace berth::sched {
namespace {

class JudgingRun final : public Run {
 public:
  JudgingRun(const PodInfo& pod, const ClusterState& state, NodeJudge judge, Stretch stretch)
      : wish_(gpu_wish(pod)), state_(&state), judge_(judge), stretch_(stretch) {}

  Reach reach() const override { return Reach::Node; }
  Grading grading() const override {
    return stretch_ == Stretch::Final ? Grading::Absolute : Grading::Relative;
  }
  std::uint64_t grade(NodeId node) override { return static_cast<std::uint64_t>(score(node)); }

  std::int64_t score(NodeId node) const override {
    return judge_(wish_, *state_, idle_view(*state_, node));
  }

  void normalize(std::span<const NodeId>, std::span<std::int64_t> scores) const override {
    if (stretch_ == Stretch::Final || scores.empty()) {
      return;
    }
    const auto [least, greatest] = std::ranges::minmax(scores);
    for (std::int64_t& score : scores) {
      score = greatest == least ? 0 : (score - least) * kMaxNodeScore / (greatest - least);
    }
  }

 private:
  GpuWish wish_;
  const ClusterState* state_;
  NodeJudge judge_;
  Stretch stretch_;
};

class JudgingPlugin final : public Plugin {
 public:
  JudgingPlugin(std::string_view name, NodeJudge judge, Stretch stretch)
      : name_(name), judge_(judge), stretch_(stretch) {}

  std::string_view name() const override { return name_; }
  Points points() const override { return Points{0} | Point::Score; }

  Prepared prepare(const PodPtr& pod, const ClusterState& state) const override {
    return {.status = {},
            .run = std::make_unique<JudgingRun>(*pod, state, judge_, stretch_),
            .nodes = {}};
  }

 private:
  std::string_view name_;
  NodeJudge judge_;
  Stretch stretch_;
};

} // namespace

GpuWish gpu_wish(const PodInfo& pod) {
  GpuWish wish{.cpu = pod.request(kCpu)};
  if (pod.share != nullptr) {
    wish.milli = pod.share->milli;
    wish.gpus = pod.share->gpus;
  } else if (pod.gpus > 0) {
    wish.milli = static_cast<std::int32_t>(kWholeGpuMilli);
    wish.gpus = static_cast<int>(std::min<std::int64_t>(pod.gpus, kMaxGpus));
  }
  return wish;
}

IdleView idle_view(const ClusterState& state, NodeId id) {
  const NodeInfo& node = state.node(id);
  return {.node = &node,
          .cpu = node.allocatable.get(kCpu) - node.requested.get(kCpu),
          .room = gpu_room(state, node)};
}

std::unique_ptr<Plugin> make_judging_plugin(std::string_view name, NodeJudge judge,
                                            Stretch stretch) {
  return std::make_unique<JudgingPlugin>(name, judge, stretch);
}

} // namespace berth::sched
