#include "berth/sched/status.h"

#include <fmt/ranges.h>

namespace berth::sched {

std::string_view to_string(StatusCode code) {
  switch (code) {
  case StatusCode::Success:
    return "Success";
  case StatusCode::Error:
    return "Error";
  case StatusCode::Unschedulable:
    return "Unschedulable";
  case StatusCode::Unresolvable:
    return "UnschedulableAndUnresolvable";
  case StatusCode::Wait:
    return "Wait";
  case StatusCode::Skip:
    return "Skip";
  case StatusCode::Pending:
    return "Pending";
  }
  return "Unknown";
}

std::string Status::message() const {
  return fmt::format("{}", fmt::join(reasons, ", "));
}

} // namespace berth::sched
