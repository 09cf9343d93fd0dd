#include "berth/schema/body.h"

#include <optional>

#include <boost/json/object.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "berth/api/json.h"
#include "berth/schema/catalogue.h"
#include "berth/schema/decode.h"
#include "berth/schema/go_json.h"
#include "berth/schema/input.h"

namespace berth::schema {
namespace {

constexpr std::string_view kScheme = "k8s.io/kubernetes/pkg/api/legacyscheme/scheme.go:30";

/// As much of a body as an error shows.
std::string summary(std::string_view bytes) {
  constexpr std::size_t kShown = 30;
  if (bytes.empty()) {
    return "<empty>";
  }
  const std::string_view shown = bytes.substr(0, kShown);
  const std::string_view more = bytes.size() > kShown ? " ..." : "";
  if (bytes[0] == '{') {
    return fmt::format("{}{}", shown, more);
  }
  std::string hex;
  for (const char c : shown) {
    fmt::format_to(std::back_inserter(hex), "{:02x}", static_cast<unsigned char>(c));
  }
  return hex + std::string(more);
}

tl::unexpected<Error> unrecognized(const Expected& expected, std::string_view why,
                                   std::string_view bytes) {
  return fail(Code::BadRequest,
              fmt::format("the object provided is unrecognized (must be of type {}): couldn't get "
                          "version/kind; json parse error: {} ({})",
                          expected.gvk.kind, why, summary(bytes)));
}

tl::unexpected<Error> unusable(const api::GroupVersionKind& given, const Expected& expected,
                               std::string_view why) {
  return fail(Code::BadRequest,
              fmt::format("{} in version \"{}\" cannot be handled as a {}: {}", given.kind,
                          given.api_version(), expected.gvk.kind, why));
}

struct TypeMeta {
  std::string api_version;
  std::string kind;
};

/// Reads apiVersion and kind alone; Error: what Go's decoder says of them.
template <class In> Result<TypeMeta> type_meta(In in) {
  TypeMeta out;
  if (in.kind() == JsonKind::Null) {
    return out;
  }
  if (in.kind() != JsonKind::Object) {
    return fail(Code::BadRequest,
                fmt::format("json: cannot unmarshal {} into Go value of type struct {{ APIVersion "
                            "string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string "
                            "\"json:\\\"kind,omitempty\\\"\" }}",
                            to_string(in.kind())));
  }
  std::optional<std::string> problem;
  in.each_member([&](std::string_view key) {
    const bool api_version = key == "apiVersion";
    if ((!api_version && key != "kind") || in.kind() == JsonKind::Null) {
      in.skip();
    } else if (in.kind() == JsonKind::String) {
      (api_version ? out.api_version : out.kind) = in.text();
    } else {
      if (!problem) {
        problem = fmt::format("json: cannot unmarshal {} into Go struct field .{} of type string",
                              to_string(in.kind()), key);
      }
      in.skip();
    }
  });
  if (problem) {
    return fail(Code::BadRequest, *std::move(problem));
  }
  return out;
}

api::GroupVersionKind completed(const TypeMeta& given, const api::GroupVersionKind& expected) {
  api::GroupVersionKind out = api::make_gvk(given.api_version, given.kind);
  if (given.api_version.empty()) {
    out.group = expected.group;
    out.version = expected.version;
  }
  if (given.kind.empty()) {
    out.kind = expected.kind;
  }
  return out;
}

/// "core.Pod": the type that an API server converts to.
std::string internal_name(const api::GroupVersionKind& gvk) {
  return (gvk.group.empty() ? "core" : gvk.group.substr(0, gvk.group.find('.'))) + "." + gvk.kind;
}

Result<void> check_kind(const api::GroupVersionKind& given, const Expected& expected) {
  if (given == expected.gvk) {
    return {};
  }
  if (!Catalogue::builtin().type(given)) {
    return unusable(given, expected,
                    fmt::format("no kind \"{}\" is registered for version \"{}\" in scheme \"{}\"",
                                given.kind, given.api_version(), kScheme));
  }
  if (given.kind != expected.gvk.kind) {
    return unusable(given, expected,
                    fmt::format("converting ({}.{}) to ({}): unknown conversion", given.version,
                                given.kind, internal_name(expected.gvk)));
  }
  return fail(Code::BadRequest,
              fmt::format("the API version in the data ({}) does not match the expected API "
                          "version ({})",
                          given.api_version(), expected.gvk.api_version()));
}

Result<Body> finish(Result<Decoded> decoded, const api::GroupVersionKind& given,
                    const Expected& expected, FieldValidation validation) {
  if (!decoded) {
    return unusable(given, expected, decoded.error().message);
  }
  if (validation == FieldValidation::Strict && !decoded->strict.empty()) {
    return unusable(given, expected,
                    fmt::format("strict decoding error: {}", fmt::join(decoded->strict, ", ")));
  }
  Body out;
  json::object object = {{"kind", given.kind}, {"apiVersion", given.api_version()}};
  for (auto& [name, member] : decoded->value.as_object()) {
    if (name != "kind" && name != "apiVersion") {
      object.emplace(name, std::move(member));
    }
  }
  out.object = std::move(object);
  if (validation == FieldValidation::Warn) {
    out.warnings = std::move(decoded->strict);
  }
  return out;
}

} // namespace

Result<Body> decode_body(std::string_view bytes, const Expected& expected,
                         FieldValidation validation) {
  if (const auto problem = json_syntax_error(bytes)) {
    return unrecognized(expected, *problem, bytes);
  }
  const auto meta = type_meta(TextInput(bytes));
  if (!meta) {
    return unrecognized(expected, meta.error().message, bytes);
  }
  const api::GroupVersionKind given = completed(*meta, expected.gvk);
  BERTH_CHECK(check_kind(given, expected));
  return finish(decode_text(bytes, expected.type), given, expected, validation);
}

Result<Body> decode_document(const json::value& document, const Expected& expected,
                             FieldValidation validation) {
  const auto meta = type_meta(ValueInput(document));
  if (!meta) {
    return unrecognized(expected, meta.error().message, api::to_json(document));
  }
  const api::GroupVersionKind given = completed(*meta, expected.gvk);
  BERTH_CHECK(check_kind(given, expected));
  return finish(decode_value(document, expected.type), given, expected, validation);
}

} // namespace berth::schema
