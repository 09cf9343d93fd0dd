// Replays decisions recorded from a real kube-scheduler and names every difference. Format of the
// files: a scenario each with nodes, pods, PodDisruptionBudgets and the expected decision per pod.
#pragma once

#include <iosfwd>
#include <span>
#include <string>

namespace berth::cli {

/// Runs every *.json below the directories, by path. One line a difference (file, pod, what), then
/// exactly "N decisions: A agree, S out of scope (feature: count, ...), D differ". Returns 0 only
/// if none differs.
int run_golden(std::span<const std::string> dirs, std::ostream& out);

} // namespace berth::cli
