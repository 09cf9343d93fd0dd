// Containers of a pod: names, images, ports, environment, mounts, resources. Source:
// kubernetes/pkg/apis/core/validation validateContainers, validateInitContainers.
#pragma once

#include "berth/store/validation/judged.h"
#include "berth/store/validation/pod_volumes.h"
#include "berth/store/validation/resources.h"

namespace berth::store {

/// What the containers of a pod may refer to.
struct PodContext {
  Volumes volumes;
  ClaimNames claims;
  std::int64_t grace = 0; ///< seconds
  std::string restart_policy;
};

/// `spec`.containers, then initContainers.
void check_containers(const Judged& spec, const PodContext& pod);
/// Images without blanks around them: asked of pods, not of templates.
void check_images(const Judged& spec);
/// An image without blanks around it.
void check_image_blanks(const Judged& container);
/// `spec`.ephemeralContainers.
void check_ephemeral_containers(const Judged& spec, const PodContext& pod);

} // namespace berth::store
