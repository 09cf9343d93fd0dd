#include "berth/server/policies/policies.h"

#include <algorithm>
#include <utility>

#include <boost/json/array.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "berth/api/json.h"
#include "berth/server/policies/policy_input.h"
#include "berth/server/policies/policy_match.h"
#include "berth/server/policies/policy_params.h"

namespace berth::server {
namespace {

namespace json = boost::json;

const store::GroupKind kPolicies{"admissionregistration.k8s.io", "ValidatingAdmissionPolicy"};
const store::GroupKind kBindings{"admissionregistration.k8s.io",
                                 "ValidatingAdmissionPolicyBinding"};
constexpr std::size_t kLongestAnnotation = std::size_t{10} * 1024;

/// Policies are never about policies: else one could lock everybody out of changing it.
bool is_exempt(const Review& review) {
  return review.served.group == kPolicies.group &&
         (review.resource.starts_with("validatingadmissionpolic") ||
          review.resource.starts_with("mutatingadmissionpolic"));
}

Code code_of(std::string_view reason) {
  return reason == "Unauthorized"            ? Code::Unauthorized
         : reason == "Forbidden"             ? Code::Forbidden
         : reason == "RequestEntityTooLarge" ? Code::RequestEntityTooLarge
                                             : Code::Invalid;
}

std::string written(const api::GroupVersionKind& gvk) {
  return fmt::format("{}/{}, Kind={}", gvk.group, gvk.version, gvk.kind);
}

/// What one request meets: the first denial is its answer.
class Judgement {
 public:
  Judgement(const Review& review, store::AdmissionNotes* notes) : review_(&review), notes_(notes) {}

  Result<void> result() { return std::move(result_); }

  void deny(const std::string& policy, const std::string* binding, std::string_view message,
            std::string_view reason) {
    if (!result_) {
      return;
    }
    const std::string with = binding == nullptr ? "" : fmt::format(" with binding '{}'", *binding);
    const std::string text =
        fmt::format("ValidatingAdmissionPolicy '{}'{} denied request: {}", policy, with, message);
    const std::string& group = review_->served.group;
    result_ = tl::unexpected(
        Error{.code = code_of(reason),
              .message = fmt::format("{}{}{} \"{}\" is forbidden: {}", review_->resource,
                                     group.empty() ? "" : ".", group,
                                     review_->name.empty() ? "Unknown" : review_->name, text),
              .where = {},
              .causes = {{.code = Code::Invalid, .message = text, .where = {}, .causes = {}}}});
  }

  void apply(const std::string& policy, const api::Object& binding, const PolicyVerdict& verdict) {
    const std::string& name = binding.meta().name;
    const json::value* actions = api::find_path(binding.json(), "spec.validationActions");
    for (const PolicyVerdict::Denial& denial : verdict.denials) {
      if (actions == nullptr || !actions->is_array()) {
        continue;
      }
      for (const json::value& action : actions->get_array()) {
        act(action.is_string() ? std::string_view(action.get_string()) : "", policy, name, *actions,
            denial);
      }
    }
    for (const PolicyVerdict::Annotation& one : verdict.annotations) {
      std::vector<std::string>& values = annotations_[policy + "/" + one.key];
      const std::string value = one.value.substr(0, kLongestAnnotation);
      if (std::ranges::find(values, value) == values.end()) {
        values.push_back(value);
      }
    }
    for (const std::string& error : verdict.annotation_errors) {
      deny(policy, &name, error, "");
    }
  }

  /// Writes the annotations down.
  void finish() {
    if (notes_ != nullptr) {
      for (const auto& [key, values] : annotations_) {
        notes_->annotations.emplace(key, fmt::format("{}", fmt::join(values, ", ")));
      }
    }
  }

 private:
  void act(std::string_view action, const std::string& policy, const std::string& binding,
           const json::value& actions, const PolicyVerdict::Denial& denial) {
    if (action == "Deny") {
      deny(policy, &binding, denial.message, denial.reason);
    } else if (notes_ == nullptr) {
      return;
    } else if (action == "Warn") {
      notes_->warnings.push_back(
          fmt::format("Validation failed for ValidatingAdmissionPolicy '{}' with binding '{}': {}",
                      policy, binding, denial.message));
    } else if (action == "Audit") {
      json::array failures{json::object{{"message", denial.message},
                                        {"policy", policy},
                                        {"binding", binding},
                                        {"expressionIndex", denial.expression},
                                        {"validationActions", actions}}};
      notes_->annotations.emplace("validation.policy.admission.k8s.io/validation_failure",
                                  api::to_json(failures));
    }
  }

  const Review* review_;
  store::AdmissionNotes* notes_;
  std::map<std::string, std::vector<std::string>> annotations_;
  Result<void> result_;
};

std::vector<std::string> versions_of(const Resources& resources, const Review& review) {
  std::vector<std::string> out;
  for (const schema::Resource* one : resources.all()) {
    if (one->group == review.served.group && one->plural == review.resource) {
      out.push_back(one->version);
    }
  }
  return out;
}

} // namespace

/// A request, and what it is matched by.
struct Policies::Asked {
  const Review& review;
  api::Object space; ///< the namespace that it is in; empty if there is none
  std::vector<std::string> versions;

