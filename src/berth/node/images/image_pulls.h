// Seeing that a container's image is on the machine: looked for, pulled one after another, with a
// back-off for each pod and image that fails. Rules and texts: kubelet pkg/kubelet/images.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "berth/base/loop.h"
#include "berth/node/images/image_name.h"
#include "berth/node/pod_status.h"
#include "berth/node/tell.h"
#include "berth/runtime/runtime.h"

namespace berth::node {

struct ImageOrder {
  std::string pod_uid;
  std::string image; ///< as the container names it
  PullPolicy policy = PullPolicy::IfNotPresent;
  std::vector<runtime::RegistryLogin> logins; ///< tried in order; none: nobody in particular
  Tell tell;
};

struct ImageAnswer {
  std::string id; ///< "" if it is not there, or if the runtime does not say
  Reason why;     ///< of its absence: ErrImagePull, ImagePullBackOff, ...; empty if it is there
  Duration retry_after; ///< when to ask again
  bool there() const { return why.reason.empty(); }
};

/// One for a machine. Nothing is called back once it, or the asker, is gone.
class ImagePulls {
 public:
  /// `images` may be null: every image is always there.
  ImagePulls(Loop& loop, runtime::Images* images);
  ~ImagePulls();
  ImagePulls(const ImagePulls&) = delete;
  ImagePulls& operator=(const ImagePulls&) = delete;

  void ensure(ImageOrder order, std::weak_ptr<void> asker, std::function<void(ImageAnswer)> done);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

} // namespace berth::node
