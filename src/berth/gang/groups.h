// What the scheduler knows of pod groups: the PodGroup objects of scheduling.x-k8s.io and who
// belongs to them. A pod joins by the label scheduling.x-k8s.io/pod-group in its own namespace.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "berth/api/object.h"
#include "berth/model/workload.h"
#include "berth/sched/cluster_state.h"

namespace berth::gang {

/// The group a pod names; its name is "" for pods in no group.
api::Key group_of(const sched::PodInfo& pod);

/// Fed by the scheduler process; plugins read it. Deterministic: members are held in uid order.
class Groups {
 public:
  struct Member {
    sched::PodPtr pod;
    bool succeeded =
        false; ///< finished well: it counts as placed, since the group once ran with it
  };

  void set_group(std::shared_ptr<const model::PodGroup> group);
  void remove_group(const api::Key& key);
  /// Adds or replaces a pod; pods in no group are ignored, failed ones are removed.
  void set_pod(const sched::PodPtr& pod);
  void remove_pod(const sched::PodInfo& pod);

  /// nullptr if there is no such PodGroup object.
  const model::PodGroup* find(const api::Key& key) const;
  /// When the group entered the scheduler's view, by its object's age if that came first, else by
  /// its first member's. Never changes, since the order of the queue rests on it. TimePoint() for a
  /// group never seen.
  TimePoint birth(const api::Key& key) const;
  /// Members that exist and have not failed, in uid order.
  std::vector<Member> members(const api::Key& key) const;
  std::int64_t member_count(const api::Key& key) const;
  /// Members that have a node in `state` or have succeeded; `except` (a uid) is not counted.
  std::int64_t placed_count(const api::Key& key, const sched::ClusterState& state,
                            std::string_view except = {}) const;

 private:
  std::map<api::Key, std::shared_ptr<const model::PodGroup>> groups_;
  std::map<api::Key, std::map<std::string, Member, std::less<>>> members_; // by uid
  std::map<api::Key, TimePoint> births_; // of every group ever seen
};

} // namespace berth::gang
