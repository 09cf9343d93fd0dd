#include "berth/sched/config_document.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>

#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/api/strict.h"
#include "berth/sched/config_peers.h"

namespace berth::sched {
namespace {

using api::Field;

// ---- plugins ------------------------------------------------------------------------------------

void read_ref(const Field& in, PluginRef& out) {
  api::refuse_unknown(in, {"name", "weight"});
  in.read("name", out.name);
  if (out.name.empty()) {
    api::require(in, "name");
  }
  in.within("weight", [&](const Field& field) {
    int weight = 0;
    decode(field, weight);
    if (weight < 0) {
      api::refuse_value(field, "must not be negative");
    }
    out.weight = weight;
  });
}

void read_set(const Field& in, PluginSet& out) {
  api::refuse_unknown(in, {"enabled", "disabled"});
  in.within("enabled", [&](const Field& list) {
    list.each([&](const Field& item) {
      read_ref(item, out.enabled.emplace_back());
      if (out.enabled.back().name == kAllPlugins) {
        item.fail_member("name", "\"*\" stands for all plugins in disabled lists only");
      }
    });
  });
  in.within("disabled", [&](const Field& list) {
    list.each([&](const Field& item) {
      PluginRef ref;
      read_ref(item, ref);
      out.disabled.push_back(std::move(ref.name));
    });
  });
}

void read_sets(const Field& in, PluginSets& out) {
  static constexpr std::string_view kAlpha[] = {"placementGenerate", "placementScore"};
  std::vector<std::string_view> known = {"multiPoint"};
  for (const ConfigPointName& name : config_points()) {
    known.push_back(name.field);
  }
  known.insert(known.end(), std::begin(kAlpha), std::end(kAlpha));
  api::refuse_unknown(in, known);
  in.within("multiPoint", [&](const Field& set) { read_set(set, out.multi_point); });
  for (const ConfigPointName& name : config_points()) {
    in.within(name.field, [&](const Field& set) { read_set(set, out.of(name.point)); });
  }
  for (const std::string_view name : kAlpha) {
    in.within(name, [](const Field& field) {
      PluginSet set;
      read_set(field, set);
      if (!set.enabled.empty()) {
        field.fail("no plugin here extends this point (alpha in Kubernetes 1.36)");
      }
    });
  }
}

void read_args(const Field& in, PluginArgs& out) {
  api::refuse_unknown(in, {"name", "args"});
  in.read("name", out.name);
  if (out.name.empty()) {
    api::require(in, "name");
  }
  in.within("args", [&](const Field& args) {
    const boost::json::object* object = args.as_object();
    if (object == nullptr) {
      return;
    }
    const auto is = [&](std::string_view member, const std::string& wanted) {
      args.within(member, [&](const Field& field) {
        std::string text;
        decode(field, text);
        if (text != wanted) {
          api::refuse_value(
              field, fmt::format("args of plugin {} are {} \"{}\"", out.name, member, wanted));
        }
      });
    };
    is("apiVersion", std::string(kConfigApiVersion));
    is("kind", out.name + "Args");
    boost::json::object bare = *object;
    bare.erase("apiVersion");
    bare.erase("kind");
    out.args = std::move(bare);
  });
}

// ---- profiles -----------------------------------------------------------------------------------

void read_percentage(const Field& in, std::optional<std::int64_t>& out) {
  in.within("percentageOfNodesToScore", [&](const Field& field) {
    decode(field, out.emplace());
    if (!field.failed() && (*out < 0 || *out > 100)) {
      api::refuse_value(field, "not in valid range [0-100]");
    }
  });
}

/// "1.34", "v1.34", "1.34.2".
std::optional<int> minor_of(std::string_view text) {
  text.remove_prefix(text.starts_with('v') ? 1 : 0);
  if (!text.starts_with("1.")) {
    return std::nullopt;
  }
  text.remove_prefix(2);
  int minor = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), minor);
  const bool whole = end == text.data() + text.size() || *end == '.';
  return problem == std::errc() && whole ? std::optional(minor) : std::nullopt;
}

void read_version(const Field& in, std::optional<KubernetesVersion>& out) {
  // YAML makes a number of an unquoted 1.34.
  std::string text;
  if (in.value().is_double()) {
    text = api::to_json(in.value());
  } else {
    decode(in, text);
  }
  const std::optional<int> minor = minor_of(text);
  if (!in.failed() && (!minor || (*minor != 34 && *minor != 36))) {
    in.fail(fmt::format("Unsupported value: \"{}\": supported values: \"1.34\", \"1.36\"", text));
  }
  out = KubernetesVersion{.minor = minor.value_or(0)};
}

void read_profile(const Field& in, ProfileDocument& out) {
  api::refuse_unknown(in, {"schedulerName", "percentageOfNodesToScore", "plugins", "pluginConfig",
                           "kubernetesVersion"});
  in.read("schedulerName", out.scheduler_name);
  in.within("kubernetesVersion",
            [&](const Field& field) { read_version(field, out.kubernetes_version); });
  read_percentage(in, out.percentage_of_nodes);
  in.within("plugins", [&](const Field& plugins) { read_sets(plugins, out.plugins); });
  in.within("pluginConfig", [&](const Field& list) {
    list.each([&](const Field& item) {
      PluginArgs args;
      read_args(item, args);
      if (std::ranges::find(out.plugin_config, args.name, &PluginArgs::name) !=
          out.plugin_config.end()) {
        item.fail(fmt::format("Duplicate value: \"{}\"", args.name));
      }
      out.plugin_config.push_back(std::move(args));
    });
  });
}

