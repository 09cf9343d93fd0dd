// What keeps a pod's containers from being started for now, until when, and what their status says
// of it. A value; time comes in as an argument.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "berth/base/time.h"
#include "berth/model/pod.h"
#include "berth/node/pod_status.h"
#include "berth/node/pod_view.h"

namespace berth::node {

/// Keyed by container name; kSandbox is the pod's sandbox, which has no status of its own.
class StartHolds {
 public:
  static constexpr const char* kSandbox = "";

  /// When to try again; TimePoint::max(): when devices change.
  const std::map<std::string, TimePoint>& held() const { return held_; }
  /// Why a container waits, for its status.
  const std::map<std::string, Reason>& waiting() const { return waiting_; }

  /// A start failed: 10 s, doubling to 300 s, from failure to failure.
  void failed(const std::string& name, TimePoint now);
  /// The same, with a reason to show; true if it shows another one now.
  bool failed(const std::string& name, const Reason& why, TimePoint now);
  /// A start could not be tried, for a reason to show; it is tried again at `until`.
  void hold(const std::string& name, const Reason& why, TimePoint until);
  /// Somebody else is at it; it will be looked at again soon.
  void under_way(const std::string& name, TimePoint now);
  /// Until the devices change.
  void needs_devices(const std::string& name, Role role, const std::string& message);
  void started(const std::string& name);
  /// True if anything waited for that.
  bool devices_changed();

  /// The pod waits for its admission: every app container says so.
  void not_admitted(const model::Pod& pod, const std::string& message);
  /// The pod has been admitted.
  void admitted() { waiting_.clear(); }

  /// Shows crash back-offs as they are now. Returns the containers whose back-off is a new one.
  std::vector<std::string> show_backoff(const PodView& view, TimePoint now);

 private:
  std::map<std::string, TimePoint> held_;
  std::map<std::string, Reason> waiting_;
  std::map<std::string, int> failures_;
  std::set<std::string> announced_; ///< ids of containers whose back-off was returned once
};

} // namespace berth::node
