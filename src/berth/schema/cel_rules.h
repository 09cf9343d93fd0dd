// x-kubernetes-validations: what a custom resource must satisfy, written as expressions beside its
// schema. Sources: KEP-2876; apiextensions-apiserver pkg/apiserver/schema/cel.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <boost/json/value.hpp>

#include "berth/cel/program.h"
#include "berth/schema/field_error.h"
#include "berth/schema/type.h"

namespace berth::schema {

/// One rule.
struct CelRule {
  std::string rule;
  std::string message;
  std::string message_expression;
  std::string reason;     ///< "FieldValueForbidden", ...; "": FieldValueInvalid
  std::string field_path; ///< ".a['b']": what the error names below the rule's place
  bool optional_old_self = false;
  bool uses_old_self = false;

  std::shared_ptr<const cel::Program> program; ///< null: `error` says why
  std::string error;
  std::shared_ptr<const cel::Program> message_program; ///< null: none, or `message_error`
  std::string message_error;
};

struct CelField;

/// The rules of one place in a schema and of the places below it. It refers to the Type that it was
/// made of.
struct CelRules {
  const Type* type = nullptr;
  cel::TypeRef self; ///< what `rules` call self; null where there are none
  std::vector<CelRule> rules;
  std::vector<CelField> fields;   ///< those with rules
  std::vector<CelRules> elements; ///< one, of lists and maps whose elements have rules
  std::vector<CelRules> all_of;

  bool empty() const;
};

struct CelField {
  std::string name;
  CelRules rules;
};

/// The rules of a custom resource, compiled. What does not compile is kept with its error: what has
/// passed check_rules() has none. O(size).
std::shared_ptr<const CelRules> rules_of(const TypePtr& root);

/// What a rule may name: self and oldSelf.
std::vector<cel::Variable> variables_of(const CelRule& rule, const cel::TypeRef& self);

/// What keeps a definition's rules from being rules; `field` is where the schema stands.
FieldErrors check_rules(const CelRules& rules, const std::string& field);

/// What an object that satisfies its schema violates. `before`: null when it is created. Rules that
/// a change does not touch, and that do not speak of oldSelf, are not held against it.
FieldErrors validate_by_rules(const CelRules& rules, const boost::json::value& object,
                              const boost::json::value* before);

} // namespace berth::schema
