#include "berth/sched/plugins/low_risk_over_commitment.h"

#include <algorithm>
#include <cmath>

#include "berth/api/strict.h"
#include "berth/sched/plugins/trimaran_args.h"

namespace berth::sched {
namespace {

/// cpu in milli, memory in bytes; exact up to 2^53, and sums of what is absurdly large stay
/// numbers.
struct Amounts {
  double cpu = 0;
  double memory = 0;

  void add(const Amounts& other) {
    cpu += other.cpu;
    memory += other.memory;
  }
  void raise(const Amounts& other) {
    cpu = std::max(cpu, other.cpu);
    memory = std::max(memory, other.memory);
  }
};

Amounts amounts_of(const model::ResourceList& list) {
  const auto get = [&](std::string_view name) {
    const auto it = list.find(name);
    return it == list.end() ? 0.0 : static_cast<double>(amount_of(name, it->second));
  };
  return {.cpu = get("cpu"), .memory = get("memory")};
}

Amounts requests_of(const PodInfo& pod) {
  return {.cpu = static_cast<double>(pod.request(kCpu)),
          .memory = static_cast<double>(pod.request(kMemory))};
}

/// Never below the requests.
Amounts limits_of(const PodInfo& pod) {
  const model::PodSpec& spec = pod.pod->spec;
  Amounts sum;
  for (const model::Container& container : spec.containers) {
    sum.add(amounts_of(container.resources.limits));
  }
  for (const model::Container& container : spec.init_containers) {
    sum.raise(amounts_of(container.resources.limits));
  }
  sum.add(amounts_of(spec.overhead));
  sum.raise(requests_of(pod));
  return sum;
}

class LowRiskRun final : public Run {
 public:
  LowRiskRun(const PodInfo& pod, const ClusterState& state, const LowRiskArgs& args)
      : state_(&state), args_(&args), requests_(requests_of(pod)), limits_(limits_of(pod)) {}

  Reach reach() const override { return Reach::Node; }
  Grading grading() const override { return Grading::Absolute; }

  std::int64_t score(NodeId id) const override {
    const NodeReports& reports = state_->reports(id);
    if (!reports.metrics) {
      return 0;
    }
    const NodeInfo& node = state_->node(id);
    Amounts requests;
    Amounts limits;
    for (const PodSlot slot : node.pods) {
      const PodInfo& pod = *state_->placed(slot).pod;
      requests.add(requests_of(pod));
      limits.add(limits_of(pod));
    }
    const double cpu = risk(node.allocatable.get(kCpu), requests.cpu, limits.cpu, &Amounts::cpu,
                            reports.load.cpu, args_->cpu_limit_weight);
    const double memory = risk(node.allocatable.get(kMemory), requests.memory, limits.memory,
                               &Amounts::memory, reports.load.memory, args_->memory_limit_weight);
    return static_cast<std::int64_t>(
        std::round((1 - std::max(cpu, memory)) * static_cast<double>(kMaxNodeScore)));
  }

 private:
  double risk(std::int64_t capacity, double requests, double limits, double Amounts::*of,
              const std::optional<Utilisation>& measured, double limit_weight) const {
    const auto whole = static_cast<double>(capacity);
    const Commitment commitment{.capacity = whole,
                                .requests = requests + requests_.*of,
                                .limits = limits + limits_.*of,
                                .requests_before = requests,
                                .limits_before = limits};
    const Utilisation use = measured.value_or(Utilisation());
    const LoadStats stats{.capacity = whole,
                          .asked = 0,
                          .used = use.average * whole / 100,
                          .used_deviation = use.deviation * whole / 100};
    return over_commitment_risk(commitment, stats, measured ? Measured::Yes : Measured::No,
                                {.window = static_cast<double>(args_->smoothing_window_size),
                                 .limit_weight = limit_weight});
  }

  const ClusterState* state_;
  const LowRiskArgs* args_; ///< of the plugin, which outlives its runs
  Amounts requests_;
  Amounts limits_;
};

class LowRiskOverCommitment final : public Plugin {
 public:
  explicit LowRiskOverCommitment(LowRiskArgs args) : args_(args) {}

  std::string_view name() const override { return kLowRiskOverCommitment; }
  Points points() const override { return static_cast<Points>(Point::Score); }
  Prepared prepare(const PodPtr& pod, const ClusterState& state) const override {
    return {.status = {}, .run = std::make_unique<LowRiskRun>(*pod, state, args_), .nodes = {}};
  }

 private:
  LowRiskArgs args_;
};

void read_weight(const api::Field& in, std::string_view resource, double& out) {
  read_decimal(in, resource, out);
  if (out > 1) {
    in.fail_member(resource, "Invalid value: not in valid range [0, 1]");
  }
}

} // namespace

void decode(const api::Field& in, LowRiskArgs& out) {
  read_trimaran_args(in, {"smoothingWindowSize", "riskLimitWeights"});
  in.within("smoothingWindowSize", [&](const api::Field& field) {
    decode(field, out.smoothing_window_size);
    if (!field.failed() && out.smoothing_window_size <= 0) {
      api::refuse_value(field, "must be greater than 0");
    }
  });
  in.within("riskLimitWeights", [&](const api::Field& weights) {
    api::refuse_unknown(weights, {"cpu", "memory"});
    read_weight(weights, "cpu", out.cpu_limit_weight);
    read_weight(weights, "memory", out.memory_limit_weight);
  });
}

Result<LowRiskArgs> parse_low_risk_args(const boost::json::value& args) {
  return api::decode_document<LowRiskArgs>(args);
}

std::unique_ptr<Plugin> make_low_risk_over_commitment(LowRiskArgs args) {
  return std::make_unique<LowRiskOverCommitment>(args);
}

} // namespace berth::sched
