// Which pods may start on the node: one after another, the oldest first, so that nobody is turned
// away for the sake of a pod that is turned away next.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "berth/api/object.h"
#include "berth/base/loop.h"
#include "berth/node/device_manager.h"
#include "berth/node/node_supply.h"
#include "berth/node/pod_worker.h"
#include "berth/topology/policy.h"

namespace berth::node {

using PodWorkers = std::map<std::string, std::shared_ptr<PodWorker>>; ///< by pod uid

/// Decides in the call and in the device manager's answers; makes no tasks of its own.
class Admissions {
 public:
  /// Everything outlives it.
  struct Place {
    Loop* loop = nullptr;
    DeviceManager* devices = nullptr;
    const NodeSupply* supply = nullptr;
    const PodWorkers* workers = nullptr;
    std::function<const api::Object&()> node;    ///< as the API has it; empty before it is known
    std::function<void()> on_turn;               ///< the next may be looked at: consider(), later
    std::function<void(bool granted)> on_answer; ///< a pod has been told
  };
  struct Rules {
    std::string node_name;
    Patience patience = Patience::Wait;
    topology::Scope scope = topology::Scope::Container;
    bool real_machine = false; ///< it has one of each host port, and sysctls
    std::vector<std::string> unsafe_sysctls;
  };

  Admissions(Place place, Rules rules) : place_(std::move(place)), rules_(std::move(rules)) {}

  /// Looks at the pods that want to be admitted, until one of them is asking for its devices.
  /// O(pods^2) at worst, where all are turned away.
  void consider();
  /// Something has changed for those that were told to wait.
  void look_at_all() { waiting_.clear(); }
  /// One of them is asking for its devices.
  bool under_way() const { return asking_.has_value(); }

 private:
  void admit(const std::string& uid, PodWorker& worker);
  bool refuse(const std::string& uid, PodWorker& worker);
  void on_verdict(const std::string& uid, const AllocationVerdict& verdict);
  void count(const AllocationVerdict& verdict);

  Place place_;
  Rules rules_;
  std::optional<std::string> asking_; ///< its uid
  TimePoint asking_since_;
  std::set<std::string> waiting_; ///< uids of those for whom nothing has changed since they waited
};

} // namespace berth::node
