// The FailedScheduling text (spec 2.2), which autoscalers, dashboards and people parse.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace berth::sched {

/// Reason -> number of nodes that gave it.
using ReasonHistogram = std::map<std::string, std::int64_t, std::less<>>;

/// "12 Insufficient cpu, 3 x": entries rendered first, then sorted as text.
std::string render_histogram(const ReasonHistogram& histogram);

/// "0/N nodes are available: <hist>. <post>"; `prefilter` replaces the histogram where PreFilter
/// rejected the pod.
std::string failed_scheduling_message(std::int64_t nodes, std::string_view prefilter,
                                      const ReasonHistogram& histogram,
                                      std::string_view post_filter);

inline constexpr std::string_view kNoNodesMessage = "no nodes available to schedule pods";

/// The Event note: at most 1024 bytes, cut with " ...".
std::string event_note(std::string_view message);

} // namespace berth::sched
