// Who may do what, and what extends the API. Source: printers.go; kube-aggregator's registry for
// APIService.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "berth/server/tables/cells.h"
#include "berth/server/tables/shapes.h"

namespace berth::server::tables {
namespace {

json::value role(const Row& row) {
  return json::value(fmt::format("{}/{}", api::string_at(row.document(), "roleRef.kind"),
                                 api::string_at(row.document(), "roleRef.name")));
}

/// Names of the binding's subjects of that kind; those of accounts with their namespace.
Cell subjects(std::string_view kind) {
  return [=](const Row& row) {
    std::vector<std::string> out;
    for (const json::value& subject : list_at(row.document(), "subjects")) {
      if (api::string_at(subject, "kind") == kind) {
        const std::string name = text_at(subject, "name");
        out.push_back(kind == "ServiceAccount"
                          ? fmt::format("{}/{}", api::string_at(subject, "namespace"), name)
                          : name);
      }
    }
    return json::value(fmt::format("{}", fmt::join(out, ", ")));
  };
}

TableShape binding_shape() {
  const auto subjects_column = [](std::string_view name, std::string_view kind) {
    return Column{.name = std::string(name),
                  .description = fmt::format("{} that have the role.", name),
                  .priority = 1,
                  .cell = subjects(kind)};
  };
  return {.columns = {name_column(),
                      {.name = "Role", .description = "The role that is given.", .cell = &role},
                      age_column(),
                      subjects_column("Users", "User"),
                      subjects_column("Groups", "Group"),
                      subjects_column("ServiceAccounts", "ServiceAccount")}};
}

json::value request_condition(const Row& row) {
  const auto conditions = list_at(row.document(), "status.conditions");
  const auto has = [&](std::string_view type) {
    return std::ranges::any_of(conditions, [&](const json::value& condition) {
      return api::string_at(condition, "type") == type;
    });
  };
  std::string out = has("Denied") ? "Denied" : has("Approved") ? "Approved" : "Pending";
  if (has("Failed")) {
    out += ",Failed";
  }
  if (!api::string_at(row.document(), "status.certificate").empty()) {
    out += ",Issued";
  }
  return json::value(out);
}

json::value requested_duration(const Row& row) {
  if (api::find_path(row.document(), "spec.expirationSeconds") == nullptr) {
    return "<none>";
  }
  const std::int64_t seconds = number_at(row.document(), "spec.expirationSeconds");
  constexpr std::int64_t kMost = INT32_MAX; // the type of the field
  return json::value(human_duration(Duration::seconds(std::clamp(seconds, -kMost, kMost))));
}

TableShape signing_request_shape() {
  return {
      .columns = {
          name_column(),
          age_column(),
          {.name = "SignerName",
           .description = "Who is asked to sign.",
           .cell = text("spec.signerName", "<none>")},
          {.name = "Requestor", .description = "Who asks.", .cell = text("spec.username")},
          {.name = "RequestedDuration",
           .description = "How long the certificate shall be valid.",
           .cell = &requested_duration},
          {.name = "Condition", .description = "What became of it.", .cell = &request_condition}}};
}

TableShape webhooks_shape() {
  return {.columns = {name_column(),
                      {.name = "Webhooks",
                       .type = "integer",
                       .description = "Number of webhooks.",
                       .cell = size_of("webhooks")},
                      age_column()}};
}

json::value served_by(const Row& row) {
  const json::value* service = api::find_path(row.document(), "spec.service");
  return json::value(service == nullptr
                         ? "Local"
                         : fmt::format("{}/{}", api::string_at(*service, "namespace"),
                                       api::string_at(*service, "name")));
}

json::value availability(const Row& row) {
  for (const json::value& condition : list_at(row.document(), "status.conditions")) {
    if (api::string_at(condition, "type") == "Available") {
      const std::string_view status = api::string_at(condition, "status");
      const std::string_view reason = api::string_at(condition, "reason");
      return json::value(status == "True" || reason.empty()
                             ? std::string(status)
                             : fmt::format("{} ({})", status, reason));
    }
  }
  return "Unknown";
}

TableShape api_service_shape() {
  return {.columns = {
              name_column(),
              {.name = "Service",
               .description = "The service that serves the group and version.",
               .cell = &served_by},
              {.name = "Available", .description = "Whether it answers.", .cell = &availability},
              age_column()}};
}

/// "APIVERSION/KIND" or "NAMESPACE/NAME" of what is at `path`; <unset> if there is nothing.
Cell joined(std::string_view path, std::string_view first, std::string_view second) {
  return [=](const Row& row) {
    if (members_at(row.document(), path) == nullptr) {
      return json::value("<unset>");
    }
    const std::string a = text_at(row.document(), fmt::format("{}.{}", path, first));
    const std::string b = text_at(row.document(), fmt::format("{}.{}", path, second));
    return json::value(a.empty() ? b : fmt::format("{}/{}", a, b));
  };
}

TableShape policy_shape() {
  return {.columns = {name_column(),
                      {.name = "Validations",
                       .type = "integer",
                       .description = "How many expressions it has.",
                       .cell = size_of("spec.validations")},
                      {.name = "ParamKind",
                       .description = "The kind of its parameters.",
                       .cell = joined("spec.paramKind", "apiVersion", "kind")},
                      age_column()}};
}

TableShape policy_binding_shape() {
  return {.columns = {name_column(),
                      {.name = "PolicyName",
                       .description = "The policy that it binds.",
                       .cell = text("spec.policyName")},
                      {.name = "ParamRef",
                       .description = "The parameters that it gives.",
                       .cell = joined("spec.paramRef", "namespace", "name")},
                      age_column()}};
}

json::value dangling(const Row& row) {
  const auto status = condition_status(list_at(row.document(), "status.conditions"), "Dangling");
  return json::value(status.empty() ? "?" : status);
}

TableShape flow_schema_shape() {
  return {.columns = {name_column(),
                      {.name = "PriorityLevel",
                       .description = "The level of its requests.",
                       .cell = text("spec.priorityLevelConfiguration.name")},
                      {.name = "MatchingPrecedence",
                       .type = "integer",
                       .description = "The least that matches a request decides.",
                       .cell = number("spec.matchingPrecedence")},
                      {.name = "DistinguisherMethod",
                       .description = "How flows are told apart.",
                       .cell = text("spec.distinguisherMethod.type", "<none>")},
                      age_column(),
                      {.name = "MissingPL",
                       .description = "Whether its level does not exist.",
                       .cell = &dangling}}};
}

/// A number of a level's limits; <none> where it has none.
Cell limit(std::string_view path) {
  return [=](const Row& row) {
    const json::value* found = api::find_path(row.document(), path);
    return found != nullptr && found->is_number() ? *found : json::value("<none>");
  };
}

TableShape priority_level_shape() {
  const auto limited = [](std::string_view name, std::string_view path) {
    return Column{
        .name = std::string(name), .description = "A limit of the level.", .cell = limit(path)};
  };
  return {.columns = {
              name_column(),
              {.name = "Type",
               .description = "Limited, or exempt from limits.",
               .cell = text("spec.type")},
              limited("NominalConcurrencyShares", "spec.limited.nominalConcurrencyShares"),
              limited("Queues", "spec.limited.limitResponse.queuing.queues"),
              limited("HandSize", "spec.limited.limitResponse.queuing.handSize"),
              limited("QueueLengthLimit", "spec.limited.limitResponse.queuing.queueLengthLimit"),
              age_column()}};
}

constexpr std::string_view kRbac = "rbac.authorization.k8s.io";
constexpr std::string_view kAdmission = "admissionregistration.k8s.io";
constexpr std::string_view kFlowControl = "flowcontrol.apiserver.k8s.io";
constexpr KindShape kShapes[] = {
    {kRbac, "RoleBinding", &binding_shape},
    {kRbac, "ClusterRoleBinding", &binding_shape},
    {"certificates.k8s.io", "CertificateSigningRequest", &signing_request_shape},
    {kAdmission, "MutatingWebhookConfiguration", &webhooks_shape},
    {kAdmission, "ValidatingWebhookConfiguration", &webhooks_shape},
    {kAdmission, "ValidatingAdmissionPolicy", &policy_shape},
    {kAdmission, "ValidatingAdmissionPolicyBinding", &policy_binding_shape},
    {kFlowControl, "FlowSchema", &flow_schema_shape},
    {kFlowControl, "PriorityLevelConfiguration", &priority_level_shape},
    {"apiregistration.k8s.io", "APIService", &api_service_shape},
};

} // namespace

std::span<const KindShape> access_shapes() {
  return kShapes;
}

} // namespace berth::server::tables
