#include "berth/sched/config_profile.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "berth/api/strict.h"

namespace berth::sched {
namespace {

using Severity = ConfigRemark::Severity;

Where at_field(std::string field) {
  return {.file = {}, .line = 0, .column = 0, .field = std::move(field)};
}

/// Plugins of old that files still name, and what became of them.
constexpr std::pair<std::string_view, std::string_view> kRemoved[] = {
    {"NodeResourcesLeastAllocated", "NodeResourcesFit with scoringStrategy LeastAllocated"},
    {"NodeResourcesMostAllocated", "NodeResourcesFit with scoringStrategy MostAllocated"},
    {"RequestedToCapacityRatio", "NodeResourcesFit with scoringStrategy RequestedToCapacityRatio"},
    {"SelectorSpread", "PodTopologySpread"},
    {"NodePreferAvoidPods", ""},
    {"NodeLabel", "NodeAffinity with addedAffinity"},
    {"ServiceAffinity", ""},
    {"EBSLimits", "NodeVolumeLimits"},
    {"GCEPDLimits", "NodeVolumeLimits"},
    {"AzureDiskLimits", "NodeVolumeLimits"},
    {"CinderLimits", "NodeVolumeLimits"},
};

/// Names as files write them, in terms of the registry.
class PluginNames {
 public:
  explicit PluginNames(const ConfigContext& context) : context_(&context) {}

  std::string resolve(const std::string& name) const {
    const auto it = context_->other_names.find(name);
    return it == context_->other_names.end() ? name : it->second;
  }
  bool is_here(std::string_view name) const { return context_->registry.has(name); }
  /// kube-scheduler has it, this scheduler does not.
  bool is_absent(std::string_view name) const {
    return !is_here(name) && !stock_points(name).empty();
  }

  std::string unknown(const std::string& name) const {
    std::vector<std::string> known = context_->registry.names();
    for (const auto& [other, plugin] : context_->other_names) {
      known.push_back(other);
    }
    std::ranges::sort(known);
    const std::vector<std::string_view> views(known.begin(), known.end());
    std::string hint = api::did_you_mean(name, views);
    for (const auto& [removed, instead] : kRemoved) {
      if (name == removed) {
        hint = instead.empty() ? "; Kubernetes removed it"
                               : fmt::format("; Kubernetes removed it, write {}", instead);
      }
    }
    return fmt::format("unknown plugin \"{}\"{}{} known are {}", name, hint,
                       hint.ends_with('?') ? "" : ";", fmt::join(known, ", "));
  }

 private:
  const ConfigContext* context_;
};

/// The document's lists in the registry's names, without plugins that are not here.
class ListReader {
 public:
  ListReader(const PluginNames& names, std::vector<ConfigRemark>& remarks)
      : names_(&names), remarks_(&remarks) {}

  Result<PluginSets> read(const PluginSets& document) {
    PluginSets out;
    BERTH_TRY(out.multi_point, read_set(document.multi_point, "multiPoint"));
    for (const ConfigPointName& name : config_points()) {
      BERTH_TRY(out.of(name.point), read_set(document.of(name.point), name.field));
    }
    return out;
  }

 private:
  Result<PluginSet> read_set(const PluginSet& set, std::string_view point) {
    PluginSet out;
    for (std::size_t i = 0; i < set.enabled.size(); ++i) {
      const std::string where = fmt::format("plugins.{}.enabled[{}].name", point, i);
      const std::string name = names_->resolve(set.enabled[i].name);
      if (names_->is_absent(name)) {
        if (told_.insert(name).second) {
          remarks_->push_back({.severity = Severity::Warning,
                               .where = at_field(where),
                               .message = fmt::format("plugin {} is not here yet: what it would "
                                                      "keep out or prefer is not looked at",
                                                      name)});
        }
      } else if (!names_->is_here(name)) {
        return fail_at(at_field(where), names_->unknown(set.enabled[i].name));
      } else {
        out.enabled.push_back({.name = name, .weight = set.enabled[i].weight});
      }
    }
    for (std::size_t i = 0; i < set.disabled.size(); ++i) {
      const std::string name = names_->resolve(set.disabled[i]);
      if (name != kAllPlugins && !names_->is_here(name) && !names_->is_absent(name)) {
        remarks_->push_back(
            {.severity = Severity::Note,
             .where = at_field(fmt::format("plugins.{}.disabled[{}].name", point, i)),
             .message = fmt::format("disables nothing: there is no plugin \"{}\" "
                                    "here",
                                    name)});
      }
      out.disabled.push_back(name);
    }
    return out;
  }