void read_profiles(const Field& list, std::vector<ProfileDocument>& out) {
  const boost::json::array* array = list.as_array();
  const bool several = array != nullptr && array->size() > 1;
  std::map<std::string, std::size_t> seen;
  list.each([&](const Field& item) {
    ProfileDocument& profile = out.emplace_back();
    read_profile(item, profile);
    if (profile.scheduler_name ? profile.scheduler_name->empty() : several) {
      api::require(item, "schedulerName",
                   several ? "of several profiles each needs a name of its own" : "");
    }
    const auto [first, fresh] =
        seen.try_emplace(profile.scheduler_name.value_or("default-scheduler"), out.size() - 1);
    if (!fresh) {
      item.fail_member("schedulerName", fmt::format("Duplicate value: \"{}\": profiles[{}] has it",
                                                    first->first, first->second));
    }
  });
}

// ---- the rest
// ------------------------------------------------------------------------------------------

void read_backoff(const Field& in, ConfigDocument& out) {
  in.within("podInitialBackoffSeconds", [&](const Field& field) {
    decode(field, out.pod_initial_backoff_seconds);
    if (out.pod_initial_backoff_seconds <= 0) {
      api::refuse_value(field, "must be greater than 0");
    }
  });
  in.read("podMaxBackoffSeconds", out.pod_max_backoff_seconds);
  if (out.pod_max_backoff_seconds < out.pod_initial_backoff_seconds) {
    in.fail_member("podMaxBackoffSeconds",
                   fmt::format("Invalid value: {}: must be greater than or equal to "
                               "PodInitialBackoffSeconds",
                               out.pod_max_backoff_seconds));
  }
}

void read_config(const Field& in, ConfigDocument& out) {
  static constexpr std::string_view kSwitches[] = {"enableProfiling", "enableContentionProfiling",
                                                   "delayCacheUntilActive"};
  api::refuse_unknown(in,
                      {"apiVersion", "kind", "parallelism", "leaderElection", "clientConnection",
                       "enableProfiling", "enableContentionProfiling", "delayCacheUntilActive",
                       "percentageOfNodesToScore", "podInitialBackoffSeconds",
                       "podMaxBackoffSeconds", "profiles", "extenders"});
  in.within("parallelism", [&](const Field& field) {
    decode(field, out.parallelism);
    if (out.parallelism <= 0) {
      api::refuse_value(field, "should be an integer value greater than zero");
    }
  });
  read_percentage(in, out.percentage_of_nodes);
  read_backoff(in, out);
  in.read("leaderElection", out.leader_election);
  in.read("clientConnection", out.client_connection);
  for (const std::string_view name : kSwitches) {
    bool flag = false;
    in.read(name, flag);
  }
  in.within("profiles", [&](const Field& list) { read_profiles(list, out.profiles); });
  in.within("extenders", [&](const Field& list) { decode_extenders(list, out.extenders); });
  for (const std::string_view name :
       {"parallelism", "leaderElection", "clientConnection", "enableProfiling",
        "enableContentionProfiling", "delayCacheUntilActive"}) {
    in.within(name, [&](const Field&) { out.without_effect.emplace_back(name); });
  }
  if (out.profiles.empty()) {
    out.profiles.emplace_back(); // as kube-scheduler does: one of default plugins
  }
}

/// What has to change in a file of an older version.
std::string how_to_modernise(std::string_view version) {
  constexpr std::string_view kGone =
      "NodeResourcesLeastAllocated, NodeResourcesMostAllocated and RequestedToCapacityRatio are "
      "scoringStrategy types of NodeResourcesFit now; NodePreferAvoidPods, NodeLabel and "
      "ServiceAffinity are gone";
  std::string text = fmt::format("Kubernetes does not read this version any more; write \"{}\"",
                                 kConfigApiVersion);
  if (version.ends_with("/v1beta3")) {
    return text + ", whose fields are the same";
  }
  return fmt::format("{}: {}", text, kGone);
}

void read_type(const Field& in) {
  std::string version;
  std::string kind;
  in.read("apiVersion", version);
  in.read("kind", kind);
  if (version.empty() && kind.empty()) {
    return in.fail(fmt::format("no scheduler configuration: want apiVersion: {}, kind: {}",
                               kConfigApiVersion, kConfigKind));
  }
  const std::string_view group = kConfigApiVersion.substr(0, kConfigApiVersion.find('/') + 1);
  if (version != kConfigApiVersion) {
    in.fail_member("apiVersion", fmt::format("Invalid value: \"{}\": {}", version,
                                             version.starts_with(group)
                                                 ? how_to_modernise(version)
                                                 : fmt::format("want \"{}\"", kConfigApiVersion)));
  }
  if (kind != kConfigKind) {
    in.fail_member("kind", fmt::format("Invalid value: \"{}\": want \"{}\"", kind, kConfigKind));
  }
}

} // namespace

Result<ConfigDocument> decode_config(const boost::json::value& document) {
  std::optional<Error> failure;
  const Field in(document, failure);
  ConfigDocument out;
  if (in.as_object() == nullptr) {
    in.expected("a map");
  }
  read_type(in);
  if (!failure) {
    read_config(in, out);
  }
  if (failure) {
    return tl::unexpected(*std::move(failure));
  }
  return out;
}

} // namespace berth::sched
