#include "berth/server/access/bootstrap_policy.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include <boost/json/object.hpp>
#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/server/access/rule_cover.h"
#include "berth/server/user.h"

namespace berth::server {
namespace {

namespace json = boost::json;

constexpr std::string_view kAutoUpdate = "rbac.authorization.kubernetes.io/autoupdate";
constexpr std::string_view kAggregateTo = "rbac.authorization.k8s.io/aggregate-to-";

/// Verbs that go together.
constexpr std::string_view kRead = "get list watch";
constexpr std::string_view kWrite = "create delete deletecollection patch update";
constexpr std::string_view kReadWrite =
    "create delete deletecollection get list patch update watch";

/// Words parted by blanks. The core group is "core". URLs stand where resources do, with a slash.
struct RuleRow {
  std::string_view role;
  std::string_view verbs;
  std::string_view groups;
  std::string_view resources;
  std::string_view names = "";
};

struct RoleRow {
  std::string_view role;
  std::string_view part_of;    ///< aggregated into this role; "" for none
  std::string_view aggregates; ///< gathers what is part of this; "" for none
};

struct BindingRow {
  std::string_view role; ///< and the binding's name
  std::string_view kind;
  std::string_view subjects;
};

constexpr std::array kRoleRows = {
    RoleRow{"admin", "", "admin"},
    RoleRow{"berth:aggregate-to-edit", "edit", ""},
    RoleRow{"berth:aggregate-to-view", "view", ""},
    RoleRow{"cluster-admin", "", ""},
    RoleRow{"edit", "admin", "edit"},
    RoleRow{"system:aggregate-to-admin", "admin", ""},
    RoleRow{"system:aggregate-to-edit", "edit", ""},
    RoleRow{"system:aggregate-to-view", "view", ""},
    RoleRow{"system:auth-delegator", "", ""},
    RoleRow{"system:basic-user", "", ""},
    RoleRow{"system:discovery", "", ""},
    RoleRow{"system:kube-controller-manager", "", ""},
    RoleRow{"system:kube-scheduler", "", ""},
    RoleRow{"system:monitoring", "", ""},
    RoleRow{"system:node", "", ""},
    RoleRow{"system:public-info-viewer", "", ""},
    RoleRow{"view", "edit", "view"},
};

constexpr std::string_view kWorkloads =
    "daemonsets deployments deployments/rollback deployments/scale replicasets replicasets/scale "
    "statefulsets statefulsets/scale";
constexpr std::string_view kOldWorkloads =
    "daemonsets deployments deployments/rollback deployments/scale ingresses networkpolicies "
    "replicasets replicasets/scale replicationcontrollers/scale";

constexpr std::array kRuleRows = {
    RuleRow{"cluster-admin", "*", "*", "*"},
    RuleRow{"cluster-admin", "*", "", "*"},

    RuleRow{"system:aggregate-to-admin", "create", "authorization.k8s.io",
            "localsubjectaccessreviews"},
    RuleRow{"system:aggregate-to-admin", kReadWrite, "rbac.authorization.k8s.io",
            "rolebindings roles"},

    RuleRow{"system:aggregate-to-edit", kRead, "core",
            "pods/attach pods/exec pods/portforward pods/proxy secrets services/proxy"},
    RuleRow{"system:aggregate-to-edit", "impersonate", "core", "serviceaccounts"},
    RuleRow{"system:aggregate-to-edit", kWrite, "core",
            "pods pods/attach pods/exec pods/portforward pods/proxy"},
    RuleRow{"system:aggregate-to-edit", "create", "core", "pods/eviction"},
    RuleRow{"system:aggregate-to-edit", kWrite, "core",
            "configmaps events persistentvolumeclaims replicationcontrollers "
            "replicationcontrollers/scale secrets serviceaccounts services services/proxy"},
    RuleRow{"system:aggregate-to-edit", "create", "core", "serviceaccounts/token"},
    RuleRow{"system:aggregate-to-edit", kWrite, "apps", kWorkloads},
    RuleRow{"system:aggregate-to-edit", kWrite, "autoscaling", "horizontalpodautoscalers"},
    RuleRow{"system:aggregate-to-edit", kWrite, "batch", "cronjobs jobs"},
    RuleRow{"system:aggregate-to-edit", kWrite, "extensions", kOldWorkloads},
    RuleRow{"system:aggregate-to-edit", kWrite, "policy", "poddisruptionbudgets"},
    RuleRow{"system:aggregate-to-edit", kWrite, "networking.k8s.io", "ingresses networkpolicies"},
    RuleRow{"system:aggregate-to-edit", kReadWrite, "coordination.k8s.io", "leases"},
    RuleRow{"system:aggregate-to-edit", kWrite, "resource.k8s.io",
            "resourceclaims resourceclaimtemplates"},

    RuleRow{"system:aggregate-to-view", kRead, "core",
            "configmaps endpoints persistentvolumeclaims persistentvolumeclaims/status pods "
            "replicationcontrollers replicationcontrollers/scale serviceaccounts services "
            "services/status"},
    RuleRow{"system:aggregate-to-view", kRead, "core",
            "bindings events limitranges namespaces/status pods/log pods/status "
            "replicationcontrollers/status resourcequotas resourcequotas/status"},
    RuleRow{"system:aggregate-to-view", kRead, "core", "namespaces"},
    RuleRow{"system:aggregate-to-view", kRead, "discovery.k8s.io", "endpointslices"},
    RuleRow{"system:aggregate-to-view", kRead, "apps",
            "controllerrevisions daemonsets daemonsets/status deployments deployments/scale "
            "deployments/status replicasets replicasets/scale replicasets/status statefulsets "
            "statefulsets/scale statefulsets/status"},
    RuleRow{"system:aggregate-to-view", kRead, "autoscaling",
            "horizontalpodautoscalers horizontalpodautoscalers/status"},
    RuleRow{"system:aggregate-to-view", kRead, "batch",
            "cronjobs cronjobs/status jobs jobs/status"},
    RuleRow{"system:aggregate-to-view", kRead, "extensions",
            "daemonsets daemonsets/status deployments deployments/scale deployments/status "
            "ingresses ingresses/status networkpolicies replicasets replicasets/scale "
            "replicasets/status replicationcontrollers/scale"},
    RuleRow{"system:aggregate-to-view", kRead, "policy",
            "poddisruptionbudgets poddisruptionbudgets/status"},
    RuleRow{"system:aggregate-to-view", kRead, "networking.k8s.io",
            "ingresses ingresses/status networkpolicies"},
    RuleRow{"system:aggregate-to-view", kRead, "resource.k8s.io",
            "resourceclaims resourceclaims/status resourceclaimtemplates"},

    RuleRow{"berth:aggregate-to-edit", kWrite, "scheduling.x-k8s.io", "podgroups"},
    RuleRow{"berth:aggregate-to-view", kRead, "scheduling.x-k8s.io",
            "elasticquotas elasticquotas/status podgroups podgroups/status"},
    // As metrics-server's own role system:aggregated-metrics-reader.
    RuleRow{"berth:aggregate-to-view", kRead, "metrics.k8s.io", "pods nodes"},
    RuleRow{"berth:aggregate-to-view", kRead, "metrics.berth.dev", "gpus"},

    RuleRow{"system:auth-delegator", "create", "authentication.k8s.io", "tokenreviews"},
    RuleRow{"system:auth-delegator", "create", "authorization.k8s.io", "subjectaccessreviews"},

    RuleRow{"system:basic-user", "create", "authorization.k8s.io",
            "selfsubjectaccessreviews selfsubjectrulesreviews"},
    RuleRow{"system:basic-user", "create", "authentication.k8s.io", "selfsubjectreviews"},

    RuleRow{"system:discovery", "get", "",
            "/api /api/* /apis /apis/* /healthz /livez /openapi /openapi/* /readyz /version "
            "/version/"},
    RuleRow{"system:public-info-viewer", "get", "", "/healthz /livez /readyz /version /version/"},
    RuleRow{"system:monitoring", "get", "",
            "/healthz /healthz/* /livez /livez/* /metrics /metrics/slis /readyz /readyz/*"},

    RuleRow{"system:kube-controller-manager", "create patch update", "core events.k8s.io",
            "events"},
    RuleRow{"system:kube-controller-manager", "create", "coordination.k8s.io", "leases"},
    RuleRow{"system:kube-controller-manager", "get update", "coordination.k8s.io", "leases",
            "kube-controller-manager"},
    RuleRow{"system:kube-controller-manager", "create", "core", "secrets serviceaccounts"},
    RuleRow{"system:kube-controller-manager", "delete", "core", "secrets"},
    RuleRow{"system:kube-controller-manager", "get", "core",
            "configmaps namespaces secrets serviceaccounts"},
    RuleRow{"system:kube-controller-manager", "update", "core", "secrets serviceaccounts"},
    RuleRow{"system:kube-controller-manager", "create", "authentication.k8s.io", "tokenreviews"},
    RuleRow{"system:kube-controller-manager", "create", "authorization.k8s.io",
            "subjectaccessreviews"},
    RuleRow{"system:kube-controller-manager", "list watch", "*", "*"},
    RuleRow{"system:kube-controller-manager", "create", "core", "serviceaccounts/token"},

    RuleRow{"system:kube-scheduler", "create patch update", "core events.k8s.io", "events"},
    RuleRow{"system:kube-scheduler", "create", "coordination.k8s.io", "leases"},
    RuleRow{"system:kube-scheduler", "get list update watch", "coordination.k8s.io", "leases",
            "kube-scheduler"},
    RuleRow{"system:kube-scheduler", kRead, "core", "nodes"},
    RuleRow{"system:kube-scheduler", "delete get list watch", "core", "pods"},
    RuleRow{"system:kube-scheduler", "create", "core", "bindings pods/binding"},
    RuleRow{"system:kube-scheduler", "patch update", "core", "pods/status"},
    RuleRow{"system:kube-scheduler", kRead, "core", "replicationcontrollers services"},
    RuleRow{"system:kube-scheduler", kRead, "apps extensions", "replicasets"},
    RuleRow{"system:kube-scheduler", kRead, "apps", "statefulsets"},
    RuleRow{"system:kube-scheduler", kRead, "policy", "poddisruptionbudgets"},
    RuleRow{"system:kube-scheduler", "get list patch update watch", "core",
            "persistentvolumeclaims persistentvolumes"},
    RuleRow{"system:kube-scheduler", "create", "authentication.k8s.io", "tokenreviews"},
    RuleRow{"system:kube-scheduler", "create", "authorization.k8s.io", "subjectaccessreviews"},
    RuleRow{"system:kube-scheduler", kRead, "storage.k8s.io",
            "csidrivers csinodes csistoragecapacities storageclasses volumeattachments"},
    RuleRow{"system:kube-scheduler", kRead, "core", "namespaces resourcequotas"},
    RuleRow{"system:kube-scheduler", kRead, "resource.k8s.io",
            "deviceclasses resourceclaims resourceslices"},
    RuleRow{"system:kube-scheduler", "patch update", "resource.k8s.io",
            "resourceclaims resourceclaims/status"},
    RuleRow{"system:kube-scheduler", kRead, "scheduling.k8s.io", "priorityclasses"},
    RuleRow{"system:kube-scheduler", kRead, "scheduling.x-k8s.io", "elasticquotas podgroups"},
    RuleRow{"system:kube-scheduler", "patch update", "scheduling.x-k8s.io",
            "elasticquotas/status podgroups/status"},

    RuleRow{"system:node", "create", "authentication.k8s.io", "tokenreviews"},
    RuleRow{"system:node", "create", "authorization.k8s.io",
            "localsubjectaccessreviews subjectaccessreviews"},
    RuleRow{"system:node", kRead, "core", "services"},
    RuleRow{"system:node", "create get list watch", "core", "nodes"},
    RuleRow{"system:node", "patch update", "core", "nodes nodes/status"},
    RuleRow{"system:node", "create patch update", "core", "events"},
    RuleRow{"system:node", kRead, "core", "pods"},
    RuleRow{"system:node", "create delete", "core", "pods"},
    RuleRow{"system:node", "patch update", "core", "pods/status"},
    RuleRow{"system:node", "create", "core", "pods/eviction"},
    RuleRow{"system:node", kRead, "core", "configmaps secrets"},
    RuleRow{"system:node", "get", "core", "endpoints persistentvolumeclaims persistentvolumes"},
    RuleRow{"system:node", "create get list watch", "certificates.k8s.io",
            "certificatesigningrequests"},
    RuleRow{"system:node", "create delete get patch update", "coordination.k8s.io", "leases"},
    RuleRow{"system:node", "get", "storage.k8s.io", "volumeattachments"},
    RuleRow{"system:node", "create", "core", "serviceaccounts/token"},
    RuleRow{"system:node", "get patch update", "core", "persistentvolumeclaims/status"},
    RuleRow{"system:node", kRead, "storage.k8s.io", "csidrivers"},
    RuleRow{"system:node", "create delete get patch update", "storage.k8s.io", "csinodes"},
    RuleRow{"system:node", kRead, "node.k8s.io", "runtimeclasses"},
    RuleRow{"system:node", "get", "resource.k8s.io", "resourceclaims"},
    RuleRow{"system:node", kReadWrite, "resource.k8s.io", "resourceslices"},
};

constexpr std::array kBindingRows = {
    BindingRow{"cluster-admin", "Group", "system:masters"},
    BindingRow{"system:basic-user", "Group", "system:authenticated"},
    BindingRow{"system:discovery", "Group", "system:authenticated"},
    BindingRow{"system:kube-controller-manager", "User", "system:kube-controller-manager"},
    BindingRow{"system:kube-scheduler", "User", "system:kube-scheduler"},
    BindingRow{"system:monitoring", "Group", "system:monitoring"},
    BindingRow{"system:node", "Group", "system:nodes"},
    BindingRow{"system:public-info-viewer", "Group", "system:authenticated system:unauthenticated"},
};

std::vector<std::string> words(std::string_view text) {
  std::vector<std::string> out;
  while (!text.empty()) {
    const std::size_t blank = text.find(' ');
    const std::string_view word = text.substr(0, blank);
    out.emplace_back(word == "core" ? "" : word);
    text.remove_prefix(blank == std::string_view::npos ? text.size() : blank + 1);
  }
  return out;
}

PolicyRule rule_of(const RuleRow& row) {
  PolicyRule rule;
  rule.verbs = words(row.verbs);
  rule.api_groups = words(row.groups);
  (row.groups.empty() ? rule.non_resource_urls : rule.resources) = words(row.resources);
  rule.resource_names = words(row.names);
  return rule;
}

json::object head(std::string_view kind, std::string_view name) {
  return {{"apiVersion", "rbac.authorization.k8s.io/v1"},
          {"kind", kind},
          {"metadata",
           json::object{{"name", name},
                        {"labels", json::object{{"kubernetes.io/bootstrapping", "rbac-defaults"}}},
                        {"annotations", json::object{{kAutoUpdate, "true"}}}}}};
}

json::object role_of(const RoleRow& row) {
  json::object role = head("ClusterRole", row.role);
  if (!row.part_of.empty()) {
    json::object& meta = api::object_at(role, "metadata");
    api::object_at(meta, "labels")[fmt::format("{}{}", kAggregateTo, row.part_of)] = "true";
  }
  if (!row.aggregates.empty()) {
    json::object labels{{fmt::format("{}{}", kAggregateTo, row.aggregates), "true"}};
    role["aggregationRule"] = json::object{
        {"clusterRoleSelectors", json::array{json::object{{"matchLabels", std::move(labels)}}}}};
    return role;
  }
  PolicyRules rules;
  for (const RuleRow& rule : kRuleRows) {
    if (rule.role == row.role) {
      rules.push_back(rule_of(rule));
    }
  }
  role["rules"] = to_document(rules);
  return role;
}

json::object binding_of(const BindingRow& row) {
  json::object binding = head("ClusterRoleBinding", row.role);
  json::array subjects;
  for (const std::string& name : words(row.subjects)) {
    subjects.push_back(json::object{{"kind", row.kind}, {"apiGroup", kRbacGroup}, {"name", name}});
  }
  binding["subjects"] = std::move(subjects);
  binding["roleRef"] =
      json::object{{"apiGroup", kRbacGroup}, {"kind", "ClusterRole"}, {"name", row.role}};
  return binding;
}

void add_missing_members(json::object& to, std::string_view member, const json::object& from) {
  json::object& target = api::object_at(to, member);
  if (const json::value* wanted = from.if_contains(member); wanted != nullptr) {
    for (const auto& one : wanted->as_object()) {
      target.emplace(one.key(), one.value());
    }
  }
}

/// The stored object with what it lacks of `wanted`.
api::Object completed(const api::Object& stored, const json::object& wanted) {
  return stored.edit([&](json::object& document) {
    json::object& meta = api::object_at(document, "metadata");
    for (const std::string_view member : {"labels", "annotations"}) {
      add_missing_members(meta, member, wanted.at("metadata").as_object());
    }
    if (wanted.contains("aggregationRule")) {
      document["aggregationRule"] = wanted.at("aggregationRule");
    } else if (const json::value* rules = wanted.if_contains("rules")) {
      const auto held = rules_of(stored.json());
      PolicyRules all = held ? *held : PolicyRules();
      const auto added = rules_of(json::object{{"rules", *rules}});
      const PolicyRules missing = compacted(missing_rules(all, added ? *added : PolicyRules()));
      if (!missing.empty()) {
        all.insert(all.end(), missing.begin(), missing.end());
        document["rules"] = to_document(all);
      }
    }
    if (const json::value* subjects = wanted.if_contains("subjects")) {
      json::value& present = document["subjects"];
      json::array& list = present.is_array() ? present.get_array() : present.emplace_array();
      for (const json::value& subject : subjects->as_array()) {
        if (std::ranges::find(list, subject) == list.end()) {
          list.push_back(subject);
        }
      }
    }
  });
}

} // namespace

std::vector<json::value> bootstrap_policy() {
  std::vector<json::value> out;
  for (const RoleRow& row : kRoleRows) {
    out.emplace_back(role_of(row));
  }
  for (const BindingRow& row : kBindingRows) {
    out.emplace_back(binding_of(row));
  }
  return out;
}

namespace {

/// Another process that serves the same cluster may have been faster with the same.
Result<void> done_by_somebody(const Result<api::Object>& written) {
  if (!written && written.error().code != Code::AlreadyExists &&
      written.error().code != Code::Conflict) {
    return tl::unexpected(written.error());
  }
  return {};
}

} // namespace

Result<void> ensure_bootstrap_policy(store::Registry& registry, TimePoint now) {
  for (const json::value& document : bootstrap_policy()) {
    BERTH_TRY(const api::Object wanted, api::Object::from_json(document));
    const auto stored = registry.get(store::group_kind(wanted), wanted.key());
    if (!stored) {
      BERTH_CHECK(done_by_somebody(registry.create(wanted, now)));
      continue;
    }
    const auto& annotations = stored->meta().annotations;
    if (const auto at = annotations.find(kAutoUpdate);
        at != annotations.end() && at->second == "false") {
      continue;
    }
    BERTH_CHECK(done_by_somebody(
        registry.update(completed(*stored, document.as_object()), store::Subresource::None, now)));
  }
  return {};
}

} // namespace berth::server
