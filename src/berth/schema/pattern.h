// Regular expressions in the syntax of Go, in linear time.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "berth/base/result.h"

namespace berth::schema {

/// Immutable; safe to share between threads.
class Pattern {
 public:
  /// Error Invalid: what is wrong with the expression.
  static Result<std::shared_ptr<const Pattern>> compile(const std::string& expression);
  virtual ~Pattern() = default;
  /// Whether any part of the text matches.
  virtual bool matches(std::string_view text) const = 0;
};

} // namespace berth::schema
