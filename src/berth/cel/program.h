// An expression that has been read and checked. Expressions of the Common Expression Language stand
// in CustomResourceDefinitions (x-kubernetes-validations), policies, and selectors of devices.
// Source: cel-spec; KEP-2876.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "berth/base/result.h"
#include "berth/cel/checker.h"
#include "berth/cel/evaluate.h"

namespace berth::cel {

/// Immutable; safe to share.
class Program {
 public:
  /// Error Invalid: what is wrong, where, as cel-go shows it, beginning "compilation failed: ".
  static Result<std::shared_ptr<const Program>> compile(std::string_view expression,
                                                        std::span<const Variable> variables);

  Program(NodePtr root, TypeRef type) : root_(std::move(root)), type_(std::move(type)) {}

  const TypeRef& type() const { return type_; }
  /// What running it costs at most, with the variables that it was compiled with. O(nodes).
  std::uint64_t estimated_cost(std::span<const Variable> variables) const;
  /// Whether the variable stands anywhere in it, not hidden by one of the same name.
  bool uses(std::string_view variable) const;
  Evaluated run(std::span<const Bound> variables, std::int64_t limit) const {
    return evaluate(*root_, variables, limit);
  }

 private:
  NodePtr root_;
  TypeRef type_;
};

} // namespace berth::cel
