#include "berth/sched/filter_session.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "berth/sched/cycle.h"

namespace berth::sched {

namespace {

/// Holds the texts of extenders for the cycle's accounts; filters nothing itself.
class ExtenderRefusals final : public Run {
 public:
  Verdict add(const Status& status) {
    const auto it = std::ranges::find(reasons_, status.reasons);
    const auto detail = static_cast<std::uint64_t>(it - reasons_.begin());
    if (it == reasons_.end()) {
      reasons_.push_back(status.reasons);
    }
    return {.code = status.code, .detail = detail};
  }
  std::vector<std::string> reasons(NodeId, Verdict verdict) const override {
    return reasons_[verdict.detail];
  }

 private:
  std::vector<std::vector<std::string>> reasons_;
};

} // namespace

FilterSession::FilterSession(const Framework& framework, ClusterState& state, PodPtr pod,
                             TimePoint now)
    : framework_(&framework), state_(&state), pod_(std::move(pod)), now_(now) {}

std::span<const NodeId> FilterSession::candidates() const {
  return narrowed_ ? std::span<const NodeId>(*narrowed_) : state_->nodes();
}

Status FilterSession::prepare() {
  Status verdict;
  const auto& entries = framework_->entries();
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const auto& entry = entries[i];
    if (!entry.has(Point::Filter) && !entry.has(Point::Score) && !entry.has(Point::Reserve)) {
      continue;
    }
    Prepared prepared = entry.plugin->prepare(pod_, *state_);
    const StatusCode code = prepared.status.code;
    prepared.status.plugin = entry.plugin->name();
    const bool may_reject = entry.has(Point::Filter) || code == StatusCode::Error;
    if (prepared.run != nullptr) {
      runs_.push_back({.entry = i,
                       .run = std::move(prepared.run),
                       .filters = entry.has(Point::Filter) && code != StatusCode::Skip,
                       .scores = entry.has(Point::Score),
                       .reserves = entry.has(Point::Reserve)});
      if (runs_.back().filters) {
        filters_.emplace_back(static_cast<std::uint32_t>(runs_.size() - 1), runs_.back().run.get());
      }
    }
    if (!may_reject) {
      continue; // it is asked to score or to reserve alone
    }
    if (code == StatusCode::Unresolvable || code == StatusCode::Error) {
      verdict = std::move(prepared.status);
      break;
    }
    if (is_rejected(code)) {
      verdict = std::move(prepared.status);
    }
    if (prepared.nodes) {
      if (Status narrowed = narrow(entry.plugin->name(), std::move(*prepared.nodes));
          !narrowed.ok()) {
        return narrowed;
      }
    }
  }
  if (verdict.rejected()) {
    absent = verdict;
    prefilter_plugins = {verdict.plugin};
  }
  return verdict;
}

Status FilterSession::narrow(std::string_view plugin, std::vector<NodeId> nodes) {
  prefilter_plugins.emplace_back(plugin);
  std::ranges::sort(prefilter_plugins);
  const bool had_nodes = !nodes.empty() && (!narrowed_ || !narrowed_->empty());
  if (narrowed_) {
    std::vector<NodeId> both;
    std::ranges::set_intersection(*narrowed_, nodes, std::back_inserter(both));
    nodes = std::move(both);
  }
  narrowed_ = std::move(nodes);
  if (narrowed_->empty() && had_nodes) {
    absent = Status::of(StatusCode::Unresolvable,
                        fmt::format("node(s) didn't satisfy plugin(s) [{}] simultaneously",
                                    fmt::join(prefilter_plugins, " ")));
    return *absent;
  }
  absent = Status::of(StatusCode::Unresolvable, fmt::format("node(s) didn't satisfy plugin(s) [{}]",
                                                            fmt::join(prefilter_plugins, " ")));
  return Status::success();
}

NodeFailure FilterSession::filter_once(NodeId node) const {
  for (const auto& [index, run] : filters_) {
    if (const Verdict verdict = run->filter(node); !verdict.ok()) {
      return {.node = node, .run = index, .verdict = verdict};
    }
  }
  return {.node = node, .run = 0, .verdict = Verdict::feasible()};
}

