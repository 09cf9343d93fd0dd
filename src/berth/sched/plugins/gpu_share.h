// GpuShare (Filter, Reserve), in Alibaba's files Open-Gpu-Share: parts of GPUs, by thousandths or
// by memory (model/gpu_share.h), with every GPU accounted for on its own.
//
// Filter: a node needs as many distinct GPUs of a model the pod takes as it asks for, each with
// that much left (gpu_parts.h; spec simulators A.4). Reserve: the fullest that will do, or as
// gpuSelMethod says; a score plugin behind it in the profile may choose otherwise. The choice is
// handed to the state and, as annotation alibabacloud.com/gpu-index, to the binding. State:
// node-dynamic. Events: assigned pod deleted or scaled down, node added or its allocatable, labels
// or annotations changed.
#pragma once

#include <memory>
#include <string_view>

#include <boost/json/value.hpp>

#include "berth/base/result.h"
#include "berth/sched/gpu_parts.h"
#include "berth/sched/plugin.h"

namespace berth::sched {

inline constexpr std::string_view kGpuShare = "GpuShare";
inline constexpr std::string_view kReasonPartsTaken =
    "node(s) didn't have enough room left on their GPUs";
inline constexpr std::string_view kReasonPartsMissing =
    "node(s) had fewer GPUs to share than requested";
inline constexpr std::string_view kReasonGpuModel = "node(s) had no GPU of a requested model";

struct GpuShareArgs {
  PartChoice choice = PartChoice::Fullest;
};
/// {"gpuSelMethod": "best" | "worst", or "FGD", "FGDScore", "BidPrice", "random", which leave it to
/// that score plugin; "dimExtMethod", "normMethod": "merge" or "share", "max", as Alibaba's files
/// have them}. null or {}: best. Errors name the field.
Result<GpuShareArgs> parse_gpu_share_args(const boost::json::value& args);

/// Writes the pod's choice, where it asks for parts.
void reserve_parts(Reservation& reservation, hardware::GpuMask gpus);

std::unique_ptr<Plugin> make_gpu_share(GpuShareArgs args);

} // namespace berth::sched
