// What the args of Trimaran's plugins have in common: where their load metrics come from. Here
// these are NodeMetrics objects, so the fields are checked and make no difference. Private to this
// room.
#pragma once

#include <initializer_list>
#include <string_view>

#include "berth/api/field.h"

namespace berth::sched {

/// Checks metricProvider and watcherAddress, and refuses members that are neither these nor `own`.
void read_trimaran_args(const api::Field& in, std::initializer_list<std::string_view> own);

/// A number that Go writes as a string, such as "1.5". Errors at the member: no number, or below 0.
void read_decimal(const api::Field& in, std::string_view member, double& out);

} // namespace berth::sched
