#include "berth/controllers/replica_set/replica_set_controller.h"

#include <algorithm>
#include <charconv>
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
#include "berth/controllers/pod_from_template.h"
#include "berth/controllers/pod_status.h"
#include "berth/controllers/replica_set/plan.h"
#include "berth/model/pod_selector.h"

namespace berth::controllers {

using api::Key;
using api::Object;
using client::EventType;
using client::Outcome;

namespace {

namespace json = api::json;

constexpr std::string_view kDeletionCost = "controller.kubernetes.io/pod-deletion-cost";

std::int64_t restarts_of(const Object& pod) {
  std::int64_t sum = 0;
  const json::value* statuses = api::find_path(pod.json(), "status.containerStatuses");
  for (std::size_t i = 0;
       statuses != nullptr && statuses->is_array() && i < statuses->get_array().size(); ++i) {
    sum = std::max(sum, number_at(statuses->get_array()[i], "restartCount", 0));
  }
  return sum;
}

std::int64_t deletion_cost(const Object& pod) {
  const auto found = pod.meta().annotations.find(kDeletionCost);
  std::int64_t cost = 0;
  if (found != pod.meta().annotations.end()) {
    std::from_chars(found->second.data(), found->second.data() + found->second.size(), cost);
  }
  return cost;
}

bool carries_labels(const Object& pod, const Object& set) {
  const json::value* labels = api::find_path(set.json(), "spec.template.metadata.labels");
  if (labels == nullptr || !labels->is_object()) {
    return true;
  }
  return std::ranges::all_of(labels->get_object(), [&](const auto& label) {
    const auto found = pod.meta().labels.find(std::string_view(label.key()));
    return found != pod.meta().labels.end() && label.value().is_string() &&
           found->second == std::string_view(label.value().get_string());
  });
}

ReplicaFact fact_of(const Object& pod, const Object& set) {
  const bool ready = pod_ready(pod);
  return {.name = pod.meta().name,
          .uid = pod.meta().uid,
          .deleting = pod.meta().deletion_timestamp.has_value(),
          .bound = !node_name(pod).empty(),
          .running = api::string_at(pod.json(), "status.phase") == "Running",
          .ready = ready,
          .ready_since = ready ? ready_since(pod) : TimePoint(),
          .created = pod.meta().creation_timestamp.value_or(TimePoint()),
          .deletion_cost = deletion_cost(pod),
          .restarts = restarts_of(pod),
          .fully_labeled = carries_labels(pod, set)};
}

Result<std::shared_ptr<const model::PodSelector>> selector_of(const Object& set) {
  return set.gvk().group.empty() ? model::label_map_view(set) : model::pod_selector_view(set);
}

/// What the status would be, and whether it says so already.
Object with_status(const Object& set, const ReplicaStatus& status) {
  return set.edit([&](json::object& document) {
    json::object& out = api::object_at(document, "status");
    out["replicas"] = status.replicas;
    for (const auto& [name, count] : {std::pair("fullyLabeledReplicas", status.fully_labeled),
                                      {"readyReplicas", status.ready},
                                      {"availableReplicas", status.available}}) {
      if (count == 0) {
        out.stable_erase(name);
      } else {
        out[name] = count;
      }
    }
    out["observedGeneration"] = set.meta().generation;
  });
}

} // namespace

struct ReplicaSetController::State : std::enable_shared_from_this<ReplicaSetController::State> {
  State(client::Client& c, Loop& l, Rng r, const client::GroupKind& kind)
      : of(kind), client(c), loop(l), names(r.fork(1)),
        recorder(c, l, r.fork(2),
                 of == kReplicaSets ? "replicaset-controller" : "replication-controller"),
        queue(l,
              [this](const Key& key, client::WorkQueue::Finish finish) {
                reconcile(key, std::move(finish));
              },
              {.workers = 16}),
        sets(c, l,
             {.what = {.kind = of, .ns = "", .labels = {}},
              .index_of = [](const Object& set) { return std::vector{set.meta().ns}; },
              .on_change = [this](const Object& old,
                                  const Object& now) { queue.add((now ? now : old).key()); }}),
        pods(c, l,
             {.what = {.kind = client::kPods, .ns = "", .labels = {}},
              .index_of = index_by_controller(of.kind),
              .on_change = [this](const Object& old, const Object& now) {
                add_owner(old);
                add_owner(now);
                if (now && now.meta().controller() == nullptr && claims_change(old, now)) {
                  add_adopters(now);
                }
              }}) {
    pods.on_sync([this] {
      for (const auto& [key, set] : sets.all()) {
        queue.add(key);
      }
    });
  }

