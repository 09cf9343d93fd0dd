// Random histories of a small cluster under GpuTopology: pods come, are placed, bound, taken back
// and deleted, foreign pods appear, GPUs fail, nodes go and return. A second, plain bookkeeping
// says what must be true after every step.
#include <bit>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/api/object.h"
#include "berth/base/rng.h"
#include "berth/hardware/platform.h"
#include "berth/sched/cycle.h"
#include "berth/sched/plugins/gpu_topology.h"
#include "berth/testing/builders.h"

namespace berth::sched {
namespace {

using hardware::GpuMask;

struct Holder {
  std::string uid;
  int gpus = 0;
  GpuMask mask = 0; ///< 0: foreign, indices unknown
  bool bound = false;
};

struct Machine {
  const hardware::Platform* platform = nullptr;
  GpuMask unhealthy = 0;
  std::vector<Holder> holders; ///< in order of arrival

  GpuMask all() const { return (GpuMask{1} << platform->gpus.size()) - 1; }
  GpuMask held() const {
    GpuMask mask = 0;
    for (const auto& holder : holders) {
      mask |= holder.mask;
    }
    return mask;
  }
  /// What counting leaves: a held GPU that failed is missing from what the node offers and still
  /// requested.
  int counted() const {
    int left = std::popcount(all() & ~unhealthy);
    for (const auto& holder : holders) {
      left -= holder.gpus;
    }
    return left;
  }
  /// What a newcomer may get: foreign pods are presumed to hold what topology would have chosen for
  /// them.
  GpuMask open() const {
    GpuMask open = all() & ~unhealthy & ~held();
    for (const auto& holder : holders) {
      if (holder.mask == 0) {
        const int presumed = std::min(holder.gpus, std::popcount(open));
        open &= ~hardware::choose_gpus(*platform, open, presumed, hardware::ChoicePolicy::Topology)
                     .value_or(0);
      }
    }
    return open;
  }
};

/// What the state says, without how it keeps its slots (one that was used and given back may stay).
std::string observed(const ClusterState& state) {
  const auto text = state.dump();
  return text.substr(0, text.rfind("slots="));
}

class History {
 public:
  explicit History(std::uint64_t seed) : rng_(seed), framework_(make_framework()) {
    for (const auto* platform : {"dgx-a100", "l40s-pcie-8", "hgx-a100-4", "t4-pcie-1"}) {
      machines_[fmt::format("{}-1", platform)] = {
          .platform = hardware::Catalogue::builtin().find(platform)};
    }
    for (const auto& [name, machine] : machines_) {
      publish(name);
    }
  }

  void step() {
    switch (rng_.below(10)) {
    case 0:
      return foreign();
    case 1:
      return fail_or_heal();
    case 2:
    case 3:
      return confirm();
    case 4:
    case 5:
    case 6:
      return remove();
    default:
      return schedule();
    }
  }

  void check() const {
    std::map<std::string, GpuMask> taken;
    for (const auto* placed : state_.placed_pods()) {
      const auto& node = state_.node_name(placed->node);
      EXPECT_EQ(taken[node] & placed->gpus, 0U) << "a GPU given twice on " << node;
      taken[node] |= placed->gpus;
      EXPECT_TRUE(placed->gpus == 0 || std::popcount(placed->gpus) == placed->pod->gpus);
    }
    for (const auto& [name, machine] : machines_) {
      const auto& gpus = state_.node(*state_.find_node(name)).gpus;
      EXPECT_EQ(gpus.held, machine.held()) << name;
      EXPECT_EQ(gpus.unhealthy, machine.unhealthy) << name;
    }
  }

 private:
  static Framework make_framework() {
    Registry registry = builtin_plugins();
    Profile profile;
    for (const auto* plugin :
         {"PrioritySort", "NodeResourcesFit", "GpuTopology", "DefaultBinder"}) {
      profile.plugins.push_back({.name = plugin, .weight = 1, .args = nullptr});
    }
    return Framework::make(profile, registry).value();
  }

