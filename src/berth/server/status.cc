#include "berth/server/status.h"

#include <array>
#include <utility>

#include <boost/json/serialize.hpp>
#include <fmt/format.h>

#include "berth/api/json.h"

namespace berth::server {
namespace {

namespace json = boost::json;

constexpr int kUnprocessable = 422;

/// What field errors begin with, and their CauseType.
constexpr std::array<std::pair<std::string_view, std::string_view>, 12> kCauses = {{
    {"conflict with ", "FieldManagerConflict"},
    {"Required value", "FieldValueRequired"},
    {"Invalid value", "FieldValueInvalid"},
    {"Duplicate value", "FieldValueDuplicate"},
    {"Unsupported value", "FieldValueNotSupported"},
    {"Forbidden", "FieldValueForbidden"},
    {"Not found", "FieldValueNotFound"},
    {"Too long", "FieldValueTooLong"},
    {"Too many", "FieldValueTooMany"},
    {"Type invalid", "FieldValueTypeInvalid"},
    {"Internal error", "InternalError"},
    {"namespace ", "NamespaceTerminating"},
}};

std::string_view cause_reason(std::string_view message) {
  for (const auto& [prefix, reason] : kCauses) {
    if (message.starts_with(prefix)) {
      const bool of_type = reason == "FieldValueInvalid" &&
                           message.find(" in body must be of type ") != std::string_view::npos;
      return of_type ? "FieldValueTypeInvalid" : reason;
    }
  }
  return "";
}

json::array causes_of(const std::vector<Error>& causes) {
  json::array out;
  for (const Error& cause : causes) {
    json::object one;
    if (const auto reason = cause_reason(cause.message); !reason.empty()) {
      one["reason"] = reason;
    }
    one["message"] = cause.message;
    if (cause.where && !cause.where->field.empty()) {
      one["field"] = cause.where->field;
    }
    out.push_back(std::move(one));
  }
  return out;
}

/// WORD "NAME" at the beginning of a message, or after the words of a conflict.
struct Named {
  std::string_view what; ///< "pods", "jobs.batch", "Job.batch", "pods/binding"
  std::string_view name;
};

std::optional<Named> named_in(std::string_view message) {
  constexpr std::string_view kConflict = "Operation cannot be fulfilled on ";
  if (message.starts_with(kConflict)) {
    message.remove_prefix(kConflict.size());
  }
  const std::size_t space = message.find(' ');
  if (space == std::string_view::npos) {
    return std::nullopt;
  }
  Named named{.what = message.substr(0, space), .name = {}};
  const std::string_view rest = message.substr(space + 1);
  if (rest.starts_with('"')) {
    const std::size_t end = rest.find('"', 1);
    if (end == std::string_view::npos) {
      return std::nullopt;
    }
    named.name = rest.substr(1, end - 1);
  } else if (!rest.starts_with("is ")) {
    return std::nullopt;
  }
  return named;
}

json::value details_of(const Error& error) {
  json::object details;
  if (const auto named = named_in(error.message)) {
    const std::size_t slash = named->what.find('/');
    const std::size_t dot = named->what.substr(0, slash).find('.');
    if (!named->name.empty()) {
      details["name"] = named->name;
    }
    if (dot != std::string_view::npos) {
      details["group"] =
          named->what.substr(dot + 1, slash == std::string_view::npos ? slash : slash - dot - 1);
    }
    std::string kind(named->what.substr(0, std::min(dot, slash)));
    if (slash != std::string_view::npos) {
      kind += named->what.substr(slash);
    }
    details["kind"] = kind;
  }
  if (!error.causes.empty()) {
    details["causes"] = causes_of(error.causes);
  }
  return details;
}

bool has_details(Code code) {
  switch (code) {
  case Code::BadRequest:
  case Code::Unauthorized:
  case Code::Gone:
  case Code::Expired:
    return false;
  default:
    return true;
  }
}

} // namespace

Status status_of(const Error& error) {
  Status status{.code = http_status(error.code),
                .reason = std::string(to_string(error.code)),
                .message = error.message};
  if (error.code == Code::Internal) {
    status.reason.clear(); // Go errors that are no API errors have none
    return status;
  }
  if (error.code == Code::BadRequest && error.where) {
    status.message = to_string(error);
  }
  const bool lists_types = error.code == Code::UnsupportedMediaType &&
                           error.message.starts_with("the body of the request");
  if (has_details(error.code) && !lists_types) {
    status.details = details_of(error);
  }
  return status;
}

tl::unexpected<Status> bad_request(std::string message) {
  return tl::unexpected(Status{.code = 400, .reason = "BadRequest", .message = std::move(message)});
}

Status unknown_resource() {
  return {.code = 404,
          .reason = "NotFound",
          .message = "the server could not find the requested resource",
          .details = json::object()};
}

Status method_not_allowed() {
  return {.code = 405,
          .reason = "MethodNotAllowed",
          .message = "the server does not allow this method on the requested resource",
          .details = json::object()};
}

Status invalid_options(std::string_view kind, const WrongOption& wrong) {
  json::object cause{
      {"reason", cause_reason(wrong.message)}, {"message", wrong.message}, {"field", wrong.field}};
  return {.code = kUnprocessable,
          .reason = "Invalid",
          .message = fmt::format("{}.meta.k8s.io \"\" is invalid: {}: {}", kind, wrong.field,
                                 wrong.message),
          .details = json::object{
              {"group", "meta.k8s.io"}, {"kind", kind}, {"causes", json::array{std::move(cause)}}}};
}

Status not_acceptable(std::string_view accepted) {
  return {.code = 406,
          .reason = "NotAcceptable",
          .message = fmt::format("only the following media types are accepted: {}", accepted),
          .details = nullptr};
}

Status unsupported_media_type(std::string message) {
  return {.code = 415,
          .reason = "UnsupportedMediaType",
          .message = std::move(message),
          .details = nullptr};
}

Status internal_error(std::string message) {
  json::array causes{json::object{{"message", message}}};
  return {.code = 500,
          .reason = "InternalError",
          .message = "Internal error occurred: " + message,
          .details = json::object{{"causes", std::move(causes)}}};
}

json::object to_document(const Status& status) {
  json::object out{{"kind", "Status"},
                   {"apiVersion", "v1"},
                   {"metadata", json::object()},
                   {"status", "Failure"}};
  if (!status.message.empty()) {
    out["message"] = status.message;
  }
  if (!status.reason.empty()) {
    out["reason"] = status.reason;
  }
  if (!status.details.is_null()) {
    out["details"] = status.details;
  }
  out["code"] = status.code;
  return out;
}

json::object success_document(json::value details) {
  json::object out{{"kind", "Status"},
                   {"apiVersion", "v1"},
                   {"metadata", json::object()},
                   {"status", "Success"}};
  if (!details.is_null()) {
    out["details"] = std::move(details);
  }
  return out;
}

net::HttpResponse to_response(const Status& status) {
  net::HttpResponse response =
      net::json_response(status.code, api::to_json(to_document(status)) + "\n");
  if (const json::object* details = status.details.if_object()) {
    if (const json::value* after = details->if_contains("retryAfterSeconds")) {
      response.headers.emplace_back("Retry-After", json::serialize(*after));
    }
  }
  return response;
}

} // namespace berth::server
