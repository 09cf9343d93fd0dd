// The volumes of one pod on a real machine: set up before its first container, kept like the
// objects they show while it runs, taken away when nothing of it runs any more.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "berth/api/object.h"
#include "berth/base/background.h"
#include "berth/base/loop.h"
#include "berth/client/backoff.h"
#include "berth/client/client.h"
#include "berth/client/token_source.h"
#include "berth/model/pod.h"
#include "berth/node/container_env.h"
#include "berth/node/tell.h"
#include "berth/node/volumes/pod_tokens.h"
#include "berth/node/volumes/volume_plan.h"

namespace berth::node {

/// What it stands on; everything outlives it.
struct VolumesPlace {
  Loop* loop = nullptr;
  client::Client* client = nullptr;
  Background* background = nullptr;
  client::TokenSource* tokens = nullptr; ///< may be null: there are none
  std::string root;                      ///< the kubelet's
  std::string owner;                     ///< whose the pods' folders are
  Duration refresh;                      ///< how often shown objects are read again
  model::ResourceList allocatable;       ///< of the node
  std::string host_ip;
};

/// Where a pod's volume is on the machine.
struct VolumeAt {
  std::string path;
  bool read_only = false; ///< for every container, whatever its mount says
};

/// To be owned by a shared_ptr: nothing is called back once it is gone.
class PodVolumes : public std::enable_shared_from_this<PodVolumes> {
 public:
  /// `on_change` comes as a later task when volumes have become ready, or are to be wanted again.
  PodVolumes(VolumesPlace place, Tell tell, std::function<void()> on_change);

  /// All that the pod's containers mount is there.
  bool ready() const { return ready_; }
  /// Sets up what is not there yet. Does nothing while that is under way, or while it waits to try
  /// again after a failure, of which the pod's events tell.
  void want(const api::Object& pod, const std::string& pod_ip);
  /// By name; complete once ready().
  const std::map<std::string, VolumeAt>& at() const { return at_; }
  /// A newer version of the pod: what its volumes show of it follows.
  void update(const api::Object& pod) { pod_ = pod; }
  /// Unmounts and removes; hostPaths stay. `done` is a later task.
  void tear_down(const std::string& pod_uid, std::function<void()> done);

 private:
  struct Round;
  template <class F> auto step(std::shared_ptr<Round> round, F next);
  void begin();
  void fetch_claims(const std::shared_ptr<Round>& round);
  void fetch_tokens(const std::shared_ptr<Round>& round);
  void carry(const std::shared_ptr<Round>& round);
  void finish(Round& round);
  void refresh_later();

  VolumesPlace place_;
  Tell tell_;
  std::function<void()> on_change_;
  api::Object pod_;
  std::string pod_ip_;
  std::map<std::string, VolumeAt> at_;
  PodTokens tokens_;
  client::Backoff backoff_;
  Timer again_;
  bool busy_ = false;
  bool ready_ = false;
  bool over_ = false;
};

} // namespace berth::node
