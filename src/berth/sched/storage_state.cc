#include "berth/sched/storage_state.h"

#include <iterator>

#include <fmt/format.h>

namespace berth::sched {
namespace {

/// The value of a key; an empty pointer if there is none.
template <class Map, class Key>
const typename Map::mapped_type& at(const Map& map, const Key& key) {
  static const typename Map::mapped_type kNone{};
  const auto it = map.find(key);
  return it == map.end() ? kNone : it->second;
}

template <class Map, class Key> void erase(Map& map, const Key& key) {
  if (const auto it = map.find(key); it != map.end()) {
    map.erase(it);
  }
}

} // namespace

void StorageState::set_claim(ClaimPtr claim) {
  const api::Key key = claim->key();
  claims_.insert_or_assign(key, Entry<model::PersistentVolumeClaim>{std::move(claim), {}});
}

void StorageState::remove_claim(const api::Key& key) {
  claims_.erase(key);
}

void StorageState::set_volume(VolumePtr volume) {
  const std::string name = volume->meta.name;
  volumes_.insert_or_assign(name, Entry<model::PersistentVolume>{std::move(volume), {}});
}

void StorageState::remove_volume(std::string_view name) {
  erase(volumes_, name);
}

void StorageState::set_class(StorageClassPtr storage_class) {
  const std::string name = storage_class->meta.name;
  classes_.insert_or_assign(name, std::move(storage_class));
}

void StorageState::remove_class(std::string_view name) {
  erase(classes_, name);
}

void StorageState::set_csi_node(CsiNodePtr node) {
  const std::string name = node->meta.name;
  csi_nodes_.insert_or_assign(name, std::move(node));
}

void StorageState::remove_csi_node(std::string_view name) {
  erase(csi_nodes_, name);
}

void StorageState::set_csi_driver(CsiDriverPtr driver) {
  const std::string name = driver->meta.name;
  csi_drivers_.insert_or_assign(name, std::move(driver));
}

void StorageState::remove_csi_driver(std::string_view name) {
  erase(csi_drivers_, name);
}

void StorageState::set_capacity(CapacityPtr capacity) {
  const api::Key key{capacity->meta.ns, capacity->meta.name};
  capacities_.insert_or_assign(key, std::move(capacity));
}

void StorageState::remove_capacity(const api::Key& key) {
  capacities_.erase(key);
}

void StorageState::set_attachment(AttachmentPtr attachment) {
  remove_attachment(attachment->meta.name);
  attached_.emplace(attachment->node, attachment->meta.name);
  const std::string name = attachment->meta.name;
  attachments_.emplace(name, std::move(attachment));
}

void StorageState::remove_attachment(std::string_view name) {
  if (const auto it = attachments_.find(name); it != attachments_.end()) {
    attached_.erase({it->second->node, it->first});
    attachments_.erase(it);
  }
}

void StorageState::assume(std::string_view uid, const VolumePlan& plan, std::string_view node) {
  drop(uid);
  for (const VolumePlan::Binding& binding : plan.bindings) {
    if (const auto it = volumes_.find(binding.volume); it != volumes_.end()) {
      auto given = std::make_shared<model::PersistentVolume>(*it->second.latest());
      given->claim = {.ns = binding.claim.ns, .name = binding.claim.name, .uid = binding.claim_uid};
      it->second.assumed.push_back({std::string(uid), std::move(given)});
    }
  }
  for (const VolumePlan::Provision& provision : plan.provisions) {
    if (const auto it = claims_.find(provision.claim); it != claims_.end()) {
      auto selected = std::make_shared<model::PersistentVolumeClaim>(*it->second.latest());
      selected->meta.annotations.insert_or_assign(std::string(model::kSelectedNodeAnnotation),
                                                  std::string(node));
      it->second.assumed.push_back({std::string(uid), std::move(selected)});
    }
  }
  plans_.emplace(uid, plan);
}

void StorageState::drop(std::string_view uid) {
  const auto plan = plans_.find(uid);
  if (plan == plans_.end()) {
    return;
  }
  for (const VolumePlan::Binding& binding : plan->second.bindings) {
    if (const auto it = volumes_.find(binding.volume); it != volumes_.end()) {
      std::erase_if(it->second.assumed, [&](const auto& each) { return each.uid == uid; });
    }
  }
  for (const VolumePlan::Provision& provision : plan->second.provisions) {
    if (const auto it = claims_.find(provision.claim); it != claims_.end()) {
      std::erase_if(it->second.assumed, [&](const auto& each) { return each.uid == uid; });
    }
  }
  plans_.erase(plan);
}

void StorageState::count_users(const model::Pod& pod, std::int64_t sign) {
  for (const model::PodVolume& volume : pod.spec.volumes) {
    if (!volume.is_claim() || volume.ephemeral) {
      continue;
    }
    const auto it = users_.try_emplace({pod.meta.ns, volume.claim}, 0).first;
    it->second += sign;
    if (it->second == 0) {
      users_.erase(it);
    }
  }
}

const ClaimPtr& StorageState::claim(const api::Key& key) const {
  return at(claims_, key).latest();
}

const VolumePtr& StorageState::volume(std::string_view name) const {
  return at(volumes_, name).latest();
}

const ClaimPtr& StorageState::stored_claim(const api::Key& key) const {
  return at(claims_, key).stored;
}

const VolumePtr& StorageState::stored_volume(std::string_view name) const {
  return at(volumes_, name).stored;
}

const StorageClassPtr& StorageState::storage_class(std::string_view name) const {
  return at(classes_, name);
}

const CsiNodePtr& StorageState::csi_node(std::string_view node) const {
  return at(csi_nodes_, node);
}

const CsiDriverPtr& StorageState::csi_driver(std::string_view name) const {
  return at(csi_drivers_, name);
}

std::vector<CapacityPtr> StorageState::capacities_of(std::string_view class_name) const {
  std::vector<CapacityPtr> found;
  for (const auto& [key, capacity] : capacities_) {
    if (capacity->storage_class == class_name) {
      found.push_back(capacity);
    }
  }
  return found;
}

std::vector<VolumePtr> StorageState::volumes_of(std::string_view class_name) const {
  std::vector<VolumePtr> volumes;
  for (const auto& [name, entry] : volumes_) {
    if (entry.latest()->class_name() == class_name) {
      volumes.push_back(entry.latest());
    }
  }
  return volumes;
}

std::vector<AttachmentPtr> StorageState::attached_to(std::string_view node) const {
  std::vector<AttachmentPtr> found;
  for (auto it = attached_.lower_bound({std::string(node), ""});
       it != attached_.end() && it->first == node; ++it) {
    found.push_back(at(attachments_, it->second));
  }
  return found;
}

std::string StorageState::dump() const {
  std::string out;
  auto to = std::back_inserter(out);
  const auto object = [](const auto& pointer) { return static_cast<const void*>(pointer.get()); };
  for (const auto& [key, entry] : claims_) {
    fmt::format_to(to, "claim {} {} node={}\n", key.to_string(), object(entry.stored),
                   entry.latest()->selected_node().value_or(""));
  }
  for (const auto& [name, entry] : volumes_) {
    const auto& claim = entry.latest()->claim;
    fmt::format_to(to, "volume {} {} claim={}/{}\n", name, object(entry.stored),
                   claim ? claim->ns : "", claim ? claim->name : "");
  }
  for (const auto& [name, storage_class] : classes_) {
    fmt::format_to(to, "class {} {}\n", name, object(storage_class));
  }
  for (const auto& [name, node] : csi_nodes_) {
    fmt::format_to(to, "csi node {} {}\n", name, object(node));
  }
  for (const auto& [name, driver] : csi_drivers_) {
    fmt::format_to(to, "csi driver {} {}\n", name, object(driver));
  }
  for (const auto& [key, capacity] : capacities_) {
    fmt::format_to(to, "capacity {} {}\n", key.to_string(), object(capacity));
  }
  for (const auto& [name, attachment] : attachments_) {
    fmt::format_to(to, "attachment {} {}\n", name, object(attachment));
  }
  for (const auto& [uid, plan] : plans_) {
    fmt::format_to(to, "plan of {}: {} bindings, {} provisions\n", uid, plan.bindings.size(),
                   plan.provisions.size());
  }
  for (const auto& [claim, users] : users_) {
    fmt::format_to(to, "users of {}: {}\n", claim.to_string(), users);
  }
  return out;
}

std::string claim_not_found(std::string_view name) {
  return fmt::format("persistentvolumeclaim \"{}\" not found", name);
}

std::optional<std::string> foreign_claim(const model::Pod& pod,
                                         const model::PersistentVolumeClaim& claim) {
  const api::OwnerReference* owner = claim.meta.controller();
  if (owner != nullptr && owner->uid == pod.meta.uid) {
    return std::nullopt;
  }
  return fmt::format("PVC {} was not created for pod {} (pod is not owner)",
                     claim.key().to_string(), pod.key().to_string());
}

} // namespace berth::sched
