#include "berth/controllers/stateful_set/stateful_set_controller.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <boost/json/object.hpp>
#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/client/events.h"
#include "berth/client/work_queue.h"
#include "berth/controllers/adoption.h"
#include "berth/controllers/fields.h"
#include "berth/controllers/fresh_view.h"
#include "berth/controllers/gather.h"
#include "berth/controllers/pod_status.h"
#include "berth/controllers/revision/revision.h"
#include "berth/controllers/revision/revision_keeper.h"
#include "berth/controllers/stateful_set/claim_keeper.h"
#include "berth/controllers/stateful_set/plan.h"
#include "berth/controllers/stateful_set/stateful_pod.h"
#include "berth/model/pod_selector.h"

namespace berth::controllers {

using api::Key;
using api::Object;
using client::EventType;
using client::Outcome;

namespace {

namespace json = api::json;

constexpr std::string_view kKind = "StatefulSet";

PodPhase phase_of(const Object& pod) {
  const std::string_view phase = api::string_at(pod.json(), "status.phase");
  return phase == "Running"     ? PodPhase::Running
         : phase == "Succeeded" ? PodPhase::Succeeded
         : phase == "Failed"    ? PodPhase::Failed
                                : PodPhase::Pending;
}

StatefulPod stateful_fact(const Object& pod, std::int64_t ordinal) {
  const auto revision = pod.meta().labels.find(kRevisionHashLabel);
  return {.name = pod.meta().name,
          .uid = pod.meta().uid,
          .ordinal = ordinal,
          .revision = revision == pod.meta().labels.end() ? "" : revision->second,
          .phase = phase_of(pod),
          .deleting = pod.meta().deletion_timestamp.has_value(),
          .ready = pod_ready(pod),
          .ready_since = ready_since(pod)};
}

StatefulQuestion question_of(const Object& set, TimePoint now) {
  const json::value& document = set.json();
  return {.start = number_at(set, "spec.ordinals.start", 0),
          .wanted = number_at(set, "spec.replicas", 1),
          .partition = number_at(set, "spec.updateStrategy.rollingUpdate.partition", 0),
          .strategy = api::string_at(document, "spec.updateStrategy.type") == "OnDelete"
                          ? StatefulStrategy::OnDelete
                          : StatefulStrategy::RollingUpdate,
          .management = api::string_at(document, "spec.podManagementPolicy") == "Parallel"
                            ? PodManagement::Parallel
                            : PodManagement::OrderedReady,
          .min_ready = Duration::seconds(number_at(set, "spec.minReadySeconds", 0)),
          .deleting = set.meta().deletion_timestamp.has_value(),
          .current_revision = std::string(api::string_at(document, "status.currentRevision")),
          .update_revision = {},
          .pods = {},
          .now = now};
}

struct Revisions {
  std::string update;
  std::int64_t collisions = 0;
};

Object with_status(const Object& set, const StatefulStatus& status, const Revisions& revisions) {
  return set.edit([&](json::object& document) {
    json::object& out = api::object_at(document, "status");
    out["observedGeneration"] = set.meta().generation;
    out["replicas"] = status.replicas;
    for (const auto& [name, count] : {std::pair("readyReplicas", status.ready),
                                      {"currentReplicas", status.current},
                                      {"updatedReplicas", status.updated}}) {
      if (count == 0) {
        out.stable_erase(name);
      } else {
        out[name] = count;
      }
    }
    out["currentRevision"] = status.current_revision;
    out["updateRevision"] = revisions.update;
    out["collisionCount"] = revisions.collisions;
    out["availableReplicas"] = status.available;
  });
}

} // namespace

struct StatefulSetController::State : std::enable_shared_from_this<StatefulSetController::State> {
  State(client::Client& c, Loop& l, Rng r)
      : client(c), loop(l), recorder(c, l, std::move(r), "statefulset-controller"),
        queue(l,
              [this](const Key& key, client::WorkQueue::Finish finish) {
                reconcile(key, std::move(finish));
              },
              {.workers = 16}),
        pods(c, l,
             {.what = {.kind = client::kPods, .ns = "", .labels = {}},
              .index_of = index_by_controller(kKind),
              .on_change = [this](const Object& old, const Object& now) { pod_changed(old, now); },
              .start = FreshView::Start::WhenAsked}),
        claims(c, l, recorder,
               {.changed = [this](const std::string& ns) { add_all_in(ns); },
                .synced = [this] { add_all(); }}),
        revisions(c, l,
                  {.owner_kind = kKind,
                   .hash_label = kHashLabel,
                   .changed = [this](const Key& set) { queue.add(set); },
                   .synced = [this] { add_all(); }}),
        sets(c, l,
             {.what = {.kind = kStatefulSets, .ns = "", .labels = {}},
              .index_of = [](const Object& set) { return std::vector{set.meta().ns}; },
              .on_change =
                  [this](const Object& old, const Object& now) {
                    pods.start();
                    claims.start();
                    revisions.start();
                    queue.add((now ? now : old).key());
                  }}) {
    pods.on_sync([this] { add_all(); });
  }

