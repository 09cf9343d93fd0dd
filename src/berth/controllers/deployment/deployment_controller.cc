#include "berth/controllers/deployment/deployment_controller.h"

#include <charconv>
#include <string>
#include <utility>
#include <vector>

#include <boost/json/object.hpp>
#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/api/same.h"
#include "berth/client/events.h"
#include "berth/client/work_queue.h"
#include "berth/controllers/deployment/status.h"
#include "berth/controllers/fields.h"
#include "berth/controllers/fresh_view.h"
#include "berth/controllers/gather.h"
#include "berth/controllers/replica_set/replica_set_controller.h"
#include "berth/controllers/share.h"
#include "berth/controllers/template_hash.h"

namespace berth::controllers {

using api::Key;
using api::Object;
using client::EventType;
using client::Outcome;

namespace {

namespace json = api::json;

constexpr std::string_view kHashLabel = "pod-template-hash";
constexpr std::string_view kRevision = "deployment.kubernetes.io/revision";
constexpr std::string_view kDesired = "deployment.kubernetes.io/desired-replicas";
constexpr std::string_view kMost = "deployment.kubernetes.io/max-replicas";
constexpr std::string_view kLastApplied = "kubectl.kubernetes.io/last-applied-configuration";

std::vector<std::string> index_by_deployment(const Object& set) {
  const api::OwnerReference* owner = set.meta().controller();
  if (owner == nullptr || owner->kind != "Deployment") {
    return {};
  }
  return {Key{set.meta().ns, owner->name}.to_string()};
}

std::int64_t revision_of(const Object& object) {
  const auto found = object.meta().annotations.find(kRevision);
  std::int64_t revision = 0;
  if (found != object.meta().annotations.end()) {
    std::from_chars(found->second.data(), found->second.data() + found->second.size(), revision);
  }
  return revision;
}

/// Without what a ReplicaSet adds to it.
json::value template_of(const Object& object) {
  const json::value* found = api::find_path(object.json(), "spec.template");
  json::value copy = found == nullptr || !found->is_object() ? json::value(json::object()) : *found;
  json::object& meta = api::object_at(copy.get_object(), "metadata");
  if (json::value* labels = meta.if_contains("labels"); labels != nullptr && labels->is_object()) {
    labels->get_object().stable_erase(kHashLabel);
  }
  return copy;
}

RolloutQuestion question_of(const Object& deployment) {
  RolloutQuestion question{.wanted = number_at(deployment, "spec.replicas", 1)};
  question.history = number_at(deployment, "spec.revisionHistoryLimit", 10);
  const json::value* paused = api::find_path(deployment.json(), "spec.paused");
  question.paused = paused != nullptr && paused->is_bool() && paused->get_bool();
  if (api::string_at(deployment.json(), "spec.strategy.type") == "Recreate") {
    question.strategy = RolloutStrategy::Recreate;
    return question;
  }
  question.max_surge = share_at(deployment.json(), "spec.strategy.rollingUpdate.maxSurge",
                                {.whole = question.wanted, .fallback = "25%"});
  question.max_unavailable =
      share_at(deployment.json(), "spec.strategy.rollingUpdate.maxUnavailable",
               {.whole = question.wanted, .rounding = Rounding::Down, .fallback = "25%"});
  if (question.max_surge == 0 && question.max_unavailable == 0) {
    question.max_unavailable = 1; // or nothing could ever move
  }
  return question;
}

RolloutSet rollout_set(const Object& set, const json::value& wanted_template) {
  return {.name = set.meta().name,
          .current = template_of(set) == wanted_template,
          .wanted = number_at(set, "spec.replicas", 1),
          .replicas = number_at(set, "status.replicas", 0),
          .ready = number_at(set, "status.readyReplicas", 0),
          .available = number_at(set, "status.availableReplicas", 0),
          .revision = revision_of(set),
          .created = set.meta().creation_timestamp.value_or(TimePoint()),
          .observed = number_at(set, "status.observedGeneration", 0) >= set.meta().generation};
}

} // namespace

struct DeploymentController::State : std::enable_shared_from_this<DeploymentController::State> {
  State(client::Client& c, Loop& l, Rng r)
      : client(c), loop(l), recorder(c, l, r.fork(1), "deployment-controller"),
        queue(l,
              [this](const Key& key, client::WorkQueue::Finish finish) {
                reconcile(key, std::move(finish));
              },
              {.workers = 16}),
        deployments(
            c, l,
            {.what = {.kind = kDeployments, .ns = "", .labels = {}},
             .index_of = {},
             .on_change = [this](const Object& old,
                                 const Object& now) { queue.add((now ? now : old).key()); }}),
        sets(c, l,
             {.what = {.kind = kReplicaSets, .ns = "", .labels = {}},
              .index_of = index_by_deployment,
              .on_change = [this](const Object& old, const Object& now) {
                add_owner(old);
                add_owner(now);
              }}) {
    sets.on_sync([this] {
      for (const auto& [key, deployment] : deployments.all()) {
        queue.add(key);
      }
    });
  }