  void add_owner(const Object& pod) {
    const api::OwnerReference* owner = pod ? pod.meta().controller() : nullptr;
    if (owner != nullptr && owner->kind == of.kind) {
      queue.add({pod.meta().ns, owner->name});
    }
  }

  void add_adopters(const Object& pod) {
    for (const Key& key : sets.keyed(pod.meta().ns)) {
      const auto view = selector_of(*sets.find(key));
      if (view && (*view)->selector && (*view)->selector->matches(pod.meta().labels)) {
        queue.add(key);
      }
    }
  }

  struct Pass {
    Object set;
    ReplicaPlan plan;
    client::WorkQueue::Finish finish;
  };

  void reconcile(const Key& key, client::WorkQueue::Finish finish) {
    const Object* set = sets.find(key);
    if (!sets.synced() || !pods.synced() || set == nullptr) {
      queue.forget(key);
      finish(Outcome::Done);
      return;
    }
    ReplicaQuestion question{
        .wanted = number_at(set->json(), "spec.replicas", 1),
        .min_ready = Duration::seconds(number_at(set->json(), "spec.minReadySeconds", 0)),
        .deleting = set->meta().deletion_timestamp.has_value(),
        .pods = {},
        .now = loop.now()};
    Claims claims = claim(*set, question);
    queue.looks_at(key, question.pods.size());
    if (!claims.empty()) {
      settle(std::move(claims), std::move(finish));
      return;
    }
    const auto pass = std::make_shared<Pass>(
        Pass{.set = *set, .plan = plan_replicas(question), .finish = std::move(finish)});
    if (pass->plan.wake != TimePoint::max()) {
      queue.add_after(key, pass->plan.wake - loop.now());
    }
    if (!pass->plan.remove.empty()) {
      remove_pods(pass);
    } else if (pass->plan.create > 0) {
      create_pods(pass, pass->plan.create, 1);
    } else {
      store_status(pass);
    }
  }

  /// Tells the set's pods to the question; pods to adopt or release come first.
  Claims claim(const Object& set, ReplicaQuestion& question) const {
    Claims claims{.owner = set, .adopt = {}, .release = {}};
    const auto view = selector_of(set);
    if (!view || !(*view)->selector) {
      return claims;
    }
    for (const std::string& name : {set.key().to_string(), orphans_of(set.meta().ns)}) {
      for (const Key& at : pods.keyed(name)) {
        const Object& pod = *pods.find(at);
        const Claim verdict = terminal(pod) ? Claim::Leave : claim_of(pod, set, *(*view)->selector);
        if (verdict == Claim::Keep) {
          question.pods.push_back(fact_of(pod, set));
        } else if (verdict == Claim::Adopt) {
          claims.adopt.push_back(pod);
        } else if (verdict == Claim::Release) {
          claims.release.push_back(pod);
        }
      }
    }
    return claims;
  }

  void settle(Claims claims, client::WorkQueue::Finish finish) {
    const Key key = claims.owner.key();
    settle_claims(
        client, std::move(claims),
        [weak = weak_from_this()](const Object& written) {
          if (const auto self = weak.lock()) {
            self->pods.wrote(written);
          }
        },
        [weak = weak_from_this(), key, finish = std::move(finish)](Outcome outcome) {
          if (const auto self = weak.lock()) {
            if (outcome == Outcome::Done) {
              self->queue.add(key);
            }
            finish(outcome);
          }
        });
  }

