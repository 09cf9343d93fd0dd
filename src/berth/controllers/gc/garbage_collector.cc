#include "berth/controllers/gc/garbage_collector.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/client/work_queue.h"
#include "berth/controllers/finalizers.h"
#include "berth/controllers/fresh_view.h"
#include "berth/controllers/gather.h"
#include "berth/controllers/gc/graph.h"

namespace berth::controllers {

using api::Key;
using api::Object;
using client::GroupKind;
using client::Outcome;

namespace {

namespace json = api::json;

GroupKind kind_of(const Object& object) {
  return {object.gvk().group, object.gvk().kind};
}

GroupKind kind_of(const api::OwnerReference& owner) {
  const api::GroupVersionKind gvk = api::make_gvk(owner.api_version, owner.kind);
  return {gvk.group, gvk.kind};
}

/// Where an object's owner is: in the object's namespace, unless its kind is known to have none.
Key owner_key(const Object& object, const api::OwnerReference& owner) {
  const bool cluster =
      api::scope_of(api::make_gvk(owner.api_version, owner.kind)) == api::Scope::Cluster;
  return {cluster ? std::string() : object.meta().ns, owner.name};
}

bool waits_for_dependents(const Object& object) {
  return object.meta().deletion_timestamp && has_finalizer(object, kForegroundFinalizer);
}

bool orphans_dependents(const Object& object) {
  return object.meta().deletion_timestamp && has_finalizer(object, kOrphanFinalizer);
}

/// A merge patch that leaves out the references to these owners.
json::value without_owners(const Object& object, const std::vector<std::string>& uids) {
  json::array rest;
  const json::value* references = api::find_path(object.json(), "metadata.ownerReferences");
  if (references != nullptr && references->is_array()) {
    for (const json::value& reference : references->get_array()) {
      if (std::ranges::find(uids, api::string_at(reference, "uid")) == uids.end()) {
        rest.push_back(reference);
      }
    }
  }
  json::object metadata{{"uid", object.meta().uid},
                        {"resourceVersion", fmt::format("{}", object.meta().resource_version)},
                        {"ownerReferences", std::move(rest)}};
  return json::object{{"metadata", std::move(metadata)}};
}

} // namespace

/// Work is keyed by uid, carried as the name of an api::Key.
struct GarbageCollector::State : std::enable_shared_from_this<GarbageCollector::State> {
  State(client::Client& c, Loop& l)
      : client(c), loop(l), queue(l,
                                  [this](const Key& key, client::WorkQueue::Finish finish) {
                                    reconcile(key, std::move(finish));
                                  },
                                  {.workers = 64}) {}

  client::Client& client;
  Loop& loop;
  OwnerGraph graph;
  std::set<std::string> absent; ///< owners the server does not have; uids are never used again
  client::WorkQueue queue;
  std::map<GroupKind, std::unique_ptr<FreshView>> views;

  void watch(const GroupKind& kind) {
    if (views.contains(kind)) {
      return;
    }
    views.emplace(kind,
                  std::make_unique<FreshView>(
                      client, loop,
                      FreshView::Spec{.what = {.kind = kind},
                                      .index_of = {},
                                      .on_change = [this](const Object& old, const Object& now) {
                                        changed(old, now);
                                      }}));
  }

  void enqueue(const std::string& uid) { queue.add({"", uid}); }

  void changed(const Object& old, const Object& now) {
    if (old && (!now || now.meta().uid != old.meta().uid)) {
      forget(old);
    }
    if (!now) {
      return;
    }
    graph.put(now);
    const bool owners_changed = !old || old.meta().owner_references != now.meta().owner_references;
    if ((owners_changed && !now.meta().owner_references.empty()) || waits_for_dependents(now) ||
        orphans_dependents(now)) {
      enqueue(now.meta().uid);
    }
    if (waits_for_dependents(now)) {
      enqueue_dependents(now.meta().uid);
    }
    // An owner that waits for this one may have one less to wait for.
    if (old && old.meta().owner_references != now.meta().owner_references) {
      enqueue_owners(old);
    }
  }

