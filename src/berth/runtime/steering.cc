#include "berth/runtime/steering.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "berth/model/pod.h"
#include "berth/runtime/simulated_runtime.h"

namespace berth::runtime {
namespace {

// What the pod says of its work holds for its app containers; for what prepares or accompanies that
// work only an annotation that names the container does.
enum class Scope { PodAndContainer, ContainerOnly };

std::optional<std::string_view> annotation(const api::Labels& annotations, std::string_view key,
                                           std::string_view container, Scope scope) {
  if (const auto own = annotations.find(fmt::format("{}.{}", key, container));
      own != annotations.end()) {
    return own->second;
  }
  const auto whole = annotations.find(key);
  return scope == Scope::ContainerOnly || whole == annotations.end()
             ? std::nullopt
             : std::optional<std::string_view>(whole->second);
}

std::optional<Duration> duration_in(std::optional<std::string_view> text) {
  if (!text) {
    return std::nullopt;
  }
  if (*text == "forever") {
    return Duration::max();
  }
  const auto duration = parse_duration(*text);
  return duration ? std::optional(*duration) : std::nullopt;
}

std::optional<int> number_in(std::optional<std::string_view> text, int highest) {
  int number = 0;
  if (!text) {
    return std::nullopt;
  }
  const auto read = std::from_chars(text->data(), text->data() + text->size(), number);
  const bool whole = read.ec == std::errc() && read.ptr == text->data() + text->size();
  return whole && number >= 0 && number <= highest ? std::optional(number) : std::nullopt;
}

} // namespace

Steering steering_of(const api::Labels& pod_annotations, const Attempt& attempt,
                     const SteeringDefaults& defaults) {
  const bool app = attempt.role != "init" && attempt.role != "sidecar";
  const auto get = [&](std::string_view key) {
    return annotation(pod_annotations, key, attempt.container,
                      app ? Scope::PodAndContainer : Scope::ContainerOnly);
  };
  const Duration run_for = app                         ? defaults.run_for
                           : attempt.role == "sidecar" ? Duration::max()
                                                       : defaults.init_runs_for;
  Steering steering;
  steering.run_for = duration_in(get(model::kRunForAnnotation)).value_or(run_for);
  steering.stop_takes = duration_in(get(kStopTakesAnnotation)).value_or(defaults.stop_takes);
  steering.exit_code = number_in(get(kExitCodeAnnotation), 255).value_or(0);
  if (const auto times = number_in(get(kFailTimesAnnotation), 1 << 20)) {
    const bool fails = attempt.number < static_cast<std::uint32_t>(*times);
    steering.exit_code = fails ? std::max(steering.exit_code, 1) : 0;
  }
  return steering;
}

} // namespace berth::runtime
