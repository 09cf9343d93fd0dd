// What a plugin says: Kubernetes' status codes (framework.Code) as values. "Does not fit" is a
// verdict, never an Error. Faults (a plugin that cannot do its work) are StatusCode::Error and end
// the cycle.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace berth::sched {

enum class StatusCode : std::uint8_t {
  Success,
  Error,
  Unschedulable, ///< preemption might help
  Unresolvable,  ///< UnschedulableAndUnresolvable: preemption cannot help
  Wait,          ///< Permit only
  Skip,          ///< PreFilter, PreScore
  Pending,       ///< waits for something the plugin itself set off; its wake-up bypasses backoff
};
std::string_view to_string(StatusCode code);

/// Unschedulable, Unresolvable or Pending.
constexpr bool is_rejected(StatusCode code) {
  return code == StatusCode::Unschedulable || code == StatusCode::Unresolvable ||
         code == StatusCode::Pending;
}

/// Said once a cycle, so it may carry text. `plugin` is filled by the framework.
struct Status {
  StatusCode code = StatusCode::Success;
  std::vector<std::string> reasons;
  std::string plugin;

  static Status success() { return {}; }
  static Status skip() { return {.code = StatusCode::Skip, .reasons = {}, .plugin = {}}; }
  static Status of(StatusCode code, std::string reason) {
    return {.code = code, .reasons = {std::move(reason)}, .plugin = {}};
  }
  bool ok() const { return code == StatusCode::Success; }
  bool rejected() const { return is_rejected(code); }
  /// Reasons joined with ", ".
  std::string message() const;
  bool operator==(const Status&) const = default;
};

/// Said for every node, so it carries no text: `detail` is the plugin's own number for its reasons,
/// which Run::reasons turns into text when somebody asks. Equal verdicts of one Run mean equal
/// reasons on all nodes.
struct Verdict {
  StatusCode code = StatusCode::Success; ///< Success, Error, Unschedulable, Unresolvable or Pending
  std::uint64_t detail = 0;

  static constexpr Verdict feasible() { return {}; }
  static constexpr Verdict unschedulable(std::uint64_t detail = 0) {
    return {StatusCode::Unschedulable, detail};
  }
  static constexpr Verdict unresolvable(std::uint64_t detail = 0) {
    return {StatusCode::Unresolvable, detail};
  }
  constexpr bool ok() const { return code == StatusCode::Success; }
  auto operator<=>(const Verdict&) const = default;
};

} // namespace berth::sched
