#include "berth/controllers/node/node_lifecycle.h"

#include <map>
#include <optional>
#include <string>
#include <utility>

#include <boost/json/object.hpp>
#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/base/log.h"
#include "berth/client/events.h"
#include "berth/client/work_queue.h"
#include "berth/controllers/fresh_view.h"
#include "berth/controllers/gather.h"
#include "berth/controllers/node/lease_fact.h"
#include "berth/controllers/node/node_plan.h"
#include "berth/controllers/pod_status.h"

namespace berth::controllers {

using api::Key;
using api::Object;
using client::EventType;
using client::Outcome;

struct NodeLifecycle::State : std::enable_shared_from_this<NodeLifecycle::State> {
  State(client::Client& c, Loop& l, Rng rng, const Options& o)
      : client(c), loop(l), options(o), recorder(c, l, rng, "node-controller"),
        queue(l,
              [this](const Key& key, client::WorkQueue::Finish finish) {
                reconcile(key, std::move(finish));
              },
              {.workers = 64}),
        nodes(c, l,
              {.what = {.kind = client::kNodes},
               .index_of = {},
               .on_change = [this](const Object& old,
                                   const Object& now) { queue.add((now ? now : old).key()); }}),
        leases(c, l,
               {.what = {.kind = client::kLeases, .ns = std::string(kNodeLeaseNamespace)},
                .index_of = {},
                .on_change =
                    [this](const Object& old, const Object& now) {
                      queue.add({"", (now ? now : old).key().name});
                    }}),
        pods(c, l,
             {.what = {.kind = client::kPods},
              .index_of = index_by_node,
              .on_change = [this](const Object&, const Object& now) { pod_changed(now); }}) {
    const auto restart = [this] {
      for (const auto& [key, node] : nodes.all()) {
        queue.add(key);
      }
    };
    nodes.on_sync(restart);
    leases.on_sync(restart);
    pods.on_sync(restart);
  }

  client::Client& client;
  Loop& loop;
  Options options;
  client::EventRecorder recorder;
  std::map<std::string, HeartbeatRecord, std::less<>> heartbeats;
  client::WorkQueue queue;
  FreshView nodes;
  FreshView leases;
  FreshView pods;

  /// A pod that claims to be ready on a node that is not.
  void pod_changed(const Object& now) {
    if (!now || !pod_ready(now)) {
      return;
    }
    const Key key{"", std::string(node_name(now))};
    const Object* node = key.name.empty() ? nullptr : nodes.find(key);
    if (node == nullptr) {
      return;
    }
    const auto view = model::node_view(*node);
    if (view && lost(**view)) {
      queue.add(key);
    }
  }

  static bool lost(const model::Node& node) {
    const std::string_view ready = condition_status(node, "Ready");
    return ready == "False" || ready == "Unknown";
  }

  std::optional<LeaseFact> lease_of(const std::string& node) const {
    const Object* lease = leases.find({std::string(kNodeLeaseNamespace), node});
    if (lease == nullptr) {
      return std::nullopt;
    }
    const auto fact = lease_fact(*lease);
    return fact ? std::optional(**fact) : std::nullopt;
  }

  void reconcile(const Key& key, client::WorkQueue::Finish finish) {
    if (!nodes.synced() || !leases.synced() || !pods.synced()) {
      finish(Outcome::Done);
      return;
    }
    const Object* node = nodes.find(key);
    if (node == nullptr) {
      heartbeats.erase(key.name);
      queue.forget(key);
      finish(Outcome::Done);
      return;
    }
    const auto view = model::node_view(*node);
    if (!view) {
      log(LogLevel::Warn, "node-controller",
          fmt::format("node {} is not understood: {}", key.name, to_string(view.error())));
      finish(Outcome::Done);
      return;
    }
    const auto judgement = judge(**view);
    if (judgement.due) {
      queue.add_after(key, *judgement.due - loop.now());
    }
    if (judgement.silent && silent_conditions(*node, loop.now())) {
      confirm_silence(*node, std::move(finish));
    } else if (auto taints = demanded_taints(**view, loop.now())) {
      store_taints(*node, *taints, std::move(finish));
    } else if (judgement.silent && lost(**view)) {
      // An agent that is heard again says itself how its pods are.
      mark_pods(key.name, std::move(finish));
    } else {
      if (!judgement.due) {
        queue.forget(key); // the timer of a lease that is standing again
      }
      finish(Outcome::Done);
    }
  }

  HeartbeatRecord::Judgement judge(const model::Node& node) {
    const auto lease = lease_of(node.name());
    if (!lease && options.without_lease == WithoutLease::Trusted) {
      return {};
    }
    std::optional<TimePoint> status_heartbeat;
    auto reported = HeartbeatRecord::Status::NeverReported;
    for (const model::Condition& condition : node.conditions) {
      if (condition.type == "Ready") {
        status_heartbeat = condition.last_heartbeat_time;
        reported = HeartbeatRecord::Status::Reported;
      }
    }
    HeartbeatRecord& record = heartbeats[node.name()];
    record.observe(lease, status_heartbeat, loop.now());
    return record.judge(options.grace, reported, loop.now());
  }

