// Who holds which device: pod, container, resource, ids. The one truth from which free sets are
// derived, so that no second set can go stale.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "berth/deviceplugin/contract.h"

namespace berth::node {

/// Ids by NUMA node; -1 for devices without topology. A device on several nodes appears under each.
using DevicesByNuma = std::map<std::int64_t, std::vector<std::string>>;

struct Holding {
  std::string pod_uid;
  std::string container;
  std::string resource;
  DevicesByNuma devices;
  /// What the plugin said the container needs; none for a holder that was found in the runtime,
  /// until the plugin is asked again.
  std::optional<deviceplugin::ContainerAllocateResponse> response;

  /// Without repetition, sorted.
  std::vector<std::string> ids() const;
  bool operator==(const Holding&) const = default;
};

/// Invariant: one holding for each (pod, container, resource); a device is held by at most one pod.
/// (Within a pod, an init container and a later container may both hold it: they never run
/// together.) O(log n) a lookup.
class DeviceLedger {
 public:
  /// False, and nothing changes, if another pod holds one of the devices.
  [[nodiscard]] bool record(Holding holding);
  void erase(std::string_view pod_uid, std::string_view container, std::string_view resource);
  void erase_container(std::string_view pod_uid, std::string_view container);
  void erase_pod(std::string_view pod_uid);

  const Holding* find(std::string_view pod_uid, std::string_view container,
                      std::string_view resource) const;
  /// By container, then resource.
  std::vector<const Holding*> of_pod(std::string_view pod_uid) const;
  std::vector<const Holding*> of_container(std::string_view pod_uid,
                                           std::string_view container) const;
  /// Ids of the resource that anyone holds.
  std::set<std::string> held(std::string_view resource) const;
  /// The pod that holds the device; "" if none.
  std::string holder(std::string_view resource, std::string_view id) const;
  std::vector<std::string> pods() const;
  std::vector<std::string> resources() const;
  std::vector<Holding> all() const;
  bool empty() const { return holdings_.empty(); }

 private:
  struct Place {
    std::string pod_uid;
    std::string container;
    std::string resource;
    auto operator<=>(const Place&) const = default;
  };
  std::map<Place, Holding> holdings_;
  std::map<std::string, std::map<std::string, std::string>, std::less<>>
      holder_by_device_; // resource, id -> pod
  void unindex(const Holding& holding);
};

} // namespace berth::node
