// Replays conversations recorded from a real kube-apiserver and names every difference.
#pragma once

#include <iosfwd>
#include <span>
#include <string>

namespace berth::cli {

/// Sends the steps of every *.json below the directories, by path, to an API server of its own for
/// each file: requests in order, answers compared. Texts like <uid>, <rv> and <time> stand for any
/// word. One line a difference: file, step, JSON path, what was wanted and what came; then exactly
/// "N steps: A agree, D differ". `only`: files whose names contain it. Returns 0 only if none
/// differs.
int run_golden_api(std::span<const std::string> dirs, const std::string& only, std::ostream& out);

} // namespace berth::cli
