#include "berth/server/body.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/api/yaml.h"
#include "berth/patch/managed_fields.h"
#include "berth/patch/request.h"
#include "berth/schema/body.h"
#include "berth/schema/protobuf.h"
#include "berth/server/normal_form.h"

namespace berth::server {
namespace {

Answer<std::string> json_text(const Call& call) {
  const auto encoding = body_encoding(net::header_of(call.request->headers, "Content-Type"));
  if (!encoding) {
    return tl::unexpected(encoding.error());
  }
  if (*encoding == Encoding::Json) {
    return call.request->body;
  }
  if (*encoding == Encoding::Protobuf) {
    const auto document = schema::read_protobuf(call.request->body);
    if (!document) {
      return tl::unexpected(status_of(document.error()));
    }
    return api::to_json(*document);
  }
  const auto documents = api::parse_yaml(call.request->body, "");
  if (!documents) {
    return bad_request(
        fmt::format("error converting YAML to JSON: {}", to_string(documents.error())));
  }
  return documents->empty() ? std::string() : api::to_json(documents->front().value);
}

Answer<schema::FieldValidation> field_validation(const Call& call, std::string_view kind) {
  const std::string_view text = parameter(call.query, "fieldValidation");
  if (text.empty() || text == "Warn") {
    return schema::FieldValidation::Warn;
  }
  if (text == "Strict") {
    return schema::FieldValidation::Strict;
  }
  if (text == "Ignore") {
    return schema::FieldValidation::Ignore;
  }
  return tl::unexpected(invalid_options(
      kind, {.field = "fieldValidation",
             .message = fmt::format("Unsupported value: \"{}\": supported values: \"Ignore\", "
                                    "\"Strict\", \"Warn\"",
                                    text)}));
}

Answer<bool> dry_run(const net::HttpHeaders& query, std::string_view kind,
                     const api::json::value& body) {
  std::string text(parameter(query, "dryRun"));
  if (const api::json::value* listed = api::find(body, "dryRun");
      listed != nullptr && listed->is_array() && !listed->get_array().empty()) {
    const api::json::value& first = listed->get_array().front();
    text = first.is_string() ? std::string_view(first.get_string()) : "?";
  }
  if (text.empty() || text == "All") {
    return !text.empty();
  }
  return tl::unexpected(invalid_options(
      kind,
      {.field = "dryRun",
       .message = fmt::format("Unsupported value: [\"{}\"]: supported values: \"All\"", text)}));
}

struct NamedPropagation {
  std::string_view name;
  store::Propagation policy;
};
constexpr std::array<NamedPropagation, 3> kPropagations = {
    {{"Foreground", store::Propagation::Foreground},
     {"Background", store::Propagation::Background},
     {"Orphan", store::Propagation::Orphan}}};

Answer<void> read_propagation(std::string_view text, store::DeleteOptions& out) {
  for (const auto& [name, policy] : kPropagations) {
    if (name == text) {
      out.propagation = policy;
      return {};
    }
  }
  return tl::unexpected(invalid_options(
      "DeleteOptions",
      {.field = "propagationPolicy",
       .message = fmt::format("Unsupported value: \"{}\": supported values: \"Foreground\", "
                              "\"Background\", \"Orphan\", \"nil\"",
                              text)}));
}

Answer<std::int64_t> seconds(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    return bad_request(fmt::format("strconv.ParseInt: parsing \"{}\": invalid syntax", text));
  }
  return value;
}

} // namespace

Answer<WriteQuery> write_query(const Call& call, std::string_view kind) {
  WriteQuery out;
  const auto dry = dry_run(call.query, kind, nullptr);
  if (!dry) {
    return tl::unexpected(dry.error());
  }
  if (const auto validation = field_validation(call, kind); !validation) {
    return tl::unexpected(validation.error());
  }
  out.dry_run = *dry;
  out.force = flag(call.query, "force");
  out.field_manager = parameter(call.query, "fieldManager");
  if (const auto wrong = patch::manager_errors(out.field_manager); !wrong.empty()) {
    return tl::unexpected(
        invalid_options(kind, {.field = "fieldManager", .message = wrong.front().message}));
  }
  out.manager =
      patch::manager_name(out.field_manager, net::header_of(call.request->headers, "User-Agent"));
  return out;
}

