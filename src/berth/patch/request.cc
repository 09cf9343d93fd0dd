#include "berth/patch/request.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/api/json_reader.h"
#include "berth/api/yaml.h"
#include "berth/patch/go_text.h"
#include "berth/patch/json_patch.h"
#include "berth/patch/strategic_merge.h"
#include "berth/schema/go_json.h"

namespace berth::patch {
namespace {

constexpr std::size_t kLongestManager = 128;
constexpr std::string_view kMap = "map[string]interface {}";

std::string_view media_type(std::string_view content_type) {
  std::string_view type = content_type.substr(0, content_type.find(';'));
  while (type.ends_with(' ') || type.ends_with('\t')) {
    type.remove_suffix(1);
  }
  while (type.starts_with(' ') || type.starts_with('\t')) {
    type.remove_prefix(1);
  }
  return type;
}

std::optional<PatchKind> kind_named(std::string_view type) {
  if (type == "application/json-patch+json") {
    return PatchKind::Json;
  }
  if (type == "application/merge-patch+json") {
    return PatchKind::Merge;
  }
  if (type == "application/strategic-merge-patch+json") {
    return PatchKind::StrategicMerge;
  }
  if (type == "application/apply-patch+yaml" || type == "application/apply-patch+json") {
    return PatchKind::Apply;
  }
  return std::nullopt;
}

/// Go's %q, of text that is UTF-8.
std::string quoted(std::string_view text) {
  constexpr std::string_view kControls = "\a\b\f\n\r\t\v";
  constexpr std::string_view kLetters = "abfnrtv";
  std::string out = "\"";
  for (const char c : text) {
    if (const std::size_t at = kControls.find(c); at != std::string_view::npos) {
      out += {'\\', kLetters[at]};
    } else if (c == '"' || c == '\\') {
      out += {'\\', c};
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  return out + '"';
}

Error field_error(std::string field, std::string message) {
  Where where;
  where.field = std::move(field);
  return {.code = Code::Invalid,
          .message = std::move(message),
          .where = std::move(where),
          .causes = {}};
}

std::vector<Error> option_errors(const PatchOptions& options, PatchKind kind) {
  std::vector<Error> errors;
  const std::string& manager = options.field_manager;
  if (kind == PatchKind::Apply && manager.empty()) {
    errors.push_back(field_error("fieldManager", "Required value: is required for apply patch"));
  }
  if (kind != PatchKind::Apply && options.force) {
    errors.push_back(field_error("force", "Forbidden: may not be specified for non-apply patch"));
  }
  std::ranges::move(manager_errors(manager), std::back_inserter(errors));
  return errors;
}

// A strategic merge patch that cannot be read is refused without this.
constexpr std::string_view kDecoding = "error decoding patch: ";

tl::unexpected<Error> bad_patch(std::string_view prefix, std::string_view why) {
  return fail(Code::BadRequest, fmt::format("{}{}", prefix, why));
}

/// "array": what encoding/json calls a value.
std::string_view json_word(const json::value& value) {
  switch (value.kind()) {
  case json::kind::object:
    return "object";
  case json::kind::array:
    return "array";
  case json::kind::string:
    return "string";
  case json::kind::bool_:
    return "bool";
  case json::kind::null:
    return "null";
  case json::kind::int64:
  case json::kind::uint64:
  case json::kind::double_:
    return "number";
  }
  return "";
}

Result<json::value> read_json(std::string_view body, std::string_view prefix) {
  if (const auto error = schema::json_syntax_error(body)) {
    return bad_patch(prefix, *error);
  }
  // Of a member given twice the last one counts; strict validation refuses it before.
  auto parsed = api::read_json_value(body, 0, "", {}, api::Duplicates::TakeLast);
  if (!parsed) {
    return bad_patch(prefix, parsed.error().message);
  }
  return std::move(parsed->value);
}

Result<json::value> read_object(std::string_view body, std::string_view prefix) {
  BERTH_TRY(json::value value, read_json(body, prefix));
  if (value.is_null()) {
    value.emplace_object(); // as Go leaves a map that null is read into
  }
  if (!value.is_object()) {
    return bad_patch(prefix, fmt::format("json: cannot unmarshal {} into Go value of type {}",
                                         json_word(value), kMap));
  }
  return value;
}

Result<json::value> read_operations(std::string_view body) {
  BERTH_TRY(json::value value, read_json(body, kDecoding));
  if (value.is_null()) {
    value.emplace_array();
  }
  if (!value.is_array()) {
    return bad_patch(kDecoding,
                     fmt::format("json: cannot unmarshal {} into Go value of type []interface {{}}",
                                 json_word(value)));
  }
  for (const json::value& operation : value.get_array()) {
    if (!operation.is_object()) {
      return fail(Code::BadRequest,
                  fmt::format("json: cannot unmarshal {} into Go value of type jsonpatch.Operation",
                              json_word(operation)));
    }
  }
  return value;
}

Result<json::value> json_patched(const json::value& document, std::string_view body) {
  BERTH_TRY(const json::value operations, read_operations(body));
  auto done = json_patch(document, operations);
  if (!done && done.error().code == Code::Invalid) {
    return fail(Code::Invalid, "the server rejected our request due to an error in our request");
  }
  return done;
}

Result<json::value> merge_patched(const json::value& document, std::string_view body) {
  BERTH_TRY(const json::value change, read_object(body, kDecoding));
  json::value out = document;
  api::merge_patch(out, change);
  return out;
}

Result<json::value> strategically_patched(const json::value& document, std::string_view body,
                                          const schema::Type& type) {
  BERTH_TRY(json::value change, read_object(body, ""));
  auto done = strategic_merge(document, std::move(change), type);
  if (!done && done.error().code == Code::Invalid) {
    return fail(Code::Invalid, "the server rejected our request due to an error in our request");
  }
  return done;
}

} // namespace

Result<PatchKind> patch_kind(std::string_view content_type, KindOf of) {
  const auto kind = kind_named(media_type(content_type));
  if (of == KindOf::BuiltIn) {
    if (!kind) {
      return fail(Code::UnsupportedMediaType, "415: Unsupported Media Type");
    }
    return *kind;
  }
  if (!kind || *kind == PatchKind::StrategicMerge) {
    return fail(Code::UnsupportedMediaType,
                "the body of the request was in an unknown format - accepted media types include: "
                "application/json-patch+json, application/merge-patch+json, "
                "application/apply-patch+yaml");
  }
  return *kind;
}

std::vector<Error> manager_errors(std::string_view manager) {
  std::vector<Error> errors;
  if (manager.size() > kLongestManager) {
    errors.push_back(field_error(
        "fieldManager", fmt::format("Too long: may not be more than {} bytes", kLongestManager)));
  }
  for (std::size_t i = 0; i < manager.size(); ++i) {
    if (const auto byte = static_cast<unsigned char>(manager[i]); byte < 0x20 || byte == 0x7f) {
      errors.push_back(field_error(
          "fieldManager", fmt::format("Invalid value: {}: invalid character U+{:04X} (at position "
                                      "{})",
                                      quoted(manager), byte, i)));
      break;
    }
  }
  return errors;
}

Result<void> check_options(const PatchOptions& options, PatchKind kind) {
  std::vector<Error> errors = option_errors(options, kind);
  if (errors.empty()) {
    return {};
  }
  std::string all;
  for (const Error& error : errors) {
    all += (all.empty() ? "" : ", ") + error.where->field + ": " + error.message;
  }
  return tl::unexpected(Error{.code = Code::Invalid,
                              .message = fmt::format("PatchOptions.meta.k8s.io \"\" is invalid: {}",
                                                     errors.size() == 1 ? all : "[" + all + "]"),
                              .where = {},
                              .causes = std::move(errors)});
}

Result<json::value> patched(PatchKind kind, const json::value& document, std::string_view body,
                            const schema::Type& type) {
  switch (kind) {
  case PatchKind::Json:
    return json_patched(document, body);
  case PatchKind::Merge:
    return merge_patched(document, body);
  case PatchKind::StrategicMerge:
    return strategically_patched(document, body, type);
  case PatchKind::Apply:
    break;
  }
  return fail(Code::Internal, "an apply patch needs its owners: see owners.h");
}

Result<json::value> applied_object(std::string_view body) {
  auto documents = api::parse_yaml(body, "", api::Duplicates::TakeLast);
  if (!documents) {
    return fail(Code::BadRequest, "error decoding YAML: " + to_string(documents.error()));
  }
  if (documents->empty() || !documents->front().value.is_object()) {
    return fail(Code::BadRequest, "error decoding YAML: the body is no object");
  }
  return std::move(documents->front().value);
}

} // namespace berth::patch
