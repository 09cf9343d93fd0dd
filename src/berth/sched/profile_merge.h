// Which plugins of a profile take part where: the lists of KubeSchedulerConfiguration's
// `plugins`, merged with the default plugins by kube-scheduler's rules (spec 8; source:
// apis/config/v1/default_plugins and framework/runtime).
//   - The default plugins are `multiPoint` plugins. A name, or "*", in multiPoint.disabled takes
//     them out; one that is enabled again stands where it stood, with the new weight.
//   - A multiPoint plugin takes part in every point that it extends, unless the point disables it
//     by name, or "*".
//   - Order at a point: first the point's own plugins that multiPoint has too, as the point lists
//     them; then the other multiPoint plugins; then the point's remaining ones. With "*" disabled
//     only the point's own plugins are left.
//   - Weights: `score` before `multiPoint`; 0 or none means 1.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "berth/base/result.h"
#include "berth/sched/plugin_points.h"

namespace berth::sched {

inline constexpr std::string_view kAllPlugins = "*";

struct PluginRef {
  std::string name;
  std::int64_t weight = 0; ///< 0: none given
};

struct PluginSet {
  std::vector<PluginRef> enabled;
  std::vector<std::string> disabled; ///< names, or "*"
};

/// What a profile says.
struct PluginSets {
  PluginSet multi_point;
  std::array<PluginSet, kConfigPoints> at;

  const PluginSet& of(ConfigPoint point) const { return at[static_cast<std::size_t>(point)]; }
  PluginSet& of(ConfigPoint point) { return at[static_cast<std::size_t>(point)]; }
};

/// What comes of it.
struct MergedPlugins {
  std::array<std::vector<std::string>, kConfigPoints> at;   ///< in order
  std::map<std::string, std::int64_t, std::less<>> weights; ///< of those at Score
  /// Every plugin that takes part in anything, in one order for all points: it is that of `at` for
  /// Filter, and as far as that allows for PostFilter, PreEnqueue, Permit, Reserve and Score.
  std::vector<std::string> order;

  const std::vector<std::string>& of(ConfigPoint point) const {
    return at[static_cast<std::size_t>(point)];
  }
  ConfigPointSet points(std::string_view plugin) const;
};

/// `extends` says what a plugin extends; every name in `defaults` and in `custom`'s enabled lists
/// must be one it knows. Errors, with the field below `plugins` as place, in kube-scheduler's
/// words: a plugin twice at a point, at a point that it does not extend.
Result<MergedPlugins> merge_plugins(const std::vector<PluginRef>& defaults,
                                    const PluginSets& custom,
                                    const std::function<ConfigPointSet(std::string_view)>& extends);

} // namespace berth::sched
