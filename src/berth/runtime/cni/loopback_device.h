// The kernel's loopback devices, one a network namespace.
#pragma once

#include "berth/runtime/cni/plugin.h"

namespace berth::runtime::cni {

/// Errors: NotFound (no such namespace), Forbidden (root may).
LoopbackDevice kernel_loopback();

} // namespace berth::runtime::cni
