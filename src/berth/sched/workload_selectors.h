// Who selects a pod: the Services of its namespace, and the ReplicationController, ReplicaSet or
// StatefulSet that owns it. PodTopologySpread's default constraints count the pods that these
// select together. Part of ClusterState. Source: kube-scheduler plugins/helper/spread.go.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "berth/api/selector.h"
#include "berth/model/pod.h"
#include "berth/model/pod_selector.h"

namespace berth::sched {

using PodSelectorPtr = std::shared_ptr<const model::PodSelector>;

/// Copyable. Lookups O(log n).
class WorkloadSelectors {
 public:
  void set_service(PodSelectorPtr service);
  void remove_service(const api::Key& key);
  /// `kind` is ReplicationController, ReplicaSet or StatefulSet.
  void set_controller(std::string_view kind, PodSelectorPtr controller);
  void remove_controller(std::string_view kind, const api::Key& key);
  bool empty() const { return services_.empty() && controllers_.empty(); }

  /// What selects the pod, all of it at once: the selectors of every Service that matches it, and
  /// of the controller in its owner references. Empty: nothing does. O(services of the namespace).
  api::Selector selector_of(const model::Pod& pod) const;

 private:
  using ByName = std::map<std::string, PodSelectorPtr, std::less<>>;
  std::map<std::string, ByName, std::less<>> services_;                    ///< by namespace
  std::map<std::pair<std::string, api::Key>, PodSelectorPtr> controllers_; ///< by kind and name
};

} // namespace berth::sched
