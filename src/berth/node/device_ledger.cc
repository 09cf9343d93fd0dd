#include "berth/node/device_ledger.h"

#include <algorithm>
#include <utility>

namespace berth::node {

std::vector<std::string> Holding::ids() const {
  std::set<std::string> unique;
  for (const auto& [numa, ids] : devices) {
    unique.insert(ids.begin(), ids.end());
  }
  return {unique.begin(), unique.end()};
}

bool DeviceLedger::record(Holding holding) {
  const std::vector<std::string> ids = holding.ids();
  const bool taken = std::ranges::any_of(ids, [&](const std::string& id) {
    const std::string other = holder(holding.resource, id);
    return !other.empty() && other != holding.pod_uid;
  });
  if (taken) {
    return false;
  }
  erase(holding.pod_uid, holding.container, holding.resource);
  auto& holders = holder_by_device_[holding.resource];
  for (const std::string& id : ids) {
    holders[id] = holding.pod_uid;
  }
  Place place{holding.pod_uid, holding.container, holding.resource};
  holdings_.insert_or_assign(std::move(place), std::move(holding));
  return true;
}

void DeviceLedger::unindex(const Holding& holding) {
  const auto holders = holder_by_device_.find(holding.resource);
  if (holders == holder_by_device_.end()) {
    return;
  }
  for (const std::string& id : holding.ids()) {
    const auto siblings = of_pod(holding.pod_uid);
    const bool still_held = std::ranges::any_of(siblings, [&](const Holding* other) {
      const auto ids = other->ids();
      return other->resource == holding.resource && std::ranges::binary_search(ids, id);
    });
    if (!still_held) {
      holders->second.erase(id);
    }
  }
  if (holders->second.empty()) {
    holder_by_device_.erase(holders);
  }
}

void DeviceLedger::erase(std::string_view pod_uid, std::string_view container,
                         std::string_view resource) {
  const auto it =
      holdings_.find(Place{std::string(pod_uid), std::string(container), std::string(resource)});
  if (it != holdings_.end()) {
    const Holding gone = std::move(it->second);
    holdings_.erase(it);
    unindex(gone);
  }
}

void DeviceLedger::erase_container(std::string_view pod_uid, std::string_view container) {
  for (const Holding* holding : of_container(pod_uid, container)) {
    const std::string resource = holding->resource;
    erase(pod_uid, container, resource);
  }
}

void DeviceLedger::erase_pod(std::string_view pod_uid) {
  std::vector<std::string> containers;
  for (const Holding* holding : of_pod(pod_uid)) {
    containers.push_back(holding->container);
  }
  for (const std::string& container : containers) {
    erase_container(pod_uid, container);
  }
}

const Holding* DeviceLedger::find(std::string_view pod_uid, std::string_view container,
                                  std::string_view resource) const {
  const auto it =
      holdings_.find(Place{std::string(pod_uid), std::string(container), std::string(resource)});
  return it == holdings_.end() ? nullptr : &it->second;
}

std::vector<const Holding*> DeviceLedger::of_pod(std::string_view pod_uid) const {
  std::vector<const Holding*> found;
  for (auto it = holdings_.lower_bound(Place{std::string(pod_uid), "", ""});
       it != holdings_.end() && it->first.pod_uid == pod_uid; ++it) {
    found.push_back(&it->second);
  }
  return found;
}

std::vector<const Holding*> DeviceLedger::of_container(std::string_view pod_uid,
                                                       std::string_view container) const {
  std::vector<const Holding*> found = of_pod(pod_uid);
  std::erase_if(found, [&](const Holding* holding) { return holding->container != container; });
  return found;
}

std::set<std::string> DeviceLedger::held(std::string_view resource) const {
  std::set<std::string> ids;
  if (const auto holders = holder_by_device_.find(resource); holders != holder_by_device_.end()) {
    for (const auto& [id, pod] : holders->second) {
      ids.insert(id);
    }
  }
  return ids;
}

std::string DeviceLedger::holder(std::string_view resource, std::string_view id) const {
  const auto holders = holder_by_device_.find(resource);
  if (holders == holder_by_device_.end()) {
    return "";
  }
  const auto it = holders->second.find(std::string(id));
  return it == holders->second.end() ? "" : it->second;
}

std::vector<std::string> DeviceLedger::pods() const {
  std::vector<std::string> pods;
  for (const auto& [place, holding] : holdings_) {
    if (pods.empty() || pods.back() != place.pod_uid) {
      pods.push_back(place.pod_uid);
    }
  }
  return pods;
}

std::vector<std::string> DeviceLedger::resources() const {
  std::vector<std::string> resources;
  for (const auto& [resource, holders] : holder_by_device_) {
    resources.push_back(resource);
  }
  return resources;
}

std::vector<Holding> DeviceLedger::all() const {
  std::vector<Holding> all;
  for (const auto& [place, holding] : holdings_) {
    all.push_back(holding);
  }
  return all;
}

} // namespace berth::node
