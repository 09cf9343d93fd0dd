#include "berth/sched/plugins/bid_price.h"

#include <algorithm>
#include <cmath>

#include "berth/sched/part_prices.h"
#include "berth/sched/plugins/gpu_policy.h"
#include "berth/sched/plugins/gpu_share.h"
#include "berth/sched/plugins/idle_memo.h"
#include "berth/sched/plugins/target_workload.h"

namespace berth::sched {
namespace {

constexpr double kOfRegret = 3;
constexpr double kOfStranded = 0.7;
constexpr double kOfFragment = 0.3;
constexpr double kOfScarcity = 1;
constexpr double kAlike = 40; // milli

/// What the target says once and for all.
struct Prices {
  explicit Prices(TargetWorkload target)
      : parts(target), meters(std::make_shared<FragmentMeters>(std::move(target))) {
    std::int64_t cpu = 0;
    std::int64_t milli = 0;
    for (const auto& [demand, count] : meters->target().pods) {
      if (demand.gpus > 0) {
        cpu += demand.cpu * count;
        milli += std::int64_t{demand.milli} * demand.gpus * count;
      }
    }
    cpu_per_gpu = milli == 0 ? 0 : static_cast<double>(cpu) / static_cast<double>(milli);
  }

  PartPrices parts;
  std::shared_ptr<FragmentMeters> meters;
  double cpu_per_gpu = 0; ///< milli for each milli
};

/// By model, how much of it is spoken for: [0, 1].
std::vector<double> scarcity(const TargetWorkload& target, const ClusterState& state) {
  const std::span<const std::int64_t> supply = state.gpu_supply();
  std::vector<double> wanted(supply.size(), 0);
  double all_supply = 0;
  double all_wanted = 0;
  for (const std::int64_t gpus : supply) {
    all_supply += static_cast<double>(gpus);
  }
  for (const auto& [demand, count] : target.pods) {
    const double gpus = static_cast<double>(count) * demand.milli * demand.gpus;
    all_wanted += gpus;
    double usable = 0;
    std::vector<std::size_t> models;
    for (const std::string& name : demand.models) {
      if (const auto model = state.gpu_models().find(name)) {
        models.push_back(model->index());
        usable += static_cast<double>(supply[model->index()]);
      }
    }
    for (const std::size_t model : models) {
      wanted[model] += usable == 0 ? 0 : gpus * static_cast<double>(supply[model]) / usable;
    }
  }
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const double share = supply[i] == 0 || all_wanted == 0
                             ? 0
                             : wanted[i] / all_wanted * all_supply / static_cast<double>(supply[i]);
    wanted[i] = std::min(1.0, share);
  }
  return wanted;
}

struct Bid {
  std::int64_t cost = 0; ///< in steps of kAlike
  hardware::GpuMask gpus = 0;
};

class BidPriceRun final : public Run {
 public:
  BidPriceRun(const PodPtr& pod, const ClusterState& state, std::shared_ptr<const Prices> prices)
      : wish_(gpu_wish(*pod)), shares_(pod->share != nullptr), state_(&state),
        prices_(std::move(prices)), meters_(prices_->meters, state),
        scarcity_(scarcity(prices_->meters->target(), state)),
        supply_version_(state.gpu_supply_version()) {}

  Reach reach() const override {
    return state_->gpu_supply_version() == supply_version_ ? Reach::Node : Reach::Cluster;
  }
  Grading grading() const override { return Grading::Relative; }
  std::uint64_t grade(NodeId node) override { return static_cast<std::uint64_t>(score(node)); }

  std::int64_t score(NodeId id) const override {
    const IdleView idle = idle_view(*state_, id);
    return scores_.of(idle, [&] { return -best_bid(*idle.node, idle.cpu, idle.room).cost; });
  }

  void normalize(std::span<const NodeId>, std::span<std::int64_t> scores) const override {
    const std::int64_t best = scores.empty() ? 0 : *std::ranges::max_element(scores);
    for (std::int64_t& score : scores) {
      score = std::max<std::int64_t>(0, kMaxNodeScore - (best - score));
    }
  }

