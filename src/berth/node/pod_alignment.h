// One pod's way past the topology manager: for each container first where it is to be, then, once
// it has its devices, CPUs and memory there. Reasons and messages are the kubelet's.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "berth/model/pod.h"
#include "berth/node/allocation_verdict.h"
#include "berth/node/device_book.h"
#include "berth/node/device_request.h"
#include "berth/node/pick_facts.h"
#include "berth/topology/numa_book.h"

namespace berth::node {

/// One attempt at one pod. What would be let in without the pods that are on their way out waits
/// for them.
class PodAlignment {
 public:
  PodAlignment(std::shared_ptr<DeviceBook> book, std::shared_ptr<const model::Pod> pod);

  /// Decides where the container is to be, given what its devices may be picked from.
  AllocationVerdict begin(const ContainerRef& container, const std::vector<PickRequest>& devices);
  /// Gives it CPUs and memory there.
  AllocationVerdict complete(const std::string& container);
  /// The attempt has failed: nothing that it gave is kept.
  void take_back();

  /// Decided by begin(); none: anywhere.
  std::optional<std::set<std::int64_t>> nodes_of(const std::string& container) const;

 private:
  topology::Alignment align(const ContainerRef& container, const std::vector<PickRequest>& devices,
                            Holders holders) const;
  topology::Alignment align_pod(Holders holders) const;
  topology::NumaBook without_dying() const;

  std::shared_ptr<DeviceBook> book_;
  std::shared_ptr<const model::Pod> pod_;
  topology::PodAsk ask_;
  std::map<std::string, topology::Hint> hints_; ///< by container
  std::optional<topology::Hint> of_pod_;        ///< scope pod: decided once
  std::vector<std::string> given_;              ///< containers that got CPUs or memory
};

} // namespace berth::node
