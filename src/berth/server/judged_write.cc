#include "berth/server/judged_write.h"

#include <utility>

#include "berth/api/json.h"
#include "berth/server/policies/policies.h"

namespace berth::server {
namespace {

namespace json = boost::json;
using Operation = store::Attempt::Operation;

std::string text_of(Operation operation) {
  switch (operation) {
  case Operation::Create:
    return "CREATE";
  case Operation::Update:
    return "UPDATE";
  case Operation::Delete:
    return "DELETE";
  }
  return "";
}

/// CreateOptions and its kin, as far as the query says them.
json::value options_of(const Call& call, std::string_view operation) {
  const std::string_view kind = operation == "DELETE"        ? "DeleteOptions"
                                : call.info.verb == "patch"  ? "PatchOptions"
                                : call.info.verb == "update" ? "UpdateOptions"
                                                             : "CreateOptions";
  json::object out{{"kind", kind}, {"apiVersion", "meta.k8s.io/v1"}};
  for (const char* name : {"fieldManager", "fieldValidation"}) {
    if (const auto value = parameter(call.query, name); !value.empty()) {
      out[name] = value;
    }
  }
  if (const auto value = parameter(call.query, "dryRun"); !value.empty()) {
    out["dryRun"] = json::array{json::value(value)};
  }
  return out;
}

std::string subresource_text(store::Subresource subresource) {
  switch (subresource) {
  case store::Subresource::None:
    return "";
  case store::Subresource::Status:
    return "status";
  case store::Subresource::Approval:
    return "approval";
  case store::Subresource::EphemeralContainers:
    return "ephemeralcontainers";
  case store::Subresource::Resize:
    return "resize";
  }
  return "";
}

/// What a write says of itself, whoever writes.
Review review_of(const store::Attempt& attempt, const User& user) {
  const api::Object& object = *(attempt.object != nullptr ? attempt.object : attempt.before);
  const bool is_namespace = attempt.kind == store::kNamespaces;
  return {.operation = text_of(attempt.operation),
          .kind = object.gvk(),
          .served = object.gvk(),
          .resource = api::plural_of(object.gvk()),
          .subresource = subresource_text(attempt.subresource),
          .name = object.meta().name,
          .ns = is_namespace ? object.meta().name : object.meta().ns,
          .object = attempt.object == nullptr ? nullptr : &attempt.object->json(),
          .before = attempt.before == nullptr ? nullptr : &attempt.before->json(),
          .options = json::object(),
          .dry_run = attempt.dry_run,
          .user = &user};
}

} // namespace

store::WriteOptions judged_write(const Shared& shared, Call& call, bool dry_run) {
  store::WriteOptions out{.dry_run = dry_run};
  out.as_events = call.info.group == "events.k8s.io";
  out.notes = &call.notes;
  out.admit = [&shared, &call](const store::Attempt& attempt) -> Result<void> {
    if (shared.policies->empty()) {
      return {};
    }
    Review review = review_of(attempt, call.user);
    review.served.group = call.info.group;
    review.served.version = call.info.version;
    review.resource = call.info.resource;
    review.subresource = call.info.subresource;
    review.options = options_of(call, review.operation);
    return shared.policies->judge(review, &call.notes);
  };
  return out;
}

Answer<void> judge_errand(const Shared& shared, Call& call, const Errand& errand) {
  if (shared.policies->empty()) {
    return {};
  }
  const Review review{.operation = errand.operation,
                      .kind = errand.kind,
                      .served = {call.info.group, call.info.version, ""},
                      .resource = call.info.resource,
                      .subresource = call.info.subresource,
                      .name = call.info.name,
                      .ns = call.info.ns,
                      .object = errand.object,
                      .before = errand.before,
                      .options = errand.operation == "CONNECT"
                                     ? errand.object == nullptr ? json::value() : *errand.object
                                     : options_of(call, errand.operation),
                      .dry_run = errand.dry_run,
                      .user = &call.user};
  const Result<void> judged = shared.policies->judge(review, &call.notes);
  if (!judged) {
    return tl::unexpected(status_of(judged.error()));
  }
  return {};
}

store::Admit judged_components(const Policies& policies) {
  return [&policies](const store::Attempt& attempt) -> Result<void> {
    static const User kComponents{.name = "system:kube-controller-manager",
                                  .uid = {},
                                  .groups = {kAuthenticated},
                                  .extra = {}};
    return policies.empty() ? Result<void>()
                            : policies.judge(review_of(attempt, kComponents), nullptr);
  };
}

} // namespace berth::server
