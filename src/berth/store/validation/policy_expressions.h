// What the expressions of an admission policy may speak of, and whether they compile. Used when a
// policy is written and when it is enforced. Source: apiserver/pkg/admission/plugin/cel
// (compile.go, composition.go).
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "berth/base/result.h"
#include "berth/cel/program.h"

namespace berth::store {

/// What an expression must come to.
enum class PolicyResult { Anything, Bool, Text, TextOrNull };

/// Whether an expression may ask the authorizer.
enum class MayAskRights { No, Yes };

cel::TypeRef policy_request_type();
cel::TypeRef policy_namespace_type();

/// The names of one policy: grows with its variables, which later expressions call
/// variables.NAME.
class PolicyScope {
 public:
  enum class Params { None, Given };
  enum class Variables { None, Composed };

  PolicyScope(Params params, Variables variables);

  /// Error Invalid: "compilation failed: ...", "must evaluate to bool but got string".
  Result<std::shared_ptr<const cel::Program>>
  compile(std::string_view expression, PolicyResult wanted, MayAskRights rights) const;
  /// Once it compiles.
  void add_variable(std::string name, cel::TypeRef type);

 private:
  std::vector<cel::Variable> variables_;
  std::shared_ptr<cel::Type> composed_;
};

} // namespace berth::store
