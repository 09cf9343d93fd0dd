#include "berth/server/eviction.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/api/selector.h"
#include "berth/server/body.h"
#include "berth/server/judged_write.h"

namespace berth::server {
namespace {

namespace json = api::json;

const store::GroupKind kBudgets{"policy", "PodDisruptionBudget"};
constexpr int kRetryAfterSeconds = 10;
constexpr std::size_t kMostDisruptedPods = 2000;

/// What the request asks for.
struct Eviction {
  store::DeleteOptions how;
  bool dry_run = false;
};

/// Why the budget does not let the pod go now.
Status refused(std::string why, int retry_after_seconds) {
  json::array causes{json::object{{"reason", "DisruptionBudget"}, {"message", std::move(why)}}};
  json::object details{{"causes", std::move(causes)}};
  if (retry_after_seconds > 0) {
    details["retryAfterSeconds"] = retry_after_seconds;
  }
  return {.code = 429,
          .reason = "TooManyRequests",
          .message = "Cannot evict pod as it would violate the pod's disruption budget.",
          .details = std::move(details)};
}

Status being_processed(const api::Object& budget) {
  return refused(fmt::format("The disruption budget {} is still being processed by the server.",
                             budget.meta().name),
                 kRetryAfterSeconds);
}

tl::unexpected<Status> forbidden(const api::Object& budget, std::string_view why) {
  return tl::unexpected(
      status_of(Error{.code = Code::Forbidden,
                      .message = fmt::format("poddisruptionbudget.policy \"{}\" is forbidden: {}",
                                             budget.meta().name, why),
                      .where = {},
                      .causes = {}}));
}

std::int64_t number_at(const api::Object& object, std::string_view path) {
  const json::value* value = api::find_path(object.json(), path);
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

json::object* condition_in(json::object& status, std::string_view type) {
  json::value* list = status.if_contains("conditions");
  if (list == nullptr || !list->is_array()) {
    return nullptr;
  }
  const auto held = std::ranges::find_if(list->get_array(), [&](const json::value& condition) {
    return api::string_at(condition, "type") == type;
  });
  return held == list->get_array().end() ? nullptr : held->if_object();
}

bool is_ready(const api::Object& pod) {
  const json::value* conditions = api::find_path(pod.json(), "status.conditions");
  return conditions != nullptr && conditions->is_array() &&
         std::ranges::any_of(conditions->get_array(), [](const json::value& condition) {
           return api::string_at(condition, "type") == "Ready" &&
                  api::string_at(condition, "status") == "True";
         });
}

/// Whether an unready pod may go whatever the budget says (spec.unhealthyPodEvictionPolicy).
bool spared(const api::Object& budget, const api::Object& pod) {
  if (is_ready(pod)) {
    return false;
  }
  if (api::string_at(budget.json(), "spec.unhealthyPodEvictionPolicy") == "AlwaysAllow") {
    return true;
  }
  const std::int64_t desired = number_at(budget, "status.desiredHealthy");
  return number_at(budget, "status.currentHealthy") >= desired && desired > 0;
}

/// The budget after one more disruption.
api::Object less_one(const api::Object& budget, const std::string& pod, TimePoint now) {
  const std::int64_t left = number_at(budget, "status.disruptionsAllowed") - 1;
  return budget.edit([&](json::object& document) {
    json::object& status = api::object_at(document, "status");
    status["disruptionsAllowed"] = left;
    api::object_at(status, "disruptedPods")[pod] = to_rfc3339(now);
    json::object* condition = condition_in(status, "DisruptionAllowed");
    if (left == 0 && condition != nullptr) {
      (*condition)["status"] = "False";
      (*condition)["reason"] = "InsufficientPods";
      (*condition)["lastTransitionTime"] = to_rfc3339(now);
    }
  });
}

/// Takes one disruption from the budget and notes the pod in it.
Answer<void> take_disruption(const Shared& shared, const api::Object& budget,
                             const api::Object& pod, bool dry_run) {
  if (number_at(budget, "status.observedGeneration") < budget.meta().generation) {
    return tl::unexpected(being_processed(budget));
  }
  const std::int64_t allowed = number_at(budget, "status.disruptionsAllowed");
  if (allowed < 0) {
    return forbidden(budget, "pdb disruptions allowed is negative");
  }
  const json::value* noted = api::find_path(budget.json(), "status.disruptedPods");
  if (noted != nullptr && noted->is_object() && noted->get_object().size() > kMostDisruptedPods) {
    return forbidden(budget, "DisruptedPods map too big - too many evictions not confirmed by PDB "
                             "controller");
  }
  if (allowed == 0) {
    return tl::unexpected(
        refused(fmt::format("The disruption budget {} needs {} healthy pods and has {} currently",
                            budget.meta().name, number_at(budget, "status.desiredHealthy"),
                            number_at(budget, "status.currentHealthy")),
                0));
  }
  const auto written =
      shared.registry->update(less_one(budget, pod.meta().name, shared.loop->now()),
                              store::Subresource::Status, shared.loop->now(), {.dry_run = dry_run});
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
        Status{.code = 500,
               .reason = "",
               .message = "This pod has more than one PodDisruptionBudget, which the eviction "
                          "subresource does not support.",
               .details = nullptr});
  }
  if (concerned.empty() || spared(concerned.front(), pod)) {
    return {};
  }
  return take_disruption(shared, concerned.front(), pod, dry_run);
}

/// The pod says why it goes.
Result<api::Object> mark_disrupted(const Shared& shared, const api::Object& pod, bool dry_run) {
  const std::string now = to_rfc3339(shared.loop->now());
  const api::Object marked = pod.edit([&](json::object& document) {
    json::object& status = api::object_at(document, "status");
    json::object condition{
        {"type", "DisruptionTarget"},        {"status", "True"},
        {"lastProbeTime", nullptr},          {"lastTransitionTime", now},
        {"reason", "EvictionByEvictionAPI"}, {"message", "Eviction API: evicting"}};
    if (json::object* held = condition_in(status, "DisruptionTarget")) {
      *held = std::move(condition);
      return;
    }
    json::value& list = status["conditions"];
    (list.is_array() ? list.get_array() : list.emplace_array()).emplace_back(std::move(condition));
  });
  return shared.registry->update(marked, store::Subresource::Status, shared.loop->now(),
                                 {.dry_run = dry_run});
}

/// The version precondition is checked by the caller: the pod is written before it is deleted.
Answer<Eviction> wanted(const Call& call, const json::value& body, bool dry_run,
                        const api::Object& pod) {
  if (api::string_at(body, "metadata.name") != call.info.name) {
    return bad_request("name in URL does not match name in Eviction object");
  }
  Eviction out{.how = {}, .dry_run = dry_run};
  const json::value* options = api::find(body, "deleteOptions");
  if (options == nullptr) {
    return out;
  }
  if (const json::value* grace = api::find(*options, "gracePeriodSeconds");
      grace != nullptr && grace->is_number()) {
    out.how.grace_period_seconds = grace->to_number<std::int64_t>();
  }
  if (const auto uid = api::string_at(*options, "preconditions.uid"); !uid.empty()) {
    out.how.uid = uid;
  }
  const auto version = api::string_at(*options, "preconditions.resourceVersion");
  if (!version.empty() && version != fmt::to_string(pod.meta().resource_version)) {
    return tl::unexpected(status_of(Error{
        .code = Code::Conflict,
        .message = fmt::format("Operation cannot be fulfilled on pods \"{}\": Precondition failed: "
                               "ResourceVersion in precondition: {}, ResourceVersion in object "
                               "meta: {}",
                               pod.meta().name, version, pod.meta().resource_version),
        .where = {},
        .causes = {}}));
  }
  const json::value* dry = api::find(*options, "dryRun");
  out.dry_run = dry_run || (dry != nullptr && dry->is_array() && !dry->get_array().empty());
  return out;
}

} // namespace

