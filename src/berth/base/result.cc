#include "berth/base/result.h"

#include <fmt/format.h>

namespace berth {

std::string_view to_string(Code code) {
  switch (code) {
  case Code::BadRequest:
    return "BadRequest";
  case Code::Unauthorized:
    return "Unauthorized";
  case Code::Forbidden:
    return "Forbidden";
  case Code::NotFound:
    return "NotFound";
  case Code::AlreadyExists:
    return "AlreadyExists";
  case Code::Conflict:
    return "Conflict";
  case Code::Gone:
    return "Gone";
  case Code::Invalid:
    return "Invalid";
  case Code::Expired:
    return "Expired";
  case Code::Timeout:
    return "Timeout";
  case Code::TooManyRequests:
    return "TooManyRequests";
  case Code::Unavailable:
    return "ServiceUnavailable";
  case Code::Internal:
    return "InternalError";
  case Code::RequestEntityTooLarge:
    return "RequestEntityTooLarge";
  case Code::UnsupportedMediaType:
    return "UnsupportedMediaType";
  }
  return "InternalError";
}

int http_status(Code code) {
  switch (code) {
  case Code::BadRequest:
    return 400;
  case Code::Unauthorized:
    return 401;
  case Code::Forbidden:
    return 403;
  case Code::NotFound:
    return 404;
  case Code::AlreadyExists:
  case Code::Conflict:
    return 409;
  case Code::Gone:
  case Code::Expired:
    return 410;
  case Code::Invalid:
    return 422;
  case Code::Timeout:
    return 504;
  case Code::TooManyRequests:
    return 429;
  case Code::Unavailable:
    return 503;
  case Code::Internal:
    return 500;
  case Code::RequestEntityTooLarge:
    return 413;
  case Code::UnsupportedMediaType:
    return 415;
  }
  return 500;
}

std::string to_string(const Where& where) {
  std::string out = where.file;
  if (where.line > 0) {
    out += fmt::format("{}{}", out.empty() ? "line " : ":", where.line);
    if (where.column > 0) {
      out += fmt::format(":{}", where.column);
    }
  }
  if (!where.field.empty()) {
    out += (out.empty() ? "" : ": ") + where.field;
  }
  return out;
}

std::string to_string(const Error& error) {
  std::string out;
  if (error.where) {
    out = to_string(*error.where);
  }
  if (!out.empty()) {
    out += ": ";
  }
  out += error.message;
  std::string causes;
  for (const Error& cause : error.causes) {
    // Messages about fields quote their causes already, as Kubernetes words them.
    const std::string text = to_string(cause);
    if (!cause.where || error.message.find(text) == std::string::npos) {
      causes += (causes.empty() ? "" : "; ") + text;
    }
  }
  return causes.empty() ? out : out + " (" + causes + ")";
}

tl::unexpected<Error> fail(Code code, std::string message) {
  return tl::unexpected(
      Error{.code = code, .message = std::move(message), .where = {}, .causes = {}});
}

tl::unexpected<Error> fail_at(Where where, std::string message) {
  return tl::unexpected(Error{.code = Code::Invalid,
                              .message = std::move(message),
                              .where = std::move(where),
                              .causes = {}});
}

} // namespace berth
