#include "berth/store/quota.h"

#include <algorithm>

#include <boost/json/value.hpp>
#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/api/same.h"
#include "berth/model/requests.h"
#include "berth/store/document.h"
#include "berth/store/errors.h"

namespace berth::store {
namespace {

using model::ResourceList;

constexpr int kPublishAttempts = 5;

/// requests.cpu and limits.memory must be given where a quota counts them; extended resources need
/// not.
bool must_be_given(std::string_view name) {
  return name == "cpu" || name == "memory" || name == "requests.cpu" || name == "requests.memory" ||
         name == "limits.cpu" || name == "limits.memory";
}

ResourceList effective_limits(const model::PodSpec& spec) {
  model::PodSpec limited = spec;
  for (auto* list : {&limited.containers, &limited.init_containers}) {
    for (model::Container& container : *list) {
      container.resources.requests = std::exchange(container.resources.limits, {});
    }
  }
  if (limited.resources) {
    limited.resources->requests = std::exchange(limited.resources->limits, {});
  }
  return model::effective_requests(limited);
}

const api::json::array* list_at(const api::json::value& value, std::string_view path) {
  const api::json::value* found = api::find_path(value, path);
  return found == nullptr ? nullptr : found->if_array();
}

bool scope_matches(std::string_view scope, const model::Pod& pod) {
  const bool best_effort = model::qos_class(pod.spec) == "BestEffort";
  const bool terminating = pod.spec.active_deadline_seconds.has_value();
  if (scope == "BestEffort" || scope == "NotBestEffort") {
    return best_effort == (scope == "BestEffort");
  }
  if (scope == "Terminating" || scope == "NotTerminating") {
    return terminating == (scope == "Terminating");
  }
  return scope == "PriorityClass" && !pod.spec.priority_class_name.empty();
}

bool expression_matches(const api::json::value& expression, const model::Pod& pod) {
  const std::string_view scope = api::string_at(expression, "scopeName");
  if (scope != "PriorityClass") {
    return scope_matches(scope, pod);
  }
  const auto op = api::parse_operator(api::string_at(expression, "operator"));
  if (!op) {
    return false;
  }
  api::Requirement requirement{.key = "class", .op = *op, .values = {}};
  if (const api::json::array* values = list_at(expression, "values")) {
    for (const api::json::value& value : *values) {
      requirement.values.emplace_back(value.is_string() ? std::string_view(value.get_string())
                                                        : "");
    }
  }
  const std::string& name = pod.spec.priority_class_name;
  return requirement.matches(name.empty() ? api::Labels() : api::Labels{{"class", name}});
}

/// Whether the key counts pods or what they ask for. Other objects are counted by the quota
/// controller, which keeps those keys of status.used.
bool is_of_pods(std::string_view name) {
  return name == "pods" || name == "count/pods" || name == "cpu" || name == "memory" ||
         name == "ephemeral-storage" || name.starts_with("hugepages-") ||
         name.starts_with("limits.") ||
         (name.starts_with("requests.") && name != "requests.storage");
}

std::string listed(const ResourceList& amounts, const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) {
    const auto found = amounts.find(name);
    out += fmt::format("{}{}={}", out.empty() ? "" : ",", name,
                       found == amounts.end() ? "0" : found->second.to_string());
  }
  return out;
}

/// "must specify limits.cpu for: c,d; ..."; "" when every container says what the quota counts.
std::string unspecified(const ResourceList& hard, const model::PodSpec& spec) {
  std::string out;
  for (const auto& [name, limit] : hard) {
    if (!must_be_given(name)) {
      continue;
    }
    const bool is_limit = name.starts_with("limits.");
    const std::string resource = name.substr(name.rfind('.') + 1);
    std::vector<std::string> lacking;
    for (const auto* list : {&spec.containers, &spec.init_containers}) {
      for (const model::Container& container : *list) {
        const ResourceList& given =
            is_limit ? container.resources.limits : container.resources.requests;
        if (!given.contains(resource)) {
          lacking.push_back(container.name);
        }
      }
    }
    if (!lacking.empty()) {
      std::ranges::sort(lacking);
      out += fmt::format("{}{} for: {}", out.empty() ? "must specify " : "; ", name,
                         fmt::join(lacking, ","));
    }
  }
  return out;
}

void add(ResourceList& used, const ResourceList& hard, const ResourceList& usage) {
  for (const auto& [name, amount] : usage) {
    if (hard.contains(name)) {
      used[name] += amount;
    }
  }
}

void subtract(ResourceList& used, const ResourceList& hard, const ResourceList& usage) {
  for (const auto& [name, amount] : usage) {
    if (hard.contains(name)) {
      used[name] -= amount;
    }
  }
}

api::json::object amounts(const ResourceList& list) {
  api::json::object out;
  for (const auto& [name, quantity] : list) {
    out[name] = quantity.to_string();
  }
  return out;
}

} // namespace

