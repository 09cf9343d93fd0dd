#include "berth/gang/groups.h"

#include <algorithm>

namespace berth::gang {

api::Key group_of(const sched::PodInfo& pod) {
  return {.ns = pod.ns(), .name = std::string(pod.pod->pod_group())};
}

void Groups::set_group(std::shared_ptr<const model::PodGroup> group) {
  const api::Key key{.ns = group->meta.ns, .name = group->meta.name};
  births_.emplace(key, group->meta.creation_timestamp.value_or(TimePoint()));
  groups_.insert_or_assign(key, std::move(group));
}

void Groups::remove_group(const api::Key& key) {
  groups_.erase(key);
}

void Groups::set_pod(const sched::PodPtr& pod) {
  const api::Key key = group_of(*pod);
  if (key.name.empty()) {
    return;
  }
  births_.emplace(key, pod->pod->meta.creation_timestamp.value_or(TimePoint()));
  if (pod->pod->status.phase == "Failed") {
    remove_pod(*pod);
    return;
  }
  members_[key].insert_or_assign(pod->uid, Member{.pod = pod, .succeeded = pod->pod->terminal()});
}

void Groups::remove_pod(const sched::PodInfo& pod) {
  const auto it = members_.find(group_of(pod));
  if (it == members_.end()) {
    return;
  }
  it->second.erase(pod.uid);
  if (it->second.empty()) {
    members_.erase(it);
  }
}

const model::PodGroup* Groups::find(const api::Key& key) const {
  const auto it = groups_.find(key);
  return it == groups_.end() ? nullptr : it->second.get();
}

TimePoint Groups::birth(const api::Key& key) const {
  const auto it = births_.find(key);
  return it == births_.end() ? TimePoint() : it->second;
}

std::vector<Groups::Member> Groups::members(const api::Key& key) const {
  std::vector<Member> found;
  if (const auto it = members_.find(key); it != members_.end()) {
    for (const auto& [uid, member] : it->second) {
      found.push_back(member);
    }
  }
  return found;
}

std::int64_t Groups::member_count(const api::Key& key) const {
  const auto it = members_.find(key);
  return it == members_.end() ? 0 : static_cast<std::int64_t>(it->second.size());
}

std::int64_t Groups::placed_count(const api::Key& key, const sched::ClusterState& state,
                                  std::string_view except) const {
  const auto it = members_.find(key);
  if (it == members_.end()) {
    return 0;
  }
  return std::ranges::count_if(it->second, [&](const auto& entry) {
    return entry.first != except &&
           (entry.second.succeeded || state.find_pod(entry.first) != nullptr);
  });
}

} // namespace berth::gang