void FilterSession::restrict_to(std::span<const NodeId> nodes) {
  std::vector<NodeId> both;
  if (narrowed_) {
    std::ranges::set_intersection(*narrowed_, nodes, std::back_inserter(both));
  } else {
    std::ranges::copy_if(nodes, std::back_inserter(both),
                         [&](NodeId node) { return state_->node(node).node != nullptr; });
  }
  narrowed_ = std::move(both);
  if (!absent) {
    absent = Status::of(StatusCode::Unresolvable, std::string(kReasonElsewhere));
  }
}

std::vector<PodPtr> guests_for(const PodInfo& pod, NodeId node, const ClusterState& state) {
  std::vector<PodPtr> guests;
  std::ranges::copy_if(state.nominated_to(node), std::back_inserter(guests),
                       [&](const PodPtr& other) {
                         return other->priority >= pod.priority && other->uid != pod.uid &&
                                state.find_pod(other->uid) == nullptr;
                       });
  return guests;
}

std::vector<std::pair<NodeFailure, std::int64_t>>
count_verdicts(std::span<const NodeFailure> failures) {
  std::map<std::pair<std::uint32_t, Verdict>, std::size_t> known;
  std::vector<std::pair<NodeFailure, std::int64_t>> counted;
  std::array<std::size_t, 16> recent{}; // most nodes fail of a few things
  for (const NodeFailure& failure : failures) {
    const auto same = [&](const NodeFailure& other) {
      return other.run == failure.run && other.verdict == failure.verdict;
    };
    std::size_t& last = recent[(failure.run + failure.verdict.detail) % recent.size()];
    if (last >= counted.size() || !same(counted[last].first)) {
      const auto [it, fresh] = known.try_emplace({failure.run, failure.verdict}, counted.size());
      if (fresh) {
        counted.emplace_back(failure, 0);
      }
      last = it->second;
    }
    ++counted[last].second;
  }
  return counted;
}

NodeFailure FilterSession::filter(NodeId node) {
  if (state_->node(node).nominated == 0) {
    return filter_once(node);
  }
  std::vector<Undo> guests;
  std::vector<PodPtr> pods = guests_for(*pod_, node, *state_);
  for (const PodPtr& other : pods) {
    guests.push_back(state_->try_assume(other, node));
    added(*other, node);
  }
  if (!pods.empty()) {
    const NodeFailure crowded = filter_once(node);
    for (; !pods.empty(); pods.pop_back()) {
      guests.pop_back();
      removed(*pods.back(), node);
    }
    if (!crowded.verdict.ok()) {
      return crowded;
    }
  }
  return filter_once(node);
}

std::vector<NodeFailure> FilterSession::failures_after(const NodeFailure& failure) const {
  std::vector<NodeFailure> later;
  for (const auto& [index, run] : filters_) {
    if (index > failure.run) {
      if (const Verdict verdict = run->filter(failure.node); !verdict.ok()) {
        later.push_back({.node = failure.node, .run = index, .verdict = verdict});
      }
    }
  }
  return later;
}

std::vector<std::string> FilterSession::reasons(const NodeFailure& failure) const {
  return runs_[failure.run].run->reasons(failure.node, failure.verdict);
}

std::string_view FilterSession::plugin_of(const NodeFailure& failure) const {
  const std::size_t entry = runs_[failure.run].entry;
  return entry == kNoEntry ? kExtenderPlugin : framework_->entries()[entry].plugin->name();
}

void FilterSession::refuse(const std::map<NodeId, Status>& by_extenders) {
  if (by_extenders.empty()) {
    return;
  }
  auto said = std::make_unique<ExtenderRefusals>();
  for (const auto& [node, status] : by_extenders) {
    failures.push_back({.node = node,
                        .run = static_cast<std::uint32_t>(runs_.size()),
                        .verdict = said->add(status)});
  }
  runs_.push_back({.entry = kNoEntry, .run = std::move(said)});
}

void FilterSession::removed(const PodInfo& pod, NodeId node) {
  for (const auto& [index, run] : filters_) {
    runs_[index].run->remove_pod(pod, node);
  }
}

void FilterSession::added(const PodInfo& pod, NodeId node) {
  for (const auto& [index, run] : filters_) {
    runs_[index].run->add_pod(pod, node);
  }
}

} // namespace berth::sched
