// The extension points as KubeSchedulerConfiguration names them, and which of them each plugin
// extends. Finer than Point: a Run covers PreFilter with Filter, and PreScore with Score.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "berth/sched/plugin.h"

namespace berth::sched {

enum class ConfigPoint : std::uint8_t {
  PreEnqueue,
  QueueSort,
  PreFilter,
  Filter,
  PostFilter,
  PreScore,
  Score,
  Reserve,
  Permit,
  PreBind,
  Bind,
  PostBind,
};
inline constexpr std::size_t kConfigPoints = 12;

struct ConfigPointName {
  ConfigPoint point;
  std::string_view field;     ///< of a profile's plugins: "preFilter"
  std::string_view interface; ///< in kube-scheduler's messages: "PreFilterPlugin"
};
/// In the order of the enumeration.
std::span<const ConfigPointName> config_points();

/// A set of ConfigPoints.
class ConfigPointSet {
 public:
  constexpr ConfigPointSet() = default;
  constexpr ConfigPointSet(std::initializer_list<ConfigPoint> points) {
    for (const ConfigPoint point : points) {
      bits_ |= bit(point);
    }
  }
  constexpr bool has(ConfigPoint point) const { return (bits_ & bit(point)) != 0; }
  constexpr void add(ConfigPoint point) { bits_ |= bit(point); }
  constexpr bool empty() const { return bits_ == 0; }

 private:
  static constexpr std::uint32_t bit(ConfigPoint point) {
    return 1U << static_cast<std::uint32_t>(point);
  }
  std::uint32_t bits_ = 0;
};

/// What kube-scheduler's plugin of this name extends; empty for a name it does not have. Plugins
/// that this room lacks are here too.
ConfigPointSet stock_points(std::string_view plugin);

/// What a plugin that takes part in `points` extends, if nothing more is known of it.
ConfigPointSet config_points_of(Points points);

/// Where a plugin takes part that extends `extends` and is enabled at `enabled`. Filter and Score
/// decide for their preparation; a plugin that only prepares (PreFilter alone) counts as filter.
Points points_of(ConfigPointSet extends, ConfigPointSet enabled);

} // namespace berth::sched
