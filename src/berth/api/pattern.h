// Regular expressions in the syntax of Go, in linear time.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "berth/base/result.h"

namespace berth::api {

/// Immutable; safe to share between threads.
class Pattern {
 public:
  /// Error Invalid: what is wrong with the expression.
  static Result<std::shared_ptr<const Pattern>> compile(const std::string& expression);
  virtual ~Pattern() = default;
  /// Whether any part of the text matches.
  virtual bool matches(std::string_view text) const = 0;
  /// The parts that match, one behind the other, `most` at most. They last as long as `text`.
  virtual std::vector<std::string_view> find_all(std::string_view text, std::size_t most) const = 0;
};

} // namespace berth::api
