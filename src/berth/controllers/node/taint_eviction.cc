#include "berth/controllers/node/taint_eviction.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "berth/client/events.h"
#include "berth/client/work_queue.h"
#include "berth/controllers/fresh_view.h"
#include "berth/controllers/node/eviction_time.h"
#include "berth/controllers/pod_status.h"

namespace berth::controllers {

using api::Key;
using api::Object;
using client::EventType;
using client::Outcome;

namespace {

std::vector<model::Taint> executing_taints(const Object& node) {
  std::vector<model::Taint> taints;
  if (!node) {
    return taints;
  }
  if (const auto view = model::node_view(node)) {
    std::ranges::copy_if((*view)->taints, std::back_inserter(taints),
                         [](const model::Taint& t) { return t.effect == "NoExecute"; });
  }
  return taints;
}

} // namespace

struct TaintEviction::State : std::enable_shared_from_this<TaintEviction::State> {
  State(client::Client& c, Loop& l, Rng rng)
      : client(c), loop(l), recorder(c, l, rng, "taint-eviction-controller"),
        queue(l,
              [this](const Key& key, client::WorkQueue::Finish finish) {
                reconcile(key, std::move(finish));
              },
              {.workers = 64}),
        nodes(c, l,
              {.what = {.kind = client::kNodes},
               .index_of = {},
               .on_change = [this](const Object& old,
                                   const Object& now) { node_changed(old, now); }}),
        pods(c, l,
             {.what = {.kind = client::kPods},
              .index_of = index_by_node,
              .on_change = [this](const Object& old, const Object& now) {
                pod_changed(old, now);
              }}) {}

  client::Client& client;
  Loop& loop;
  client::EventRecorder recorder;
  std::set<Key> scheduled; ///< pods with an eviction announced
  client::WorkQueue queue;
  FreshView nodes;
  FreshView pods;

  void node_changed(const Object& old, const Object& now) {
    if (executing_taints(old) == executing_taints(now)) {
      return;
    }
    for (const Key& pod : pods.keyed((now ? now : old).meta().name)) {
      queue.add(pod);
    }
  }

  void pod_changed(const Object& old, const Object& now) {
    const Key key = (now ? now : old).key();
    const Object* node = now ? nodes.find({"", std::string(node_name(now))}) : nullptr;
    if (scheduled.contains(key) || (node != nullptr && !executing_taints(*node).empty())) {
      queue.add(key);
    }
  }

  void reconcile(const Key& key, client::WorkQueue::Finish finish) {
    const Object* pod = pods.find(key);
    if (pod == nullptr || pod->meta().deletion_timestamp || terminal(*pod)) {
      scheduled.erase(key);
      queue.forget(key);
      finish(Outcome::Done);
      return;
    }
    const auto due = due_time(*pod);
    if (!due) {
      if (scheduled.erase(key) > 0) {
        recorder.record(*pod, EventType::Normal, "TaintManagerEviction",
                        fmt::format("Cancelling deletion of Pod {}", key.to_string()));
      }
      queue.forget(key);
      finish(Outcome::Done);
      return;
    }
    if (*due > loop.now()) {
      scheduled.insert(key);
      queue.add_after(key, *due - loop.now());
      finish(Outcome::Done);
      return;
    }
    evict(*pod, std::move(finish));
  }

  std::optional<TimePoint> due_time(const Object& pod) const {
    const Object* node = nodes.find({"", std::string(node_name(pod))});
    if (node == nullptr) {
      return std::nullopt;
    }
    const auto pod_view = model::pod_view(pod);
    const auto node_view = model::node_view(*node);
    return pod_view && node_view ? eviction_time(**pod_view, **node_view) : std::nullopt;
  }

  void evict(const Object& pod, client::WorkQueue::Finish finish) {
    const PodCondition target{.type = "DisruptionTarget",
                              .status = "True",
                              .reason = "DeletionByTaintManager",
                              .message = "Taint manager: deleting due to NoExecute taint"};
    client.update(with_condition(pod, target, loop.now()), client::Subresource::Status,
                  [weak = weak_from_this(), key = pod.key(), finish](Result<Object> marked) {
                    const auto self = weak.lock();
                    if (!self) {
                      return;
                    }
                    if (!marked) {
                      finish(marked.error().code == Code::NotFound ? Outcome::Done
                                                                   : Outcome::Retry);
                      return;
                    }
                    self->pods.wrote(*marked);
                    self->remove(*marked, finish);
                  });
  }

  void remove(const Object& pod, const client::WorkQueue::Finish& finish) {
    recorder.record(pod, EventType::Normal, "TaintManagerEviction",
                    fmt::format("Marking for deletion Pod {}", pod.key().to_string()));
    client.remove(client::kPods, pod.key(), {.uid = pod.meta().uid},
                  [weak = weak_from_this(), key = pod.key(), uid = pod.meta().uid,
                   finish](Result<Object> left) {
                    const auto self = weak.lock();
                    if (!self) {
                      return;
                    }
                    const bool absent = !left && (left.error().code == Code::NotFound ||
                                                  left.error().code == Code::Conflict);
                    if (left) {
                      self->pods.removed(*left);
                    } else if (absent) {
                      self->pods.gone(key, uid);
                    }
                    finish(left || absent ? Outcome::Done : Outcome::Retry);
                  });
  }
};

TaintEviction::TaintEviction(client::Client& client, Loop& loop, Rng rng)
    : state_(std::make_shared<State>(client, loop, rng)) {}

bool TaintEviction::idle() const {
  return state_->queue.idle();
}

TaintEviction::~TaintEviction() = default;

} // namespace berth::controllers