  void forget(const Object& old) {
    const std::string uid = old.meta().uid;
    graph.erase(uid);
    queue.forget({"", uid});
    for (const api::OwnerReference& owner : old.meta().owner_references) {
      if (graph.dependents_of(owner.uid).empty()) {
        absent.erase(owner.uid); // nobody asks any more
      }
    }
    enqueue_dependents(uid);
    enqueue_owners(old);
  }

  void enqueue_dependents(const std::string& uid) {
    for (const std::string& dependent : graph.dependents_of(uid)) {
      enqueue(dependent);
    }
  }

  void enqueue_owners(const Object& object) {
    for (const api::OwnerReference& owner : object.meta().owner_references) {
      const Object* held = graph.find(owner.uid);
      if (held != nullptr && waits_for_dependents(*held)) {
        enqueue(owner.uid);
      }
    }
  }

  void reconcile(const Key& key, client::WorkQueue::Finish finish) {
    const Object* object = graph.find(key.name);
    if (object == nullptr) {
      finish(Outcome::Done);
    } else if (orphans_dependents(*object)) {
      orphan(*object, std::move(finish));
    } else if (waits_for_dependents(*object)) {
      wait_for_dependents(*object, std::move(finish));
    } else if (object->meta().deletion_timestamp) {
      finish(Outcome::Done); // on its way
    } else {
      collect(*object, std::move(finish));
    }
  }

  // ---- as a dependent -------------------------------------------------------------------------

  OwnerState state_of(const Object& object, const api::OwnerReference& owner) const {
    const Object* held = graph.find(owner.uid);
    if (held != nullptr && held->key() == owner_key(object, owner)) {
      return waits_for_dependents(*held) && owner.block_owner_deletion
                 ? OwnerState::WaitsForDependents
                 : OwnerState::Present;
    }
    return absent.contains(owner.uid) ? OwnerState::Absent : OwnerState::Unknown;
  }

  void collect(const Object& object, client::WorkQueue::Finish finish) {
    std::vector<OwnerState> states;
    for (const api::OwnerReference& owner : object.meta().owner_references) {
      states.push_back(state_of(object, owner));
    }
    const Dependents own =
        graph.dependents_of(object.meta().uid).empty() ? Dependents::None : Dependents::Some;
    const CollectionVerdict verdict = judge_dependent(object, states, own);
    switch (verdict.action) {
    case CollectionVerdict::Action::Keep:
      finish(Outcome::Done);
      return;
    case CollectionVerdict::Action::CheckOwners:
      check_owners(object, verdict.references, std::move(finish));
      return;
    case CollectionVerdict::Action::DropReferences:
      patch(object, without_owners(object, verdict.references), std::move(finish));
      return;
    case CollectionVerdict::Action::Delete:
      remove(object, client::Propagation::Background, std::move(finish));
      return;
    case CollectionVerdict::Action::DeleteForeground:
      remove(object, client::Propagation::Foreground, std::move(finish));
      return;
    }
  }

  void check_owners(const Object& object, const std::vector<std::string>& uids,
                    client::WorkQueue::Finish finish) {
    auto all =
        Gather::make([weak = weak_from_this(), uid = object.meta().uid, finish](Outcome outcome) {
          if (const auto self = weak.lock(); self && outcome == Outcome::Done) {
            self->enqueue(uid);
          }
          finish(outcome);
        });
    for (const api::OwnerReference& owner : object.meta().owner_references) {
      if (std::ranges::find(uids, owner.uid) != uids.end()) {
        check_owner(owner, owner_key(object, owner), all->expect());
      }
    }
    all->close();
  }

  void check_owner(const api::OwnerReference& owner, const Key& at,
                   std::function<void(Outcome)> done) {
    client.get(kind_of(owner), at,
               [weak = weak_from_this(), owner, at, done](Result<Object> found) {
                 const auto self = weak.lock();
                 if (!self) {
                   return;
                 }
                 if (!found && found.error().code != Code::NotFound) {
                   done(Outcome::Retry);
                   return;
                 }
                 if (!found && !at.ns.empty()) { // a custom kind may have no namespaces
                   self->check_owner(owner, {"", at.name}, done);
                   return;
                 }
                 if (!found || found->meta().uid != owner.uid) {
                   self->absent.insert(owner.uid);
                 } else {
                   self->learn_owner(*found);
                 }
                 done(Outcome::Done);
               });
  }

