#include "berth/server/access/cluster_role_aggregation.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <boost/json/object.hpp>

#include "berth/api/json.h"
#include "berth/api/selector.h"
#include "berth/base/log.h"
#include "berth/server/access/rbac_objects.h"

namespace berth::server {
namespace {

/// What an aggregated role should hold; none if it does not aggregate.
std::optional<PolicyRules> aggregated(const api::Object& role,
                                      const std::vector<api::Object>& all) {
  const api::json::value* selectors =
      api::find_path(role.json(), "aggregationRule.clusterRoleSelectors");
  if (selectors == nullptr || !selectors->is_array()) {
    return std::nullopt;
  }
  PolicyRules out;
  for (const api::json::value& text : selectors->get_array()) {
    const auto selector = api::parse_label_selector(text);
    if (!selector) {
      continue;
    }
    for (const api::Object& other : all) {
      if (other.meta().name == role.meta().name || !selector->matches(other.meta().labels)) {
        continue;
      }
      const auto rules = rules_of(other.json());
      for (const PolicyRule& rule : rules ? *rules : PolicyRules()) {
        if (std::ranges::find(out, rule) == out.end()) {
          out.push_back(rule);
        }
      }
    }
  }
  return out;
}

} // namespace

ClusterRoleAggregation::ClusterRoleAggregation(Loop& loop, store::Registry& registry)
    : loop_(&loop), registry_(&registry), timer_(loop) {}

Result<std::unique_ptr<ClusterRoleAggregation>>
ClusterRoleAggregation::open(Loop& loop, store::Registry& registry) {
  std::unique_ptr<ClusterRoleAggregation> made(new ClusterRoleAggregation(loop, registry));
  store::WatchOptions options;
  options.what.kind = kClusterRoles;
  options.bookmarks = false;
  BERTH_TRY(made->subscription_,
            registry.watch(options, [self = made.get()](const store::WatchEvent&) {
              if (!self->timer_.armed()) {
                self->timer_.set(Duration(), [self] { self->sync(); });
              }
            }));
  return made;
}

void ClusterRoleAggregation::sync() {
  const store::ObjectList all =
      registry_->list({.kind = kClusterRoles, .ns = {}, .labels = {}, .node = {}, .name = {}});
  for (const api::Object& role : all.items) {
    const auto wanted = aggregated(role, all.items);
    const auto present = rules_of(role.json());
    if (!wanted || (present && *present == *wanted)) {
      continue;
    }
    const api::Object next =
        role.edit([&](api::json::object& document) { document["rules"] = to_document(*wanted); });
    const auto written = registry_->update(next, store::Subresource::None, loop_->now());
    if (!written) {
      log(LogLevel::Warn, "clusterroles",
          "cannot aggregate " + role.meta().name + ": " + to_string(written.error()));
    }
  }
}

} // namespace berth::server
