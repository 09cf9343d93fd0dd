// Who holds which device: pod, container, resource, ids. The one truth from which free sets are
// derived, so that no second set can go stale.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "berth/deviceplugin/contract.h"
#include "berth/node/gpu_part.h"

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
  /// What the container has of the devices; none: it has them whole.
  std::optional<GpuParts> part;

  /// Without repetition, sorted.
  std::vector<std::string> ids() const;
  bool operator==(const Holding&) const = default;
};

/// Invariant: one holding for each (pod, container, resource); a device is held whole by at most
/// one pod and then by nobody else, or in parts that it has room for. (Within a pod, an init
/// container and a later container may both hold it whole: they never run together.) O(log n) a
/// lookup.
class DeviceLedger {
 public:
  /// False, and nothing changes, if another pod holds one of the devices, or parts of it that leave
  /// no room for this one.
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
  /// The pod that holds the device, or the first of those that hold parts of it; "" if none.
  std::string holder(std::string_view resource, std::string_view id) const;
  /// All of them, sorted.
  std::vector<std::string> holders(std::string_view resource, std::string_view id) const;
  using PodFilter = std::function<bool(const std::string& pod_uid)>;
  /// What pods that `counts` have of the device in parts; nullopt if one of them has it whole.
  std::optional<PartUse> parts_in_use(std::string_view resource, std::string_view id,
                                      const PodFilter& counts) const;
  /// Whether the container may have the part of the device beside what other pods that `counts`
  /// and its own pod's other containers have.
  bool has_room(const Holding& wanted, std::string_view id, const PodFilter& counts) const;
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
  std::map<std::string, std::map<std::string, std::set<Place>, std::less<>>, std::less<>>
      places_; // resource, id -> who holds it; nobody has no entry
  const std::set<Place>& places_of(std::string_view resource, std::string_view id) const;
  void unindex(const Holding& holding);
};

} // namespace berth::node
