#include "berth/store/errors.h"

#include <algorithm>

#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/api/kinds.h"

namespace berth::store {
namespace {

Error field_error(std::string field, std::string message) {
  return Error{.code = Code::Invalid,
               .message = std::move(message),
               .where = Where{.file = {}, .line = 0, .column = 0, .field = std::move(field)},
               .causes = {}};
}

std::string with_detail(std::string_view what, std::string_view detail) {
  return detail.empty() ? std::string(what) : fmt::format("{}: {}", what, detail);
}

} // namespace

std::string resource_text(const GroupKind& kind) {
  const std::string plural =
      api::plural_of({.group = kind.group, .version = "", .kind = kind.kind});
  return kind.group.empty() ? plural : plural + "." + kind.group;
}

std::string kind_text(const GroupKind& kind) {
  return kind.group.empty() ? kind.kind : kind.kind + "." + kind.group;
}

tl::unexpected<Error> not_found(const GroupKind& kind, std::string_view name) {
  return fail(Code::NotFound, fmt::format("{} \"{}\" not found", resource_text(kind), name));
}

tl::unexpected<Error> already_exists(const GroupKind& kind, std::string_view name) {
  return fail(Code::AlreadyExists,
              fmt::format("{} \"{}\" already exists", resource_text(kind), name));
}

tl::unexpected<Error> conflict(std::string_view resource, std::string_view name,
                               std::string_view why) {
  return fail(Code::Conflict,
              fmt::format("Operation cannot be fulfilled on {} \"{}\": {}", resource, name, why));
}

tl::unexpected<Error> outdated(const GroupKind& kind, std::string_view name) {
  return conflict(resource_text(kind), name,
                  "the object has been modified; please apply your changes to the latest version "
                  "and try again");
}

tl::unexpected<Error> forbidden(const GroupKind& kind, std::string_view name,
                                std::string_view why) {
  return fail(Code::Forbidden,
              fmt::format("{} \"{}\" is forbidden: {}", resource_text(kind), name, why));
}

std::string quote(std::string_view text) {
  return api::to_json(api::json::value(text));
}

Error required_field(std::string field, std::string_view detail) {
  return field_error(std::move(field), with_detail("Required value", detail));
}

Error invalid_value(std::string field, std::string_view value, std::string_view why) {
  return field_error(std::move(field), fmt::format("Invalid value: {}: {}", value, why));
}

Error forbidden_field(std::string field, std::string_view why) {
  return field_error(std::move(field), with_detail("Forbidden", why));
}

Error unsupported_value(std::string field, std::string_view value,
                        const std::vector<std::string>& supported) {
  std::string list;
  for (const std::string& one : supported) {
    list += (list.empty() ? "" : ", ") + quote(one);
  }
  return field_error(std::move(field),
                     fmt::format("Unsupported value: {}: supported values: {}", value, list));
}

Error duplicate_value(std::string field, std::string_view value) {
  return field_error(std::move(field), fmt::format("Duplicate value: {}", value));
}

Error not_found_value(std::string field, std::string_view value) {
  return field_error(std::move(field), fmt::format("Not found: {}", value));
}

Error too_long_value(std::string field, std::size_t bytes) {
  return field_error(std::move(field),
                     fmt::format("Too long: may not be more than {} bytes", bytes));
}

Error too_many_value(std::string field, std::size_t count, std::size_t limit) {
  return field_error(std::move(field),
                     fmt::format("Too many: {}: must have at most {} items", count, limit));
}

tl::unexpected<Error> invalid(const GroupKind& kind, std::string_view name, FieldErrors errors) {
  std::vector<std::string> texts;
  for (const Error& error : errors) {
    std::string text = fmt::format("{}: {}", error.where ? error.where->field : "", error.message);
    if (std::ranges::find(texts, text) == texts.end()) {
      texts.push_back(std::move(text));
    }
  }
  std::string all;
  for (const std::string& text : texts) {
    all += (all.empty() ? "" : ", ") + text;
  }
  return tl::unexpected(
      Error{.code = Code::Invalid,
            .message = fmt::format("{} \"{}\" is invalid: {}", kind_text(kind), name,
                                   texts.size() == 1 ? all : "[" + all + "]"),
            .where = {},
            .causes = std::move(errors)});
}

} // namespace berth::store