  const PluginNames* names_;
  std::vector<ConfigRemark>* remarks_;
  std::set<std::string> told_;
};

/// pluginConfig by plugin, each tried on its factory.
Result<std::map<std::string, boost::json::value>> read_args(const std::vector<PluginArgs>& config,
                                                            const PluginNames& names,
                                                            const ConfigContext& context,
                                                            KubernetesVersion version,
                                                            std::vector<ConfigRemark>& remarks) {
  std::map<std::string, boost::json::value> out;
  for (std::size_t i = 0; i < config.size(); ++i) {
    const std::string where = fmt::format("pluginConfig[{}]", i);
    const std::string name = names.resolve(config[i].name);
    if (names.is_absent(name)) {
      remarks.push_back(
          {.severity = Severity::Warning,
           .where = at_field(where),
           .message = fmt::format("plugin {} is not here yet: its args have no effect", name)});
      continue;
    }
    const PluginFactory* factory = context.registry.find(name);
    if (factory == nullptr) {
      return fail_at(at_field(where + ".name"), names.unknown(config[i].name));
    }
    if (auto tried = (*factory)({.args = config[i].args, .version = version}); !tried) {
      Error error = std::move(tried).error();
      const std::string below =
          error.where && !error.where->field.empty() ? "." + error.where->field : std::string();
      error.where = at_field(where + ".args" + below);
      return tl::unexpected(std::move(error));
    }
    if (!out.emplace(name, config[i].args).second) {
      return fail_at(at_field(where), fmt::format("Duplicate value: \"{}\"", config[i].name));
    }
  }
  return out;
}

/// What plugins extend: kube-scheduler's own as it says, others as their points tell. One that
/// needs args and has none may be named anywhere; whoever makes it says what it lacks.
Result<std::map<std::string, ConfigPointSet, std::less<>>>
extension_points(const ConfigContext& context, KubernetesVersion version,
                 const std::map<std::string, boost::json::value>& args) {
  std::map<std::string, ConfigPointSet, std::less<>> out;
  for (const std::string& name : context.registry.names()) {
    ConfigPointSet points = stock_points(name);
    if (points.empty()) {
      const auto known = args.find(name);
      const bool has_args = known != args.end();
      const auto plugin = (*context.registry.find(name))(
          {.args = has_args ? known->second : boost::json::value(), .version = version});
      if (!plugin && has_args) {
        return tl::unexpected(plugin.error());
      }
      points = config_points_of(plugin ? (*plugin)->points() : kEveryPoint);
    }
    out.emplace(name, points);
  }
  return out;
}

bool names_plugin(const std::vector<PluginRef>& plugins, std::string_view name) {
  return std::ranges::find(plugins, name, &PluginRef::name) != plugins.end();
}

/// The profile's own choice, else the first that can.
Result<void> settle_queue_sort(const PluginSets& sets, const MergedPlugins& merged,
                               std::string_view default_sort, MadeProfile& out) {
  const std::vector<PluginRef>& own = sets.of(ConfigPoint::QueueSort).enabled;
  const std::vector<std::string>& can = merged.of(ConfigPoint::QueueSort);
  if (own.size() > 1) {
    return fail_at(
        at_field("plugins.queueSort.enabled"),
        fmt::format("Invalid value: {}: only one queue sort plugin can be enabled", own.size()));
  }
  if (can.empty()) {
    return fail_at(at_field("plugins"),
                   fmt::format("only one queue sort plugin required for profile with scheduler "
                               "name \"{}\", but got 0; try enabling PrioritySort",
                               out.profile.scheduler_name));
  }
  out.queue_sort = own.empty() ? can.front() : own.front().name;
  out.queue_sort_is_default = own.empty() && out.queue_sort == default_sort &&
                              !names_plugin(sets.multi_point.enabled, out.queue_sort);
  return {};
}

} // namespace

void sort_queue_by(Profile& profile, std::string_view plugin) {
  const auto sort = static_cast<Points>(Point::QueueSort);
  bool found = false;
  for (ProfilePlugin& entry : profile.plugins) {
    found = found || entry.name == plugin;
    entry.points = entry.name == plugin ? entry.points | sort : entry.points & ~sort;
  }
  std::erase_if(profile.plugins, [](const ProfilePlugin& entry) { return entry.points == 0; });
  if (!found) {
    profile.plugins.push_back(
        {.name = std::string(plugin), .weight = 1, .args = nullptr, .points = sort});
  }
}

Result<MadeProfile> make_profile(const ProfileDocument& document, const ConfigContext& context,
                                 std::vector<ConfigRemark>& remarks) {
  MadeProfile out;
  const PluginNames names(context);
  const KubernetesVersion version = document.kubernetes_version.value_or(KubernetesVersion());
  const Profile defaults = context.defaults(version);
  out.profile.scheduler_name = document.scheduler_name.value_or("default-scheduler");
  out.profile.kubernetes_version = version;
  out.profile.percentage_of_nodes = document.percentage_of_nodes;
  BERTH_TRY(const PluginSets sets, ListReader(names, remarks).read(document.plugins));
  BERTH_TRY(const auto args, read_args(document.plugin_config, names, context, version, remarks));
  BERTH_TRY(const auto extends, extension_points(context, version, args));

  std::vector<PluginRef> default_plugins;
  for (const ProfilePlugin& plugin : defaults.plugins) {
    default_plugins.push_back({.name = plugin.name, .weight = plugin.weight});
  }
  auto merged = merge_plugins(default_plugins, sets, [&](std::string_view name) {
    const auto it = extends.find(name);
    return it == extends.end() ? ConfigPointSet() : it->second;
  });
  if (!merged) {
    Error error = std::move(merged).error();
    error.where->field = "plugins." + error.where->field;
    return tl::unexpected(std::move(error));
  }
  if (merged->of(ConfigPoint::Bind).empty()) {
    return fail_at(at_field("plugins"),
                   fmt::format("at least one bind plugin is needed for profile with scheduler name "
                               "\"{}\"; try enabling DefaultBinder",
                               out.profile.scheduler_name));
  }
  const auto sorts = std::ranges::find_if(defaults.plugins, [&](const ProfilePlugin& plugin) {
    return extends.find(plugin.name)->second.has(ConfigPoint::QueueSort);
  });
  BERTH_CHECK(settle_queue_sort(
      sets, *merged, sorts == defaults.plugins.end() ? "" : std::string_view(sorts->name), out));

  for (const std::string& name : merged->order) {
    const auto weight = merged->weights.find(name);
    const auto configured = args.find(name);
    const auto base = std::ranges::find(defaults.plugins, name, &ProfilePlugin::name);
    out.profile.plugins.push_back(
        {.name = name,
         .weight = weight == merged->weights.end() ? 1 : weight->second,
         .args = configured != args.end()         ? configured->second
                 : base != defaults.plugins.end() ? base->args
                                                  : boost::json::value(),
         .points = points_of(extends.find(name)->second, merged->points(name))});
  }
  sort_queue_by(out.profile, out.queue_sort);
  return out;
}

} // namespace berth::sched