  void add_owner(const Object& set) {
    if (set && !index_by_deployment(set).empty()) {
      queue.add({set.meta().ns, set.meta().controller()->name});
    }
  }

  struct Pass {
    Object deployment;
    RolloutQuestion question;
    RolloutPlan plan;
    std::string current;
    client::WorkQueue::Finish finish;
  };

  void reconcile(const Key& key, client::WorkQueue::Finish finish) {
    const Object* deployment = deployments.find(key);
    if (!deployments.synced() || !sets.synced() || deployment == nullptr ||
        deployment->meta().deletion_timestamp) {
      queue.forget(key);
      finish(Outcome::Done);
      return;
    }
    const json::value wanted_template = template_of(*deployment);
    const auto pass = std::make_shared<Pass>(Pass{.deployment = *deployment,
                                                  .question = question_of(*deployment),
                                                  .finish = std::move(finish)});
    for (const Key& at : sets.keyed(key.to_string())) {
      const Object& set = *sets.find(at);
      if (set.meta().controller()->uid == deployment->meta().uid &&
          !set.meta().deletion_timestamp) {
        pass->question.sets.push_back(rollout_set(set, wanted_template));
        if (pass->question.sets.back().current && pass->current.empty()) {
          pass->current = set.meta().name;
        }
      }
    }
    pass->plan = plan_rollout(pass->question);
    act(pass, wanted_template);
  }

  void act(const std::shared_ptr<Pass>& pass, const json::value& wanted_template) {
    if (pass->plan.create) {
      create_set(pass, wanted_template);
    } else if (!revise(pass)) {
      if (!pass->plan.scale.empty()) {
        scale(pass);
      } else if (!pass->plan.remove.empty()) {
        remove(pass);
      } else {
        store_status(pass);
      }
    }
  }

  void again(const std::shared_ptr<Pass>& pass, Outcome outcome) {
    if (outcome == Outcome::Done) {
      queue.add(pass->deployment.key());
    }
    pass->finish(outcome);
  }

  json::object annotations_of(const Pass& pass) const {
    json::object out;
    for (const auto& [name, text] : pass.deployment.meta().annotations) {
      if (name != kLastApplied && name != kRevision) {
        out[name] = text;
      }
    }
    out[kRevision] = fmt::to_string(pass.plan.revision);
    out[kDesired] = fmt::to_string(pass.question.wanted);
    out[kMost] = fmt::to_string(pass.question.wanted + pass.question.max_surge);
    return out;
  }

  void create_set(const std::shared_ptr<Pass>& pass, json::value pod_template) {
    const Object& deployment = pass->deployment;
    const std::string hash =
        template_hash(pod_template, number_at(deployment, "status.collisionCount", 0));
    json::object& meta = api::object_at(pod_template.as_object(), "metadata");
    api::object_at(meta, "labels")[kHashLabel] = hash;
    const json::value* selector = api::find_path(deployment.json(), "spec.selector");
    json::value chosen = selector == nullptr ? json::value(json::object()) : *selector;
    api::object_at(chosen.as_object(), "matchLabels")[kHashLabel] = hash;
    json::object document{{"apiVersion", "apps/v1"}, {"kind", "ReplicaSet"}};
    document["metadata"] = json::object{{"name", deployment.meta().name + "-" + hash},
                                        {"namespace", deployment.meta().ns},
                                        {"labels", *meta.if_contains("labels")},
                                        {"annotations", annotations_of(*pass)}};
    json::object spec{{"replicas", *pass->plan.create}, {"selector", std::move(chosen)}};
    if (const std::int64_t ready = number_at(deployment, "spec.minReadySeconds", 0); ready > 0) {
      spec["minReadySeconds"] = ready;
    }
    spec["template"] = std::move(pod_template);
    document["spec"] = std::move(spec);
    api::set_controller(document, deployment);
    client.create(*Object::from_json(std::move(document)),
                  [weak = weak_from_this(), pass](Result<Object> made) {
                    if (const auto self = weak.lock()) {
                      self->created(pass, made);
                    }
                  });
  }

  void created(const std::shared_ptr<Pass>& pass, const Result<Object>& made) {
    if (made) {
      sets.wrote(*made);
      recorder.record(pass->deployment, EventType::Normal, "ScalingReplicaSet",
                      fmt::format("Scaled up replica set {} from 0 to {}", made->meta().name,
                                  *pass->plan.create));
      again(pass, Outcome::Done);
      return;
    }
    recorder.record(pass->deployment, EventType::Warning, "ReplicaSetCreateError",
                    fmt::format("Failed to create new replica set: {}", made.error().message));
    if (made.error().code != Code::AlreadyExists) {
      pass->finish(Outcome::Retry);
      return;
    }
    // Another set has the name: count it, so that the next has another.
    const std::int64_t collisions = number_at(pass->deployment, "status.collisionCount", 0) + 1;
    client.patch(kDeployments, pass->deployment.key(),
                 json::object{{"status", json::object{{"collisionCount", collisions}}}},
                 client::Subresource::Status,
                 [weak = weak_from_this(), pass](Result<Object> counted) {
                   const auto self = weak.lock();
                   if (self && counted) {
                     self->deployments.wrote(*counted);
                   }
                   if (self) {
                     self->again(pass, counted ? Outcome::Done : Outcome::Retry);
                   }
                 });
  }

