// What the rules of a definition cost at most, all their places in an object together: a definition
// whose rules could keep the server busy is refused. Source: apiextensions-apiserver
// pkg/apis/apiextensions/validation (getExpressionCost, CELSchemaContext);
// pkg/apiserver/schema/cel.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "berth/schema/cel_rules.h"

namespace berth::schema {

/// How often a place can be in one object; nullopt: as often as requests are long.
using Cardinality = std::optional<std::uint64_t>;
/// Of the elements or members of `type`, which is there so often itself.
Cardinality below(const Cardinality& of, const Type& type);

/// Gathers the costs of a schema's rules.
class RuleCosts {
 public:
  /// `what`: "rule" or "messageExpression", at `path`. Adds an error if this alone is too much.
  void add(const cel::Program& program, const CelRule& rule, const CelRules& place,
           const Cardinality& times, const std::string& path, std::string_view what,
           FieldErrors& errors);
  /// What all of them cost together. `field`: where the schema stands.
  void judge_total(const std::string& field, FieldErrors& errors) const;

 private:
  struct Cost {
    std::string path;
    std::uint64_t cost;
  };
  std::vector<Cost> all_; ///< the dearest first
  std::uint64_t total_ = 0;
};

} // namespace berth::schema