  /// A node must not be declared lost because a watch is late: its Lease is read from the server
  /// first.
  void confirm_silence(const Object& node, client::WorkQueue::Finish finish) {
    client.get(client::kLeases, {std::string(kNodeLeaseNamespace), node.meta().name},
               [weak = weak_from_this(), node, finish](Result<Object> lease) {
                 const auto self = weak.lock();
                 if (!self) {
                   return;
                 }
                 if (lease) {
                   self->leases.wrote(*lease);
                 } else if (lease.error().code != Code::NotFound) {
                   finish(Outcome::Retry);
                   return;
                 }
                 self->declare_silent(node.key(), finish);
               });
  }

  void declare_silent(const Key& key, const client::WorkQueue::Finish& finish) {
    const Object* node = nodes.find(key);
    const auto view = node == nullptr ? nullptr : model::node_view(*node).value_or(nullptr);
    const auto conditions =
        view && judge(*view).silent ? silent_conditions(*node, loop.now()) : std::nullopt;
    if (!conditions) {
      queue.add(key);
      finish(Outcome::Done);
      return;
    }
    const bool was_ready = view->ready();
    Object silent = node->edit([&](api::json::object& document) {
      api::object_at(document, "status")["conditions"] = *conditions;
    });
    client.update(std::move(silent), client::Subresource::Status,
                  [weak = weak_from_this(), key, was_ready, finish](Result<Object> stored) {
                    const auto self = weak.lock();
                    if (!self) {
                      return;
                    }
                    if (stored && was_ready) {
                      self->recorder.record(
                          *stored, EventType::Normal, "NodeNotReady",
                          fmt::format("Node {} status is now: NodeNotReady", key.name));
                    }
                    self->node_written(key, stored, finish);
                  });
  }

  void store_taints(const Object& node, const std::vector<model::Taint>& taints,
                    client::WorkQueue::Finish finish) {
    api::json::object metadata{
        {"uid", node.meta().uid},
        {"resourceVersion", fmt::format("{}", node.meta().resource_version)}};
    // The last taint takes the list along, as typed clients leave empty lists out.
    api::json::value list;
    if (!taints.empty()) {
      list = write_taints(taints);
    }
    api::json::object patch{{"metadata", std::move(metadata)},
                            {"spec", api::json::object{{"taints", std::move(list)}}}};
    client.patch(client::kNodes, node.key(), std::move(patch), client::Subresource::None,
                 [weak = weak_from_this(), key = node.key(), finish](Result<Object> stored) {
                   if (const auto self = weak.lock()) {
                     self->node_written(key, stored, finish);
                   }
                 });
  }

  void node_written(const Key& key, const Result<Object>& stored,
                    const client::WorkQueue::Finish& finish) {
    if (stored) {
      nodes.wrote(*stored);
      queue.add(key);
    }
    finish(stored ? Outcome::Done : Outcome::Retry);
  }

  void mark_pods(const std::string& node, client::WorkQueue::Finish finish) {
    auto all = Gather::make(std::move(finish));
    // A copy: the answers change the index.
    const std::set<Key> on_node = pods.keyed(node);
    for (const Key& key : on_node) {
      const Object* pod = pods.find(key);
      if (pod != nullptr && pod_ready(*pod)) {
        mark_pod(*pod, all->expect());
      }
    }
    all->close();
  }

  void mark_pod(const Object& pod, std::function<void(Outcome)> done) {
    const PodCondition unready{.type = "Ready", .status = "False", .reason = {}, .message = {}};
    client.update(
        with_condition(pod, unready, loop.now()), client::Subresource::Status,
        [weak = weak_from_this(), key = pod.key(), uid = pod.meta().uid,
         done](Result<Object> stored) {
          const auto self = weak.lock();
          if (!self) {
            return;
          }
          if (stored) {
            self->pods.wrote(*stored);
            self->recorder.record(*stored, EventType::Warning, "NodeNotReady", "Node is not ready");
          } else if (stored.error().code == Code::NotFound) {
            self->pods.gone(key, uid);
          }
          done(stored || stored.error().code == Code::NotFound ? Outcome::Done : Outcome::Retry);
        });
  }
};

NodeLifecycle::NodeLifecycle(client::Client& client, Loop& loop, Rng rng, const Options& options)
    : state_(std::make_shared<State>(client, loop, rng, options)) {}

bool NodeLifecycle::idle() const {
  return state_->queue.idle();
}

NodeLifecycle::~NodeLifecycle() = default;

} // namespace berth::controllers
