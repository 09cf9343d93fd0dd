#include "berth/controllers/daemon_set/plan.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace berth::controllers {
namespace {

using Pods = std::vector<const DaemonPod*>;

class Planner {
 public:
  explicit Planner(const DaemonQuestion& question) : question_(question) {
    for (const DaemonPod& pod : question.pods) {
      if (!pod.node.empty()) {
        on_node_[pod.node].push_back(&pod);
      }
    }
    for (auto& [node, pods] : on_node_) {
      std::ranges::sort(pods, {}, [](const DaemonPod* pod) {
        return std::tuple(!pod->bound, pod->created, pod->name);
      });
    }
  }

  DaemonPlan plan() {
    for (const DaemonNode& node : question_.nodes) {
      count(node);
      manage(node);
    }
    forget_lost_nodes();
    const bool settled = plan_.create_on.empty() && plan_.remove.empty();
    if (settled && question_.strategy == DaemonStrategy::RollingUpdate) {
      if (question_.max_surge > 0) {
        surge();
      } else {
        replace();
      }
    }
    return std::move(plan_);
  }

 private:
  const Pods& pods_on(const std::string& node) const {
    static const Pods kNone;
    const auto held = on_node_.find(node);
    return held == on_node_.end() ? kNone : held->second;
  }

  bool available(const DaemonPod& pod) const {
    return pod.ready && pod.ready_since + question_.min_ready <= question_.now;
  }

  void count(const DaemonNode& node) {
    const Pods& pods = pods_on(node.name);
    if (!node.should_run) {
      plan_.status.misscheduled += pods.empty() ? 0 : 1;
      return;
    }
    ++plan_.status.desired;
    if (pods.empty()) {
      return;
    }
    ++plan_.status.current;
    const DaemonPod& first = *pods.front();
    plan_.status.updated += first.current ? 1 : 0;
    plan_.status.ready += first.ready ? 1 : 0;
    plan_.status.available += available(first) ? 1 : 0;
    for (const DaemonPod* pod : pods) {
      if (pod->ready && !available(*pod)) {
        plan_.wake = std::min(plan_.wake, pod->ready_since + question_.min_ready);
      }
    }
  }

  void manage(const DaemonNode& node) {
    const Pods& pods = pods_on(node.name);
    if (node.should_run && pods.empty()) {
      plan_.create_on.push_back(node.name);
      return;
    }
    Pods running;
    for (const DaemonPod* pod : pods) {
      if (pod->deleting) {
        continue;
      }
      if (!node.may_stay || pod->succeeded || (pod->failed && !pod->spared)) {
        plan_.remove.push_back(*pod);
      } else if (!pod->failed) {
        running.push_back(pod);
      }
    }
    thin_out(running);
  }

  /// One pod a node, the oldest; while surging, one of each template.
  void thin_out(const Pods& running) {
    if (running.size() <= 1) {
      return;
    }
    if (question_.max_surge == 0) {
      std::ranges::for_each(running.begin() + 1, running.end(),
                            [&](const DaemonPod* pod) { plan_.remove.push_back(*pod); });
      return;
    }
    const DaemonPod* oldest_new = nullptr;
    const DaemonPod* oldest_old = nullptr;
    for (const DaemonPod* pod : running) {
      const DaemonPod*& first = pod->current ? oldest_new : oldest_old;
      if (first == nullptr) {
        first = pod;
      } else {
        plan_.remove.push_back(*pod);
      }
    }
    if (oldest_new != nullptr && oldest_old != nullptr &&
        (!oldest_old->ready || available(*oldest_new))) {
      plan_.remove.push_back(*oldest_old);
    }
  }

  /// Pods that wait for a node that is gone. (Those that were on it are the pod collector's.)
  void forget_lost_nodes() {
    for (const auto& [node, pods] : on_node_) {
      const bool known =
          std::ranges::find(question_.nodes, node, &DaemonNode::name) != question_.nodes.end();
      for (const DaemonPod* pod : pods) {
        if (!known && !pod->bound && !pod->deleting) {
          plan_.remove.push_back(*pod);
        }
      }
    }
  }

  struct Pair {
    const DaemonPod* now = nullptr;
    const DaemonPod* old = nullptr;
    bool clear = true; ///< at most one of each
  };
  static Pair pair_of(const Pods& pods) {
    Pair pair;
    for (const DaemonPod* pod : pods) {
      if (pod->deleting) {
        continue;
      }
      const DaemonPod*& one = pod->current ? pair.now : pair.old;
      pair.clear = pair.clear && one == nullptr;
      one = pod;
    }
    return pair;
  }

  static std::size_t at_most(std::int64_t room, std::size_t candidates) {
    return std::min(candidates, static_cast<std::size_t>(std::max<std::int64_t>(room, 0)));
  }

  void replace() {
    std::int64_t unavailable = 0;
    Pods candidates;
    for (const auto& [node, pods] : on_node_) {
      const Pair pair = pair_of(pods);
      const bool between = (pair.now == nullptr) == (pair.old == nullptr);
      if (!pair.clear || between) {
        ++unavailable;
      } else if (pair.now != nullptr) {
        unavailable += available(*pair.now) ? 0 : 1;
      } else if (!available(*pair.old)) {
        ++unavailable;
        plan_.remove.push_back(*pair.old); // it serves nobody
      } else {
        candidates.push_back(pair.old);
      }
    }
    const std::size_t count = at_most(question_.max_unavailable - unavailable, candidates.size());
    for (std::size_t i = 0; i < count; ++i) {
      plan_.remove.push_back(*candidates[i]);
    }
  }

  void surge() {
    std::int64_t surging = 0;
    std::vector<std::string> candidates;
    for (const auto& [node, pods] : on_node_) {
      const Pair pair = pair_of(pods);
      if (!pair.clear) {
        ++surging;
      } else if (pair.old == nullptr) {
        continue;
      } else if (pair.now == nullptr) {
        (available(*pair.old) ? candidates : plan_.create_on).push_back(node);
      } else if (!available(*pair.now)) {
        ++surging;
      } else {
        plan_.remove.push_back(*pair.old);
      }
    }
    const std::size_t count = at_most(question_.max_surge - surging, candidates.size());
    plan_.create_on.insert(plan_.create_on.end(), candidates.begin(),
                           candidates.begin() + static_cast<std::ptrdiff_t>(count));
  }

  const DaemonQuestion& question_;
  std::map<std::string, Pods> on_node_;
  DaemonPlan plan_;
};

} // namespace

DaemonPlan plan_daemons(const DaemonQuestion& question) {
  return Planner(question).plan();
}

} // namespace berth::controllers