  /// An owner of a kind not watched so far: from now on its end must be seen.
  void learn_owner(const Object& owner) {
    watch(kind_of(owner));
    views.at(kind_of(owner))->wrote(owner);
  }

  // ---- as an owner ----------------------------------------------------------------------------

  void wait_for_dependents(const Object& owner, client::WorkQueue::Finish finish) {
    bool blocked = false;
    for (const std::string& uid : graph.dependents_of(owner.meta().uid)) {
      for (const api::OwnerReference& reference : graph.find(uid)->meta().owner_references) {
        blocked = blocked || (reference.uid == owner.meta().uid && reference.block_owner_deletion);
      }
      enqueue(uid);
    }
    if (blocked) {
      finish(Outcome::Done);
      return;
    }
    patch(owner, without_finalizer(owner, kForegroundFinalizer), std::move(finish));
  }

  void orphan(const Object& owner, client::WorkQueue::Finish finish) {
    auto all = Gather::make([weak = weak_from_this(), owner, finish](Outcome outcome) {
      const auto self = weak.lock();
      if (self && outcome == Outcome::Done) {
        self->patch(owner, without_finalizer(owner, kOrphanFinalizer), finish);
      } else {
        finish(outcome);
      }
    });
    // A copy: answers change the graph.
    const std::set<std::string> dependents = graph.dependents_of(owner.meta().uid);
    for (const std::string& uid : dependents) {
      const Object dependent = *graph.find(uid);
      patch(dependent, without_owners(dependent, {owner.meta().uid}), all->expect());
    }
    all->close();
  }

  // ---- requests -------------------------------------------------------------------------------

  void patch(const Object& object, json::value merge_patch, client::WorkQueue::Finish finish) {
    client.patch(kind_of(object), object.key(), std::move(merge_patch), client::Subresource::None,
                 [weak = weak_from_this(), object, finish](Result<Object> patched) {
                   const auto self = weak.lock();
                   if (!self) {
                     return;
                   }
                   FreshView& view = *self->views.at(kind_of(object));
                   if (patched) {
                     view.wrote(*patched);
                   } else if (patched.error().code == Code::NotFound) {
                     view.gone(object.key(), object.meta().uid);
                   }
                   const bool done = patched || patched.error().code == Code::NotFound;
                   finish(done ? Outcome::Done : Outcome::Retry);
                 });
  }

  void remove(const Object& object, client::Propagation propagation,
              client::WorkQueue::Finish finish) {
    // The version is a precondition: a reference added since (an adoption) must not be overlooked.
    client.remove(kind_of(object), object.key(),
                  {.uid = object.meta().uid,
                   .resource_version = object.meta().resource_version,
                   .propagation = propagation},
                  [weak = weak_from_this(), object, finish](Result<Object> left) {
                    const auto self = weak.lock();
                    if (!self) {
                      return;
                    }
                    FreshView& view = *self->views.at(kind_of(object));
                    if (left) {
                      view.removed(*left);
                    } else if (left.error().code == Code::NotFound) {
                      view.gone(object.key(), object.meta().uid);
                    }
                    const bool done = left || left.error().code == Code::NotFound;
                    finish(done ? Outcome::Done : Outcome::Retry);
                  });
  }
};

std::vector<GroupKind> GarbageCollector::default_kinds() {
  return {client::kPods,           client::kJobs,          client::kPodGroups,
          client::kVolumeClaims,   {"apps", "ReplicaSet"}, {"apps", "Deployment"},
          {"apps", "StatefulSet"}, {"apps", "DaemonSet"},  {"apps", "ControllerRevision"},
          {"batch", "CronJob"},    {"", "Service"},        {"discovery.k8s.io", "EndpointSlice"}};
}

GarbageCollector::GarbageCollector(client::Client& client, Loop& loop,
                                   const std::vector<GroupKind>& kinds)
    : state_(std::make_shared<State>(client, loop)) {
  for (const GroupKind& kind : kinds) {
    state_->watch(kind);
  }
}

bool GarbageCollector::idle() const {
  return state_->queue.idle();
}

GarbageCollector::~GarbageCollector() = default;

void GarbageCollector::watch(const GroupKind& kind) {
  state_->watch(kind);
}

} // namespace berth::controllers
