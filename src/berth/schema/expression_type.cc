#include "berth/schema/expression_type.h"

#include <fmt/format.h>

#include "berth/schema/rules.h"

namespace berth::schema {
namespace {

using cel::Kind;
using cel::TypeRef;

TypeRef text_type(const std::string& format) {
  if (format == "byte") {
    return cel::simple(Kind::Bytes);
  }
  if (format == "duration") {
    return cel::simple(Kind::Duration);
  }
  if (format == "date" || format == "date-time") {
    return cel::simple(Kind::Timestamp);
  }
  return cel::simple(Kind::String);
}

/// Of whole objects expressions know the name alone.
TypeRef metadata_type(const std::string& name) {
  const TypeRef text = cel::simple(Kind::String);
  return std::make_shared<const cel::Type>(cel::Type{
      .kind = Kind::Object, .name = name, .fields = {{"name", text}, {"generateName", text}}});
}

TypeRef object_type(const Type& type, const std::string& name) {
  cel::Type out{.kind = Kind::Object, .name = name};
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
  cel::Type out{.kind = Kind::List, .of = {element}};
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
    return cel::simple(Kind::Bool);
  case Form::Integer:
    return cel::simple(Kind::Int);
  case Form::Number:
    return cel::simple(Kind::Double);
  case Form::String:
    return text_type(type.format);
  case Form::IntOrString:
    return cel::simple(Kind::Dyn);
  case Form::Struct:
    return object_type(type, name);
  case Form::List:
    return list_type(type, name);
  case Form::Map: {
    const TypeRef element = expression_type(*type.element, name + ".@elem");
    return element == nullptr ? nullptr : cel::map_of(cel::simple(Kind::String), element);
  }
  case Form::Any:
  case Form::Quantity:
    break;
  }
  return nullptr;
}

} // namespace berth::schema
