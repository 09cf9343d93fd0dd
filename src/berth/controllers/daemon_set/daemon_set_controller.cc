#include "berth/controllers/daemon_set/daemon_set_controller.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <boost/json/object.hpp>
#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/client/events.h"
#include "berth/client/work_queue.h"
#include "berth/controllers/adoption.h"
#include "berth/controllers/daemon_set/daemon_pod.h"
#include "berth/controllers/daemon_set/plan.h"
#include "berth/controllers/failure_backoff.h"
#include "berth/controllers/fields.h"
#include "berth/controllers/fresh_view.h"
#include "berth/controllers/gather.h"
#include "berth/controllers/pod_status.h"
#include "berth/controllers/revision/revision.h"
#include "berth/controllers/revision/revision_keeper.h"
#include "berth/controllers/share.h"
#include "berth/model/pod_selector.h"

namespace berth::controllers {

using api::Key;
using api::Object;
using client::EventType;
using client::Outcome;

namespace {

namespace json = api::json;

constexpr std::size_t kBurst = 250;
constexpr std::string_view kKind = "DaemonSet";

bool same_for_daemons(const Object& old, const Object& now) {
  const json::value* before = api::find(old.json(), "spec");
  const json::value* after = api::find(now.json(), "spec");
  const bool same_spec = before == after || (before && after && *before == *after);
  return same_spec && old.meta().labels == now.meta().labels;
}

void set_rollout(DaemonQuestion& question, const Object& set) {
  question.min_ready = Duration::seconds(number_at(set, "spec.minReadySeconds", 0));
  if (api::string_at(set.json(), "spec.updateStrategy.type") == "OnDelete") {
    question.strategy = DaemonStrategy::OnDelete;
    question.max_surge = 0;
    return;
  }
  const std::int64_t desired =
      std::ranges::count_if(question.nodes, [](const DaemonNode& node) { return node.should_run; });
  question.max_unavailable =
      share_at(set.json(), "spec.updateStrategy.rollingUpdate.maxUnavailable",
               {.whole = desired, .fallback = "1"});
  question.max_surge =
      share_at(set.json(), "spec.updateStrategy.rollingUpdate.maxSurge", {.whole = desired});
  if (question.max_surge == 0 && question.max_unavailable == 0) {
    question.max_unavailable = 1;
  }
}

Object with_status(const Object& set, const DaemonStatus& status, std::int64_t collisions) {
  return set.edit([&](json::object& document) {
    json::object& out = api::object_at(document, "status");
    out["currentNumberScheduled"] = status.current;
    out["numberMisscheduled"] = status.misscheduled;
    out["desiredNumberScheduled"] = status.desired;
    out["numberReady"] = status.ready;
    out["observedGeneration"] = set.meta().generation;
    for (const auto& [name, count] : {std::pair("updatedNumberScheduled", status.updated),
                                      {"numberAvailable", status.available},
                                      {"numberUnavailable", status.desired - status.available},
                                      {"collisionCount", collisions}}) {
      if (count == 0) {
        out.stable_erase(name);
      } else {
        out[name] = count;
      }
    }
  });
}

} // namespace

struct DaemonSetController::State : std::enable_shared_from_this<DaemonSetController::State> {
  State(client::Client& c, Loop& l, Rng r)
      : client(c), loop(l), names(r.fork(1)), recorder(c, l, r.fork(2), "daemonset-controller"),
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
        nodes(c, l,
              {.what = {.kind = client::kNodes, .ns = "", .labels = {}},
               .index_of = {},
               .on_change =
                   [this](const Object& old, const Object& now) {
                     if (!old || !now || !same_for_daemons(old, now)) {
                       add_all();
                     }
                   },
               .start = FreshView::Start::WhenAsked}),
        revisions(c, l,
                  {.owner_kind = kKind,
                   .hash_label = kRevisionHashLabel,
                   .changed = [this](const Key& set) { queue.add(set); },
                   .synced = [this] { add_all(); }}),
        sets(c, l,
             {.what = {.kind = kDaemonSets, .ns = "", .labels = {}},
              .index_of = [](const Object& set) { return std::vector{set.meta().ns}; },
              .on_change =
                  [this](const Object& old, const Object& now) {
                    pods.start();
                    nodes.start();
                    revisions.start();
                    queue.add((now ? now : old).key());
                  }}) {
    pods.on_sync([this] { add_all(); });
    nodes.on_sync([this] { add_all(); });
  }

  void add_all() {
    for (const auto& [key, set] : sets.all()) {
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
        const auto view = model::pod_selector_view(*sets.find(key));
        if (view && (*view)->selector && (*view)->selector->matches(now.meta().labels)) {
          queue.add(key);
        }
      }
    }
  }

  struct Pass {
    Object set;
    RevisionKeeper::Current current;
    std::vector<Object> pods;
    DaemonPlan plan;
    Outcome outcome = Outcome::Done;
    client::WorkQueue::Finish finish;
  };
  using PassPtr = std::shared_ptr<Pass>;

