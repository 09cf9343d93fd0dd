// Pods whose emptyDir volumes grow beyond their sizeLimit are ended, as the kubelet evicts them.
// Looks at the disk every ten seconds while a pod with such a volume runs, and never for others.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "berth/api/json.h"
#include "berth/base/background.h"
#include "berth/base/loop.h"

namespace berth::node {

struct LimitedFolder {
  std::string volume;
  std::string path;
  std::string limit; ///< as the pod says it
  std::int64_t bytes = 0;
};

/// The pod's emptyDir volumes on the disk with a sizeLimit; those in memory have it from the
/// kernel.
std::vector<LimitedFolder> limited_folders(const api::json::value& pod, std::string_view pod_uid,
                                           std::string_view kubelet_root);

/// Loop and background outlive it. To be owned by a shared_ptr: nothing is called back once it is
/// gone.
class EmptyDirLimits : public std::enable_shared_from_this<EmptyDirLimits> {
 public:
  /// `on_exceeded` gets the kubelet's message, once.
  EmptyDirLimits(Loop& loop, Background& background, std::vector<LimitedFolder> folders,
                 std::function<void(const std::string& message)> on_exceeded);

  /// The pod runs: look from now on. Begun once, it goes on.
  void watch();
  /// The pod is ending.
  void stop();

 private:
  void look();

  Background* background_;
  std::vector<LimitedFolder> folders_;
  std::function<void(const std::string&)> on_exceeded_;
  bool watching_ = false;
  Timer next_;
};

} // namespace berth::node
