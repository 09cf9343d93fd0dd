// DotProduct (Score): the less the pod's demand points where the node has most left (the dot
// product of the two, scaled), the better; after Tetris. Spec simulators A.5; DotProductScore in
// Alibaba's files.
#pragma once

#include <memory>
#include <string_view>

#include "berth/sched/plugin.h"

namespace berth::sched {

inline constexpr std::string_view kDotProduct = "DotProduct";

std::unique_ptr<Plugin> make_dot_product();

} // namespace berth::sched
