#include "berth/sched/plugins/target_load_packing.h"

#include <cmath>

#include <fmt/format.h>

#include "berth/api/strict.h"
#include "berth/sched/load_score.h"
#include "berth/sched/plugins/trimaran_args.h"

namespace berth::sched {
namespace {

using Args = TargetLoadPackingArgs;

/// How long after a pod started the metrics may not show it.
constexpr Duration kReportingInterval = Duration::seconds(60);

const api::Quantity* find_cpu(const model::ResourceList& list) {
  const auto it = list.find("cpu");
  return it == list.end() ? nullptr : &it->second;
}

/// Thousandths of a CPU or GPU; whole numbers as upstream's, in a type that cannot overflow.
double expected_use(const PodInfo& pod, const Args& args) {
  if (args.resource == Args::Of::Gpu) {
    return static_cast<double>(pod.gpus) * 1000;
  }
  double sum = 0;
  for (const model::Container& container : pod.pod->spec.containers) {
    if (const auto* limit = find_cpu(container.resources.limits)) {
      sum += static_cast<double>(limit->milli_value());
    } else if (const auto* request = find_cpu(container.resources.requests)) {
      sum += std::round(static_cast<double>(request->milli_value()) *
                        args.default_requests_multiplier);
    } else {
      sum += static_cast<double>(args.default_requests);
    }
  }
  const auto* overhead = find_cpu(pod.pod->spec.overhead);
  return sum + (overhead == nullptr ? 0 : static_cast<double>(overhead->milli_value()));
}

bool is_measured(const PodInfo& pod, const NodeLoad& load) {
  const auto& start = pod.pod->status.start_time;
  return start && load.until && *start <= *load.until - kReportingInterval;
}

class PackingRun final : public Run {
 public:
  PackingRun(const PodInfo& pod, const ClusterState& state, const Args& args)
      : state_(&state), args_(&args), expected_(expected_use(pod, args)),
        concerned_(args.resource == Args::Of::Cpu || pod.gpus > 0) {}

  Reach reach() const override { return Reach::Node; }
  Grading grading() const override { return concerned_ ? Grading::Absolute : Grading::None; }
  Status pre_score(std::span<const NodeId>) override {
    return concerned_ ? Status::success() : Status::skip();
  }

  std::int64_t score(NodeId id) const override {
    const NodeInfo& node = state_->node(id);
    const NodeLoad& load = state_->reports(id).load;
    const auto& measured = args_->resource == Args::Of::Cpu ? load.cpu : load.gpu;
    if (!measured) {
      return 0;
    }
    const double capacity = capacity_of(node);
    const double used = measured->average / 100 * capacity;
    double unmeasured = 0;
    for (const PodSlot slot : node.pods) {
      const PodInfo& other = *state_->placed(slot).pod;
      unmeasured += is_measured(other, load) ? 0.0 : expected_use(other, *args_);
    }
    const double utilisation = capacity == 0 ? 0 : 100 * (used + expected_ + unmeasured) / capacity;
    return packing_score(utilisation, static_cast<double>(args_->target_utilization));
  }

 private:
  double capacity_of(const NodeInfo& node) const {
    const bool cpu = args_->resource == Args::Of::Cpu;
    const auto it = node.node->capacity.find(cpu ? "cpu" : model::kGpuResource);
    return it == node.node->capacity.end() ? 0 : static_cast<double>(it->second.milli_value());
  }

  const ClusterState* state_;
  const Args* args_; ///< of the plugin, which outlives its runs
  double expected_;
  bool concerned_;
};

class TargetLoadPacking final : public Plugin {
 public:
  explicit TargetLoadPacking(Args args) : args_(args) {}

  std::string_view name() const override { return kTargetLoadPacking; }
  Points points() const override { return static_cast<Points>(Point::Score); }
  Prepared prepare(const PodPtr& pod, const ClusterState& state) const override {
    return {.status = {}, .run = std::make_unique<PackingRun>(*pod, state, args_), .nodes = {}};
  }

 private:
  Args args_;
};

void read_default_requests(const api::Field& in, Args& out) {
  api::refuse_unknown(in, {"cpu"});
  in.within("cpu", [&](const api::Field& field) {
    api::Quantity quantity;
    decode(field, quantity);
    out.default_requests = quantity.milli_value();
    if (!field.failed() && out.default_requests < 0) {
      api::refuse_value(field, "must be greater than or equal to 0");
    }
  });
}

} // namespace

void decode(const api::Field& in, TargetLoadPackingArgs& out) {
  read_trimaran_args(
      in, {"targetUtilization", "defaultRequests", "defaultRequestsMultiplier", "resource"});
  in.within("targetUtilization", [&](const api::Field& field) {
    decode(field, out.target_utilization);
    if (!field.failed()) {
      api::check_range(field, out.target_utilization, 1, 99);
    }
  });
  in.within("defaultRequests", [&](const api::Field& field) { read_default_requests(field, out); });
  read_decimal(in, "defaultRequestsMultiplier", out.default_requests_multiplier);
  in.within("resource", [&](const api::Field& field) {
    std::string resource;
    decode(field, resource);
    api::check_choice(field, resource, {"cpu", model::kGpuResource});
    out.resource = resource == "cpu" ? Args::Of::Cpu : Args::Of::Gpu;
  });
  if (!in.failed() && out.default_requests_multiplier < 1) {
    in.fail_member("defaultRequestsMultiplier",
                   fmt::format("Invalid value: {}: must be greater than or equal to 1",
                               out.default_requests_multiplier));
  }
}

Result<TargetLoadPackingArgs> parse_target_load_packing_args(const boost::json::value& args) {
  return api::decode_document<TargetLoadPackingArgs>(args);
}

std::unique_ptr<Plugin> make_target_load_packing(TargetLoadPackingArgs args) {
  return std::make_unique<TargetLoadPacking>(args);
}

} // namespace berth::sched
