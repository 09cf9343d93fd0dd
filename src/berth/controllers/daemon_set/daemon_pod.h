// A DaemonSet's pod for a node: its document, whether it should be there, and where a pod is meant
// to be. Source: kubernetes pkg/controller/daemon (util/daemonset_util.go, daemon_controller.go).
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <boost/json/object.hpp>

#include "berth/api/object.h"
#include "berth/controllers/daemon_set/plan.h"
#include "berth/model/pod.h"

namespace berth::controllers {

/// The set's pod for this node: bound to it by node affinity, tolerating what daemons tolerate.
api::json::object daemon_pod(const api::Object& set, std::string_view node, std::string_view hash,
                             const std::string& suffix);

/// Whether a set's pods should be on a node, and whether one that is there may stay: a taint that
/// only keeps pods away ends none.
class NodeJudge {
 public:
  /// A template that is no pod should be nowhere.
  explicit NodeJudge(const api::Object& set);
  DaemonNode judge(const api::Object& node) const;

 private:
  std::shared_ptr<const model::Pod> pod_; ///< as the template describes it, for no node yet
};

/// The node a pod is on or, by its node affinity, meant for; "" if neither.
std::string target_node(const api::Object& pod);

} // namespace berth::controllers
