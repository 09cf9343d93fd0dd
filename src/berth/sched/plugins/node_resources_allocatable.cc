#include "berth/sched/plugins/node_resources_allocatable.h"

#include <algorithm>

#include <fmt/format.h>

#include "berth/api/strict.h"

namespace berth::sched {
namespace {

/// Products of amounts and weights do not fit 64 bits.
__extension__ using Wide = __int128;

class AllocatableRun final : public Run {
 public:
  AllocatableRun(const ClusterState& state, const AllocatableArgs& args)
      : state_(&state), mode_(args.mode) {
    for (const auto& [resource, weight] : args.resources) {
      total_ += weight;
      // A name that no node and no pod ever had counts as 0 everywhere.
      if (const auto id = state.resource_names().find(resource)) {
        weights_.emplace_back(*id, weight);
      } else {
        names_known_ = false;
      }
    }
  }

  /// A resource may become known later.
  Reach reach() const override { return names_known_ ? Reach::Node : Reach::Cluster; }
  Grading grading() const override { return Grading::Relative; }
  std::uint64_t grade(NodeId node) override { return static_cast<std::uint64_t>(score(node)); }

  std::int64_t score(NodeId id) const override {
    Wide sum = 0;
    for (const auto& [resource, weight] : weights_) {
      sum += Wide{state_->node(id).allocatable.get(resource)} * weight;
    }
    const auto mean = static_cast<std::int64_t>(sum / total_);
    return mode_ == AllocatableArgs::Mode::Least ? -std::max(mean, -INT64_MAX) : mean;
  }

  void normalize(std::span<const NodeId>, std::span<std::int64_t> scores) const override {
    const auto [low, high] = std::ranges::minmax(scores);
    for (std::int64_t& score : scores) {
      score =
          high == low
              ? 0
              : static_cast<std::int64_t>((Wide{score} - low) * kMaxNodeScore / (Wide{high} - low));
    }
  }

 private:
  const ClusterState* state_;
  AllocatableArgs::Mode mode_;
  std::vector<std::pair<ResourceId, std::int64_t>> weights_;
  Wide total_ = 0;
  bool names_known_ = true;
};

class NodeResourcesAllocatable final : public Plugin {
 public:
  explicit NodeResourcesAllocatable(AllocatableArgs args) : args_(std::move(args)) {}

  std::string_view name() const override { return kNodeResourcesAllocatable; }
  Points points() const override { return static_cast<Points>(Point::Score); }
  Prepared prepare(const PodPtr&, const ClusterState& state) const override {
    return {.status = {}, .run = std::make_unique<AllocatableRun>(state, args_), .nodes = {}};
  }

 private:
  AllocatableArgs args_;
};

AllocatableArgs::Weight read_weight(const api::Field& in) {
  AllocatableArgs::Weight out;
  api::refuse_unknown(in, {"name", "weight"});
  in.read("name", out.resource);
  if (out.resource.empty()) {
    api::require(in, "name");
  }
  in.within("weight", [&](const api::Field& field) {
    decode(field, out.weight);
    out.weight = out.weight == 0 ? 1 : out.weight;
  });
  if (!in.failed() && out.weight <= 0) {
    in.fail_member("weight", fmt::format("Invalid value: {}: resource weight of {} should be a "
                                         "positive value",
                                         out.weight, out.resource));
  }
  return out;
}

} // namespace

void decode(const api::Field& in, AllocatableArgs& out) {
  api::refuse_unknown(in, {"mode", "resources"});
  in.within("mode", [&](const api::Field& field) {
    std::string mode;
    decode(field, mode);
    api::check_choice(field, mode, {"Least", "Most"});
    out.mode = mode == "Most" ? AllocatableArgs::Mode::Most : AllocatableArgs::Mode::Least;
  });
  in.within("resources", [&](const api::Field& list) {
    std::vector<AllocatableArgs::Weight> resources;
    list.each([&](const api::Field& item) { resources.push_back(read_weight(item)); });
    if (!resources.empty()) {
      out.resources = std::move(resources);
    }
  });
}

Result<AllocatableArgs> parse_allocatable_args(const boost::json::value& args) {
  return api::decode_document<AllocatableArgs>(args);
}

std::unique_ptr<Plugin> make_node_resources_allocatable(AllocatableArgs args) {
  return std::make_unique<NodeResourcesAllocatable>(std::move(args));
}

} // namespace berth::sched
