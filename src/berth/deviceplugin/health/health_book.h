// How the devices of a node are: what each GPU answered last, and Xids that its answer does not
// tell of. One book for all resources, so that a GPU's failure reaches every replica of it and
// every MIG device on it, and one of a MIG device that device alone.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "berth/base/time.h"
#include "berth/deviceplugin/health/xid_policy.h"
#include "berth/deviceplugin/resource_plan.h"

namespace berth::deviceplugin {

/// An Xid that the GPU's own answer does not explain (of one MIG device, or enabled by hand) is a
/// mark. Marks end when the GPU is reset or replaced, when the MIG device is gone, or after a time
/// without another, if the GPU then answers that it is well.
class HealthBook {
 public:
  HealthBook(HealthChecks checks, Duration hold) : checks_(std::move(checks)), hold_(hold) {}

  /// What the GPU answers now.
  void probed(int gpu, const inventory::GpuProbe& probe);
  /// An event, after the GPU was probed. `facts` say what the GPU is cut into.
  void heard(const inventory::HealthEvent& event, const inventory::NodeFacts& facts, TimePoint now);
  /// Forgets marks of MIG devices that are gone.
  void recut(const inventory::NodeFacts& facts);
  /// Forgets marks whose time is over, of GPUs that answered well last.
  void review(TimePoint now);
  /// When review() can next have something to do; nothing while there is no mark.
  std::optional<TimePoint> review_at() const;

  bool healthy(const PluginDevice& device) const;

 private:
  struct Mark {
    int gpu = 0;
    std::string mig; ///< UUID of the MIG device; "": the whole GPU
    int xid = 0;
    TimePoint until;
  };

  HealthChecks checks_;
  Duration hold_;
  std::set<int> sick_; ///< GPUs by their own answer
  std::vector<Mark> marks_;
};

} // namespace berth::deviceplugin
