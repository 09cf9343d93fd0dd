// What a container gets from all the devices it holds.
#pragma once

#include <vector>

#include "berth/deviceplugin/contract.h"
#include "berth/node/device_ledger.h"

namespace berth::node {

/// The plugins' answers merged in the order given, as the kubelet does: of two values of an
/// environment variable or an annotation, and of two mounts or device nodes at one container path,
/// the first wins (a conflict of variables is logged); a CDI name is there once.
deviceplugin::ContainerAllocateResponse merge_edits(const std::vector<const Holding*>& holdings);

} // namespace berth::node
