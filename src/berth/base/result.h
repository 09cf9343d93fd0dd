// Errors as values. A Result carries what a function promised or an Error that says what failed,
// where, why and what to try. "Does not fit" is a verdict of the deciding wing, never an Error.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

namespace berth {

/// Kubernetes' StatusReason set; maps one to one to an HTTP status (see http_status).
enum class Code {
  BadRequest,
  Unauthorized,
  Forbidden,
  NotFound,
  AlreadyExists,
  Conflict,
  Gone,
  Invalid,
  Expired, ///< "too old resource version": list again, then watch from there
  Timeout,
  TooManyRequests,
  Unavailable,
  Internal,
  RequestEntityTooLarge,
  UnsupportedMediaType,
};

/// The StatusReason text, e.g. "AlreadyExists".
std::string_view to_string(Code code);
/// The HTTP status that carries this code, e.g. 409.
int http_status(Code code);

/// A place in the user's input. Lines and columns count from 1; 0 means unknown.
struct Where {
  std::string file;
  int line = 0;
  int column = 0;
  std::string field; ///< e.g. "spec.containers[0].resources"

  bool operator==(const Where&) const = default;
};

/// "file:line:column: field", leaving out what is unknown.
std::string to_string(const Where& where);

struct Error {
  Code code = Code::Internal;
  std::string message; ///< lower case, runtime values last
  std::optional<Where> where;
  std::vector<Error> causes;

  bool operator==(const Error&) const = default;
};

/// One line: place, message, then causes in brackets.
std::string to_string(const Error& error);

template <class T> using Result = tl::expected<T, Error>;

/// Shorthand for a failed Result.
tl::unexpected<Error> fail(Code code, std::string message);
tl::unexpected<Error> fail_at(Where where, std::string message);

} // namespace berth

#define BERTH_CONCAT_INNER(a, b) a##b
#define BERTH_CONCAT(a, b) BERTH_CONCAT_INNER(a, b)
/// BERTH_TRY(auto x, f()): x is the value of f(), or the enclosing function returns f()'s error.
#define BERTH_TRY(decl, expr)                                                                      \
  auto BERTH_CONCAT(berth_try_, __LINE__) = (expr);                                                \
  if (!BERTH_CONCAT(berth_try_, __LINE__))                                                         \
    return tl::unexpected(std::move(BERTH_CONCAT(berth_try_, __LINE__)).error());                  \
  decl = std::move(*BERTH_CONCAT(berth_try_, __LINE__))
/// BERTH_CHECK(f()) for a Result<void>: the enclosing function returns f()'s error, if any.
#define BERTH_CHECK(expr)                                                                          \
  if (auto berth_check = (expr); !berth_check)                                                     \
  return tl::unexpected(std::move(berth_check).error())