  Status reserve(const PodInfo&, const ClusterState& state, Reservation& reservation) override {
    if (shares_ && wish_.shares_one() && wish_.milli > 0) {
      // The pod is on the node already.
      const NodeInfo& node = state.node(reservation.node);
      const std::int64_t cpu = node.allocatable.get(kCpu) - node.requested.get(kCpu) + wish_.cpu;
      reserve_parts(reservation, best_bid(node, cpu, gpu_room(state, node, reservation.slot)).gpus);
    }
    return Status::success();
  }

 private:
  double stranded(double gpu_left, double cpu_left) const {
    const double fed = prices_->cpu_per_gpu == 0 ? gpu_left : cpu_left / prices_->cpu_per_gpu;
    return std::max(0.0, gpu_left - fed);
  }

  /// Precondition: the pod fits.
  Bid best_bid(const NodeInfo& node, std::int64_t cpu, const GpuRoom& room) const {
    const FragmentMeter& meter = meters_.of(node.parts.model);
    const auto total = static_cast<double>(room.total_milli());
    const auto taken = static_cast<double>(wish_.total_milli());
    const auto cpu_left = static_cast<double>(cpu);
    const double common =
        kOfStranded * (stranded(total - taken, cpu_left - static_cast<double>(wish_.cpu)) -
                       stranded(total, cpu_left)) +
        kOfScarcity * taken * scarcity_[node.parts.model.index()];
    const std::int64_t before =
        meter.fragment({.cpu = cpu, .milli = {room.milli.data(), room.count}});
    GpuRoom after = room;
    const auto cost = [&] {
      const auto growth = static_cast<double>(
          meter.fragment({.cpu = cpu - wish_.cpu, .milli = {after.milli.data(), after.count}}) -
          before);
      return common + kOfFragment * growth / static_cast<double>(meter.weight());
    };
    const auto steps = [](double milli) {
      return static_cast<std::int64_t>(std::llround(milli / kAlike));
    };
    if (!wish_.shares_one()) {
      int missing = wish_.gpus;
      for (std::size_t i = 0; i < room.count && missing > 0; ++i) {
        if (room.milli[i] >= wish_.milli) {
          after.milli[i] -= wish_.milli;
          --missing;
        }
      }
      return {.cost = steps(cost()), .gpus = 0};
    }
    std::optional<Bid> best;
    std::int32_t best_left = 0;
    for (std::size_t i = 0; i < room.count; ++i) {
      const std::int32_t left = room.milli[i];
      const auto end = room.milli.begin() + static_cast<std::ptrdiff_t>(i);
      if (left < wish_.milli || std::find(room.milli.begin(), end, left) != end) {
        continue; // too full, or like one before
      }
      after.milli[i] = left - wish_.milli;
      const std::int64_t bid = steps(cost() + kOfRegret * prices_->parts.regret(left, wish_.milli));
      after.milli[i] = left;
      if (!best || bid < best->cost || (bid == best->cost && left < best_left)) {
        best = Bid{.cost = bid, .gpus = hardware::GpuMask{1} << i};
        best_left = left;
      }
    }
    return best.value_or(Bid());
  }

  GpuWish wish_;
  bool shares_;
  const ClusterState* state_;
  std::shared_ptr<const Prices> prices_;
  mutable MetersOf meters_; ///< memos
  mutable IdleMemo<std::int64_t> scores_;
  std::vector<double> scarcity_;
  std::uint64_t supply_version_;
};

class BidPrice final : public Plugin {
 public:
  explicit BidPrice(TargetWorkload target) : prices_(std::make_shared<Prices>(std::move(target))) {}

  std::string_view name() const override { return kBidPrice; }
  Points points() const override { return Point::Score | Point::Reserve; }

  Prepared prepare(const PodPtr& pod, const ClusterState& state) const override {
    return {.status = {}, .run = std::make_unique<BidPriceRun>(pod, state, prices_), .nodes = {}};
  }

 private:
  std::shared_ptr<const Prices> prices_;
};

} // namespace

std::unique_ptr<Plugin> make_bid_price(TargetWorkload target) {
  return std::make_unique<BidPrice>(std::move(target));
}

} // namespace berth::sched
