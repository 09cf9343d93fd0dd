#include "berth/controllers/deployment/plan.h"

#include <algorithm>
#include <tuple>

namespace berth::controllers {
namespace {

using Set = RolloutSet;

class Planner {
 public:
  explicit Planner(const RolloutQuestion& question) : question_(question) {
    for (const Set& set : question.sets) {
      if (set.current && (current_ == nullptr || older(set, *current_))) {
        current_ = &set;
      }
    }
    for (const Set& set : question.sets) {
      if (&set != current_) {
        old_.push_back(&set);
      }
    }
    std::ranges::sort(old_, [](const Set* a, const Set* b) { return older(*a, *b); });
  }

  RolloutPlan plan() {
    plan_.revision = revision();
    if (question_.paused) {
      scale_as_it_is();
      return std::move(plan_);
    }
    if (question_.strategy == RolloutStrategy::Recreate) {
      recreate();
    } else {
      roll();
    }
    if (plan_.scale.empty() && !plan_.create) {
      forget_history();
    }
    return std::move(plan_);
  }

 private:
  static bool older(const Set& a, const Set& b) {
    return std::tie(a.created, a.name) < std::tie(b.created, b.name);
  }

  std::int64_t revision() const {
    std::int64_t newest_old = 0;
    for (const Set* set : old_) {
      newest_old = std::max(newest_old, set->revision);
    }
    return current_ != nullptr && current_->revision > newest_old ? current_->revision
                                                                  : newest_old + 1;
  }

  void scale(const Set& set, std::int64_t to) {
    if (set.wanted != to) {
      plan_.scale.push_back({.name = set.name, .from = set.wanted, .to = to});
    }
  }

  std::int64_t all_wanted() const {
    std::int64_t sum = 0;
    for (const Set& set : question_.sets) {
      sum += set.wanted;
    }
    return sum;
  }

  /// Paused: only the one set that has pods follows the number wanted.
  void scale_as_it_is() {
    std::vector<const Set*> active;
    for (const Set& set : question_.sets) {
      if (set.wanted > 0) {
        active.push_back(&set);
      }
    }
    if (active.size() == 1) {
      scale(*active.front(), question_.wanted);
    } else if (active.empty() && current_ != nullptr) {
      scale(*current_, question_.wanted);
    }
  }

  void recreate() {
    bool gone = true;
    for (const Set* set : old_) {
      scale(*set, 0);
      gone = gone && set->replicas == 0 && set->observed;
    }
    if (!gone || !plan_.scale.empty()) {
      return; // the old pods end before the new ones begin
    }
    grow(question_.wanted);
  }

  void grow(std::int64_t to) {
    if (current_ == nullptr) {
      plan_.create = to;
    } else {
      scale(*current_, to);
    }
  }

  void roll() {
    const std::int64_t have = current_ == nullptr ? 0 : current_->wanted;
    if (current_ == nullptr || have != question_.wanted) {
      const std::int64_t to =
          have > question_.wanted ? question_.wanted : std::min(question_.wanted, have + room());
      grow(to);
      if (plan_.create || !plan_.scale.empty()) {
        return;
      }
    }
    shrink_old();
  }

  /// Pods that may be added now.
  std::int64_t room() const {
    return std::max<std::int64_t>(question_.wanted + question_.max_surge - all_wanted(), 0);
  }

  void shrink_old() {
    if (current_ == nullptr || !current_->observed) {
      return;
    }
    const std::int64_t least = question_.wanted - question_.max_unavailable;
    const std::int64_t new_unavailable = current_->wanted - current_->available;
    std::int64_t left = all_wanted() - least - new_unavailable;
    std::vector<std::int64_t> to;
    std::int64_t available = current_->available;
    for (const Set* set : old_) { // pods that serve nobody first
      const std::int64_t idle = std::max<std::int64_t>(set->wanted - set->available, 0);
      const std::int64_t cut = std::clamp<std::int64_t>(left, 0, idle);
      to.push_back(set->wanted - cut);
      left -= cut;
      available += set->available;
    }
    std::int64_t spare = available - least;
    for (std::size_t i = 0; i < old_.size() && spare > 0; ++i) {
      const std::int64_t cut = std::min(spare, to[i]);
      to[i] -= cut;
      spare -= cut;
    }
    for (std::size_t i = 0; i < old_.size(); ++i) {
      scale(*old_[i], to[i]);
    }
  }

  void forget_history() {
    std::vector<const Set*> idle;
    for (const Set* set : old_) {
      if (set->wanted == 0 && set->replicas == 0 && set->observed) {
        idle.push_back(set);
      }
    }
    std::ranges::stable_sort(idle, {}, &Set::revision);
    const auto kept = static_cast<std::size_t>(std::max<std::int64_t>(question_.history, 0));
    for (std::size_t i = 0; i + kept < idle.size(); ++i) {
      plan_.remove.push_back(idle[i]->name);
    }
  }

  const RolloutQuestion& question_;
  const Set* current_ = nullptr;
  std::vector<const Set*> old_; ///< oldest first
  RolloutPlan plan_;
};

} // namespace

RolloutPlan plan_rollout(const RolloutQuestion& question) {
  return Planner(question).plan();
}

} // namespace berth::controllers
