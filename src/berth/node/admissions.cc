#include "berth/node/admissions.h"

#include <algorithm>
#include <tuple>

#include "berth/node/pod_refusal.h"
#include "berth/node/resource_check.h"

namespace berth::node {

void Admissions::consider() {
  if (asking_) {
    return;
  }
  std::vector<std::pair<std::string, PodWorker*>> candidates;
  for (const auto& [uid, worker] : *place_.workers) {
    if (worker->wants_admission() && !waiting_.contains(uid)) {
      candidates.emplace_back(uid, worker.get());
    }
  }
  std::ranges::stable_sort(candidates, {}, [](const auto& each) {
    const api::ObjectMeta& meta = each.second->pod()->meta;
    return std::tuple(meta.creation_timestamp.value_or(TimePoint()), meta.ns, meta.name);
  });
  for (auto it = candidates.begin(); it != candidates.end() && !asking_; ++it) {
    admit(it->first, *it->second);
  }
}

void Admissions::admit(const std::string& uid, PodWorker& worker) {
  std::vector<Occupant> holding;
  std::vector<Occupant> staying;
  for (const auto& [other_uid, other] : *place_.workers) {
    if (other_uid != uid && other->occupies()) {
      holding.push_back({.pod = other->pod().get(), .init_over = other->init_over()});
      if (!other->dying()) {
        staying.push_back(holding.back());
      }
    }
  }
  if (rules_.real_machine && refuse(uid, worker)) {
    return;
  }
  // What no live plugin vouches for is a matter of waiting, which the device manager decides.
  const auto skip = [this](std::string_view resource) {
    return is_extended_resource(resource) && place_.supply->needs_plugin(resource, place_.node()) &&
           !place_.devices->live(resource);
  };
  const model::ResourceList room = place_.supply->allocatable();
  if (const auto shortage = find_shortage(*worker.pod(), room, holding, skip)) {
    const bool hopeless = rules_.patience == Patience::None ||
                          find_shortage(*worker.pod(), room, staying, skip).has_value();
    if (hopeless) {
      worker.reject(shortage->reason, shortage->message);
    } else {
      waiting_.insert(uid);
      worker.wait(shortage->message);
    }
    return;
  }
  asking_ = uid;
  asking_since_ = place_.loop->now();
  place_.devices->allocate(
      worker.pod(), AllocationScope::Whole,
      [this, uid](const AllocationVerdict& verdict) { on_verdict(uid, verdict); });
}

// What a real machine has once, or does not let pods change.
bool Admissions::refuse(const std::string& uid, PodWorker& worker) {
  std::vector<const api::json::value*> others;
  for (const auto& [other_uid, other] : *place_.workers) {
    if (other_uid != uid && other->occupies()) {
      others.push_back(&other->stored().json());
    }
  }
  const api::json::value& pod = worker.stored().json();
  auto refusal = sysctl_refusal(pod, rules_.unsafe_sysctls);
  if (!refusal) {
    refusal = host_port_refusal(pod, others);
  }
  if (const api::Object& node = place_.node(); !refusal && node) {
    refusal = place_refusal(pod, *worker.pod(), node.meta().labels, rules_.node_name);
  }
  if (refusal) {
    worker.reject(refusal->reason, refusal->message);
  }
  return refusal.has_value();
}

void Admissions::on_verdict(const std::string& uid, const AllocationVerdict& verdict) {
  asking_.reset();
  place_.on_turn();
  const auto it = place_.workers->find(uid);
  if (it == place_.workers->end() || !it->second->wants_admission()) {
    return;
  }
  PodWorker& worker = *it->second;
  count(verdict);
  switch (verdict.kind) {
  case AllocationVerdict::Kind::Granted:
    worker.admit();
    break;
  case AllocationVerdict::Kind::Wait:
    waiting_.insert(uid);
    worker.wait(verdict.message, verdict.reason);
    break;
  case AllocationVerdict::Kind::Rejected: {
    const Verdict failure = allocation_failure(verdict.message, verdict.reason);
    worker.reject(failure.why.reason, failure.why.message);
    break;
  }
  }
  place_.on_answer(verdict.kind == AllocationVerdict::Kind::Granted);
}

// Who is told to wait is counted once it is known what becomes of it.
void Admissions::count(const AllocationVerdict& verdict) {
  if (verdict.kind == AllocationVerdict::Kind::Wait) {
    return;
  }
  const bool granted = verdict.kind == AllocationVerdict::Kind::Granted;
  place_.devices->counts().admitted(granted ? AgentCounts::Admission::Granted
                                            : AgentCounts::Admission::Refused,
                                    place_.loop->now() - asking_since_);
  if (!granted && verdict.reason == topology::kTopologyAffinityError) {
    place_.devices->counts().not_aligned(rules_.scope);
  }
}

} // namespace berth::node
