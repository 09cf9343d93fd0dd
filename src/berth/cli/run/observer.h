// What a run was like, gathered while it goes: the flight record, how nodes changed, jobs and gangs
// as last seen (also when they are gone at the end), and what containers saw.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "berth/api/object.h"
#include "berth/client/informer.h"
#include "berth/cluster/cluster.h"
#include "berth/cluster/flight_record.h"
#include "berth/hardware/choose.h"

namespace berth::cli {

/// A node from `at` on.
struct NodeChange {
  TimePoint at;
  bool present = true;
  bool ready = false;
  hardware::GpuMask unhealthy = 0;
};

struct NodeHistory {
  api::Object last;
  std::vector<NodeChange> changes; ///< ascending, at least one

  const NodeChange* at(TimePoint when) const; ///< nullptr before the first
};

class Observer {
 public:
  /// Starts watching. `on_mark` may be empty. The cluster and the loop must outlive the observer.
  Observer(cluster::Cluster& cluster, Loop& loop,
           std::function<void(const cluster::Mark&)> on_mark);

  int ready_nodes() const;
  const cluster::FlightRecord& record() const { return *record_; }
  const std::map<std::string, NodeHistory>& nodes() const { return nodes_; }
  /// By uid, as last seen.
  const std::map<std::string, api::Object>& jobs() const { return jobs_; }
  const std::map<std::string, api::Object>& gangs() const { return gangs_; }
  /// What the pod's containers saw when it was last running; empty if it never was.
  const std::vector<runtime::ContainerFacts>& containers(const api::Key& pod) const;

 private:
  void on_node(const api::Object& old, const api::Object& now);
  void on_mark(const cluster::Mark& mark);
  std::unique_ptr<client::Informer> keep_last(const client::GroupKind& kind,
                                              std::map<std::string, api::Object>& into);

  cluster::Cluster* cluster_;
  Loop* loop_;
  std::function<void(const cluster::Mark&)> forward_;
  std::map<std::string, NodeHistory> nodes_;
  std::map<std::string, api::Object> jobs_;
  std::map<std::string, api::Object> gangs_;
  std::map<api::Key, std::vector<runtime::ContainerFacts>> containers_;
  std::vector<std::unique_ptr<client::Informer>> informers_;
  std::unique_ptr<cluster::FlightRecord> record_;
};

} // namespace berth::cli
