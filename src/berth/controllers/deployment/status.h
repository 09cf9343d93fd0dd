// A Deployment's status as its ReplicaSets make it. Source: kubernetes pkg/controller/deployment
// (sync.go, progress.go).
#pragma once

#include <vector>

#include "berth/api/object.h"
#include "berth/controllers/deployment/plan.h"

namespace berth::controllers {

struct RolloutStatus {
  RolloutQuestion question;
  std::string current; ///< name of the current set; "" if there is none
  TimePoint now;
};

/// The Deployment with counts, conditions Available and Progressing, and observedGeneration. A
/// Deployment without progress for progressDeadlineSeconds is said to have exceeded its deadline.
api::Object with_rollout_status(const api::Object& deployment, const RolloutStatus& status);

/// When the deadline of a rollout under way runs out; none if it has, or nothing is under way.
std::optional<TimePoint> progress_deadline(const api::Object& deployment);

} // namespace berth::controllers
