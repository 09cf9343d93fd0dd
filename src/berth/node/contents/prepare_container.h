// Getting one container of a real machine ready to be made: its image, the objects its environment
// refers to, its mounts, the files it writes to. Takes as long as a pull takes; the pod can be
// stopped meanwhile.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "berth/api/object.h"
#include "berth/model/pod.h"
#include "berth/node/contents/container_contents.h"
#include "berth/node/contents/contents.h"
#include "berth/node/device_request.h"
#include "berth/node/pod_status.h"
#include "berth/node/tell.h"
#include "berth/node/volumes/pod_volumes.h"

namespace berth::node {

struct PreparationOrder {
  api::Object object;
  std::shared_ptr<const model::Pod> pod;
  std::string container; ///< its name
  Role role = Role::App;
  std::uint32_t attempt = 0;
  PodAddress address;
  std::map<std::string, VolumeAt> volumes; ///< that are set up
  NodeAmounts amounts;
  Tell tell;
};

struct Preparation {
  ContainerContents contents; ///< if `why` is empty
  Reason why;                 ///< CreateContainerConfigError, ErrImagePull, ...
  Duration retry_after;       ///< when to prepare again after a failure
  bool ok() const { return why.reason.empty(); }
};

/// `done` comes once, by a later task, and only while `asker` lives.
void prepare_container(Contents& contents, PreparationOrder order, std::weak_ptr<void> asker,
                       std::function<void(Preparation)> done);

} // namespace berth::node
