#include "berth/sched/plugins/balanced_allocation.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "berth/api/strict.h"

namespace berth::sched {
namespace {

constexpr KubernetesVersion kScoresChange{.minor = 36};

/// Shares are gathered here while one node is scored.
struct Shares {
  std::array<double, 8> few{};
  std::vector<double> many;
  std::size_t count = 0;

  explicit Shares(std::size_t most) { many.resize(most > few.size() ? most : 0); }
  void add(double share) { (many.empty() ? few.data() : many.data())[count++] = share; }
  std::span<const double> all() const { return {many.empty() ? few.data() : many.data(), count}; }
};

class BalanceRun final : public Run {
 public:
  BalanceRun(PodPtr pod, const ClusterState& state, const BalancedAllocationArgs& args,
             KubernetesVersion version)
      : pod_(std::move(pod)), state_(&state), version_(version) {
    for (const std::string& name : args.resources) {
      const auto id = state.resource_names().find(name);
      if (!id) {
        continue;
      }
      const std::int64_t amount = pod_->request(*id);
      requests_any_ = requests_any_ || amount > 0;
      if (amount > 0 || *id == kCpu || *id == kMemory || *id == kEphemeralStorage) {
        resources_.emplace_back(*id, amount);
      }
    }
  }

  Reach reach() const override { return Reach::Node; }
  Grading grading() const override { return requests_any_ ? Grading::Absolute : Grading::None; }

  Status pre_score(std::span<const NodeId>) override {
    return requests_any_ ? Status::success() : Status::skip();
  }

  std::int64_t score(NodeId id) const override {
    const NodeInfo& node = state_->node(id);
    const std::int64_t with = balance_of(node, 1);
    if (version_ < kScoresChange) {
      return with;
    }
    const std::int64_t without = balance_of(node, 0);
    return 50 + (50 + with - without) / 2;
  }

 private:
  std::int64_t balance_of(const NodeInfo& node, std::int64_t pods) const {
    Shares shares(resources_.size());
    for (const auto& [resource, amount] : resources_) {
      const std::int64_t allocatable = node.allocatable.get(resource);
      if (allocatable != 0) {
        const std::int64_t requested = node.requested.get(resource) + pods * amount;
        shares.add(
            std::min(1.0, static_cast<double>(requested) / static_cast<double>(allocatable)));
      }
    }
    return balance(shares.all());
  }

  PodPtr pod_;
  const ClusterState* state_;
  KubernetesVersion version_;
  bool requests_any_ = false;
  std::vector<std::pair<ResourceId, std::int64_t>> resources_; // with the pod's request
};

class BalancedAllocation final : public Plugin {
 public:
  BalancedAllocation(BalancedAllocationArgs args, KubernetesVersion version)
      : args_(std::move(args)), version_(version) {}

  std::string_view name() const override { return kBalancedAllocation; }
  Points points() const override { return static_cast<Points>(Point::Score); }
  Prepared prepare(const PodPtr& pod, const ClusterState& state) const override {
    return {.status = {},
            .run = std::make_unique<BalanceRun>(pod, state, args_, version_),
            .nodes = {}};
  }

 private:
  BalancedAllocationArgs args_;
  KubernetesVersion version_;
};

} // namespace

std::int64_t balance(std::span<const double> shares) {
  double deviation = 0;
  if (shares.size() == 2) {
    deviation = std::abs((shares[0] - shares[1]) / 2);
  } else if (shares.size() > 2) {
    double total = 0;
    for (const double share : shares) {
      total += share;
    }
    const double mean = total / static_cast<double>(shares.size());
    double squares = 0;
    for (const double share : shares) {
      squares += (share - mean) * (share - mean);
    }
    deviation = std::sqrt(squares / static_cast<double>(shares.size()));
  }
  return static_cast<std::int64_t>((1 - deviation) * static_cast<double>(kMaxNodeScore));
}

void decode(const api::Field& in, BalancedAllocationArgs& out) {
  api::refuse_unknown(in, {"resources"});
  in.within("resources", [&](const api::Field& list) {
    std::vector<std::string> names;
    list.each([&](const api::Field& item) {
      api::refuse_unknown(item, {"name", "weight"});
      std::string name;
      item.read("name", name);
      if (name.empty()) {
        api::require(item, "name");
      }
      if (std::ranges::find(names, name) != names.end()) {
        item.fail_member("name", fmt::format("Duplicate value: \"{}\"", name));
      }
      item.within("weight", [&](const api::Field& field) {
        std::int64_t weight = 1;
        decode(field, weight);
        if (!field.failed() && weight != 0 && weight != 1) {
          api::refuse_value(field, "must be 1");
        }
      });
      names.push_back(std::move(name));
    });
    if (!names.empty()) {
      out.resources = std::move(names);
    }
  });
}

Result<BalancedAllocationArgs> parse_balanced_allocation_args(const boost::json::value& args) {
  return api::decode_document<BalancedAllocationArgs>(args);
}

std::unique_ptr<Plugin> make_balanced_allocation(BalancedAllocationArgs args,
                                                 KubernetesVersion version) {
  return std::make_unique<BalancedAllocation>(std::move(args), version);
}

} // namespace berth::sched
