#include "berth/schema/expression_type.h"

#include <algorithm>

#include <boost/json/string.hpp>
#include <fmt/format.h>

#include "berth/schema/rules.h"

namespace berth::schema {
namespace {

using cel::Kind;
using cel::TypeRef;

// What a request holds at most, and forms of JSON. Source: k8s.io/apiserver/pkg/cel/limits.go.
constexpr std::int64_t kRequestSize = std::int64_t{3} * 1024 * 1024;
constexpr std::int64_t kLongestText = kRequestSize - 2; ///< without its quotes
constexpr std::int64_t kDurationSize = 32;
constexpr std::int64_t kDateSize = 12;
constexpr std::int64_t kTimeSize = 32;

/// Of a kind that has no more to it, with a length.
TypeRef sized(Kind kind, std::int64_t longest) {
  return std::make_shared<const cel::Type>(cel::Type{.kind = kind, .max_elements = longest});
}

Kind text_kind(const std::string& format) {
  return format == "byte"                            ? Kind::Bytes
         : format == "duration"                      ? Kind::Duration
         : format == "date" || format == "date-time" ? Kind::Timestamp
                                                     : Kind::String;
}

std::int64_t longest_text(const Type& type) {
  constexpr std::int64_t kBytesOfOne = 4; // that a character may take
  const Rules* rules = type.rules.get();
  const std::string& format = type.format;
  if (format == "duration" || format == "date" || format == "date-time") {
    return format == "duration" ? kDurationSize : format == "date" ? kDateSize : kTimeSize;
  }
  if (rules != nullptr && rules->max_length) {
    const std::int64_t longest = std::max<std::int64_t>(0, *rules->max_length);
    return format == "byte" ? longest : longest * kBytesOfOne;
  }
  if (rules == nullptr || rules->one_of_values.empty() || format == "byte") {
    return kLongestText;
  }
  std::int64_t longest = 0;
  for (const boost::json::value& one : rules->one_of_values) {
    if (const auto* text = one.if_string()) {
      longest = std::max(longest, static_cast<std::int64_t>(text->size()));
    }
  }
  return longest;
}

/// Of an object, with what it must have.
std::int64_t smallest_object(const Type& type) {
  constexpr std::int64_t kSigns = 4; // of one member: quotes, colon, comma
  std::int64_t size = 2;
  for (const Field& field : type.fields) {
    const bool required =
        type.rules != nullptr &&
        std::ranges::find(type.rules->required, field.name) != type.rules->required.end();
    if (!required || field.type->default_value) {
      continue;
    }
    if (const auto of = min_serialized(*field.type)) {
      size += static_cast<std::int64_t>(field.name.size()) + *of + kSigns;
    }
  }
  return size;
}

/// Of whole objects expressions know the name alone.
TypeRef metadata_type(const std::string& name) {
  const TypeRef text = sized(Kind::String, kLongestText);
  return std::make_shared<const cel::Type>(
      cel::Type{.kind = Kind::Object,
                .name = name,
                .fields = {{"name", text}, {"generateName", text}},
                .max_elements = 0});
}

TypeRef object_type(const Type& type, const std::string& name) {
  cel::Type out{.kind = Kind::Object, .name = name, .max_elements = 0};
  for (const Field& field : type.fields) {
    if (cel::escaped(field.name).empty()) {
      continue;
    }
    const std::string path = fmt::format("{}.{}", name, field.name);
    const TypeRef of =
        field.type->structural ? expression_type(*field.type, path) : metadata_type(path);
    if (of != nullptr) {
      out.fields.emplace(field.name, of);
    }
  }
  return std::make_shared<const cel::Type>(std::move(out));
}

TypeRef list_type(const Type& type, const std::string& name) {
  const TypeRef element = expression_type(*type.element, name + ".@idx");
  if (element == nullptr) {
    return nullptr;
  }
  cel::Type out{.kind = Kind::List, .of = {element}, .max_elements = max_elements(type)};
  out.set = type.list == ListKind::Set;
  if (type.list == ListKind::Map) {
    out.keys = type.list_keys;
  }
  return std::make_shared<const cel::Type>(std::move(out));
}

} // namespace

TypeRef expression_type(const Type& type, const std::string& name) {
  switch (type.form) {
  case Form::Boolean:
    return sized(Kind::Bool, 0);
  case Form::Integer:
    return sized(Kind::Int, 0);
  case Form::Number:
    return sized(Kind::Double, 0);
  case Form::String:
    return sized(text_kind(type.format), max_elements(type));
  case Form::IntOrString:
    return sized(Kind::Dyn, max_elements(type));
  case Form::Struct:
    return object_type(type, name);
  case Form::List:
    return list_type(type, name);
  case Form::Map: {
    const TypeRef element = expression_type(*type.element, name + ".@elem");
    if (element == nullptr) {
      return nullptr;
    }
    return std::make_shared<const cel::Type>(
        cel::Type{.kind = Kind::Map,
                  .of = {sized(Kind::String, kLongestText), element},
                  .max_elements = max_elements(type)});
  }
  case Form::Any:
  case Form::Quantity:
    break;
  }
  return nullptr;
}

std::optional<std::int64_t> min_serialized(const Type& type) {
  constexpr std::int64_t kBoolean = 4;
  constexpr std::int64_t kShortestTime = 22; // with its quotes
  switch (type.form) {
  case Form::Boolean:
    return kBoolean;
  case Form::Integer:
  case Form::Number:
  case Form::IntOrString:
    return 1;
  case Form::String:
    return type.format == "duration"    ? 4
           : type.format == "date"      ? kDateSize
           : type.format == "date-time" ? kShortestTime
                                        : 2;
  case Form::Struct:
    return smallest_object(type);
  case Form::List:
  case Form::Map:
    return min_serialized(*type.element) ? std::optional<std::int64_t>(2) : std::nullopt;
  case Form::Any:
  case Form::Quantity:
    break;
  }
  return std::nullopt;
}

std::int64_t max_elements(const Type& type) {
  const Rules* rules = type.rules.get();
  if (type.form == Form::List) {
    return rules != nullptr && rules->max_items
               ? std::max<std::int64_t>(0, *rules->max_items)
               : kLongestText / (min_serialized(*type.element).value_or(0) + 1);
  }
  if (type.form == Form::Map) {
    constexpr std::int64_t kKey = 6; // the shortest key, its quotes, colon and comma
    return rules != nullptr && rules->max_properties
               ? std::max<std::int64_t>(0, *rules->max_properties)
               : kLongestText / (min_serialized(*type.element).value_or(0) + kKey);
  }
  if (type.form == Form::IntOrString) {
    return rules != nullptr && rules->max_length ? longest_text(type) : kLongestText;
  }
  return longest_text(type);
}

} // namespace berth::schema
