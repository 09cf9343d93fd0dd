// One policy against one request. Sources: validating/validator.go; plugin/cel/activation.go,
// composition.go; plugin/webhook/matchconditions/matcher.go.
#include <algorithm>
#include <map>

#include <absl/strings/ascii.h>
#include <fmt/format.h>

#include "berth/server/access/rbac.h"
#include "berth/server/policies/policy.h"

namespace berth::server {
namespace {

// Source: k8s.io/apiserver/pkg/apis/cel/config.go.
constexpr std::int64_t kPerCallLimit = 1'000'000;
constexpr std::int64_t kBudget = 10'000'000;
constexpr std::size_t kLongestMessage = std::size_t{5} * 1024;

constexpr const char* kOutOfBudget =
    "validation failed due to running out of cost budget, no further validation rules will be run";

/// `variables` of a policy: each is evaluated when it is first asked for, and once.
class Variables final : public cel::Map, public std::enable_shared_from_this<Variables> {
 public:
  Variables(const std::vector<PolicyVariable>& variables, std::vector<cel::Bound> bound)
      : variables_(&variables), bound_(std::move(bound)) {}

  bool is_object() const override { return true; }
  std::size_t size() const override { return variables_->size(); }
  std::vector<cel::Value> keys() const override {
    std::vector<cel::Value> out;
    for (const PolicyVariable& one : *variables_) {
      out.emplace_back(one.name);
    }
    return out;
  }
  std::optional<cel::Value> find(const cel::Value& key) const override {
    return look_up(key).value_or(std::nullopt);
  }
  tl::expected<std::optional<cel::Value>, cel::Failure>
  look_up(const cel::Value& key) const override {
    const auto* name = key.get<std::string>();
    const auto variable = name == nullptr
                              ? variables_->end()
                              : std::ranges::find(*variables_, *name, &PolicyVariable::name);
    if (variable == variables_->end()) {
      return std::nullopt;
    }
    auto known = known_.find(*name);
    if (known == known_.end()) {
      known = known_.emplace(*name, evaluated(*variable)).first;
    }
    if (!known->second) {
      return tl::unexpected(known->second.error());
    }
    return std::optional(*known->second);
  }

  /// What evaluating variables has cost since it was last asked.
  std::int64_t take_cost() const { return std::exchange(cost_, 0); }

 private:
  cel::Outcome evaluated(const PolicyVariable& variable) const {
    if (variable.expression.program == nullptr) {
      return cel::failure(fmt::format("composited variable \"{}\" fails to compile: {}",
                                      variable.name, variable.expression.error));
    }
    std::vector<cel::Bound> bound = bound_;
    bound.push_back(
        {.name = "variables", .value = {std::shared_ptr<const Map>(shared_from_this())}});
    cel::Evaluated result = variable.expression.program->run(bound, kPerCallLimit);
    cost_ += result.cost;
    if (!result.value) {
      return cel::failure(fmt::format("composited variable \"{}\" fails to evaluate: {}",
                                      variable.name, result.value.error().what));
    }
    return std::move(result.value);
  }

  const std::vector<PolicyVariable>* variables_;
  std::vector<cel::Bound> bound_;
  mutable std::map<std::string, cel::Outcome, std::less<>> known_;
  mutable std::int64_t cost_ = 0;
};

std::vector<cel::Bound> bound_by(const PolicyInput& input) {
  return {{.name = "object", .value = input.object},
          {.name = "oldObject", .value = input.before},
          {.name = "request", .value = input.request},
          {.name = "params", .value = input.params},
          {.name = "namespaceObject", .value = input.namespace_object},
          {.name = "authorizer", .value = input.authorizer},
          {.name = "authorizer.requestResource", .value = input.request_resource}};
}

std::string trimmed(const std::string& text) {
  return std::string(absl::StripAsciiWhitespace(text));
}

class Evaluation {
 public:
  Evaluation(const Policy& policy, const PolicyInput& input)
      : policy_(&policy), bound_(bound_by(input)) {}