Answer<api::json::value> read_object(Call& call, const api::GroupVersionKind& gvk,
                                     const schema::Type& type) {
  auto text = json_text(call);
  if (!text) {
    return tl::unexpected(std::move(text).error());
  }
  return checked_object(call, gvk, type, *text);
}

Answer<api::json::value> checked_object(Call& call, const api::GroupVersionKind& gvk,
                                        const schema::Type& type, std::string_view text) {
  const auto validation = field_validation(call, "");
  auto decoded = schema::decode_body(text, schema::Expected{.gvk = gvk, .type = type}, *validation);
  if (!decoded) {
    return tl::unexpected(status_of(decoded.error()));
  }
  std::ranges::copy(decoded->warnings, std::back_inserter(call.notes.warnings));
  bring_into_normal_form(gvk, decoded->object);
  return std::move(decoded->object);
}

Answer<api::json::value> read_any(const Call& call) {
  if (call.request->body.empty()) {
    return api::json::value(nullptr);
  }
  auto text = json_text(call);
  if (!text) {
    return tl::unexpected(std::move(text).error());
  }
  auto parsed = api::parse_json(*text);
  if (!parsed) {
    return bad_request("couldn't get version/kind; json parse error: " + parsed.error().message);
  }
  return *std::move(parsed);
}

Answer<DeleteQuery> delete_query(const Call& call) {
  const auto body = read_any(call);
  if (!body) {
    return tl::unexpected(body.error());
  }
  // What the body says is all that is said.
  static const net::HttpHeaders kNone;
  const net::HttpHeaders& query = call.request->body.empty() ? call.query : kNone;
  DeleteQuery out;
  const auto dry = dry_run(query, "DeleteOptions", *body);
  if (!dry) {
    return tl::unexpected(dry.error());
  }
  out.dry_run = *dry;
  if (const api::json::value* grace = api::find(*body, "gracePeriodSeconds");
      grace != nullptr && grace->is_number()) {
    out.options.grace_period_seconds = grace->to_number<std::int64_t>();
  }
  if (const std::string_view grace = parameter(query, "gracePeriodSeconds"); !grace.empty()) {
    const auto value = seconds(grace);
    if (!value) {
      return tl::unexpected(value.error());
    }
    out.options.grace_period_seconds = *value;
  }
  std::string policy(api::string_at(*body, "propagationPolicy"));
  if (const std::string_view asked = parameter(query, "propagationPolicy"); !asked.empty()) {
    policy = asked;
  }
  const api::json::value* orphans_given = api::find(*body, "orphanDependents");
  if (!policy.empty() && ((orphans_given != nullptr && !orphans_given->is_null()) ||
                          !parameter(query, "orphanDependents").empty())) {
    return tl::unexpected(invalid_options(
        "DeleteOptions",
        {.field = "propagationPolicy",
         .message = fmt::format("Invalid value: \"{}\": orphanDependents and deletionPropagation "
                                "cannot be both set",
                                policy)}));
  }
  if (policy.empty()) {
    const api::json::value* orphan = api::find(*body, "orphanDependents");
    const bool orphans = (orphan != nullptr && orphan->is_bool() && orphan->get_bool()) ||
                         flag(query, "orphanDependents");
    policy = orphans ? "Orphan" : "Background";
  }
  if (auto read = read_propagation(policy, out.options); !read) {
    return tl::unexpected(std::move(read).error());
  }
  if (const std::string_view uid = api::string_at(*body, "preconditions.uid"); !uid.empty()) {
    out.options.uid = uid;
  }
  if (const std::string_view version = api::string_at(*body, "preconditions.resourceVersion");
      !version.empty()) {
    const auto value = seconds(version);
    if (!value) {
      return tl::unexpected(value.error());
    }
    out.options.resource_version = static_cast<std::uint64_t>(*value);
  }
  return out;
}

} // namespace berth::server
