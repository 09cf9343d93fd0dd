#include "berth/sched/plugins/target_workload.h"

#include <fmt/format.h>

#include "berth/api/quantity.h"
#include "berth/api/strict.h"
#include "berth/sched/gpu_parts.h"

namespace berth::sched {
namespace {

void read_kind(const api::Field& in, TargetWorkload& out) {
  api::refuse_unknown(in, {"cpu", "gpuMilli", "gpus", "models", "count"});
  TypicalPod kind;
  in.within("cpu", [&](const api::Field& field) {
    api::Quantity cpu;
    decode(field, cpu);
    kind.demand.cpu = cpu.milli_value();
  });
  in.within("gpuMilli", [&](const api::Field& field) {
    decode(field, kind.demand.milli);
    api::check_range(field, kind.demand.milli, 0, kWholeGpuMilli);
  });
  in.within("gpus", [&](const api::Field& field) {
    decode(field, kind.demand.gpus);
    api::check_range(field, kind.demand.gpus, 0, kMaxGpus);
  });
  in.read("models", kind.demand.models);
  in.within("count", [&](const api::Field& field) {
    constexpr std::int64_t kMost = 1'000'000'000;
    decode(field, kind.count);
    api::check_range(field, kind.count, 1, kMost);
  });
  if (kind.count == 0) {
    api::require(in, "count");
  }
  out.pods.push_back(std::move(kind));
}

} // namespace

void decode(const api::Field& in, TargetWorkload& out) {
  api::refuse_unknown(in, {"pods", "typical"});
  in.within("typical", [&](const api::Field& list) {
    list.each([&](const api::Field& kind) { read_kind(kind, out); });
  });
  if (out.pods.empty()) {
    api::require(in, "typical", "the kinds of pods to leave room for, with their counts");
  }
  out.all = out.typical();
  in.within("pods", [&](const api::Field& field) {
    decode(field, out.all);
    if (out.all < out.typical()) {
      api::refuse_value(field,
                        fmt::format("must be at least the sum of counts, {}", out.typical()));
    }
  });
}

namespace {

struct TargetArgs {
  TargetWorkload target;
};

void decode(const api::Field& in, TargetArgs& out) {
  api::refuse_unknown(in, {"targetWorkload", "dimExtMethod", "normMethod"});
  bool has_target = false;
  in.within("targetWorkload", [&](const api::Field& field) {
    has_target = true;
    decode(field, out.target);
  });
  if (!has_target) {
    api::require(in, "targetWorkload", "the pods to leave room for");
  }
}

} // namespace

Result<TargetWorkload> parse_target_args(const boost::json::value& args) {
  BERTH_TRY(TargetArgs read, api::decode_document<TargetArgs>(args));
  return std::move(read.target);
}

boost::json::value to_document(const TargetWorkload& target) {
  boost::json::array typical;
  for (const auto& [demand, count] : target.pods) {
    boost::json::object kind{{"cpu", fmt::format("{}m", demand.cpu)}, {"count", count}};
    if (demand.gpus > 0) {
      kind["gpuMilli"] = demand.milli;
      kind["gpus"] = demand.gpus;
    }
    if (!demand.models.empty()) {
      kind["models"] = boost::json::array(demand.models.begin(), demand.models.end());
    }
    typical.emplace_back(std::move(kind));
  }
  return boost::json::object{{"pods", target.all}, {"typical", std::move(typical)}};
}

const FragmentMeter& FragmentMeters::of(std::string_view model) {
  const auto it = by_model_.find(model);
  return it != by_model_.end()
             ? it->second
             : by_model_.emplace(std::string(model), FragmentMeter(target_, model)).first->second;
}

const FragmentMeter& MetersOf::of(GpuModelId model) {
  if (model.index() >= by_id_.size()) {
    by_id_.resize(model.index() + 1, nullptr);
  }
  const FragmentMeter*& meter = by_id_[model.index()];
  if (meter == nullptr) {
    meter = &meters_->of(state_->gpu_models().name(model));
  }
  return *meter;
}

} // namespace berth::sched