  void add_all() {
    for (const auto& [key, set] : sets.all()) {
      queue.add(key);
    }
  }
  void add_all_in(const std::string& ns) {
    for (const Key& key : sets.keyed(ns)) {
      queue.add(key);
    }
  }

  void pod_changed(const Object& old, const Object& now) {
    for (const Object* pod : {&old, &now}) {
      const api::OwnerReference* owner = *pod ? pod->meta().controller() : nullptr;
      if (owner != nullptr && owner->kind == kKind) {
        queue.add({pod->meta().ns, owner->name});
      }
    }
    if (now && now.meta().controller() == nullptr && claims_change(old, now)) {
      for (const Key& key : sets.keyed(now.meta().ns)) {
        if (ordinal_of(*sets.find(key), now.meta().name)) {
          queue.add(key);
        }
      }
    }
  }

  struct Pass {
    Object set;
    RevisionKeeper::Current update;
    std::map<std::int64_t, Object> pods; ///< by ordinal
    StatefulPlan plan;
    Outcome outcome = Outcome::Done;
    client::WorkQueue::Finish finish;
  };
  using PassPtr = std::shared_ptr<Pass>;
  using Next = void (State::*)(const PassPtr&);

  /// Goes on with the pass, or ends it if what was done before has failed.
  std::function<void(Outcome)> then(const PassPtr& pass, Next next) {
    return [weak = weak_from_this(), pass, next](Outcome outcome) {
      const auto self = weak.lock();
      if (self && outcome == Outcome::Done) {
        ((*self).*next)(pass);
      } else if (self) {
        pass->outcome = outcome;
        self->store_status(pass);
      }
    };
  }

  void reconcile(const Key& key, client::WorkQueue::Finish finish) {
    const Object* set = sets.find(key);
    const bool seen = sets.synced() && pods.synced() && claims.synced() && revisions.synced();
    if (!seen || set == nullptr) {
      queue.forget(key);
      finish(Outcome::Done);
      return;
    }
    const auto pass = std::make_shared<Pass>();
    pass->set = *set;
    pass->finish = std::move(finish);
    const auto view = model::pod_selector_view(*set);
    if (!view || !(*view)->selector) {
      pass->finish(Outcome::Done);
      return;
    }
    claim(pass, *(*view)->selector);
  }

  void claim(const PassPtr& pass, const api::Selector& selector) {
    const std::string mine = pass->set.key().to_string();
    queue.looks_at(pass->set.key(), pods.keyed(mine).size());
    Claims found{.owner = pass->set, .adopt = {}, .release = {}};
    for (const std::string& name : {mine, orphans_of(pass->set.meta().ns)}) {
      for (const Key& at : pods.keyed(name)) {
        const Object& pod = *pods.find(at);
        const auto ordinal = ordinal_of(pass->set, pod.meta().name);
        const Claim verdict = claim_of(pod, pass->set, selector);
        if (verdict == Claim::Release) {
          found.release.push_back(pod);
        } else if (verdict == Claim::Adopt && ordinal) {
          found.adopt.push_back(pod);
        } else if (verdict == Claim::Keep && ordinal) {
          pass->pods.emplace(*ordinal, pod);
        }
      }
    }
    if (found.empty()) {
      revise(pass);
      return;
    }
    settle_claims(
        client, std::move(found),
        [weak = weak_from_this()](const Object& written) {
          if (const auto self = weak.lock()) {
            self->pods.wrote(written);
          }
        },
        [weak = weak_from_this(), pass](Outcome outcome) {
          if (const auto self = weak.lock()) {
            self->queue.add(pass->set.key());
            pass->finish(outcome);
          }
        });
  }

