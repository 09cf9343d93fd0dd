// Objects against the rules of their definition. Source: apiextensions-apiserver
// pkg/apiserver/schema/cel/validation.go.
#include <algorithm>
#include <optional>

#include <absl/strings/ascii.h>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/string.hpp>
#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/api/same.h"
#include "berth/cel/json_value.h"
#include "berth/schema/cel_rules.h"
#include "berth/schema/lists.h"
#include "berth/schema/rule_path.h"

namespace berth::schema {
namespace {

namespace json = boost::json;

// Source: k8s.io/apiserver/pkg/apis/cel/config.go.
constexpr std::int64_t kPerCallLimit = 1'000'000;
constexpr std::int64_t kBudget = 10'000'000;
constexpr std::size_t kLongestMessage = std::size_t{5} * 1024;

/// What an error calls a rule.
std::string title(const CelRule& rule) {
  return std::string(absl::StripAsciiWhitespace(rule.message.empty() ? rule.rule : rule.message));
}

/// A value and what it was. `unchanged`: it, or what it stands in, is as it was.
struct Pair {
  const json::value& now;
  const json::value* before = nullptr;
  bool unchanged = false;

  Pair below(const json::value& value, const json::value* old) const {
    return {.now = value,
            .before = old,
            .unchanged = unchanged || (old != nullptr && api::same(value, *old))};
  }
};

class Validator {
 public:
  FieldErrors take() { return std::move(errors_); }

  void place(const CelRules& rules, const Pair& pair, const std::string& path) {
    if (pair.now.is_null() || budget_ < 0) {
      return;
    }
    evaluate(rules, pair, path);
    for (const CelRules& one : rules.all_of) {
      place(one, pair, path);
    }
    if (const auto* object = pair.now.if_object()) {
      members(rules, *object, pair, path);
    } else if (const auto* array = pair.now.if_array(); array != nullptr) {
      for (const CelRules& element : rules.elements) {
        items(element, *rules.type, *array, pair, path);
      }
    }
  }

 private:
  void add(FieldError error) { errors_.push_back(std::move(error)); }
  static std::string named(const std::string& path) { return path.empty() ? "<nil>" : path; }

  void members(const CelRules& rules, const json::object& object, const Pair& pair,
               const std::string& path) {
    const auto* old =
        pair.before == nullptr || rules.type->atomic ? nullptr : pair.before->if_object();
    const auto before = [&](std::string_view name) {
      return old == nullptr ? nullptr : old->if_contains(name);
    };
    for (const CelRules& element : rules.elements) {
      for (const auto& [name, value] : object) {
        place(element, pair.below(value, before(name)), fmt::format("{}[{}]", path, name));
      }
    }
    for (const CelField& field : rules.fields) {
      if (const json::value* value = object.if_contains(field.name)) {
        place(field.rules, pair.below(*value, before(field.name)),
              path.empty() ? field.name : fmt::format("{}.{}", path, field.name));
      }
    }
  }

  void items(const CelRules& element, const Type& list, const json::array& array, const Pair& pair,
             const std::string& path) {
    const auto* old = pair.before == nullptr ? nullptr : pair.before->if_array();
    for (std::size_t i = 0; i < array.size(); ++i) {
      place(element, pair.below(array[i], same_element(list, array[i], old)),
            fmt::format("{}[{}]", path, i));
    }
  }

  // ---- the rules of one place
  // --------------------------------------------------------------------

  void evaluate(const CelRules& rules, const Pair& pair, const std::string& path) {
    if (rules.rules.empty()) {
      return;
    }
    for (const CelRule& rule : rules.rules) {
      const bool skipped = rule.uses_old_self && pair.before == nullptr && !rule.optional_old_self;
      if (rule.program == nullptr || skipped) {
        continue;
      }
      if (budget_ <= 0) {
        out_of_budget(rules, path);
        return;
      }
      std::vector<cel::Bound> variables = {
          {.name = "self", .value = cel::from_json(pair.now, rules.self)}};
      if (pair.before != nullptr || rule.optional_old_self) {
        const cel::Value old =
            pair.before == nullptr ? cel::none() : cel::from_json(*pair.before, rules.self);
        variables.push_back(
            {.name = "oldSelf",
             .value = rule.optional_old_self && pair.before != nullptr ? cel::some(old) : old});
      }
      if (!evaluate(rule, rules, variables, pair, path)) {
        budget_ = -1;
        return;
      }
    }
  }