ResourceList quota_usage(const model::Pod& pod) {
  ResourceList usage{{"count/pods", api::Quantity::from_int(1)}};
  if (pod.terminal()) {
    return usage;
  }
  usage["pods"] = api::Quantity::from_int(1);
  for (const auto& [name, quantity] : model::effective_requests(pod.spec)) {
    usage["requests." + name] = quantity;
    if (name == "cpu" || name == "memory" || name == "ephemeral-storage" ||
        name.starts_with("hugepages-")) {
      usage[name] = quantity;
    }
  }
  for (const auto& [name, quantity] : effective_limits(pod.spec)) {
    if (name == "cpu" || name == "memory" || name == "ephemeral-storage") {
      usage["limits." + name] = quantity;
    }
  }
  return usage;
}

bool quota_covers(const api::json::value& quota, const model::Pod& pod) {
  if (const api::json::array* scopes = list_at(quota, "spec.scopes")) {
    for (const api::json::value& scope : *scopes) {
      if (!scope.is_string() || !scope_matches(scope.get_string(), pod)) {
        return false;
      }
    }
  }
  if (const api::json::array* expressions = list_at(quota, "spec.scopeSelector.matchExpressions")) {
    return std::ranges::all_of(*expressions,
                               [&](const auto& one) { return expression_matches(one, pod); });
  }
  return true;
}

QuotaLedger::Account QuotaLedger::open_account(const Store& store, const api::Object& quota) {
  Account account{.quota = quota, .hard = {}, .used = {}};
  const auto view = model::resource_quota_view(quota);
  if (!view) {
    return account;
  }
  account.hard = (*view)->hard;
  for (const api::Object& object : store.list({.kind = kPods, .ns = quota.meta().ns}).items) {
    const auto pod = model::pod_view(object);
    if (pod && quota_covers(quota.json(), **pod)) {
      add(account.used, account.hard, quota_usage(**pod));
    }
  }
  return account;
}

void QuotaLedger::forget_if_shared(const Store& store, const std::string& ns) {
  if (store.shared()) {
    books_.erase(ns);
  }
}

QuotaLedger::Book& QuotaLedger::book_of(const Store& store, const std::string& ns) {
  const auto known = books_.find(ns);
  if (known != books_.end()) {
    return known->second;
  }
  Book& book = books_[ns];
  for (const api::Object& quota : store.list({.kind = kResourceQuotas, .ns = ns}).items) {
    book.emplace(quota.meta().name, open_account(store, quota));
  }
  return book;
}

