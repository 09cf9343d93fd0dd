// ImageLocality (Score): nodes that already have the pod's images. Sum over images of size x share
// of nodes that have it, clamped to [23 MiB, 1000 MiB x containers], scaled to [0, 100]. Source:
// kube-scheduler plugins/imagelocality. State: node-static, and the number of nodes.
#pragma once

#include <memory>

#include "berth/sched/plugin.h"

namespace berth::sched {

inline constexpr std::string_view kImageLocality = "ImageLocality";

std::unique_ptr<Plugin> make_image_locality();

} // namespace berth::sched
