// The conditions of rules in a definition. Source: apiextensions-apiserver
// pkg/apis/apiextensions/validation (ValidateCustomResourceDefinitionOpenAPISchema).
#include <algorithm>

#include <absl/strings/ascii.h>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <fmt/format.h>

#include "berth/schema/cel_rule_cost.h"
#include "berth/schema/cel_rules.h"
#include "berth/schema/rule_path.h"

namespace berth::schema {
namespace {

namespace json = boost::json;

bool is_blank(const std::string& text) {
  return absl::StripAsciiWhitespace(text).empty();
}
bool has_line_break(const std::string& text) {
  return text.find('\n') != std::string::npos;
}

/// The rule as Go's encoding/json writes what the API server holds of it.
json::value shown(const CelRule& rule) {
  return json::object{
      {"Rule", rule.rule},
      {"Message", rule.message},
      {"MessageExpression", rule.message_expression},
      {"Reason", rule.reason.empty() ? json::value(nullptr) : json::value(rule.reason)},
      {"FieldPath", rule.field_path},
      {"OptionalOldSelf", rule.optional_old_self ? json::value(true) : json::value(nullptr)}};
}

class Checker {
 public:
  FieldErrors take() { return std::move(errors_); }

  void total(const std::string& path) { costs_.judge_total(path, errors_); }

  /// Above a place in the schema.
  struct Above {
    std::string uncorrelated; ///< the list whose elements cannot be found again; "": none
    Cardinality times = 1;    ///< how often the place is in an object
  };
  void place(const CelRules& rules, const std::string& path, const Above& above) {
    for (std::size_t i = 0; i < rules.rules.size(); ++i) {
      const std::string at = fmt::format("{}.x-kubernetes-validations[{}]", path, i);
      rule(rules.rules[i], *rules.type, at, above.uncorrelated);
      cost(rules.rules[i], rules, at, above.times);
    }
    for (std::size_t i = 0; i < rules.all_of.size(); ++i) {
      place(rules.all_of[i], fmt::format("{}.allOf[{}]", path, i), above);
    }
    for (const CelField& field : rules.fields) {
      place(field.rules, fmt::format("{}.properties[{}]", path, field.name), above);
    }
    for (const CelRules& element : rules.elements) {
      const bool list = rules.type->form == Form::List;
      const bool lost = list && rules.type->list != ListKind::Map;
      place(element, fmt::format("{}.{}", path, list ? "items" : "additionalProperties"),
            {.uncorrelated = above.uncorrelated.empty() && lost ? path : above.uncorrelated,
             .times = below(above.times, *rules.type)});
    }
  }

 private:
  void add(FieldError error) { errors_.push_back(std::move(error)); }

  void cost(const CelRule& rule, const CelRules& place, const std::string& path,
            const Cardinality& times) {
    if (rule.program != nullptr) {
      costs_.add(*rule.program, rule, place, times, path + ".rule", "rule", errors_);
    }
    if (rule.message_program != nullptr) {
      costs_.add(*rule.message_program, rule, place, times, path + ".messageExpression",
                 "messageExpression", errors_);
    }
  }

  void rule(const CelRule& rule, const Type& type, const std::string& path,
            const std::string& uncorrelated) {
    texts(rule, path);
    reason_and_path(rule, type, path);
    if (!rule.error.empty()) {
      add(invalid_value(path + ".rule", shown(rule), rule.error));
    }
    if (!rule.message_error.empty()) {
      add(invalid_value(path + ".messageExpression", shown(rule), rule.message_error));
    }
    if (rule.uses_old_self && !uncorrelated.empty()) {
      add(invalid_value(
          path + ".rule", json::value(rule.rule),
          fmt::format(
              "oldSelf cannot be used on the uncorrelatable portion of the schema within {}",
              uncorrelated)));
    }
    if (rule.optional_old_self && rule.program != nullptr && !rule.uses_old_self) {
      add(invalid_value(path + ".optionalOldSelf", json::value(true),
                        "may not be set if oldSelf is not used in rule"));
    }
  }

  void texts(const CelRule& rule, const std::string& path) {
    if (is_blank(rule.rule)) {
      add(required_value(path + ".rule", "rule is not specified"));
    } else if (!rule.message.empty() && is_blank(rule.message)) {
      add(invalid_value(path + ".message", json::value(rule.message),
                        "message must be non-empty if specified"));
    } else if (has_line_break(rule.message)) {
      add(invalid_value(path + ".message", json::value(rule.message),
                        "message must not contain line breaks"));
    } else if (has_line_break(rule.rule) && rule.message.empty()) {
      add(required_value(path + ".message",
                         "message must be specified if rule contains line breaks"));
    }
    if (!rule.message_expression.empty() && is_blank(rule.message_expression)) {
      add(required_value(path + ".messageExpression",
                         "messageExpression must be non-empty if specified"));
    }
  }

  void reason_and_path(const CelRule& rule, const Type& type, const std::string& path) {
    const std::vector<std::string> reasons = {"FieldValueDuplicate", "FieldValueForbidden",
                                              "FieldValueInvalid", "FieldValueRequired"};
    if (!rule.reason.empty() && std::ranges::find(reasons, rule.reason) == reasons.end()) {
      add(not_supported(path + ".reason", json::value(rule.reason), reasons));
    }
    if (rule.field_path.empty()) {
      return;
    }
    const auto invalid = [&](std::string_view why) {
      add(invalid_value(path + ".fieldPath", json::value(rule.field_path), why));
    };
    if (is_blank(rule.field_path)) {
      invalid("fieldPath must be non-empty if specified");
    } else if (has_line_break(rule.field_path)) {
      invalid("fieldPath must not contain line breaks");
    } else if (const auto found = field_path_of(rule.field_path, type); !found) {
      invalid("fieldPath must be a valid path: " + found.error().message);
    }
  }

  FieldErrors errors_;
  RuleCosts costs_;
};

} // namespace

FieldErrors check_rules(const CelRules& rules, const std::string& field) {
  Checker checker;
  checker.place(rules, field, {});
  checker.total(field);
  return checker.take();
}

} // namespace berth::schema
