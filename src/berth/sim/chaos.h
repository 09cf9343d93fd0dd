// Whole clusters in virtual time with faults, by seed: the harness behind `./dev fuzz-cluster` and
// the tests. A run ends well or says what broke, when, and how to see it again.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "berth/base/time.h"

namespace berth::sim {

struct ChaosReport {
  std::uint64_t seed = 0;
  std::vector<std::string> broken; ///< with the virtual time; empty: all held
  std::uint64_t events = 0;        ///< tasks of the loop
  Duration virtual_time;
  std::uint64_t pods = 0;
  std::uint64_t bound = 0;
  std::uint64_t digest = 0; ///< over the whole timeline: equal seeds give equal digests

  bool ok() const { return broken.empty(); }
};

/// Runs one seed: the scenario with its faults, then quiet until settled, then deletion of every
/// workload, then quiet again. Invariants are checked after every event. `trace` gets a line for
/// each action and each step of an object.
ChaosReport run_chaos(std::uint64_t seed,
                      const std::function<void(const std::string&)>& trace = {});

/// "seed 17: ...; replay: ./dev fuzz-cluster --first 17 --seeds 1 --trace"
std::string to_string(const ChaosReport& report);

} // namespace berth::sim