  void revise(const PassPtr& pass) {
    revisions.ensure(pass->set, [weak = weak_from_this(),
                                 pass](const std::optional<RevisionKeeper::Current>& current) {
      const auto self = weak.lock();
      if (!self) {
        return;
      }
      if (!current) {
        pass->finish(Outcome::Retry);
        return;
      }
      pass->update = *current;
      self->decide(pass);
    });
  }

  void decide(const PassPtr& pass) {
    StatefulQuestion question = question_of(pass->set, loop.now());
    question.update_revision = pass->update.revision.meta().name;
    if (!find_revision(*pass, question.current_revision)) {
      question.current_revision = question.update_revision;
    }
    for (const auto& [ordinal, pod] : pass->pods) {
      question.pods.push_back(stateful_fact(pod, ordinal));
    }
    pass->plan = plan_stateful(question);
    if (pass->plan.wake != TimePoint::max()) {
      queue.add_after(pass->set.key(), pass->plan.wake - loop.now());
    }
    if (question.deleting) {
      store_status(pass);
      return;
    }
    settle_owners(pass);
  }

  std::optional<Object> find_revision(const Pass& pass, const std::string& name) const {
    for (Object& revision : revisions.of(pass.set)) {
      if (revision.meta().name == name) {
        return std::move(revision);
      }
    }
    return std::nullopt;
  }

  void settle_owners(const PassPtr& pass) {
    std::vector<ClaimKeeper::Replica> replicas;
    for (const auto& [ordinal, pod] : pass->pods) {
      const bool condemned =
          std::ranges::find(pass->plan.condemned, ordinal) != pass->plan.condemned.end();
      replicas.push_back({.ordinal = ordinal, .pod = pod, .condemned = condemned});
    }
    claims.settle_owners(pass->set, replicas, then(pass, &State::restore_labels));
  }

  void restore_labels(const PassPtr& pass) {
    const auto all = Gather::make(then(pass, &State::ensure_claims));
    for (const auto& [ordinal, pod] : pass->pods) {
      json::object missing = missing_identity(pass->set, pod, ordinal);
      if (missing.empty() || pod.meta().deletion_timestamp) {
        continue;
      }
      client.patch(
          client::kPods, pod.key(),
          json::object{
              {"metadata", json::object{{"uid", pod.meta().uid}, {"labels", std::move(missing)}}}},
          client::Subresource::None,
          [weak = weak_from_this(), done = all->expect()](const Result<Object>& stored) {
            if (const auto self = weak.lock(); self && stored) {
              self->pods.wrote(*stored);
            }
            done(stored || stored.error().code == Code::NotFound ? Outcome::Done : Outcome::Retry);
          });
    }
    all->close();
  }

  void ensure_claims(const PassPtr& pass) {
    const auto all = Gather::make(then(pass, &State::remove_pods));
    for (const std::int64_t ordinal : pass->plan.pending) {
      claims.ensure(pass->set, ordinal, all->expect());
    }
    all->close();
  }

  void remove_pods(const PassPtr& pass) {
    const auto all = Gather::make(then(pass, &State::create_pods));
    for (const StatefulPod& pod : pass->plan.remove) {
      remove_pod(pass, pod, all->expect());
    }
    all->close();
  }

  void remove_pod(const PassPtr& pass, const StatefulPod& pod,
                  const std::function<void(Outcome)>& done) {
    const Key key{pass->set.meta().ns, pod.name};
    client.remove(
        client::kPods, key, {.uid = pod.uid},
        [weak = weak_from_this(), pass, key, uid = pod.uid, done](const Result<Object>& left) {
          const auto self = weak.lock();
          if (!self) {
            return;
          }
          const std::string& set = pass->set.meta().name;
          if (left) {
            self->pods.removed(*left);
            self->recorder.record(
                pass->set, EventType::Normal, "SuccessfulDelete",
                fmt::format("delete Pod {} in StatefulSet {} successful", key.name, set));
            done(Outcome::Done);
            return;
          }
          const bool absent =
              left.error().code == Code::NotFound || left.error().code == Code::Conflict;
          if (absent) {
            self->pods.gone(key, uid);
          } else {
            self->recorder.record(pass->set, EventType::Warning, "FailedDelete",
                                  fmt::format("delete Pod {} in StatefulSet {} failed error: {}",
                                              key.name, set, left.error().message));
          }
          done(absent ? Outcome::Done : Outcome::Retry);
        });
  }

  void create_pods(const PassPtr& pass) { create_from(pass, 0, 1); }