  /// Brings the revision of the current set, and the Deployment's, up to date. False: it is.
  bool revise(const std::shared_ptr<Pass>& pass) {
    const Object* set = sets.find({pass->deployment.meta().ns, pass->current});
    if (set == nullptr) {
      return false;
    }
    const Object* behind = revision_of(*set) != pass->plan.revision ? set
                           : revision_of(pass->deployment) != pass->plan.revision
                               ? &pass->deployment
                               : nullptr;
    if (behind == nullptr) {
      return false;
    }
    const bool of_set = behind == set;
    const json::object change{
        {"metadata",
         json::object{
             {"annotations", json::object{{kRevision, fmt::to_string(pass->plan.revision)}}}}}};
    client.patch(of_set ? kReplicaSets : kDeployments, behind->key(), change,
                 client::Subresource::None,
                 [weak = weak_from_this(), pass, of_set](Result<Object> written) {
                   const auto self = weak.lock();
                   if (!self) {
                     return;
                   }
                   if (written) {
                     (of_set ? self->sets : self->deployments).wrote(*written);
                   }
                   self->again(pass, written ? Outcome::Done : Outcome::Retry);
                 });
    return true;
  }

  std::shared_ptr<Gather> gather(const std::shared_ptr<Pass>& pass) {
    return Gather::make([weak = weak_from_this(), pass](Outcome outcome) {
      if (const auto self = weak.lock()) {
        self->again(pass, outcome);
      }
    });
  }

  void scale(const std::shared_ptr<Pass>& pass) {
    auto all = gather(pass);
    for (const RolloutScale& change : pass->plan.scale) {
      json::object body{
          {"metadata",
           json::object{
               {"annotations", json::object{{kDesired, fmt::to_string(pass->question.wanted)},
                                            {kMost, fmt::to_string(pass->question.wanted +
                                                                   pass->question.max_surge)}}}}},
          {"spec", json::object{{"replicas", change.to}}}};
      client.patch(
          kReplicaSets, {pass->deployment.meta().ns, change.name}, std::move(body),
          client::Subresource::None,
          [weak = weak_from_this(), pass, change, done = all->expect()](Result<Object> scaled) {
            const auto self = weak.lock();
            if (!self) {
              return;
            }
            if (scaled) {
              self->sets.wrote(*scaled);
              self->recorder.record(pass->deployment, EventType::Normal, "ScalingReplicaSet",
                                    fmt::format("Scaled {} replica set {} from {} to {}",
                                                change.to > change.from ? "up" : "down",
                                                change.name, change.from, change.to));
            }
            done(scaled ? Outcome::Done : Outcome::Retry);
          });
    }
    all->close();
  }

  void remove(const std::shared_ptr<Pass>& pass) {
    auto all = gather(pass);
    for (const std::string& name : pass->plan.remove) {
      client.remove(kReplicaSets, {pass->deployment.meta().ns, name}, {},
                    [weak = weak_from_this(), done = all->expect()](Result<Object> left) {
                      if (const auto self = weak.lock(); self && left) {
                        self->sets.removed(*left);
                      }
                      done(left || left.error().code == Code::NotFound ? Outcome::Done
                                                                       : Outcome::Retry);
                    });
    }
    all->close();
  }

  void store_status(const std::shared_ptr<Pass>& pass) {
    const Object wanted = with_rollout_status(
        pass->deployment,
        {.question = pass->question, .current = pass->current, .now = loop.now()});
    if (api::same(wanted.json(), pass->deployment.json())) {
      if (const auto deadline = progress_deadline(pass->deployment)) {
        queue.add_after(pass->deployment.key(), *deadline - loop.now());
      } else {
        queue.forget(pass->deployment.key());
      }
      pass->finish(Outcome::Done);
      return;
    }
    client.update(wanted, client::Subresource::Status,
                  [weak = weak_from_this(), pass](Result<Object> stored) {
                    const auto self = weak.lock();
                    if (!self) {
                      return;
                    }
                    if (stored) {
                      self->deployments.wrote(*stored);
                      self->again(pass, Outcome::Done);
                    } else {
                      const bool gone = stored.error().code == Code::NotFound;
                      pass->finish(gone ? Outcome::Done : Outcome::Retry);
                    }
                  });
  }

  client::Client& client;
  Loop& loop;
  client::EventRecorder recorder;
  client::WorkQueue queue;
  FreshView deployments;
  FreshView sets;
};

DeploymentController::DeploymentController(client::Client& client, Loop& loop, Rng rng)
    : state_(std::make_shared<State>(client, loop, std::move(rng))) {}

DeploymentController::~DeploymentController() = default;

bool DeploymentController::idle() const {
  return state_->queue.idle();
}

} // namespace berth::controllers