Result<void> QuotaLedger::admit(const Store& store, const api::Object& object,
                                const api::Object* before) {
  forget_if_shared(store, object.meta().ns);
  const Book& book = book_of(store, object.meta().ns);
  if (book.empty()) {
    return {};
  }
  BERTH_TRY(const auto pod, model::pod_view(object));
  ResourceList usage = quota_usage(*pod);
  if (before != nullptr) {
    BERTH_TRY(const auto was, model::pod_view(*before));
    const ResourceList held = quota_usage(*was);
    subtract(usage, held, held);
  }
  for (const auto& [name, account] : book) {
    if (!quota_covers(account.quota.json(), *pod)) {
      continue;
    }
    if (const std::string missing = unspecified(account.hard, pod->spec); !missing.empty()) {
      return forbidden(kPods, object.meta().name,
                       fmt::format("failed quota: {}: {}", name, missing));
    }
    std::vector<std::string> exceeded;
    for (const auto& [resource, limit] : account.hard) {
      const auto asked = usage.find(resource);
      const auto held = account.used.find(resource);
      if (asked != usage.end() && asked->second.sign() > 0 &&
          asked->second + (held == account.used.end() ? api::Quantity() : held->second) > limit) {
        exceeded.push_back(resource);
      }
    }
    if (!exceeded.empty()) {
      return forbidden(kPods, object.meta().name,
                       fmt::format("exceeded quota: {}, requested: {}, used: {}, limited: {}", name,
                                   listed(usage, exceeded), listed(account.used, exceeded),
                                   listed(account.hard, exceeded)));
    }
  }
  return {};
}

void QuotaLedger::publish(Store& store, Account& account) {
  for (int attempt = 0; attempt < kPublishAttempts; ++attempt) {
    const auto current = store.get(kResourceQuotas, account.quota.key());
    if (!current) {
      return;
    }
    if (attempt > 0) { // another process counted meanwhile; what it counted is known now
      account = open_account(store, *current);
    }
    const auto written = publish_once(store, *current, account);
    if (written || written.error().code != Code::Conflict) {
      return;
    }
  }
}

Result<void> QuotaLedger::publish_once(Store& store, const api::Object& current, Account& account) {
  ResourceList used = account.used;
  const auto view = model::resource_quota_view(current);
  for (const auto& [name, limit] : account.hard) {
    if (!is_of_pods(name) && view && (*view)->used.contains(name)) {
      used.emplace(name, (*view)->used.find(name)->second);
    }
    used.try_emplace(name);
  }
  api::json::value document = editable(current.json());
  document.as_object()["status"] = {{"hard", amounts(account.hard)}, {"used", amounts(used)}};
  if (api::same(document, current.json())) {
    return {};
  }
  BERTH_TRY(account.quota,
            store.put(std::move(document), current.meta().resource_version, Check()));
  return {};
}

void QuotaLedger::committed(Store& store, const api::Object& before, const api::Object& now) {
  const api::Object& either = now ? now : before;
  const GroupKind kind = group_kind(either);
  const std::string& ns = either.meta().ns;
  if (kind == kResourceQuotas) {
    Book& book = book_of(store, ns);
    book.erase(either.meta().name);
    if (now) {
      Account& account = book.emplace(now.meta().name, open_account(store, now)).first->second;
      publish(store, account);
    }
    return;
  }
  if (kind != kPods) {
    return;
  }
  if (store.shared()) {
    forget_if_shared(store, ns);
    for (auto& [name, account] : book_of(store, ns)) {
      publish(store, account);
    }
    return;
  }
  const auto known = books_.find(ns);
  if (known == books_.end() || known->second.empty()) {
    return; // nothing to keep true; a first quota counts what is there
  }
  for (auto& [name, account] : known->second) {
    const ResourceList held = account.used;
    for (const bool is_new : {false, true}) {
      const api::Object& object = is_new ? now : before;
      const auto pod =
          object ? model::pod_view(object) : Result<std::shared_ptr<const model::Pod>>();
      if (object && pod && quota_covers(account.quota.json(), **pod)) {
        (is_new ? add : subtract)(account.used, account.hard, quota_usage(**pod));
      }
    }
    if (held != account.used) {
      publish(store, account);
    }
  }
}

} // namespace berth::store
