#include "berth/schema/cel_rules.h"

#include <algorithm>

#include <absl/strings/ascii.h>
#include <boost/json/object.hpp>
#include <boost/json/string.hpp>
#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/schema/expression_type.h"
#include "berth/schema/rules.h"

namespace berth::schema {
namespace {

namespace json = boost::json;

constexpr const char* kSelf = "self";
constexpr const char* kOldSelf = "oldSelf";

CelRule read(const json::value& given) {
  const auto text = [&](std::string_view member) {
    return std::string(api::string_at(given, member));
  };
  const json::value* optional = api::find(given, "optionalOldSelf");
  return {.rule = text("rule"),
          .message = text("message"),
          .message_expression = text("messageExpression"),
          .reason = text("reason"),
          .field_path = text("fieldPath"),
          .optional_old_self = optional != nullptr && optional->is_bool() && optional->as_bool()};
}

void compile(CelRule& rule, const cel::TypeRef& self) {
  if (self == nullptr) {
    rule.error = "rules cannot be declared where the type is left open";
    return;
  }
  if (absl::StripAsciiWhitespace(rule.rule).empty()) {
    return;
  }
  const std::vector<cel::Variable> variables = variables_of(rule, self);
  if (auto made = cel::Program::compile(rule.rule, variables); !made) {
    rule.error = made.error().message;
  } else if ((*made)->type()->kind != cel::Kind::Bool) {
    rule.error = "cel expression must evaluate to a bool";
  } else {
    rule.program = *std::move(made);
    rule.uses_old_self = rule.program->uses(kOldSelf);
  }
  if (absl::StripAsciiWhitespace(rule.message_expression).empty()) {
    return;
  }
  if (auto made = cel::Program::compile(rule.message_expression, variables); !made) {
    rule.message_error = "messageExpression " + made.error().message;
  } else if ((*made)->type()->kind != cel::Kind::String) {
    rule.message_error = "messageExpression must evaluate to a string";
  } else {
    rule.message_program = *std::move(made);
  }
}

/// Rules of allOf stand apart from the types: `rules` are theirs, `type` is of the place.
class Builder {
 public:
  CelRules build(const Type& type, const Rules* rules, const std::string& name) {
    CelRules out{.type = &type};
    if (rules == nullptr) {
      return out;
    }
    if (!rules->validations.empty()) {
      out.self = expression_type(type, name);
      for (const json::value& given : rules->validations) {
        compile(out.rules.emplace_back(read(given)), out.self);
      }
    }
    for (const Rules& one : rules->all_of) {
      if (CelRules nested = inside(type, one, name); !nested.empty()) {
        out.all_of.push_back(std::move(nested));
      }
    }
    return out;
  }

  /// Of a place and all below it.
  CelRules whole(const Type& type, const std::string& name) {
    CelRules out = build(type, type.rules.get(), name);
    for (const Field& field : type.fields) {
      if (field.type->structural) {
        add_field(out, field.name, whole(*field.type, fmt::format("{}.{}", name, field.name)));
      }
    }
    if (type.element != nullptr && type.element->structural) {
      add_element(out, whole(*type.element, name + element_name(type)));
    }
    return out;
  }

 private:
  static const char* element_name(const Type& type) {
    return type.form == Form::List ? ".@idx" : ".@elem";
  }

  CelRules inside(const Type& type, const Rules& rules, const std::string& name) {
    CelRules out = build(type, &rules, name);
    for (const auto& [field, of] : rules.properties) {
      if (const Field* known = type.field(field); known != nullptr && known->type->structural) {
        add_field(out, field, inside(*known->type, of, fmt::format("{}.{}", name, field)));
      }
    }
    const Rules* below = rules.items ? rules.items.get() : rules.additional.get();
    if (below != nullptr && type.element != nullptr) {
      add_element(out, inside(*type.element, *below, name + element_name(type)));
    }
    return out;
  }

  static void add_field(CelRules& out, const std::string& name, CelRules rules) {
    if (!rules.empty()) {
      out.fields.push_back({.name = name, .rules = std::move(rules)});
    }
  }
  static void add_element(CelRules& out, CelRules rules) {
    if (!rules.empty()) {
      out.elements.push_back(std::move(rules));
    }
  }
};

} // namespace

std::vector<cel::Variable> variables_of(const CelRule& rule, const cel::TypeRef& self) {
  return {{.name = kSelf, .type = self},
          {.name = kOldSelf, .type = rule.optional_old_self ? cel::optional_of(self) : self}};
}

bool CelRules::empty() const {
  return rules.empty() && fields.empty() && elements.empty() && all_of.empty();
}

std::shared_ptr<const CelRules> rules_of(const TypePtr& root) {
  // The types must last as long as what refers to them.
  struct Held {
    TypePtr root;
    CelRules rules;
  };
  auto held = std::make_shared<Held>(Held{.root = root, .rules = {}});
  held->rules = Builder().whole(*root, "selfType");
  return {held, &held->rules};
}

} // namespace berth::schema
