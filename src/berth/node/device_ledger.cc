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

const std::set<DeviceLedger::Place>& DeviceLedger::places_of(std::string_view resource,
                                                             std::string_view id) const {
  static const std::set<Place> kNobody;
  const auto of_resource = places_.find(resource);
  if (of_resource == places_.end()) {
    return kNobody;
  }
  const auto places = of_resource->second.find(id);
  return places == of_resource->second.end() ? kNobody : places->second;
}

bool DeviceLedger::record(Holding holding) {
  const std::vector<std::string> ids = holding.ids();
  const PodFilter everyone = [](const std::string&) { return true; };
  if (!std::ranges::all_of(
          ids, [&](const std::string& id) { return has_room(holding, id, everyone); })) {
    return false;
  }
  erase(holding.pod_uid, holding.container, holding.resource);
  const Place place{holding.pod_uid, holding.container, holding.resource};
  auto& of_resource = places_[holding.resource];
  for (const std::string& id : ids) {
    of_resource[id].insert(place);
  }
  if (of_resource.empty()) {
    places_.erase(holding.resource);
  }
  holdings_.insert_or_assign(place, std::move(holding));
  return true;
}

void DeviceLedger::unindex(const Holding& holding) {
  const auto of_resource = places_.find(holding.resource);
  if (of_resource == places_.end()) {
    return;
  }
  const Place place{holding.pod_uid, holding.container, holding.resource};
  for (const std::string& id : holding.ids()) {
    const auto places = of_resource->second.find(id);
    if (places != of_resource->second.end()) {
      places->second.erase(place);
      if (places->second.empty()) {
        of_resource->second.erase(places);
      }
    }
  }
  if (of_resource->second.empty()) {
    places_.erase(of_resource);
  }
}

std::optional<PartUse> DeviceLedger::parts_in_use(std::string_view resource, std::string_view id,
                                                  const PodFilter& counts) const {
  std::map<std::string, std::vector<GpuPart>> by_pod;
  for (const Place& place : places_of(resource, id)) {
    if (!counts(place.pod_uid)) {
      continue;
    }
    const Holding& holding = holdings_.at(place);
    if (!holding.part) {
      return std::nullopt;
    }
    by_pod[place.pod_uid].push_back(holding.part->of(id));
  }
  PartUse sum;
  for (const auto& [pod, parts] : by_pod) {
    sum = sum + use_of_pod(parts);
  }
  return sum;
}

bool DeviceLedger::has_room(const Holding& wanted, std::string_view id,
                            const PodFilter& counts) const {
  if (!wanted.part) {
    return std::ranges::none_of(places_of(wanted.resource, id), [&](const Place& place) {
      return place.pod_uid != wanted.pod_uid && counts(place.pod_uid);
    });
  }
  const auto others = parts_in_use(wanted.resource, id, [&](const std::string& pod) {
    return pod != wanted.pod_uid && counts(pod);
  });
  if (!others) {
    return false;
  }
  std::vector<GpuPart> own{wanted.part->of(id)};
  for (const Place& place : places_of(wanted.resource, id)) {
    if (place.pod_uid == wanted.pod_uid && place.container != wanted.container) {
      own.push_back(holdings_.at(place).part.value_or(GpuParts()).of(id));
    }
  }
  return parts_fit(*others, use_of_pod(own), own.front());
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
  if (const auto of_resource = places_.find(resource); of_resource != places_.end()) {
    for (const auto& [id, places] : of_resource->second) {
      ids.insert(id);
    }
  }
  return ids;
}

std::string DeviceLedger::holder(std::string_view resource, std::string_view id) const {
  const std::set<Place>& places = places_of(resource, id);
  return places.empty() ? "" : places.begin()->pod_uid;
}

std::vector<std::string> DeviceLedger::holders(std::string_view resource,
                                               std::string_view id) const {
  std::vector<std::string> pods;
  for (const Place& place : places_of(resource, id)) {
    if (pods.empty() || pods.back() != place.pod_uid) {
      pods.push_back(place.pod_uid);
    }
  }
  return pods;
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
  for (const auto& [resource, ids] : places_) {
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
