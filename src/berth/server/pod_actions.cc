#include "berth/server/pod_actions.h"

#include <vector>

#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/api/selector.h"
#include "berth/server/body.h"

namespace berth::server {
namespace {

namespace json = api::json;

const store::GroupKind kBudgets{"policy", "PodDisruptionBudget"};
constexpr int kRetryAfterSeconds = 10;

net::HttpResponse created(const Call& call) {
  json::object status = success_document(nullptr);
  status["code"] = 201;
  return answer(201, call, encode(status, call.wanted.encoding));
}

Answer<WriteQuery> options(const Call& call) {
  return write_query(call, "CreateOptions");
}

/// Why the budget does not let the pod go now.
Status refused(std::string why) {
  json::array causes{json::object{{"reason", "DisruptionBudget"}, {"message", std::move(why)}}};
  return {.code = 429,
          .reason = "TooManyRequests",
          .message = "Cannot evict pod as it would violate the pod's disruption budget.",
          .details = json::object{{"causes", std::move(causes)},
                                  {"retryAfterSeconds", kRetryAfterSeconds}}};
}

std::int64_t number_at(const json::value& document, std::string_view path) {
  const json::value* value = api::find_path(document, path);
  return value != nullptr && value->is_number() ? value->to_number<std::int64_t>() : 0;
}

bool selects(const api::Object& budget, const api::Object& pod) {
  const json::value* selector = api::find_path(budget.json(), "spec.selector");
  if (selector == nullptr) {
    return false;
  }
  const auto parsed = api::parse_label_selector(*selector);
  return parsed && parsed->matches(pod.meta().labels);
}

/// A pod that has ended, or never ran, disrupts nothing.
bool is_idle(const api::Object& pod) {
  const std::string_view phase = api::string_at(pod.json(), "status.phase");
  return phase == "Succeeded" || phase == "Failed" || phase == "Pending" ||
         pod.meta().deletion_timestamp.has_value();
}

bool is_ready(const api::Object& pod) {
  const json::value* conditions = api::find_path(pod.json(), "status.conditions");
  if (conditions == nullptr || !conditions->is_array()) {
    return false;
  }
  for (const json::value& condition : conditions->get_array()) {
    if (api::string_at(condition, "type") == "Ready") {
      return api::string_at(condition, "status") == "True";
    }
  }
  return false;
}

/// Whether an unready pod may go whatever the budget says (spec.unhealthyPodEvictionPolicy).
bool spared(const api::Object& budget, const api::Object& pod) {
  if (is_ready(pod)) {
    return false;
  }
  if (api::string_at(budget.json(), "spec.unhealthyPodEvictionPolicy") == "AlwaysAllow") {
    return true;
  }
  const std::int64_t healthy = number_at(budget.json(), "status.currentHealthy");
  return healthy >= number_at(budget.json(), "status.desiredHealthy") && healthy > 0;
}

/// Takes one disruption from the budget and notes the pod in it.
Answer<void> take_disruption(const Shared& shared, const api::Object& budget,
                             const api::Object& pod, bool dry_run) {
  const std::int64_t allowed = number_at(budget.json(), "status.disruptionsAllowed");
  if (number_at(budget.json(), "status.observedGeneration") < budget.meta().generation) {
    return tl::unexpected(refused(fmt::format(
        "The disruption budget {} is still being processed by the server.", budget.meta().name)));
  }
  if (allowed <= 0) {
    return tl::unexpected(
        refused(fmt::format("The disruption budget {} needs {} healthy pods and has {} currently",
                            budget.meta().name, number_at(budget.json(), "status.desiredHealthy"),
                            number_at(budget.json(), "status.currentHealthy"))));
  }
  const api::Object taken = budget.edit([&](json::object& document) {
    json::object& status = api::object_at(document, "status");
    status["disruptionsAllowed"] = allowed - 1;
    api::object_at(status, "disruptedPods")[pod.meta().name] = to_rfc3339(shared.loop->now());
  });
  const auto written = shared.registry->update(taken, store::Subresource::Status,
                                               shared.loop->now(), {.dry_run = dry_run});
  if (!written) {
    return tl::unexpected(status_of(written.error()));
  }
  return {};
}

Answer<void> ask_budgets(const Shared& shared, const api::Object& pod, bool dry_run) {
  if (is_idle(pod)) {
    return {};
  }
  std::vector<api::Object> concerned;
  for (const api::Object& budget :
       shared.registry->list({.kind = kBudgets, .ns = pod.meta().ns, .labels = {}}).items) {
    if (selects(budget, pod)) {
      concerned.push_back(budget);
    }
  }
  if (concerned.size() > 1) {
    return tl::unexpected(
        internal_error("This pod has more than one PodDisruptionBudget, which the eviction "
                       "subresource does not support."));
  }
  if (concerned.empty() || spared(concerned.front(), pod)) {
    return {};
  }
  return take_disruption(shared, concerned.front(), pod, dry_run);
}

} // namespace

Answer<net::HttpResponse> bind_pod(const Shared& shared, Call& call) {
  const auto query = options(call);
  const auto body = read_any(call);
  if (!query || !body) {
    return tl::unexpected(query ? body.error() : query.error());
  }
  const std::string_view named = api::string_at(*body, "metadata.name");
  store::Binding binding{
      .pod = {call.info.ns, call.info.name.empty() ? std::string(named) : call.info.name},
      .uid = std::string(api::string_at(*body, "metadata.uid")),
      .node = std::string(api::string_at(*body, "target.name")),
      .annotations = {}};
  if (binding.node.empty()) {
    return tl::unexpected(Status{
        .code = 500, .reason = "", .message = "target.name: Required value", .details = nullptr});
  }
  if (const json::value* annotations = api::find_path(*body, "metadata.annotations");
      annotations != nullptr && annotations->is_object()) {
    for (const auto& [key, value] : annotations->get_object()) {
      if (value.is_string()) {
        binding.annotations.emplace(key, std::string_view(value.get_string()));
      }
    }
  }
  const auto bound =
      shared.registry->bind(binding, shared.loop->now(), {.dry_run = query->dry_run});
  if (!bound) {
    return tl::unexpected(status_of(bound.error()));
  }
  return created(call);
}

Answer<net::HttpResponse> evict_pod(const Shared& shared, Call& call) {
  const auto query = options(call);
  const auto body = read_any(call);
  if (!query || !body) {
    return tl::unexpected(query ? body.error() : query.error());
  }
  const api::Key key{call.info.ns, call.info.name};
  const auto pod = shared.registry->get(store::kPods, key);
  if (!pod) {
    return tl::unexpected(status_of(pod.error()));
  }
  store::DeleteOptions how;
  if (const json::value* grace = api::find_path(*body, "deleteOptions.gracePeriodSeconds");
      grace != nullptr && grace->is_number()) {
    how.grace_period_seconds = grace->to_number<std::int64_t>();
  }
  if (const auto uid = api::string_at(*body, "deleteOptions.preconditions.uid"); !uid.empty()) {
    how.uid = uid;
  }
  if (auto asked = ask_budgets(shared, *pod, query->dry_run); !asked) {
    return tl::unexpected(std::move(asked).error());
  }
  const auto left = shared.registry->remove(store::kPods, key, how, shared.loop->now(),
                                            {.dry_run = query->dry_run});
  if (!left) {
    return tl::unexpected(status_of(left.error()));
  }
  return created(call);
}

} // namespace berth::server
