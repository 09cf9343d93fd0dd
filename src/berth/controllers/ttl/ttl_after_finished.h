// Deletes finished Jobs, with their pods, spec.ttlSecondsAfterFinished after their end. Source:
// kubernetes pkg/controller/ttlafterfinished.
#pragma once

#include <memory>
#include <optional>

#include "berth/base/loop.h"
#include "berth/client/client.h"

namespace berth::controllers {

/// When a Job is due to go; none if it has no limit, runs, or is being deleted.
std::optional<TimePoint> expiry_of(const api::Object& job);

class TtlAfterFinished {
 public:
  TtlAfterFinished(client::Client& client, Loop& loop);
  ~TtlAfterFinished();
  TtlAfterFinished(const TtlAfterFinished&) = delete;
  TtlAfterFinished& operator=(const TtlAfterFinished&) = delete;

  bool idle() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

} // namespace berth::controllers
