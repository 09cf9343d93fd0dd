// What a policy says of a node depends on what is left there alone, and many nodes are in the same
// state, above all while a cluster is empty: each state is judged once.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "berth/sched/plugins/gpu_policy.h"

namespace berth::sched {

/// The answers of one Run for the states asked for last: a table in which a state has one place,
/// so that memory is bounded. For answers that depend on the GPUs' model, the cpu left and the
/// milli left of each GPU. Nodes of more than 8 GPUs are judged every time.
template <class Answer> class IdleMemo {
 public:
  template <class Judge> Answer of(const IdleView& idle, const Judge& judge) {
    if (idle.room.count > kMostGpus) {
      return judge();
    }
    State state{.cpu = idle.cpu,
                .model = idle.node->parts.model,
                .gpus = static_cast<std::uint32_t>(idle.room.count)};
    std::copy_n(idle.room.milli.begin(), idle.room.count, state.milli.begin());
    places_.resize(kPlaces);
    Place& place = places_[state.hash() % kPlaces];
    if (!place.taken || place.state != state) {
      place = {.taken = true, .state = state, .answer = judge()};
    }
    return place.answer;
  }

 private:
  static constexpr std::size_t kMostGpus = 8;
  static constexpr std::size_t kPlaces = 64;

  struct State {
    std::int64_t cpu = 0;
    GpuModelId model;
    std::uint32_t gpus = 0;
    std::array<std::int32_t, kMostGpus> milli{};

    bool operator==(const State&) const = default;
    std::uint64_t hash() const {
      std::uint64_t hash = static_cast<std::uint64_t>(cpu) + model.index();
      for (const std::int32_t left : milli) {
        hash = hash * 0x9e3779b97f4a7c15ULL + static_cast<std::uint64_t>(left);
      }
      return hash >> 32;
    }
  };
  struct Place {
    bool taken = false;
    State state;
    Answer answer{};
  };
  std::vector<Place> places_; ///< none before the first question
};

} // namespace berth::sched
