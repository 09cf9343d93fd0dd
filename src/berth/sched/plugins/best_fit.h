// BestFit (Score): the less cpu and GPU stay idle, in absolute amounts and half each, the better.
// Spec simulators A.5; BestFitScore in Alibaba's files.
#pragma once

#include <memory>
#include <string_view>

#include "berth/sched/plugin.h"

namespace berth::sched {

inline constexpr std::string_view kBestFit = "BestFit";

std::unique_ptr<Plugin> make_best_fit();

} // namespace berth::sched
