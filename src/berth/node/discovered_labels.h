// The labels of GPU feature discovery on a Node, followed while GPUs are cut in other ways.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "berth/api/object.h"

namespace berth::node {

/// What discovery finds of the GPUs as they are now; empty: nothing.
using Discover = std::function<api::Labels()>;

class DiscoveredLabels {
 public:
  /// `discover` may be empty: nothing is ever to be otherwise. `given` win over what is found.
  DiscoveredLabels(Discover discover, api::Labels given);

  /// The GPUs are cut in another way.
  void look_again();
  /// Labels that the Node with `stored` is to have otherwise; "" is to be absent: what was found
  /// before and is not any more, and labels of MIG profiles that an agent before this one left. The
  /// product stays while nobody knows it, because pods choose nodes by it (gpu-operator#2495);
  /// berth.dev/mig-state (inventory::kMigStateLabel) says so meanwhile.
  std::map<std::string, std::string> changes(const api::Labels& stored) const;

 private:
  Discover discover_;
  api::Labels given_;
  bool looked_ = false;
  api::Labels found_;
  api::Labels before_; ///< everything that was ever found
};

} // namespace berth::node
