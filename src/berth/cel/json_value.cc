#include "berth/cel/json_value.h"

#include <absl/strings/escaping.h>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/string.hpp>
#include <boost/json/value.hpp>

#include "berth/cel/time_text.h"

namespace berth::cel {
namespace {

namespace json = boost::json;

class JsonList final : public List {
 public:
  JsonList(const json::array& array, TypeRef type) : array_(&array), type_(std::move(type)) {}
  std::size_t size() const override { return array_->size(); }
  Value at(std::size_t i) const override {
    return from_json((*array_)[i], type_->kind == Kind::List ? type_->of[0] : simple(Kind::Dyn));
  }
  const Type* declared() const override { return type_.get(); }

 private:
  const json::array* array_;
  TypeRef type_;
};

class JsonMap final : public Map {
 public:
  JsonMap(const json::object& object, TypeRef type) : object_(&object), type_(std::move(type)) {}
  bool is_object() const override { return type_->kind == Kind::Object; }
  std::size_t size() const override { return is_object() ? keys().size() : object_->size(); }
  std::optional<Value> find(const Value& key) const override {
    const auto* name = key.get<std::string>();
    const json::value* found = name == nullptr ? nullptr : object_->if_contains(*name);
    const TypeRef type = found == nullptr ? nullptr : type_of(*name);
    return type == nullptr ? std::nullopt : std::optional(from_json(*found, type));
  }
  std::vector<Value> keys() const override {
    std::vector<Value> out;
    for (const auto& [name, value] : *object_) {
      if (type_of(name) != nullptr) {
        out.emplace_back(std::string(name));
      }
    }
    return out;
  }

 private:
  /// null: an object has no such field.
  TypeRef type_of(std::string_view name) const {
    if (type_->kind == Kind::Object) {
      const auto field = type_->fields.find(name);
      return field == type_->fields.end() ? nullptr : field->second;
    }
    return type_->kind == Kind::Map ? type_->of[1] : simple(Kind::Dyn);
  }

  const json::object* object_;
  TypeRef type_;
};

Value from_text(std::string_view text, Kind kind) {
  if (kind == Kind::Timestamp) {
    const bool date = text.size() == std::string_view("2026-01-02").size();
    if (const auto read = parse_rfc3339(std::string(text) + (date ? "T00:00:00Z" : ""))) {
      return {*read};
    }
  } else if (kind == Kind::Duration) {
    if (const auto read = parse_signed_duration(text)) {
      return {*read};
    }
  } else if (kind == Kind::Bytes) {
    if (std::string bytes; absl::Base64Unescape({text.data(), text.size()}, &bytes)) {
      return {Bytes{std::move(bytes)}};
    }
  } else if (kind == Kind::Opaque) {
    if (const auto read = api::Quantity::parse(text)) {
      return opaque_value(*read);
    }
  }
  return {std::string(text)};
}

} // namespace

Value from_json(const json::value& json, const TypeRef& type) {
  switch (json.kind()) {
  case json::kind::null:
    return {Null()};
  case json::kind::bool_:
    return {json.get_bool()};
  case json::kind::int64:
    return type->kind == Kind::Double ? Value(static_cast<double>(json.get_int64()))
                                      : Value(json.get_int64());
  case json::kind::uint64:
    return type->kind == Kind::Double ? Value(static_cast<double>(json.get_uint64()))
                                      : Value(json.get_uint64());
  case json::kind::double_:
    return type->kind == Kind::Int ? Value(static_cast<std::int64_t>(json.get_double()))
                                   : Value(json.get_double());
  case json::kind::string:
    return from_text({json.get_string().data(), json.get_string().size()}, type->kind);
  case json::kind::array:
    return {std::shared_ptr<const List>(std::make_shared<JsonList>(json.get_array(), type))};
  case json::kind::object:
    return {std::shared_ptr<const Map>(std::make_shared<JsonMap>(json.get_object(), type))};
  }
  return {};
}

} // namespace berth::cel
