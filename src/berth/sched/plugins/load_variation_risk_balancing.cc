#include "berth/sched/plugins/load_variation_risk_balancing.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "berth/api/strict.h"
#include "berth/sched/load_score.h"
#include "berth/sched/plugins/trimaran_args.h"

namespace berth::sched {
namespace {

constexpr double kMega = 1.0 / 1024 / 1024;

class VariationRun final : public Run {
 public:
  VariationRun(const PodInfo& pod, const ClusterState& state, const LoadVariationArgs& args)
      : state_(&state), args_(&args), cpu_(pod.request(kCpu)), memory_(pod.request(kMemory)),
        gpus_(pod.gpus) {}

  Reach reach() const override { return Reach::Node; }
  Grading grading() const override { return Grading::Absolute; }

  std::int64_t score(NodeId id) const override {
    const NodeLoad& load = state_->reports(id).load;
    const Resources& allocatable = state_->node(id).allocatable;
    std::optional<double> least;
    const auto look_at = [&](std::string_view name, const std::optional<Utilisation>& measured,
                             double capacity, double asked) {
      if (!measured || !args_->resources.contains(name)) {
        return;
      }
      const double score =
          variation_score({.capacity = capacity,
                           .asked = asked,
                           .used = measured->average * capacity / 100,
                           .used_deviation = measured->deviation * capacity / 100},
                          args_->safe_variance_margin, args_->safe_variance_sensitivity);
      least = std::min(least.value_or(score), score);
    };
    look_at("cpu", load.cpu, static_cast<double>(allocatable.get(kCpu)), static_cast<double>(cpu_));
    look_at("memory", load.memory, static_cast<double>(allocatable.get(kMemory)) * kMega,
            static_cast<double>(memory_) * kMega);
    if (gpus_ > 0) {
      look_at(model::kGpuResource, load.gpu, static_cast<double>(allocatable.get(kGpu)),
              static_cast<double>(gpus_));
    }
    return static_cast<std::int64_t>(std::round(least.value_or(0)));
  }

 private:
  const ClusterState* state_;
  const LoadVariationArgs* args_; ///< of the plugin, which outlives its runs
  std::int64_t cpu_;
  std::int64_t memory_;
  std::int64_t gpus_;
};

class LoadVariationRiskBalancing final : public Plugin {
 public:
  explicit LoadVariationRiskBalancing(LoadVariationArgs args) : args_(std::move(args)) {}

  std::string_view name() const override { return kLoadVariationRiskBalancing; }
  Points points() const override { return static_cast<Points>(Point::Score); }
  Prepared prepare(const PodPtr& pod, const ClusterState& state) const override {
    return {.status = {}, .run = std::make_unique<VariationRun>(*pod, state, args_), .nodes = {}};
  }

 private:
  LoadVariationArgs args_;
};

} // namespace

void decode(const api::Field& in, LoadVariationArgs& out) {
  read_trimaran_args(in, {"safeVarianceMargin", "safeVarianceSensitivity", "resources"});
  read_decimal(in, "safeVarianceMargin", out.safe_variance_margin);
  read_decimal(in, "safeVarianceSensitivity", out.safe_variance_sensitivity);
  in.within("resources", [&](const api::Field& list) {
    out.resources.clear();
    list.each([&](const api::Field& item) {
      std::string name;
      decode(item, name);
      api::check_choice(item, name, {"cpu", "memory", model::kGpuResource});
      out.resources.insert(std::move(name));
    });
  });
}

Result<LoadVariationArgs> parse_load_variation_args(const boost::json::value& args) {
  return api::decode_document<LoadVariationArgs>(args);
}

std::unique_ptr<Plugin> make_load_variation_risk_balancing(LoadVariationArgs args) {
  return std::make_unique<LoadVariationRiskBalancing>(std::move(args));
}

} // namespace berth::sched
