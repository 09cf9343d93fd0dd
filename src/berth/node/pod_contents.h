// One pod's part of what a real machine gives: its volumes, the containers that are being got
// ready, what those that ended had to say. Workers on simulated machines have none.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "berth/api/object.h"
#include "berth/model/pod.h"
#include "berth/node/contents/contents.h"
#include "berth/node/contents/prepare_container.h"
#include "berth/node/pod_view.h"
#include "berth/node/tell.h"
#include "berth/node/volumes/pod_volumes.h"

namespace berth::node {

/// Called as later tasks. `on_change`: look again at what is to be done.
struct PodContentsEvents {
  Tell tell;
  std::function<void()> on_change;
  /// A container cannot be got ready now; it is to be held for that long.
  std::function<void(const std::string& container, const Preparation& failed)> on_failure;
};

/// To be owned by a shared_ptr: nothing is called back once it is gone.
class PodContents : public std::enable_shared_from_this<PodContents> {
 public:
  PodContents(Contents& contents, std::shared_ptr<const NodeAmounts> amounts, std::string host_ip,
              PodContentsEvents events);

  /// True once all volumes are there; until then they are being set up.
  bool volumes_ready(const api::Object& pod, const std::string& pod_ip);
  void update(const api::Object& pod) { volumes_->update(pod); }

  /// Adds to the sandbox what only a real machine reads of the pod, and makes its log folder.
  Result<void> complete(const api::Object& object, const model::Pod& pod,
                        runtime::SandboxConfig& config) const;

  /// What the attempt is made of, once. Nothing: it is being got ready, or begins to be.
  std::optional<ContainerContents> take(const api::Object& object,
                                        const std::shared_ptr<const model::Pod>& pod,
                                        const ContainerView& container, const std::string& pod_ip);
  /// A container is being got ready.
  bool busy() const { return under_way_.has_value(); }

  /// What the containers that have ended said, by id. Reads each one's file once.
  const std::map<std::string, std::string>& messages(const api::Object& pod, const PodView& view);

  /// Nothing of the pod runs any more.
  void tear_down(const std::string& pod_uid);

 private:
  using Attempt = std::pair<std::string, std::uint32_t>;
  void prepared(const Attempt& attempt, Preparation made);

  Contents* contents_;
  std::shared_ptr<const NodeAmounts> amounts_;
  std::string host_ip_;
  PodContentsEvents events_;
  std::shared_ptr<PodVolumes> volumes_;
  std::shared_ptr<int> wanted_; ///< goes once nothing more is to be got ready
  std::optional<Attempt> under_way_;
  std::map<Attempt, ContainerContents> ready_;
  std::map<std::string, std::string> messages_;
};

} // namespace berth::node
