// PreBind of VolumeBinding: gives volumes to the pod's claims and asks for those to be provisioned,
// waits until the claims are bound, and only then binds the pod. Rules: kube-scheduler
// plugins/volumebinding.
#include <algorithm>

#include <boost/json/object.hpp>
#include <fmt/format.h>

#include "berth/sched/storage_event.h"
#include "berth/scheduler/process.h"

namespace berth::scheduler {
namespace {

namespace json = api::json;

constexpr Duration kBindTimeout = Duration::seconds(600);

json::string_view text(std::string_view s) {
  return {s.data(), s.size()};
}

/// metadata of a merge patch that counts only for this version of the object; 0: for any.
json::object only_for(std::uint64_t version) {
  json::object meta;
  if (version != 0) {
    meta["resourceVersion"] = std::to_string(version);
  }
  return meta;
}

/// `stored`: the volume as last seen. One that its user reserved for the claim stays its user's.
json::value claim_reference_patch(const sched::VolumePlan::Binding& binding,
                                  const sched::VolumePtr& stored) {
  json::object meta = only_for(binding.volume_version);
  if (!stored || !stored->claim) {
    meta["annotations"] = json::object{{text(model::kBoundByControllerAnnotation), "yes"}};
  }
  json::object reference{{"apiVersion", "v1"},
                         {"kind", "PersistentVolumeClaim"},
                         {"namespace", binding.claim.ns},
                         {"name", binding.claim.name},
                         {"uid", binding.claim_uid}};
  return json::object{{"metadata", std::move(meta)},
                      {"spec", json::object{{"claimRef", std::move(reference)}}}};
}

json::value selected_node_patch(const sched::VolumePlan::Provision& provision,
                                const std::string& node) {
  json::object meta = only_for(provision.claim_version);
  meta["annotations"] = json::object{{text(model::kSelectedNodeAnnotation), node}};
  return json::object{{"metadata", std::move(meta)}};
}

} // namespace

/// Writes what is not written yet, one after the other; the first that fails ends it. What was
/// written stays: the next attempt finds it.
void Scheduler::Process::write_volumes(const std::shared_ptr<Flight>& flight) {
  const auto& [bindings, provisions] = flight->volumes;
  const std::size_t next = flight->written.size();
  if (next == bindings.size() + provisions.size()) {
    await_claims(flight);
    return;
  }
  const auto answered = [self = weak_from_this(), flight](Result<api::Object> answer) {
    const auto process = self.lock();
    if (!process || process->stopped_) {
      return;
    }
    if (!answer) {
      process->lose_volumes(flight, answer.error().message);
      return;
    }
    flight->written.push_back(answer->meta().resource_version);
    process->write_volumes(flight);
  };
  if (next < bindings.size()) {
    const auto& binding = bindings[next];
    client_.patch(client::kVolumes, {"", binding.volume},
                  claim_reference_patch(binding, state_.storage().stored_volume(binding.volume)),
                  client::Subresource::None, answered);
  } else {
    const auto& provision = provisions[next - bindings.size()];
    client_.patch(client::kVolumeClaims, provision.claim,
                  selected_node_patch(provision, flight->binding.node), client::Subresource::None,
                  answered);
  }
}

void Scheduler::Process::await_claims(const std::shared_ptr<Flight>& flight) {
  flight->volumes_due = std::make_unique<Timer>(loop_);
  flight->volumes_due->set(kBindTimeout, [this, weak = std::weak_ptr(flight)] {
    if (const auto late = weak.lock()) {
      lose_volumes(late, "binding volumes: context deadline exceeded");
    }
  });
  awaiting_claims_.push_back(flight);
  look_at_awaited_claims();
}

void Scheduler::Process::look_at_awaited_claims() {
  // Losing a flight may bring another look at the rest.
  const auto flights = awaiting_claims_;
  for (const std::shared_ptr<Flight>& flight : flights) {
    if (std::ranges::find(awaiting_claims_, flight) == awaiting_claims_.end()) {
      continue;
    }
    const auto seen = pods_.find(flight->queued.pod->uid);
    if (seen == pods_.end() || seen->second.object.meta().deletion_timestamp) {
      lose_volumes(flight, "binding volumes: pod does not exist any more");
      continue;
    }
    const auto bound = claims_are_bound(*flight);
    if (!bound) {
      lose_volumes(flight, fmt::format("binding volumes: {}", bound.error().message));
    } else if (*bound) {
      flight->volumes_due = nullptr;
      std::erase(awaiting_claims_, flight);
      send_binding(flight);
    }
  }
}

Result<bool> Scheduler::Process::claims_are_bound(const Flight& flight) const {
  for (std::size_t i = 0; i < flight.volumes.bindings.size(); ++i) {
    BERTH_TRY(const bool given, volume_is_given(flight, i));
    if (!given) {
      return false;
    }
  }
  for (std::size_t i = 0; i < flight.volumes.provisions.size(); ++i) {
    BERTH_TRY(const bool provisioned, claim_is_provisioned(flight, i));
    if (!provisioned) {
      return false;
    }
  }
  return true;
}

Result<bool> Scheduler::Process::volume_is_given(const Flight& flight, std::size_t index) const {
  const auto& binding = flight.volumes.bindings[index];
  const sched::VolumePtr& volume = state_.storage().stored_volume(binding.volume);
  const sched::ClaimPtr& claim = state_.storage().stored_claim(binding.claim);
  if (!volume || !claim) {
    return fail(Code::NotFound, fmt::format("failed to check binding: could not find {} \"{}\"",
                                            volume ? "pvc" : "pv",
                                            volume ? binding.claim.to_string() : binding.volume));
  }
  if (volume->meta.resource_version < flight.written[index]) {
    return false; // the informer is behind
  }
  const model::Node* node = state_.node(flight.node).node.get();
  if (node == nullptr || !volume->reachable_from(node->meta.labels)) {
    return fail(Code::Conflict, fmt::format("pv \"{}\" node affinity doesn't match node \"{}\"",
                                            binding.volume, flight.binding.node));
  }
  if (!volume->claim || volume->claim->uid.empty()) {
    return fail(Code::Conflict, fmt::format("ClaimRef got reset for pv \"{}\"", binding.volume));
  }
  return claim->bound();
}

Result<bool> Scheduler::Process::claim_is_provisioned(const Flight& flight,
                                                      std::size_t index) const {
  const auto& provision = flight.volumes.provisions[index];
  const sched::ClaimPtr& claim = state_.storage().stored_claim(provision.claim);
  if (!claim) {
    return fail(Code::NotFound,
                fmt::format("failed to check provisioning pvc: could not find pvc \"{}\"",
                            provision.claim.to_string()));
  }
  if (claim->meta.resource_version < flight.written[flight.volumes.bindings.size() + index]) {
    return false;
  }
  if (claim->selected_node() != flight.binding.node) {
    // So a provisioner says that it could not do it on this node.
    return fail(Code::Conflict,
                fmt::format("provisioning failed for PVC \"{}\"", provision.claim.name));
  }
  const sched::VolumePtr& volume = state_.storage().stored_volume(claim->volume_name);
  if (!volume) {
    return false; // not made yet, or not seen yet
  }
  const model::Node* node = state_.node(flight.node).node.get();
  if (node == nullptr || !volume->reachable_from(node->meta.labels)) {
    return fail(Code::Conflict, fmt::format("pv \"{}\" node affinity doesn't match node \"{}\"",
                                            claim->volume_name, flight.binding.node));
  }
  return claim->bound();
}

void Scheduler::Process::lose_volumes(const std::shared_ptr<Flight>& flight,
                                      const std::string& why) {
  flight->volumes_due = nullptr;
  std::erase(awaiting_claims_, flight);
  lose(*flight, fmt::format("running PreBind plugin \"VolumeBinding\": {}", why));
}

// ---- what informers say of storage
// ------------------------------------------------------------------

namespace {

/// The typed view; null if there is no object, or none that can be read.
template <class T>
std::shared_ptr<const T> view_of(const api::Object& object,
                                 Result<std::shared_ptr<const T>> (*view)(const api::Object&)) {
  return object ? view(object).value_or(nullptr) : nullptr;
}

} // namespace

void Scheduler::Process::on_claim(const api::Object& old, const api::Object& now) {
  const auto before = view_of(old, &model::claim_view);
  const auto after = view_of(now, &model::claim_view);
  if (after) {
    state_.change_storage().set_claim(after);
  } else {
    state_.change_storage().remove_claim((now ? now : old).key());
  }
  if (before || after) {
    tell_queue(sched::storage_changed(before, after));
  }
  look_at_awaited_claims();
}

void Scheduler::Process::on_volume(const api::Object& old, const api::Object& now) {
  const auto before = view_of(old, &model::volume_view);
  const auto after = view_of(now, &model::volume_view);
  if (after) {
    state_.change_storage().set_volume(after);
  } else {
    state_.change_storage().remove_volume((now ? now : old).meta().name);
  }
  if (before || after) {
    tell_queue(sched::storage_changed(before, after));
  }
  look_at_awaited_claims();
}

void Scheduler::Process::on_storage_class(const api::Object& old, const api::Object& now) {
  const auto before = view_of(old, &model::storage_class_view);
  const auto after = view_of(now, &model::storage_class_view);
  if (after) {
    state_.change_storage().set_class(after);
  } else {
    state_.change_storage().remove_class((now ? now : old).meta().name);
  }
  if (before || after) {
    tell_queue(sched::storage_changed(before, after));
  }
}

void Scheduler::Process::on_csi_node(const api::Object& old, const api::Object& now) {
  const auto before = view_of(old, &model::csi_node_view);
  const auto after = view_of(now, &model::csi_node_view);
  if (after) {
    state_.change_storage().set_csi_node(after);
  } else {
    state_.change_storage().remove_csi_node((now ? now : old).meta().name);
  }
  if (before || after) {
    tell_queue(sched::storage_changed(before, after));
  }
}

void Scheduler::Process::on_csi_driver(const api::Object& old, const api::Object& now) {
  const auto before = view_of(old, &model::csi_driver_view);
  const auto after = view_of(now, &model::csi_driver_view);
  if (after) {
    state_.change_storage().set_csi_driver(after);
  } else {
    state_.change_storage().remove_csi_driver((now ? now : old).meta().name);
  }
  if (before || after) {
    tell_queue(sched::storage_changed(before, after));
  }
}

void Scheduler::Process::on_capacity(const api::Object& old, const api::Object& now) {
  const auto before = view_of(old, &model::storage_capacity_view);
  const auto after = view_of(now, &model::storage_capacity_view);
  if (after) {
    state_.change_storage().set_capacity(after);
  } else {
    state_.change_storage().remove_capacity((now ? now : old).key());
  }
  if (before || after) {
    tell_queue(sched::storage_changed(before, after));
  }
}

void Scheduler::Process::on_attachment(const api::Object& old, const api::Object& now) {
  const auto before = view_of(old, &model::volume_attachment_view);
  const auto after = view_of(now, &model::volume_attachment_view);
  if (after) {
    state_.change_storage().set_attachment(after);
  } else {
    state_.change_storage().remove_attachment((now ? now : old).meta().name);
  }
  if (before || after) {
    tell_queue(sched::storage_changed(before, after));
  }
}

} // namespace berth::scheduler
