// A ValidatingAdmissionPolicy made ready to judge requests. Source:
// apiserver/pkg/admission/plugin/policy/validating (plugin.go, validator.go); plugin/cel.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "berth/api/object.h"
#include "berth/cel/program.h"

namespace berth::server {

/// An expression; without a program `error` says why it does not compile.
struct PolicyExpression {
  std::string text;
  std::shared_ptr<const cel::Program> program;
  std::string error;
};

struct PolicyVariable {
  std::string name;
  PolicyExpression expression;
};

struct PolicyValidation {
  PolicyExpression expression;
  PolicyExpression message_expression; ///< empty text: none
  std::string message;
  std::string reason; ///< "": Invalid
};

struct PolicyAnnotation {
  std::string key;
  PolicyExpression value;
};

/// Immutable.
struct Policy {
  api::Object object; ///< as it is stored
  std::optional<api::GroupVersionKind> param_kind;
  bool ignores_failures = false;
  std::vector<PolicyExpression> conditions; ///< matchConditions
  std::vector<PolicyVariable> variables;
  std::vector<PolicyValidation> validations;
  std::vector<PolicyAnnotation> annotations;
};

/// O(size of its expressions).
std::shared_ptr<const Policy> compile_policy(const api::Object& object);

/// What the names in expressions stand for. The JSON that values were made of outlives it.
struct PolicyInput {
  cel::Value object;
  cel::Value before;
  cel::Value request;
  cel::Value params;
  cel::Value namespace_object;
  cel::Value authorizer;
  cel::Value request_resource;
};

struct PolicyVerdict {
  struct Denial {
    std::size_t expression = 0; ///< which of the validations
    std::string message;
    std::string reason; ///< "Forbidden", ...; "": Invalid
  };
  std::vector<Denial> denials;
  struct Annotation {
    std::string key;
    std::string value;
  };
  std::vector<Annotation> annotations;
  std::vector<std::string> annotation_errors; ///< each denies, whatever a binding says
};

/// What fails to be evaluated denies, unless the policy ignores failures. Nothing where the
/// conditions do not hold. Source: validator.go, Validate.
PolicyVerdict evaluate(const Policy& policy, const PolicyInput& input);

} // namespace berth::server
