#include "berth/controllers/pod_gc/pod_gc.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "berth/client/work_queue.h"
#include "berth/controllers/fresh_view.h"
#include "berth/controllers/node/node_plan.h"
#include "berth/controllers/pod_gc/verdict.h"
#include "berth/controllers/pod_status.h"

namespace berth::controllers {

using api::Key;
using api::Object;
using client::Outcome;

namespace {

/// Not ready and declared out of service, so that nothing of the pods on it runs.
bool out_of_service(const Object& node) {
  const auto view = model::node_view(node);
  return view && !(*view)->ready() &&
         std::ranges::any_of((*view)->taints,
                             [](const model::Taint& t) { return t.key == kOutOfServiceTaint; });
}

} // namespace

struct PodGc::State : std::enable_shared_from_this<PodGc::State> {
  State(client::Client& c, Loop& l, const Options& o)
      : client(c), loop(l), options(o),
        lost_nodes(l,
                   [this](const Key& key, client::WorkQueue::Finish finish) {
                     look_for(key, std::move(finish));
                   }),
        garbage(l,
                [this](const Key& key, client::WorkQueue::Finish finish) {
                  collect(key, std::move(finish));
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
              }}) {
    // Pods seen before the nodes were known are judged then.
    nodes.on_sync([this] {
      for (const auto& [key, pod] : pods.all()) {
        pod_changed(Object(), pod);
      }
    });
  }

  using Age = std::pair<TimePoint, Key>;

  client::Client& client;
  Loop& loop;
  Options options;
  std::map<std::string, TimePoint, std::less<>> missing_since;
  std::set<std::string, std::less<>> gone_nodes; ///< quarantine over and confirmed on the server
  std::set<Age> finished;                        ///< terminal pods not being deleted, oldest first
  std::set<Key> surplus;                         ///< finished pods beyond the threshold
  client::WorkQueue lost_nodes;
  client::WorkQueue garbage;
  FreshView nodes;
  FreshView pods;

  void node_changed(const Object& old, const Object& now) {
    const std::string& name = (now ? now : old).meta().name;
    if (now) {
      missing_since.erase(name);
      gone_nodes.erase(name);
      if (!out_of_service(now)) {
        return;
      }
      for (const Key& pod : pods.keyed(name)) {
        garbage.add(pod);
      }
    } else if (!pods.keyed(name).empty()) {
      lost_nodes.add({"", name});
    }
  }

  void pod_changed(const Object& old, const Object& now) {
    track_finished(old, now);
    if (!now || !nodes.synced()) {
      return;
    }
    const std::string node(node_name(now));
    if (!node.empty() && nodes.find({"", node}) == nullptr) {
      lost_nodes.add({"", node});
    }
    if (judge_pod(now, node_state(node)) != GarbageVerdict::Keep) {
      garbage.add(now.key());
    }
  }

  PodsNode node_state(const std::string& name) const {
    if (gone_nodes.contains(name)) {
      return PodsNode::Missing;
    }
    const Object* node = nodes.find({"", name});
    return node != nullptr && out_of_service(*node) ? PodsNode::OutOfService : PodsNode::Fine;
  }

  // ---- nodes that are gone --------------------------------------------------------------------

  void look_for(const Key& key, client::WorkQueue::Finish finish) {
    const std::string& node = key.name;
    if (nodes.find(key) != nullptr || pods.keyed(node).empty()) {
      missing_since.erase(node);
      gone_nodes.erase(node);
      lost_nodes.forget(key);
      finish(Outcome::Done);
      return;
    }
    const TimePoint since = missing_since.emplace(node, loop.now()).first->second;
    if (since + options.quarantine > loop.now()) {
      lost_nodes.add_after(key, since + options.quarantine - loop.now());
      finish(Outcome::Done);
      return;
    }
    client.get(client::kNodes, key, [weak = weak_from_this(), key, finish](Result<Object> live) {
      const auto self = weak.lock();
      if (!self) {
        return;
      }
      if (!live && live.error().code != Code::NotFound) {
        finish(Outcome::Retry);
        return;
      }
      if (!live) {
        self->gone_nodes.insert(key.name);
        for (const Key& pod : self->pods.keyed(key.name)) {
          self->garbage.add(pod);
        }
      }
      finish(Outcome::Done);
    });
  }

  // ---- finished pods beyond the threshold -----------------------------------------------------

  static bool counts_as_finished(const Object& pod) {
    return pod && terminal(pod) && !pod.meta().deletion_timestamp;
  }

  static Age age(const Object& pod) {
    return {pod.meta().creation_timestamp.value_or(TimePoint()), pod.key()};
  }

  void track_finished(const Object& old, const Object& now) {
    if (counts_as_finished(old)) {
      finished.erase(age(old));
      surplus.erase(old.key());
    }
    if (!counts_as_finished(now)) {
      return;
    }
    finished.insert(age(now));
    while (options.terminated_threshold > 0 &&
           finished.size() - surplus.size() > options.terminated_threshold) {
      // The oldest one not chosen yet: chosen ones are a prefix except for pods that came out of
      // order.
      const auto oldest =
          std::ranges::find_if(finished, [&](const Age& a) { return !surplus.contains(a.second); });
      surplus.insert(oldest->second);
      garbage.add(oldest->second);
    }
  }

  // ---- collecting -----------------------------------------------------------------------------

  void collect(const Key& key, client::WorkQueue::Finish finish) {
    const Object* pod = pods.find(key);
    if (pod == nullptr) {
      finish(Outcome::Done);
      return;
    }
    switch (judge_pod(*pod, node_state(std::string(node_name(*pod))))) {
    case GarbageVerdict::Keep:
      if (surplus.contains(key)) {
        remove(*pod, std::move(finish));
      } else {
        finish(Outcome::Done);
      }
      return;
    case GarbageVerdict::NodeGone:
      mark_failed(with_condition(*pod,
                                 {.type = "DisruptionTarget",
                                  .status = "True",
                                  .reason = "DeletionByPodGC",
                                  .message = "PodGC: node no longer exists"},
                                 loop.now()),
                  std::move(finish));
      return;
    case GarbageVerdict::OutOfService:
    case GarbageVerdict::NeverBound:
      mark_failed(*pod, std::move(finish));
      return;
    }
  }

  /// A pod that nobody reports on any more must not vanish while it looks alive: its owner counts
  /// it as failed.
  void mark_failed(const Object& pod, client::WorkQueue::Finish finish) {
    if (terminal(pod)) {
      remove(pod, std::move(finish));
      return;
    }
    client.update(with_phase_failed(pod), client::Subresource::Status,
                  [weak = weak_from_this(), finish](Result<Object> marked) {
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

  void remove(const Object& pod, client::WorkQueue::Finish finish) {
    client.remove(client::kPods, pod.key(), {.grace_period_seconds = 0, .uid = pod.meta().uid},
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

PodGc::PodGc(client::Client& client, Loop& loop, const Options& options)
    : state_(std::make_shared<State>(client, loop, options)) {}

bool PodGc::idle() const {
  return state_->lost_nodes.idle() && state_->garbage.idle();
}

PodGc::~PodGc() = default;

} // namespace berth::controllers
