// What a container runtime's Version and Status answers say. Pure.
#pragma once

#include <string_view>

#include "berth/runtime/cri/cri_runtime.h"
#include "runtime/cri/cri.pb.h"

namespace berth::runtime::cri {

/// The version of the API that a kubelet names, and wants to hear.
inline constexpr std::string_view kKubeletApiVersion = "0.1.0";

/// Error Invalid: the runtime speaks another version. CDI is known to CRI-O, to containerd from 2.0
/// on, and to containerd 1.7 if its configuration says enable_cdi. A network that is there counts
/// as configured: whose it is, the runtime does not say.
Result<RuntimeInfo> runtime_info(const ::runtime::v1::VersionResponse& version,
                                 const ::runtime::v1::StatusResponse& status);

} // namespace berth::runtime::cri
