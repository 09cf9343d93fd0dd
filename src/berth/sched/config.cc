#include "berth/sched/config.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "berth/api/manifest.h"
#include "berth/api/yaml.h"
#include "berth/sched/config_profile.h"

namespace berth::sched {
namespace {

using Severity = ConfigRemark::Severity;

Where at_field(std::string field) {
  return {.file = {}, .line = 0, .column = 0, .field = std::move(field)};
}

/// "profiles[1].plugins..." from a place below the profile.
void place_below(std::optional<Where>& where, std::size_t profile) {
  std::string field = where ? where->field : std::string();
  where = at_field(fmt::format("profiles[{}]{}{}", profile, field.empty() ? "" : ".", field));
}

/// All profiles sort by one plugin. One that sorts by default alone gives way.
Result<void> agree_on_queue_sort(std::vector<MadeProfile>& made) {
  const auto chosen = std::ranges::find(
      made, false, [](const MadeProfile& one) { return one.queue_sort_is_default; });
  if (chosen == made.end()) {
    return {};
  }
  const std::string sort = chosen->queue_sort;
  for (std::size_t i = 0; i < made.size(); ++i) {
    if (made[i].queue_sort == sort) {
      continue;
    }
    if (!made[i].queue_sort_is_default) {
      return fail_at(at_field(fmt::format("profiles[{}].plugins.queueSort", i)),
                     fmt::format("Invalid value: \"{}\": must be the same for all profiles; "
                                 "profile \"{}\" sorts by {}",
                                 made[i].queue_sort, chosen->profile.scheduler_name, sort));
    }
    sort_queue_by(made[i].profile, sort);
    made[i].queue_sort = sort;
  }
  return {};
}

/// What extenders count themselves, NodeResourcesFit leaves to them.
void ignore_managed(const std::vector<Extender>& extenders, Profile& profile) {
  const auto fit = std::ranges::find(profile.plugins, "NodeResourcesFit", &ProfilePlugin::name);
  if (fit == profile.plugins.end()) {
    return;
  }
  for (const Extender& extender : extenders) {
    for (const Extender::Resource& resource : extender.managed_resources) {
      if (!resource.ignored_by_scheduler) {
        continue;
      }
      if (!fit->args.is_object()) {
        fit->args.emplace_object();
      }
      boost::json::value& ignored = fit->args.as_object()["ignoredResources"];
      if (!ignored.is_array()) {
        ignored.emplace_array();
      }
      ignored.as_array().emplace_back(resource.name);
    }
  }
}

void remark_on(const ConfigDocument& document, bool own_process,
               std::vector<ConfigRemark>& remarks) {
  std::vector<std::string> idle = document.without_effect;
  if (own_process) {
    std::erase_if(idle, [](const std::string& name) {
      return name == "leaderElection" || name == "clientConnection";
    });
  }
  if (!idle.empty()) {
    remarks.push_back(
        {.severity = Severity::Note,
         .where = at_field(idle.front()),
         .message = fmt::format(
             "read, and without effect: {}{}",
             own_process ? "" : "one scheduler runs, in this process: ", fmt::join(idle, ", "))});
  }
}

Result<SchedulerConfig> make_config(const ConfigDocument& document, const ConfigContext& context) {
  SchedulerConfig config;
  remark_on(document, context.own_process, config.remarks);
  std::vector<MadeProfile> made;
  for (std::size_t i = 0; i < document.profiles.size(); ++i) {
    std::vector<ConfigRemark> remarks;
    auto profile = make_profile(document.profiles[i], context, remarks);
    if (!profile) {
      Error error = std::move(profile).error();
      place_below(error.where, i);
      return tl::unexpected(std::move(error));
    }
    for (ConfigRemark& remark : remarks) {
      std::optional<Where> where = std::move(remark.where);
      place_below(where, i);
      remark.where = *std::move(where);
      config.remarks.push_back(std::move(remark));
    }
    if (!profile->profile.percentage_of_nodes) {
      profile->profile.percentage_of_nodes = document.percentage_of_nodes;
    }
    made.push_back(*std::move(profile));
  }
  BERTH_CHECK(agree_on_queue_sort(made));
  for (MadeProfile& one : made) {
    ignore_managed(document.extenders, one.profile);
    BERTH_CHECK(Framework::make(one.profile, context.registry));
    config.profiles.push_back(std::move(one.profile));
  }
  config.queue.initial_backoff = Duration::seconds(document.pod_initial_backoff_seconds);
  config.queue.max_backoff = Duration::seconds(document.pod_max_backoff_seconds);
  config.parallelism = document.parallelism;
  config.extenders = document.extenders;
  config.leader_election = document.leader_election;
  config.client_connection = document.client_connection;
  return config;
}

/// File, line and column of a place that only names its field.
Where located(const api::YamlDocument& document, std::string_view file, const Where& where) {
  const api::Position at = document.positions.find(api::pointer_of(where.field));
  return {.file = std::string(file), .line = at.line, .column = at.column, .field = where.field};
}

} // namespace

Result<SchedulerConfig> read_scheduler_config(std::string_view text, std::string_view file,
                                              const ConfigContext& context) {
  BERTH_TRY(const std::vector<api::YamlDocument> documents, api::parse_yaml(text, file));
  if (documents.size() != 1) {
    return fail_at(
        {.file = std::string(file), .line = 1, .column = 1, .field = {}},
        fmt::format("want one {} document, this file has {}", kConfigKind, documents.size()));
  }
  const api::YamlDocument& document = documents.front();
  auto decoded = decode_config(document.value);
  auto config = decoded ? make_config(*decoded, context)
                        : Result<SchedulerConfig>(tl::unexpected(std::move(decoded).error()));
  if (!config) {
    Error error = std::move(config).error();
    error.where = located(document, file, error.where.value_or(Where()));
    return tl::unexpected(std::move(error));
  }
  for (ConfigRemark& remark : config->remarks) {
    remark.where = located(document, file, remark.where);
  }
  return config;
}

} // namespace berth::sched
