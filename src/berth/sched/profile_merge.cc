#include "berth/sched/profile_merge.h"

#include <algorithm>
#include <optional>
#include <set>

#include <fmt/format.h>

namespace berth::sched {
namespace {

using Names = std::vector<std::string>;
using Extends = std::function<ConfigPointSet(std::string_view)>;

bool contains(const Names& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

const PluginRef* find(const std::vector<PluginRef>& plugins, std::string_view name) {
  const auto it = std::ranges::find(plugins, name, &PluginRef::name);
  return it == plugins.end() ? nullptr : &*it;
}

tl::unexpected<Error> bad(std::string_view set, std::size_t index, std::string message) {
  return fail_at(
      {.file = {}, .line = 0, .column = 0, .field = fmt::format("{}.enabled[{}].name", set, index)},
      std::move(message));
}

Result<void> check_repeats(std::string_view set, std::string_view what,
                           const std::vector<PluginRef>& enabled) {
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < enabled.size(); ++i) {
    if (!seen.insert(enabled[i].name).second) {
      return bad(set, i,
                 fmt::format("plugin \"{}\" already registered as \"{}\"", enabled[i].name, what));
    }
  }
  return {};
}

/// The default plugins, those that are configured anew in their old place, and the added ones.
std::vector<PluginRef> multi_point_plugins(const std::vector<PluginRef>& defaults,
                                           const PluginSet& custom) {
  std::vector<PluginRef> out;
  if (!contains(custom.disabled, kAllPlugins)) {
    for (const PluginRef& plugin : defaults) {
      if (!contains(custom.disabled, plugin.name)) {
        const PluginRef* again = find(custom.enabled, plugin.name);
        out.push_back(again != nullptr ? *again : plugin);
      }
    }
  }
  for (const PluginRef& plugin : custom.enabled) {
    if (find(out, plugin.name) == nullptr) {
      out.push_back(plugin);
    }
  }
  return out;
}

Names expand(const PluginSet& own, const std::vector<PluginRef>& multi_point, ConfigPoint point,
             const Extends& extends) {
  Names overriding;
  Names rest;
  const bool alone = contains(own.disabled, kAllPlugins);
  const auto from_multi_point = [&](std::string_view name) {
    return !alone && find(multi_point, name) != nullptr && !contains(own.disabled, name);
  };
  for (const PluginRef& plugin : own.enabled) {
    (from_multi_point(plugin.name) ? overriding : rest).push_back(plugin.name);
  }
  for (const PluginRef& plugin : multi_point) {
    if (from_multi_point(plugin.name) && extends(plugin.name).has(point) &&
        find(own.enabled, plugin.name) == nullptr) {
      overriding.push_back(plugin.name);
    }
  }
  overriding.insert(overriding.end(), rest.begin(), rest.end());
  return overriding;
}

/// Puts the names of `list` that `order` has, all of which it has, into the order of `list`; the
/// other names keep their places.
void reorder(Names& order, const Names& list) {
  auto next = list.begin();
  for (std::string& name : order) {
    if (contains(list, name)) {
      name = *next++;
    }
  }
}

Names one_order(const MergedPlugins& merged, const std::vector<PluginRef>& multi_point) {
  Names order;
  const auto append = [&](const std::string& name) {
    if (!contains(order, name) && !merged.points(name).empty()) {
      order.push_back(name);
    }
  };
  for (const PluginRef& plugin : multi_point) {
    append(plugin.name);
  }
  for (const Names& names : merged.at) {
    std::ranges::for_each(names, append);
  }
  // The last word has the point whose order shows most.
  for (const ConfigPoint point :
       {ConfigPoint::Score, ConfigPoint::Reserve, ConfigPoint::Permit, ConfigPoint::PreEnqueue,
        ConfigPoint::PostFilter, ConfigPoint::Filter}) {
    reorder(order, merged.of(point));
  }
  return order;
}

} // namespace

ConfigPointSet MergedPlugins::points(std::string_view plugin) const {
  ConfigPointSet points;
  for (std::size_t i = 0; i < at.size(); ++i) {
    if (contains(at[i], plugin)) {
      points.add(static_cast<ConfigPoint>(i));
    }
  }
  return points;
}

Result<MergedPlugins> merge_plugins(const std::vector<PluginRef>& defaults,
                                    const PluginSets& custom, const Extends& extends) {
  BERTH_CHECK(check_repeats("multiPoint", "MultiPoint", custom.multi_point.enabled));
  const std::vector<PluginRef> multi_point = multi_point_plugins(defaults, custom.multi_point);
  MergedPlugins merged;
  for (const ConfigPointName& name : config_points()) {
    const PluginSet& own = custom.of(name.point);
    BERTH_CHECK(check_repeats(name.field, name.interface, own.enabled));
    for (std::size_t i = 0; i < own.enabled.size(); ++i) {
      if (!extends(own.enabled[i].name).has(name.point)) {
        return bad(name.field, i,
                   fmt::format("plugin \"{}\" does not extend {} plugin", own.enabled[i].name,
                               name.interface));
      }
    }
    merged.at[static_cast<std::size_t>(name.point)] = expand(own, multi_point, name.point, extends);
  }
  for (const std::string& name : merged.of(ConfigPoint::Score)) {
    const PluginRef* own = find(custom.of(ConfigPoint::Score).enabled, name);
    const PluginRef* wide = find(multi_point, name);
    const std::int64_t weight = own != nullptr ? own->weight : wide->weight;
    merged.weights[name] = weight == 0 ? 1 : weight;
  }
  merged.order = one_order(merged, multi_point);
  return merged;
}

} // namespace berth::sched