  void reconcile(const Key& key, client::WorkQueue::Finish finish) {
    const Object* set = sets.find(key);
    if (!sets.synced() || !pods.synced() || !nodes.synced() || !revisions.synced() ||
        set == nullptr || set->meta().deletion_timestamp) {
      queue.forget(key);
      finish(Outcome::Done);
      return;
    }
    const auto pass = std::make_shared<Pass>();
    pass->set = *set;
    pass->finish = std::move(finish);
    const auto view = model::pod_selector_view(*set);
    if (!view || !(*view)->selector || (*view)->selector->empty()) {
      recorder.record(*set, EventType::Warning, "SelectingAll",
                      "This daemon set is selecting all pods. A non-empty selector is required.");
      pass->finish(Outcome::Done);
      return;
    }
    claim(pass, *(*view)->selector);
  }

  void claim(const PassPtr& pass, const api::Selector& selector) {
    const std::string mine = pass->set.key().to_string();
    queue.looks_at(pass->set.key(), pods.keyed(mine).size());
    Claims claims{.owner = pass->set, .adopt = {}, .release = {}};
    for (const std::string& name : {mine, orphans_of(pass->set.meta().ns)}) {
      for (const Key& at : pods.keyed(name)) {
        const Object& pod = *pods.find(at);
        switch (claim_of(pod, pass->set, selector)) {
        case Claim::Keep:
          pass->pods.push_back(pod);
          break;
        case Claim::Adopt:
          claims.adopt.push_back(pod);
          break;
        case Claim::Release:
          claims.release.push_back(pod);
          break;
        case Claim::Leave:
          break;
        }
      }
    }
    if (claims.empty()) {
      revise(pass);
      return;
    }
    settle_claims(
        client, std::move(claims),
        [weak = weak_from_this()](const Object& written) {
          if (const auto self = weak.lock()) {
            self->pods.wrote(written);
          }
        },
        [weak = weak_from_this(), pass](Outcome outcome) {
          const auto self = weak.lock();
          if (self && outcome == Outcome::Done) {
            self->again(pass, outcome);
          } else if (self) {
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
      pass->current = *current;
      self->act(pass);
    });
  }

  std::string hash_of(const Pass& pass) const {
    const auto found = pass.current.revision.meta().labels.find(kRevisionHashLabel);
    return found == pass.current.revision.meta().labels.end() ? "" : found->second;
  }

  std::string backoff_key(const Pass& pass, const std::string& node) const {
    return fmt::format("{}/{}/{}", pass.set.meta().uid, pass.set.meta().generation, node);
  }

  DaemonPod fact_of(const Pass& pass, const Object& pod) {
    const auto hash = pod.meta().labels.find(kRevisionHashLabel);
    const std::string_view phase = api::string_at(pod.json(), "status.phase");
    DaemonPod fact{.name = pod.meta().name,
                   .uid = pod.meta().uid,
                   .node = target_node(pod),
                   .bound = !node_name(pod).empty(),
                   .deleting = pod.meta().deletion_timestamp.has_value(),
                   .failed = phase == "Failed",
                   .succeeded = phase == "Succeeded",
                   .ready = pod_ready(pod),
                   .current = hash != pod.meta().labels.end() && hash->second == hash_of(pass),
                   .ready_since = ready_since(pod),
                   .created = pod.meta().creation_timestamp.value_or(TimePoint())};
    if (fact.failed && !fact.deleting) {
      const TimePoint due = failures.due(backoff_key(pass, fact.node));
      fact.spared = due > loop.now();
      if (fact.spared) {
        queue.add_after(pass.set.key(), due - loop.now());
      }
    }
    return fact;
  }

  void act(const PassPtr& pass) {
    DaemonQuestion question{.now = loop.now()};
    const NodeJudge judge(pass->set);
    for (const auto& [key, node] : nodes.all()) {
      question.nodes.push_back(judge.judge(node));
    }
    for (const Object& pod : pass->pods) {
      question.pods.push_back(fact_of(*pass, pod));
    }
    set_rollout(question, pass->set);
    pass->plan = plan_daemons(question);
    if (pass->plan.wake != TimePoint::max()) {
      queue.add_after(pass->set.key(), pass->plan.wake - loop.now());
    }
    if (pass->plan.remove.empty() && pass->plan.create_on.empty()) {
      trim(pass);
      return;
    }
    const auto all = Gather::make([weak = weak_from_this(), pass](Outcome outcome) {
      if (const auto self = weak.lock()) {
        self->again(pass, outcome);
      }
    });
    for (const DaemonPod& pod : pass->plan.remove) {
      remove_pod(pass, pod, all->expect());
    }
    create_pods(pass, 0, 1, all->expect());
    all->close();
  }

  void again(const PassPtr& pass, Outcome outcome) {
    if (outcome == Outcome::Done) {
      queue.add(pass->set.key());
      pass->finish(outcome);
      return;
    }
    pass->outcome = outcome;
    store_status(pass);
  }

  /// In batches of 1, 2, 4, ...: a refusal that holds for all costs one request.
  void create_pods(const PassPtr& pass, std::size_t first, std::size_t batch,
                   std::function<void(Outcome)> done) {
    const std::size_t end = std::min({pass->plan.create_on.size(), first + batch, kBurst});
    if (first >= end) {
      done(Outcome::Done);
      return;
    }
    const auto all = Gather::make(
        [weak = weak_from_this(), pass, end, batch, done = std::move(done)](Outcome outcome) {
          const auto self = weak.lock();
          if (self && outcome == Outcome::Done) {
            self->create_pods(pass, end, batch * 2, done);
          } else if (self) {
            done(outcome);
          }
        });
    for (std::size_t i = first; i < end; ++i) {
      create_pod(pass, pass->plan.create_on[i], all->expect());
    }
    all->close();
  }

  void create_pod(const PassPtr& pass, const std::string& node,
                  const std::function<void(Outcome)>& done) {
    auto pod = Object::from_json(daemon_pod(pass->set, node, hash_of(*pass), names.name_suffix()));
    if (!pod) {
      refused(pass, pod.error());
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
        self->refused(pass, made.error());
      }
      done(made ? Outcome::Done : Outcome::Retry);
    });
  }

  void refused(const PassPtr& pass, const Error& why) {
    recorder.record(pass->set, EventType::Warning, "FailedCreate",
                    "Error creating: " + why.message);
  }

  void remove_pod(const PassPtr& pass, const DaemonPod& pod,
                  const std::function<void(Outcome)>& done) {
    const Key key{pass->set.meta().ns, pod.name};
    if (pod.failed) {
      failures.failed(backoff_key(*pass, pod.node), loop.now());
      recorder.record(pass->set, EventType::Warning, "FailedDaemonPod",
                      fmt::format("Found failed daemon pod {} on node {}, will try to kill it",
                                  key.to_string(), pod.node));
    } else if (pod.succeeded) {
      recorder.record(pass->set, EventType::Normal, "SucceededDaemonPod",
                      fmt::format("Found succeeded daemon pod {} on node {}, will try to delete it",
                                  key.to_string(), pod.node));
    }
    client.remove(client::kPods, key, {.uid = pod.uid},
                  [weak = weak_from_this(), pass, key, uid = pod.uid, done](Result<Object> left) {
                    const auto self = weak.lock();
                    if (!self) {
                      return;
                    }
                    if (left) {
                      self->pods.removed(*left);
                      self->recorder.record(pass->set, EventType::Normal, "SuccessfulDelete",
                                            "Deleted pod: " + key.name);
                      done(Outcome::Done);
                      return;
                    }
                    const bool absent =
                        left.error().code == Code::NotFound || left.error().code == Code::Conflict;
                    if (absent) {
                      self->pods.gone(key, uid);
                    } else {
                      self->recorder.record(pass->set, EventType::Warning, "FailedDelete",
                                            "Error deleting: " + left.error().message);
                    }
                    done(absent ? Outcome::Done : Outcome::Retry);
                  });
  }

  void trim(const PassPtr& pass) {
    std::vector<std::string> live{pass->current.revision.meta().name};
    for (const Object& revision : revisions.of(pass->set)) {
      const auto hash = revision.meta().labels.find(kRevisionHashLabel);
      const bool used = std::ranges::any_of(pass->pods, [&](const Object& pod) {
        const auto own = pod.meta().labels.find(kRevisionHashLabel);
        return own != pod.meta().labels.end() && hash != revision.meta().labels.end() &&
               own->second == hash->second;
      });
      if (used) {
        live.push_back(revision.meta().name);
      }
    }
    revisions.trim(pass->set, live, [weak = weak_from_this(), pass](Outcome outcome) {
      const auto self = weak.lock();
      if (self && outcome == Outcome::Done) {
        self->store_status(pass);
      } else if (self) {
        pass->finish(outcome);
      }
    });
  }

  void store_status(const PassPtr& pass) {
    const Object wanted = with_status(pass->set, pass->plan.status, pass->current.collisions);
    sets.store_status(pass->set, wanted, [pass](Outcome stored) {
      pass->finish(stored == Outcome::Done ? pass->outcome : stored);
    });
  }

  client::Client& client;
  Loop& loop;
  Rng names;
  client::EventRecorder recorder;
  client::WorkQueue queue;
  FailureBackoff failures{Duration::seconds(1), Duration::minutes(15)};
  FreshView pods;
  FreshView nodes;
  RevisionKeeper revisions;
  FreshView sets;
};

DaemonSetController::DaemonSetController(client::Client& client, Loop& loop, Rng rng)
    : state_(std::make_shared<State>(client, loop, std::move(rng))) {}

DaemonSetController::~DaemonSetController() = default;

bool DaemonSetController::idle() const {
  return state_->queue.idle();
}

} // namespace berth::controllers
