#include "berth/schema/decode.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <limits>
#include <optional>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/string.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "berth/schema/input.h"
#include "berth/schema/scalar.h"

namespace berth::schema {
namespace {

/// "io.k8s.api.core.v1.PodSpec" -> "PodSpec", or with its package: "v1.PodSpec".
std::string_view short_name(const Type& type) {
  return std::string_view(type.name).substr(type.name.rfind('.') + 1);
}
std::string_view package_name(const Type& type) {
  const std::string_view name = type.name;
  const std::size_t last = name.rfind('.');
  const std::size_t before = last == std::string_view::npos ? last : name.rfind('.', last - 1);
  return before == std::string_view::npos ? name : name.substr(before + 1);
}

bool is_empty(const json::value& value) {
  switch (value.kind()) {
  case json::kind::null:
    return true;
  case json::kind::bool_:
    return !value.get_bool();
  case json::kind::int64:
    return value.get_int64() == 0;
  case json::kind::uint64:
    return value.get_uint64() == 0;
  case json::kind::double_:
    return value.get_double() == 0;
  case json::kind::string:
    return value.get_string().empty();
  case json::kind::array:
    return value.get_array().empty();
  case json::kind::object:
    return value.get_object().empty();
  }
  return false;
}

json::value zero_of(const Type& type);

void write_absent(json::object& out, const Type& type) {
  if (type.structural) {
    return;
  }
  for (const Field& field : type.fields) {
    if ((field.when_empty == WhenEmpty::Zero || field.when_empty == WhenEmpty::Null) &&
        !out.contains(field.name)) {
      out[field.name] =
          field.when_empty == WhenEmpty::Zero ? zero_of(*field.type) : json::value(nullptr);
    }
  }
}

/// Go's zero value as JSON.
json::value zero_of(const Type& type) {
  switch (type.form) {
  case Form::Boolean:
    return false;
  case Form::Integer:
  case Form::Number:
  case Form::IntOrString:
    return 0;
  case Form::Quantity:
    return json::value("0");
  case Form::String:
    return is_time(type) ? json::value(nullptr) : json::value("");
  case Form::Struct: {
    json::object out;
    write_absent(out, type);
    return out;
  }
  case Form::Any:
  case Form::Map:
  case Form::List:
    break;
  }
  return nullptr;
}

template <class In> class Decoder {
 public:
  explicit Decoder(In in) : in_(std::move(in)) {}

  Result<Decoded> decode(const Type& root) {
    Decoded out;
    if (in_.kind() == JsonKind::Null) {
      in_.skip();
      out.value = zero_of(root);
    } else {
      out.value = value(root);
    }
    if (first_error_ || final_error_) {
      return fail(Code::BadRequest, *std::move(final_error_ ? final_error_ : first_error_));
    }
    out.strict = std::move(strict_);
    return out;
  }

 private:
  json::value value(const Type& type) {
    if (type.structural) {
      return structural(type);
    }
    switch (type.form) {
    case Form::Any:
      return in_.any();
    case Form::Boolean:
      return in_.kind() == JsonKind::Boolean ? json::value(in_.boolean()) : mismatch(type);
    case Form::Integer:
      return integer(type);
    case Form::Number:
      return in_.kind() == JsonKind::Number ? number_value(in_.number()) : mismatch(type);
    case Form::String:
      return string(type);
    case Form::IntOrString:
      return int_or_string();
    case Form::Quantity:
      return quantity();
    case Form::Struct:
      return in_.kind() == JsonKind::Object ? structure(type) : mismatch(type);
    case Form::Map:
      return in_.kind() == JsonKind::Object ? map(type) : mismatch(type);
    case Form::List:
      return in_.kind() == JsonKind::Array ? list(type) : mismatch(type);
    }
    return nullptr;
  }

  // Of a custom resource: what has another form than it should is kept for validate() to see.
  json::value structural(const Type& type) {
    const JsonKind kind = in_.kind();
    if (kind == JsonKind::Object && type.form == Form::Struct) {
      return structure(type);
    }
    if (kind == JsonKind::Object && type.form == Form::Map) {
      return map(type);
    }
    if (kind == JsonKind::Array && type.form == Form::List) {
      return list(type);
    }
    return in_.any();
  }

  json::value structure(const Type& type) {
    json::object out;
    std::vector<bool> seen(type.fields.size());
    const Type* const outer = std::exchange(struct_, &type);
    in_.each_member([&](std::string_view key) {
      const Field* field = type.field(key);
      const std::size_t length = enter(key);
      if (field == nullptr) {
        unknown(type, key, out);
      } else {
        const auto index = static_cast<std::size_t>(field - type.fields.data());
        if (seen[index]) {
          report("duplicate");
        }
        seen[index] = true;
        names_.push_back(field->name);
        put(out, *field, type.structural);
        names_.pop_back();
      }
      path_.resize(length);
    });
    struct_ = outer;
    write_absent(out, type);
    return out;
  }

  void unknown(const Type& type, std::string_view key, json::object& out) {
    if (type.preserve_unknown) {
      out[key] = in_.any();
    } else {
      report("unknown");
      in_.skip();
    }
  }

  void put(json::object& out, const Field& field, bool structural) {
    json::value made = null() ? json::value(nullptr) : value(*field.type);
    const bool typed = !structural || !field.type->structural;
    if (typed && (made.is_null() || (field.when_empty == WhenEmpty::Dropped && is_empty(made)))) {
      out.erase(field.name);
    } else {
      out[field.name] = std::move(made);
    }
  }

  json::value map(const Type& type) {
    json::object out;
    in_.each_member([&](std::string_view key) {
      const std::size_t length = enter(key);
      if (out.contains(key)) {
        report("duplicate");
      }
      out[key] = element(type);
      path_.resize(length);
    });
    return out;
  }

  json::value list(const Type& type) {
    json::array out;
    in_.each_element([&] {
      const std::size_t length = path_.size();
      fmt::format_to(std::back_inserter(path_), "[{}]", out.size());
      out.push_back(element(type));
      path_.resize(length);
    });
    return out;
  }

  json::value element(const Type& type) {
    if (!null()) {
      return value(*type.element);
    }
    return type.structural ? json::value(nullptr) : zero_of(*type.element);
  }

  json::value integer(const Type& type) {
    if (in_.kind() != JsonKind::Number) {
      return mismatch(type);
    }
    const std::string_view text = in_.number();
    if (const auto value = integer_of(text, type.format == "int32")) {
      return *value;
    }
    return refuse(fmt::format("number {}", text), go_type_name(type));
  }

  static std::optional<std::int64_t> integer_of(std::string_view text, bool narrow) {
    std::int64_t value = 0;
    const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (ec != std::errc() || end != text.data() + text.size() ||
        (narrow && (value < std::numeric_limits<std::int32_t>::min() ||
                    value > std::numeric_limits<std::int32_t>::max()))) {
      return std::nullopt;
    }
    return value;
  }

  json::value string(const Type& type) {
    const bool time = is_time(type);
    if (in_.kind() != JsonKind::String) {
      return time ? stop(unmarshal(to_string(in_.kind()), "string")) : mismatch(type);
    }
    std::string text = in_.text();
    if (time) {
      return canonical(canonical_time(type, text));
    }
    if (type.format == "byte") {
      if (const auto sound = check_base64(text); !sound) {
        note(sound.error().message);
      }
    }
    return json::value(std::move(text));
  }

  json::value quantity() {
    switch (in_.kind()) {
    case JsonKind::String:
      return canonical(canonical_quantity(in_.text()));
    case JsonKind::Number:
      return canonical(canonical_quantity(in_.number()));
    case JsonKind::Object:
    case JsonKind::Array:
    case JsonKind::Boolean:
    case JsonKind::Null:
      break;
    }
    in_.skip();
    return canonical(canonical_quantity(""));
  }

  json::value canonical(const Result<std::string>& text) {
    if (!text) {
      final_error_ = final_error_ ? final_error_ : text.error().message;
      return nullptr;
    }
    return json::value(*text);
  }

  json::value int_or_string() {
    if (in_.kind() == JsonKind::String) {
      return json::value(in_.text());
    }
    if (in_.kind() != JsonKind::Number) {
      return stop(unmarshal(to_string(in_.kind()), "int32"));
    }
    const std::string text(in_.number());
    if (const auto value = integer_of(text, true)) {
      return *value;
    }
    final_error_ = final_error_ ? final_error_ : unmarshal("number " + text, "int32");
    return nullptr;
  }

  bool null() {
    if (in_.kind() != JsonKind::Null) {
      return false;
    }
    in_.skip();
    return true;
  }

  std::string unmarshal(std::string_view what, std::string_view type) const {
    if (struct_ == nullptr) {
      return fmt::format("json: cannot unmarshal {} into Go value of type {}", what, type);
    }
    return fmt::format("json: cannot unmarshal {} into Go struct field {}.{} of type {}", what,
                       short_name(*struct_), fmt::join(names_, "."), type);
  }

  json::value mismatch(const Type& type) {
    const std::string_view kind = to_string(in_.kind());
    in_.skip();
    return refuse(kind, go_type_name(type));
  }

  json::value refuse(std::string_view what, std::string_view type) {
    note(unmarshal(what, type));
    return nullptr;
  }

  // The first of these is told, unless a type that decodes itself stopped everything.
  void note(std::string message) {
    if (!first_error_) {
      first_error_ = std::move(message);
    }
  }

  json::value stop(std::string message) {
    in_.skip();
    if (!final_error_) {
      final_error_ = std::move(message);
    }
    return nullptr;
  }

  void report(std::string_view what) {
    std::string text = fmt::format("{} field \"{}\"", what, path_);
    if (std::ranges::find(strict_, text) == strict_.end()) {
      strict_.push_back(std::move(text));
    }
  }

  /// Returns the length of the path before.
  std::size_t enter(std::string_view key) {
    const std::size_t length = path_.size();
    path_ += path_.empty() ? "" : ".";
    path_ += key;
    return length;
  }

  In in_;
  const Type* struct_ = nullptr;
  std::vector<std::string_view> names_; // of fields alone, as errors have them
  std::string path_;                    // with keys and indices, as warnings have it
  std::vector<std::string> strict_;
  std::optional<std::string> first_error_;
  std::optional<std::string> final_error_;
};

} // namespace

std::string go_type_name(const Type& type) {
  if (!type.go_type.empty()) {
    return type.go_type;
  }
  switch (type.form) {
  case Form::Boolean:
    return "bool";
  case Form::Integer:
    return type.format;
  case Form::Number:
    return "float64";
  case Form::String:
    return is_time(type) ? std::string(package_name(type))
                         : std::string(type.format == "byte" ? "[]uint8" : "string");
  case Form::List:
    return "[]" + go_type_name(*type.element);
  case Form::Map:
    return "map[string]" + go_type_name(*type.element);
  case Form::Any:
  case Form::IntOrString:
  case Form::Quantity:
  case Form::Struct:
    break;
  }
  return type.name.empty() ? "interface {}" : std::string(package_name(type));
}

Result<Decoded> decode_text(std::string_view text, const Type& type) {
  return Decoder<TextInput>(TextInput(text)).decode(type);
}

Result<Decoded> decode_value(const json::value& value, const Type& type) {
  return Decoder<ValueInput>(ValueInput(value)).decode(type);
}

} // namespace berth::schema