Answer<net::HttpResponse> evict_pod(const Shared& shared, Call& call) {
  const auto query = write_query(call, "CreateOptions");
  const auto body = read_any(call);
  if (!query || !body) {
    return tl::unexpected(query ? body.error() : query.error());
  }
  const api::Key key{call.info.ns, call.info.name};
  const auto pod = shared.registry->get(store::kPods, key);
  if (!pod) {
    return tl::unexpected(status_of(pod.error()));
  }
  const auto eviction = wanted(call, *body, query->dry_run, *pod);
  if (!eviction) {
    return tl::unexpected(eviction.error());
  }
  const Errand errand{
      .kind = {"policy", "v1", "Eviction"}, .object = &*body, .dry_run = eviction->dry_run};
  if (auto judged = judge_errand(shared, call, errand); !judged) {
    return tl::unexpected(std::move(judged).error());
  }
  if (auto asked = ask_budgets(shared, *pod, eviction->dry_run); !asked) {
    return tl::unexpected(std::move(asked).error());
  }
  if (const auto marked = mark_disrupted(shared, *pod, eviction->dry_run); !marked) {
    return tl::unexpected(status_of(marked.error()));
  }
  const auto left = shared.registry->remove(store::kPods, key, eviction->how, shared.loop->now(),
                                            {.dry_run = eviction->dry_run});
  if (!left) {
    return tl::unexpected(status_of(left.error()));
  }
  json::object status = success_document(nullptr);
  status["code"] = 201;
  return answer(201, call, encode(status, call.wanted.encoding));
}

} // namespace berth::server
