// Ending what a pod left in the runtime when the API no longer knows the pod.
#pragma once

#include <functional>
#include <memory>

#include "berth/node/pod_view.h"
#include "berth/runtime/runtime.h"

namespace berth::node {

/// Stops the pod's containers with the grace they carry, then removes everything of it. `done`
/// comes once, by a later task, while `alive` lives; after that no further step is taken. The
/// runtime must outlive it.
void end_orphan(runtime::Runtime& runtime, const PodRecord& record,
                const std::weak_ptr<void>& alive, std::function<void()> done);

} // namespace berth::node