  void publish(const std::string& name) {
    const auto& machine = machines_[name];
    auto object = api::Object::from_json(hardware::node_document(*machine.platform, name)).value();
    object = object.edit([&](boost::json::object& o) {
      o["metadata"].as_object()["annotations"] = {
          {std::string(model::kUnhealthyGpusAnnotation),
           hardware::format_gpu_indices(machine.unhealthy)}};
      o["status"].as_object()["allocatable"].as_object()["nvidia.com/gpu"] =
          std::to_string(std::popcount(machine.all() & ~machine.unhealthy));
    });
    state_.set_node(model::node_view(object).value());
  }

  PodPtr described(const Holder& holder, const std::string& node, bool indices) {
    auto builder = test::pod(holder.uid).uid(holder.uid).gpus(holder.gpus).on_node(node);
    if (indices) {
      builder.annotation(model::kGpuIndicesAnnotation, hardware::format_gpu_indices(holder.mask));
    }
    return state_.describe(builder.build());
  }

  void schedule() {
    const auto uid = fmt::format("pod-{}", ++count_);
    const int gpus = 1 << rng_.below(4);
    const auto pod = state_.describe(test::pod(uid).uid(uid).gpus(gpus).build());
    const auto before = observed(state_);
    const auto decision = schedule_one(framework_, state_, pod);
    if (!decision.placed()) {
      EXPECT_EQ(observed(state_), before) << "a pod that is not placed leaves no trace";
      for (const auto& [name, machine] : machines_) {
        EXPECT_LT(std::min(std::popcount(machine.open()), machine.counted()), gpus)
            << name << " had room for " << uid;
      }
      return;
    }
    auto& machine = machines_.at(decision.node_name);
    const auto want = hardware::choose_gpus(*machine.platform, machine.open(), gpus,
                                            hardware::ChoicePolicy::Topology);
    ASSERT_TRUE(want) << decision.node_name;
    EXPECT_EQ(decision.gpus, *want);
    EXPECT_EQ(decision.annotations.at("berth.dev/gpu-indices"),
              hardware::format_gpu_indices(*want));
    if (rng_.chance(1, 6)) {
      undo_decision(framework_, state_, pod, decision.node);
      EXPECT_EQ(observed(state_), before) << "taking back leaves no trace";
      return;
    }
    machine.holders.push_back({.uid = uid, .gpus = gpus, .mask = decision.gpus});
  }

  void confirm() {
    for (auto& [name, machine] : machines_) {
      for (auto& holder : machine.holders) {
        if (!holder.bound && rng_.chance(1, 2)) {
          holder.bound = true;
          state_.set_pod(described(holder, name, true));
          return;
        }
      }
    }
  }

  void remove() {
    auto at = machines_.begin();
    std::advance(at, rng_.below(machines_.size()));
    auto& holders = at->second.holders;
    if (holders.empty()) {
      return;
    }
    const auto which = rng_.below(holders.size());
    state_.remove_pod(holders[which].uid);
    holders.erase(holders.begin() + static_cast<std::ptrdiff_t>(which));
  }

  void foreign() {
    auto at = machines_.begin();
    std::advance(at, rng_.below(machines_.size()));
    const int open = std::popcount(at->second.open());
    if (open == 0) {
      return;
    }
    const Holder holder{.uid = fmt::format("foreign-{}", ++count_),
                        .gpus = static_cast<int>(rng_.between(1, open)),
                        .mask = 0,
                        .bound = true};
    state_.set_pod(described(holder, at->first, false));
    at->second.holders.push_back(holder);
  }

  void fail_or_heal() {
    auto at = machines_.begin();
    std::advance(at, rng_.below(machines_.size()));
    at->second.unhealthy =
        rng_.chance(1, 2)
            ? 0
            : at->second.unhealthy | GpuMask{1} << rng_.below(at->second.platform->gpus.size());
    publish(at->first);
  }

  Rng rng_;
  Framework framework_;
  ClusterState state_;
  std::map<std::string, Machine> machines_;
  int count_ = 0;
};

class RandomHistories : public ::testing::TestWithParam<int> {};

TEST_P(RandomHistories, NeverGiveAGpuTwiceAndChooseAsDefined) {
  History history(static_cast<std::uint64_t>(GetParam()));
  for (int i = 0; i < 150 && !HasFailure(); ++i) {
    history.step();
    history.check();
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomHistories, ::testing::Range(1, 21));

} // namespace
} // namespace berth::sched