  void again(const std::shared_ptr<Pass>& pass, Outcome outcome) {
    if (outcome == Outcome::Done) {
      queue.add(pass->set.key());
    }
    pass->finish(outcome);
  }

  /// In batches of 1, 2, 4, ...: a refusal that holds for all costs one request.
  void create_pods(const std::shared_ptr<Pass>& pass, std::int64_t left, std::int64_t batch) {
    const std::int64_t now = std::min(left, batch);
    auto all =
        Gather::make([weak = weak_from_this(), pass, rest = left - now, batch](Outcome outcome) {
          const auto self = weak.lock();
          if (!self) {
            return;
          }
          if (outcome == Outcome::Done && rest > 0) {
            self->create_pods(pass, rest, batch * 2);
          } else {
            self->again(pass, outcome);
          }
        });
    for (std::int64_t i = 0; i < now; ++i) {
      create_pod(pass, all->expect());
    }
    all->close();
  }

  void create_pod(const std::shared_ptr<Pass>& pass, std::function<void(Outcome)> done) {
    const json::value* pod_template = api::find_path(pass->set.json(), "spec.template");
    auto pod = Object::from_json(pod_from_template(
        pod_template == nullptr ? json::value(json::object()) : *pod_template, pass->set,
        generate_name(pass->set.meta().name, "-"), names.name_suffix()));
    if (!pod) {
      recorder.record(pass->set, EventType::Warning, "FailedCreate",
                      "Error creating: " + pod.error().message);
      done(Outcome::Retry);
      return;
    }
    client.create(*std::move(pod), [weak = weak_from_this(), pass, done](Result<Object> made) {
      const auto self = weak.lock();
      if (!self) {
        return;
      }
      if (made) {
        self->pods.wrote(*made);
        self->recorder.record(pass->set, EventType::Normal, "SuccessfulCreate",
                              fmt::format("Created pod: {}", made->meta().name));
      } else {
        self->recorder.record(pass->set, EventType::Warning, "FailedCreate",
                              fmt::format("Error creating: {}", made.error().message));
      }
      done(made ? Outcome::Done : Outcome::Retry);
    });
  }

  void remove_pods(const std::shared_ptr<Pass>& pass) {
    auto all = Gather::make([weak = weak_from_this(), pass](Outcome outcome) {
      if (const auto self = weak.lock()) {
        self->again(pass, outcome);
      }
    });
    for (const ReplicaFact& pod : pass->plan.remove) {
      const Key key{pass->set.meta().ns, pod.name};
      client.remove(client::kPods, key, {.uid = pod.uid},
                    [weak = weak_from_this(), pass, key, uid = pod.uid,
                     done = all->expect()](Result<Object> left) {
                      const auto self = weak.lock();
                      if (!self) {
                        return;
                      }
                      if (left) {
                        self->pods.removed(*left);
                        self->recorder.record(pass->set, EventType::Normal, "SuccessfulDelete",
                                              fmt::format("Deleted pod: {}", key.name));
                        done(Outcome::Done);
                        return;
                      }
                      const bool absent = left.error().code == Code::NotFound ||
                                          left.error().code == Code::Conflict;
                      if (absent) {
                        self->pods.gone(key, uid);
                      }
                      done(absent ? Outcome::Done : Outcome::Retry);
                    });
    }
    all->close();
  }

  void store_status(const std::shared_ptr<Pass>& pass) {
    const Object wanted = with_status(pass->set, pass->plan.status);
    sets.store_status(pass->set, wanted, pass->finish);
  }

  client::GroupKind of;
  client::Client& client;
  Loop& loop;
  Rng names;
  client::EventRecorder recorder;
  client::WorkQueue queue;
  FreshView sets;
  FreshView pods;
};

ReplicaSetController::ReplicaSetController(client::Client& client, Loop& loop, Rng rng,
                                           const client::GroupKind& of)
    : state_(std::make_shared<State>(client, loop, std::move(rng), of)) {}

ReplicaSetController::~ReplicaSetController() = default;

bool ReplicaSetController::idle() const {
  return state_->queue.idle();
}

} // namespace berth::controllers
