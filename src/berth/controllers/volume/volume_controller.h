// Persistent volumes: binds claims to volumes that match, provisions volumes of classes that can
// (in simulation: any provisioner's volume exists as soon as its object does), gives claims without
// a class the default one, makes the claims of pods' ephemeral volumes, releases or deletes volumes
// whose claim is gone, and lets go of deleted claims and volumes that nobody uses. Rules:
// Kubernetes' persistent volume, provisioner, ephemeral volume and protection controllers.
#pragma once

#include <memory>

#include "berth/base/loop.h"
#include "berth/client/client.h"

namespace berth::controllers {

class VolumeController {
 public:
  VolumeController(client::Client& client, Loop& loop);
  ~VolumeController();
  VolumeController(const VolumeController&) = delete;
  VolumeController& operator=(const VolumeController&) = delete;

  /// Nothing is queued, under way or due later.
  bool idle() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

} // namespace berth::controllers
