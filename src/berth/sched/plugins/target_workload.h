// Args of the plugins that leave room for a target workload, and the meters they share.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/value.hpp>

#include "berth/api/field.h"
#include "berth/sched/cluster_state.h"
#include "berth/sched/fragmentation.h"

namespace berth::sched {

/// {"pods": 8152, "typical": [{"cpu": "12", "gpuMilli": 1000, "gpus": 1, "models": ["T4"],
/// "count": 600}, ...]}: at least one kind. "pods", which may be absent, counts those too rare to
/// be listed as well.
void decode(const api::Field& in, TargetWorkload& out);
/// What such a plugin is configured with: {"targetWorkload": ...}, required; Alibaba's
/// "dimExtMethod" and "normMethod" are allowed and make no difference. Errors name the field.
Result<TargetWorkload> parse_target_args(const boost::json::value& args);
/// The same as a document, e.g. for a configuration file.
boost::json::value to_document(const TargetWorkload& target);

/// A meter by GPU model, made when first asked for.
class FragmentMeters {
 public:
  explicit FragmentMeters(TargetWorkload target) : target_(std::move(target)) {}

  const TargetWorkload& target() const { return target_; }
  /// Stays valid.
  const FragmentMeter& of(std::string_view model);

 private:
  TargetWorkload target_;
  std::map<std::string, FragmentMeter, std::less<>> by_model_;
};

/// The meters by the ids that one state gives to models.
class MetersOf {
 public:
  MetersOf(std::shared_ptr<FragmentMeters> meters, const ClusterState& state)
      : meters_(std::move(meters)), state_(&state) {}

  const FragmentMeter& of(GpuModelId model);

 private:
  std::shared_ptr<FragmentMeters> meters_;
  const ClusterState* state_;
  std::vector<const FragmentMeter*> by_id_;
};

} // namespace berth::sched
