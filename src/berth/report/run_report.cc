#include "berth/report/run_report.h"

#include <algorithm>

namespace berth::report {
namespace {

int count_state(const GpuMap& map, GpuCell::State state) {
  std::int64_t n = 0;
  for (const NodeMap& node : map.nodes) {
    n += std::ranges::count(node.gpus, state, &GpuCell::state);
  }
  return static_cast<int>(n);
}

} // namespace

std::string_view to_string(Outcome outcome) {
  switch (outcome) {
  case Outcome::Settled:
    return "settled";
  case Outcome::TimeUp:
    return "time-up";
  case Outcome::Interrupted:
    return "interrupted";
  }
  return "";
}

std::string_view to_string(Alone alone) {
  switch (alone) {
  case Alone::Runs:
    return "runs";
  case Alone::Never:
    return "never";
  case Alone::Unknown:
    return "unknown";
  }
  return "";
}

int GpuMap::total() const {
  std::size_t n = 0;
  for (const NodeMap& node : nodes) {
    n += node.gpus.size();
  }
  return static_cast<int>(n);
}

int GpuMap::held() const {
  return count_state(*this, GpuCell::State::Held);
}

int GpuMap::unhealthy() const {
  return count_state(*this, GpuCell::State::Unhealthy);
}

std::string to_string(const Note& note) {
  const std::string place = to_string(note.where);
  return place.empty() ? note.message : place + ": " + note.message;
}

std::int64_t count_phase(const RunReport& report, std::string_view phase) {
  return std::ranges::count(report.pods, phase, &PodLine::phase);
}

} // namespace berth::report