  PolicyVerdict verdict() {
    if (!conditions_hold()) {
      return std::move(out_);
    }
    variables_ = std::make_shared<const Variables>(policy_->variables, bound_);
    bound_.push_back({.name = "variables", .value = {std::shared_ptr<const cel::Map>(variables_)}});
    budget_ = kBudget;
    for (std::size_t i = 0; i < policy_->validations.size(); ++i) {
      validate(i);
    }
    if (out_of_budget_) {
      out_ = {};
      failed(0, kOutOfBudget);
      return std::move(out_);
    }
    budget_ = kBudget;
    for (const PolicyAnnotation& annotation : policy_->annotations) {
      annotate(annotation);
    }
    if (out_of_budget_) {
      out_ = {};
      failed(0, kOutOfBudget);
    }
    return std::move(out_);
  }

 private:
  /// The value, or the text that says why there is none.
  tl::expected<cel::Value, std::string> value_of(const PolicyExpression& expression) {
    if (expression.program == nullptr) {
      return tl::unexpected("compilation error: " + expression.error);
    }
    cel::Evaluated result = expression.program->run(bound_, kPerCallLimit);
    budget_ -= result.cost + (variables_ == nullptr ? 0 : variables_->take_cost());
    out_of_budget_ = out_of_budget_ || budget_ < 0;
    if (!result.value) {
      return tl::unexpected(fmt::format("expression '{}' resulted in error: {}", expression.text,
                                        result.value.error().what));
    }
    return *std::move(result.value);
  }

  void failed(std::size_t expression, std::string message) {
    if (!policy_->ignores_failures) {
      out_.denials.push_back(
          {.expression = expression, .message = std::move(message), .reason = {}});
    }
  }

  /// One that does not hold decides, whatever others fail with.
  bool conditions_hold() {
    std::vector<std::string> errors;
    for (const PolicyExpression& condition : policy_->conditions) {
      const auto value = value_of(condition);
      if (!value) {
        errors.push_back(value.error());
      } else if (const bool* holds = value->get<bool>(); holds != nullptr && !*holds) {
        return false;
      }
    }
    if (errors.empty()) {
      return true;
    }
    failed(0, Rbac::joined(errors));
    return false;
  }

  void validate(std::size_t i) {
    const PolicyValidation& validation = policy_->validations[i];
    const auto value = value_of(validation.expression);
    if (!value) {
      failed(i, value.error());
      return;
    }
    const bool* holds = value->get<bool>();
    if (holds == nullptr || !*holds) {
      out_.denials.push_back(
          {.expression = i, .message = message(validation), .reason = validation.reason});
    }
  }

  std::string message(const PolicyValidation& validation) {
    if (validation.message_expression.program != nullptr) {
      const auto value = value_of(validation.message_expression);
      const auto* text = value ? value->get<std::string>() : nullptr;
      std::string made = text == nullptr ? std::string() : trimmed(*text);
      if (!made.empty() && made.size() <= kLongestMessage && made.find('\n') == std::string::npos) {
        return made;
      }
    }
    std::string given = trimmed(validation.message);
    return given.empty() ? "failed expression: " + trimmed(validation.expression.text) : given;
  }

  void annotate(const PolicyAnnotation& annotation) {
    const auto value = value_of(annotation.value);
    if (!value) {
      if (!policy_->ignores_failures) {
        out_.annotation_errors.push_back(value.error());
      }
      return;
    }
    if (const auto* text = value->get<std::string>()) {
      if (std::string made = trimmed(*text); !made.empty()) {
        out_.annotations.push_back({.key = annotation.key, .value = std::move(made)});
      }
    } else if (!value->is<cel::Null>()) {
      out_.annotation_errors.push_back(
          fmt::format("valueExpression '{}' resulted in unsupported return type: {}. Return type "
                      "must be either string or null.",
                      annotation.value.text, to_string(*cel::type_of(*value))));
    }
  }

  const Policy* policy_;
  std::vector<cel::Bound> bound_;
  std::shared_ptr<const Variables> variables_;
  PolicyVerdict out_;
  std::int64_t budget_ = kBudget;
  bool out_of_budget_ = false;
};

} // namespace

PolicyVerdict evaluate(const Policy& policy, const PolicyInput& input) {
  return Evaluation(policy, input).verdict();
}

} // namespace berth::server