  void out_of_budget(const CelRules& rules, const std::string& path) {
    add(invalid_value(named(path), type_value(rules),
                      "validation failed due to running out of cost budget, no further validation "
                      "rules will be run"));
    budget_ = -1;
  }

  static json::value type_value(const CelRules& rules) {
    return json::value(json_name(rules.type->form));
  }

  /// false: nothing more is evaluated.
  bool evaluate(const CelRule& rule, const CelRules& rules, std::span<const cel::Bound> variables,
                const Pair& pair, const std::string& path) {
    const cel::Evaluated result = rule.program->run(variables, kPerCallLimit);
    const auto wrong = [&](const std::string& what) {
      add(invalid_value(named(path), type_value(rules), what));
    };
    if (!result.value && result.value.error().what == cel::kCostExceeded) {
      wrong(fmt::format("'{}': no further validation rules will be run due to call cost exceeds "
                        "limit for rule: {}",
                        result.value.error().what, title(rule)));
      return false;
    }
    if (result.cost > budget_) {
      out_of_budget(rules, path);
      return false;
    }
    budget_ -= result.cost;
    if (!result.value) {
      const std::string& what = result.value.error().what;
      wrong(what.starts_with("no such overload")
                ? fmt::format("'{}': call arguments did not match a supported operator, function "
                              "or macro signature for rule: {}",
                              what, title(rule))
                : fmt::format("{} evaluating rule: {}", what, title(rule)));
      return true;
    }
    const bool* holds = result.value->get<bool>();
    if ((holds != nullptr && *holds) || (pair.unchanged && !rule.uses_old_self)) {
      return true;
    }
    violated(rule, rules, variables, path);
    return true;
  }

  void violated(const CelRule& rule, const CelRules& rules, std::span<const cel::Bound> variables,
                const std::string& path) {
    std::string where = path;
    if (const auto below = field_path_of(rule.field_path, *rules.type); below && !below->empty()) {
      where = path.empty() ? *below : fmt::format("{}.{}", path, *below);
    }
    const std::string detail = message(rule, variables);
    if (rule.reason == "FieldValueForbidden") {
      add(forbidden_value(named(where), detail));
    } else if (rule.reason == "FieldValueRequired") {
      add(required_value(named(where), detail));
    } else if (rule.reason == "FieldValueDuplicate") {
      add(duplicate_value(named(where), type_value(rules)));
    } else {
      add(invalid_value(named(where), type_value(rules), detail));
    }
  }

  std::string message(const CelRule& rule, std::span<const cel::Bound> variables) {
    if (rule.message_program != nullptr) {
      const cel::Evaluated result = rule.message_program->run(variables, kPerCallLimit);
      budget_ -= std::min(result.cost, budget_);
      const auto* text = result.value ? result.value->get<std::string>() : nullptr;
      const std::string found =
          text == nullptr ? std::string() : std::string(absl::StripAsciiWhitespace(*text));
      if (!found.empty() && found.size() <= kLongestMessage &&
          found.find('\n') == std::string::npos) {
        return found;
      }
    }
    return rule.message.empty() ? "failed rule: " + title(rule) : title(rule);
  }

  FieldErrors errors_;
  std::int64_t budget_ = kBudget;
};

} // namespace

FieldErrors validate_by_rules(const CelRules& rules, const json::value& object,
                              const json::value* before) {
  Validator validator;
  validator.place(rules,
                  {.now = object,
                   .before = before,
                   .unchanged = before != nullptr && api::same(object, *before)},
                  "");
  return validator.take();
}

} // namespace berth::schema
