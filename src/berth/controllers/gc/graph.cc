#include "berth/controllers/gc/graph.h"

#include <algorithm>

#include "berth/base/assert.h"

namespace berth::controllers {

void OwnerGraph::put(const api::Object& object) {
  const auto held = objects_.find(object.meta().uid);
  if (held != objects_.end()) {
    if (held->second.meta().owner_references != object.meta().owner_references) {
      unlink(held->second);
      link(object);
    }
    held->second = object;
    return;
  }
  objects_.emplace(object.meta().uid, object);
  link(object);
}

void OwnerGraph::erase(const std::string& uid) {
  const auto held = objects_.find(uid);
  if (held != objects_.end()) {
    unlink(held->second);
    objects_.erase(held);
  }
}

const api::Object* OwnerGraph::find(const std::string& uid) const {
  const auto held = objects_.find(uid);
  return held == objects_.end() ? nullptr : &held->second;
}

const std::set<std::string>& OwnerGraph::dependents_of(const std::string& owner_uid) const {
  static const std::set<std::string> kNone;
  const auto held = dependents_.find(owner_uid);
  return held == dependents_.end() ? kNone : held->second;
}

void OwnerGraph::link(const api::Object& object) {
  for (const api::OwnerReference& owner : object.meta().owner_references) {
    dependents_[owner.uid].insert(object.meta().uid);
  }
}

void OwnerGraph::unlink(const api::Object& object) {
  for (const api::OwnerReference& owner : object.meta().owner_references) {
    const auto held = dependents_.find(owner.uid);
    if (held == dependents_.end()) {
      continue;
    }
    held->second.erase(object.meta().uid);
    if (held->second.empty()) {
      dependents_.erase(held);
    }
  }
}

CollectionVerdict judge_dependent(const api::Object& object, const std::vector<OwnerState>& states,
                                  Dependents own) {
  using Action = CollectionVerdict::Action;
  const auto& owners = object.meta().owner_references;
  BERTH_ASSERT(owners.size() == states.size(), object.key().to_string());
  const auto with = [&](OwnerState wanted) {
    std::vector<std::string> uids;
    for (std::size_t i = 0; i < owners.size(); ++i) {
      if (states[i] == wanted) {
        uids.push_back(owners[i].uid);
      }
    }
    return uids;
  };
  if (owners.empty()) {
    return {};
  }
  if (auto unknown = with(OwnerState::Unknown); !unknown.empty()) {
    return {.action = Action::CheckOwners, .references = std::move(unknown)};
  }
  std::vector<std::string> gone = with(OwnerState::Absent);
  const std::vector<std::string> waiting = with(OwnerState::WaitsForDependents);
  if (!with(OwnerState::Present).empty()) {
    // A live owner keeps the object; owners that wait for it must not wait for ever.
    gone.insert(gone.end(), waiting.begin(), waiting.end());
    return gone.empty()
               ? CollectionVerdict()
               : CollectionVerdict{.action = Action::DropReferences, .references = std::move(gone)};
  }
  if (!waiting.empty() && own == Dependents::Some) {
    return {.action = Action::DeleteForeground, .references = {}};
  }
  return {.action = Action::Delete, .references = {}};
}

} // namespace berth::controllers