  Result<std::optional<Match>> matches(const json::value& resources) const {
    return match(resources, review, space ? &space.json() : nullptr, versions);
  }
};

Result<std::unique_ptr<Policies>> Policies::open(store::Registry& registry,
                                                 const Resources& resources, const Rbac& rbac) {
  std::unique_ptr<Policies> made(new Policies(registry, resources, rbac));
  Policies* const self = made.get();
  const auto follow = [&](const store::GroupKind& kind, store::Sink sink) -> Result<void> {
    store::WatchOptions options;
    options.what.kind = kind;
    options.bookmarks = false;
    BERTH_TRY(auto subscription, registry.watch(options, std::move(sink)));
    self->subscriptions_.push_back(std::move(subscription));
    return {};
  };
  BERTH_CHECK(
      follow(kPolicies, [self](const store::WatchEvent& event) { self->policy_event(event); }));
  BERTH_CHECK(
      follow(kBindings, [self](const store::WatchEvent& event) { self->binding_event(event); }));
  return made;
}

void Policies::policy_event(const store::WatchEvent& event) {
  if (event.type == store::WatchEvent::Type::Bookmark) {
    return;
  }
  const std::string& name = event.object.meta().name;
  compiled_.erase(name);
  policies_.erase(name);
  if (event.type != store::WatchEvent::Type::Deleted) {
    policies_.emplace(name, event.object);
  }
}

void Policies::binding_event(const store::WatchEvent& event) {
  if (event.type == store::WatchEvent::Type::Bookmark) {
    return;
  }
  const std::string& name = event.object.meta().name;
  if (const auto known = policy_of_.find(name); known != policy_of_.end()) {
    const auto bound = bindings_.find(known->second);
    bound->second.erase(name);
    if (bound->second.empty()) {
      bindings_.erase(bound);
    }
    policy_of_.erase(known);
  }
  if (event.type != store::WatchEvent::Type::Deleted) {
    const std::string policy(api::string_at(event.object.json(), "spec.policyName"));
    policy_of_.emplace(name, policy);
    bindings_[policy].emplace(name, event.object);
  }
}

const Policy& Policies::compiled(const std::string& name, const api::Object& object) const {
  std::shared_ptr<const Policy>& slot = compiled_[name];
  if (slot == nullptr) {
    slot = compile_policy(object);
  }
  return *slot;
}

/// One policy at work on one request.
struct Policies::Work {
  const std::string& name;
  const Policy& policy;
  const Bindings& bindings;
  const Asked& asked;
  Judgement& judgement;

  void misconfigured(const std::string* binding, const std::string& why) const {
    if (!policy.ignores_failures) {
      judgement.deny(
          name, binding,
          fmt::format("failed to configure {}: {}", binding == nullptr ? "policy" : "binding", why),
          "");
    }
  }
};

void Policies::judge_by(const Work& work) const {
  const json::value* constraints =
      api::find_path(work.policy.object.json(), "spec.matchConstraints");
  if (constraints == nullptr) {
    return;
  }
  const auto matched = work.asked.matches(*constraints);
  if (!matched) {
    work.misconfigured(nullptr, matched.error().message);
    return;
  }
  if (!*matched) {
    return;
  }
  const schema::Resource* param_kind = nullptr;
  if (work.policy.param_kind) {
    param_kind = resources_->of(*work.policy.param_kind);
    if (param_kind == nullptr) {
      work.misconfigured(nullptr,
                         fmt::format("failed to find resource referenced by paramKind: '{}'",
                                     written(*work.policy.param_kind)));
      return;
    }
  }
  const ReviewValues values(work.asked.review, (*matched)->version, work.asked.space, *rbac_);
  for (const auto& [name, binding] : work.bindings) {
    const auto params = params_for(binding, param_kind, work.asked);
    if (!params) {
      work.misconfigured(&name, params.error().message);
      continue;
    }
    for (const api::Object& one : *params) {
      work.judgement.apply(work.name, binding, evaluate(work.policy, values.input(one)));
    }
  }
}

Result<std::vector<api::Object>> Policies::params_for(const api::Object& binding,
                                                      const schema::Resource* param_kind,
                                                      const Asked& asked) const {
  const json::value* narrowed = api::find_path(binding.json(), "spec.matchResources");
  if (narrowed != nullptr && narrowed->is_object()) {
    BERTH_TRY(const std::optional<Match> bound, asked.matches(*narrowed));
    if (!bound) {
      return std::vector<api::Object>();
    }
  }
  if (param_kind == nullptr) {
    return std::vector<api::Object>{api::Object()};
  }
  return params_of(api::find_path(binding.json(), "spec.paramRef"), *param_kind, asked.review.ns,
                   *registry_);
}

Result<void> Policies::judge(const Review& review, store::AdmissionNotes* notes) const {
  if (empty() || is_exempt(review)) {
    return {};
  }
  Asked asked{.review = review, .space = {}, .versions = versions_of(*resources_, review)};
  if (!review.ns.empty() && !review.of_namespace()) {
    if (auto found = registry_->get(store::kNamespaces, {"", review.ns})) {
      asked.space = *std::move(found);
    }
  }
  Judgement judgement(review, notes);
  for (const auto& [name, bindings] : bindings_) {
    if (const auto stored = policies_.find(name); stored != policies_.end()) {
      judge_by({.name = name,
                .policy = compiled(name, stored->second),
                .bindings = bindings,
                .asked = asked,
                .judgement = judgement});
    }
  }
  judgement.finish();
  return judgement.result();
}

} // namespace berth::server