  /// In batches of 1, 2, 4, ...: a refusal that holds for all costs one request.
  void create_from(const PassPtr& pass, std::size_t first, std::size_t batch) {
    const std::size_t end = std::min(pass->plan.create.size(), first + batch);
    if (first >= end) {
      finish_step(pass);
      return;
    }
    const auto all = Gather::make([weak = weak_from_this(), pass, end, batch](Outcome outcome) {
      const auto self = weak.lock();
      if (self && outcome == Outcome::Done) {
        self->create_from(pass, end, batch * 2);
      } else if (self) {
        pass->outcome = outcome;
        self->store_status(pass);
      }
    });
    for (std::size_t i = first; i < end; ++i) {
      create_replica(pass, pass->plan.create[i], all->expect());
    }
    all->close();
  }

  /// The claims come first. A replica whose claims go with its predecessor waits for their end.
  void create_replica(const PassPtr& pass, const StatefulCreate& wanted,
                      std::function<void(Outcome)> done) {
    if (claims.waits(pass->set, wanted.ordinal)) {
      done(Outcome::Done);
      return;
    }
    claims.ensure(pass->set, wanted.ordinal,
                  [weak = weak_from_this(), pass, wanted, done = std::move(done)](Outcome outcome) {
                    const auto self = weak.lock();
                    if (self && outcome == Outcome::Done) {
                      self->create_pod(pass, wanted, done);
                    } else if (self) {
                      done(outcome);
                    }
                  });
  }

  void create_pod(const PassPtr& pass, const StatefulCreate& wanted,
                  const std::function<void(Outcome)>& done) {
    const Object revision = find_revision(*pass, wanted.revision).value_or(pass->update.revision);
    auto pod = Object::from_json(stateful_pod(pass->set, revision, wanted.ordinal));
    if (!pod) {
      created(pass, wanted, tl::unexpected(pod.error()), done);
      return;
    }
    client.create(*std::move(pod),
                  [weak = weak_from_this(), pass, wanted, done](const Result<Object>& made) {
                    if (const auto self = weak.lock()) {
                      self->created(pass, wanted, made, done);
                    }
                  });
  }

  void created(const PassPtr& pass, const StatefulCreate& wanted, const Result<Object>& made,
               const std::function<void(Outcome)>& done) {
    const std::string what =
        fmt::format("create Pod {} in StatefulSet {}", stateful_name(pass->set, wanted.ordinal),
                    pass->set.meta().name);
    if (made) {
      pods.wrote(*made);
      recorder.record(pass->set, EventType::Normal, "SuccessfulCreate", what + " successful");
    } else {
      recorder.record(pass->set, EventType::Warning, "FailedCreate",
                      what + " failed error: " + made.error().message);
    }
    done(made ? Outcome::Done : Outcome::Retry);
  }

  void finish_step(const PassPtr& pass) {
    const bool waits = std::ranges::any_of(pass->plan.create, [&](const StatefulCreate& wanted) {
      return claims.waits(pass->set, wanted.ordinal);
    });
    if (!waits && (!pass->plan.create.empty() || !pass->plan.remove.empty())) {
      queue.add(pass->set.key());
      pass->finish(Outcome::Done);
      return;
    }
    trim(pass);
  }

  void trim(const PassPtr& pass) {
    std::vector<std::string> live{pass->update.revision.meta().name,
                                  pass->plan.status.current_revision};
    for (const auto& [ordinal, pod] : pass->pods) {
      live.push_back(stateful_fact(pod, ordinal).revision);
    }
    revisions.trim(pass->set, live, then(pass, &State::store_status));
  }

  void store_status(const PassPtr& pass) {
    const Object wanted = with_status(
        pass->set, pass->plan.status,
        {.update = pass->update.revision.meta().name, .collisions = pass->update.collisions});
    sets.store_status(pass->set, wanted, [pass](Outcome stored) {
      pass->finish(stored == Outcome::Done ? pass->outcome : stored);
    });
  }

  client::Client& client;
  Loop& loop;
  client::EventRecorder recorder;
  client::WorkQueue queue;
  FreshView pods;
  ClaimKeeper claims;
  RevisionKeeper revisions;
  FreshView sets;
};

StatefulSetController::StatefulSetController(client::Client& client, Loop& loop, Rng rng)
    : state_(std::make_shared<State>(client, loop, std::move(rng))) {}

StatefulSetController::~StatefulSetController() = default;

bool StatefulSetController::idle() const {
  return state_->queue.idle();
}

} // namespace berth::controllers
