#include "berth/schema/bundle.h"

#include <algorithm>
#include <array>
#include <map>

#include <boost/json/array.hpp>
#include <boost/json/string.hpp>
#include <fmt/format.h>

#include "berth/api/json.h"

extern "C" {
// Defined in the generated assembler file: the bundle's first byte and the address behind its last.
extern const char berth_schema_bundle[];     // NOLINT(modernize-avoid-c-arrays)
extern const char berth_schema_bundle_end[]; // NOLINT(modernize-avoid-c-arrays)
}

namespace berth::schema {
namespace {

namespace json = boost::json;

std::string_view text(const json::value& value) {
  return value.as_string();
}

struct NamedScalar {
  std::string_view name;
  Form form;
  std::string_view format; // of Any: "object" where OpenAPI says so
  std::string_view description;
};

constexpr std::array kNamedScalars = {
    NamedScalar{"io.k8s.apimachinery.pkg.api.resource.Quantity", Form::Quantity, "",
                "A fixed-point number with a suffix: 100m, 1.5, 2Gi, 5e3."},
    NamedScalar{"io.k8s.apimachinery.pkg.util.intstr.IntOrString", Form::IntOrString,
                "int-or-string", "An int32 or a string: a port or its name, a count or a share."},
    NamedScalar{"io.k8s.apimachinery.pkg.apis.meta.v1.Time", Form::String, "date-time",
                "A moment as RFC 3339 writes it, in whole seconds."},
    NamedScalar{"io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime", Form::String, "date-time",
                "A moment as RFC 3339 writes it, with microseconds."},
    NamedScalar{"io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1", Form::Any, "object",
                "A set of fields as a trie of f:, k:, v: and i: keys."},
    NamedScalar{"io.k8s.apimachinery.pkg.runtime.RawExtension", Form::Any, "object",
                "Any object, kept as it is."},
    NamedScalar{"io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON", Form::Any, "",
                "Any JSON value."},
    NamedScalar{"io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrArray",
                Form::Any, "", "A JSONSchemaProps or an array of them."},
    NamedScalar{"io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrBool",
                Form::Any, "", "A JSONSchemaProps or a boolean."},
    NamedScalar{
        "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrStringArray",
        Form::Any, "", "A JSONSchemaProps or an array of strings."},
    NamedScalar{
        "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceSubresourceStatus",
        Form::Any, "object", "Says that the resource has a status subresource; it has no fields."},
};

std::vector<std::string> split(std::string_view list, char separator) {
  std::vector<std::string> out;
  for (std::size_t from = 0;;) {
    const std::size_t to = list.find(separator, from);
    out.emplace_back(list.substr(from, to - from));
    if (to == std::string_view::npos) {
      return out;
    }
    from = to + 1;
  }
}

/// "map(name)" -> {"map", "name"}.
struct Word {
  std::string_view name;
  std::string_view argument;
};
Word word_of(std::string_view said) {
  const std::size_t open = said.find('(');
  if (open == std::string_view::npos) {
    return {said, {}};
  }
  return {said.substr(0, open), said.substr(open + 1, said.size() - open - 2)};
}

class Reader {
 public:
  explicit Reader(Arena& arena) : arena_(arena) {}

  Result<void> read(const json::object& types) {
    for (const NamedScalar& scalar : kNamedScalars) {
      Type& type = arena_.named(scalar.name);
      type.form = scalar.form;
      type.format = scalar.format;
      type.description = scalar.description;
    }
    for (const auto& [name, said] : types) {
      arena_.named(name).form = Form::Struct;
    }
    for (const auto& [name, said] : types) {
      BERTH_CHECK(read_struct(arena_.named(name), said.as_array()));
    }
    for (const Copy& copy : copies_) {
      copy.type->fields = copy.of->fields; // which were not all read when the copy was made
      copy.type->atomic = !copy.granular && copy.of->atomic;
    }
    return {};
  }

 private:
  // [description, words, [[field, words, spec, description], ...]]
  Result<void> read_struct(Type& type, const json::array& said) {
    type.description = text(said[0]);
    type.atomic = text(said[1]) == "atomic";
    const json::array& fields = said[2].as_array();
    type.fields.reserve(fields.size());
    for (const json::value& entry : fields) {
      const json::array& parts = entry.as_array();
      Field& field = type.fields.emplace_back();
      field.name = text(parts[0]);
      field.description = text(parts[3]);
      for (const char letter : text(parts[1])) {
        switch (letter) {
        case 'r':
          field.required = true;
          break;
        case 'k':
          field.when_empty = WhenEmpty::Kept;
          break;
        case 'd':
          field.when_empty = WhenEmpty::Dropped;
          break;
        case 'z':
          field.when_empty = WhenEmpty::Zero;
          break;
        case 'n':
          field.when_empty = WhenEmpty::Null;
          break;
        default:
          return unknown(type, field, std::string_view(&letter, 1));
        }
      }
      BERTH_TRY(field.type, type_of(type, field, text(parts[2])));
    }
    return {};
  }

  static tl::unexpected<Error> unknown(const Type& type, const Field& field,
                                       std::string_view what) {
    return fail(Code::Invalid, fmt::format("bundle of built-in types: {}.{}: unknown: {}",
                                           type.name, field.name, what));
  }

  // Uses with the same words share one type.
  Result<const Type*> type_of(const Type& owner, const Field& field, std::string_view spec) {
    if (const auto at = by_spec_.find(spec); at != by_spec_.end()) {
      return at->second;
    }
    const std::vector<std::string> words = split(spec, ' ');
    BERTH_TRY(Type* const type, form_of(owner, field, words));
    for (std::size_t i = 1; i < words.size(); ++i) {
      if (!apply(*type, word_of(words[i]))) {
        return unknown(owner, field, words[i]);
      }
    }
    by_spec_.emplace(spec, type);
    return type;
  }

  Result<Type*> form_of(const Type& owner, const Field& field,
                        const std::vector<std::string>& words) {
    const std::string_view form = words.front();
    if (form.starts_with('#')) {
      Type* known = nullptr;
      if (const auto at = arena_.by_name().find(form.substr(1)); at != arena_.by_name().end()) {
        known = at->second;
      }
      if (known == nullptr) {
        return unknown(owner, field, form);
      }
      if (words.size() == 1) {
        return known;
      }
      // What is said of one use must not be said of all, so that it gets a copy.
      Type& copy = arena_.add();
      copy = *known;
      copies_.push_back({&copy, known, std::ranges::find(words, "granular") != words.end()});
      return &copy;
    }
    Type& type = arena_.add();
    if (form.starts_with("[]") || form.starts_with("{}")) {
      type.form = form.front() == '[' ? Form::List : Form::Map;
      BERTH_TRY(type.element, type_of(owner, field, form.substr(2)));
      return &type;
    }
    const std::size_t slash = form.find('/');
    const std::string_view name = form.substr(0, slash);
    type.format = slash == std::string_view::npos ? "" : form.substr(slash + 1);
    if (name == "string") {
      type.form = Form::String;
    } else if (name == "boolean") {
      type.form = Form::Boolean;
    } else if (name == "int32" || name == "int64") {
      type.form = Form::Integer;
      type.format = name;
    } else if (name == "double") {
      type.form = Form::Number;
      type.format = name;
    } else if (name == "any") {
      type.form = Form::Any;
    } else {
      return unknown(owner, field, form);
    }
    return &type;
  }

  bool apply(Type& type, const Word& word) {
    if (word.name == "map" && type.form == Form::List) {
      type.list = ListKind::Map;
      type.list_keys = split(word.argument, ',');
    } else if (word.name == "set" && type.form == Form::List) {
      type.list = ListKind::Set;
    } else if (word.name == "merge") {
      type.merges = true;
      type.merge_key = word.argument;
    } else if (word.name == "retainKeys") {
      type.retain_keys = true;
    } else if (word.name == "atomic" || word.name == "granular") {
      type.atomic = word.name == "atomic";
    } else if (word.name == "default") {
      auto value = api::parse_json(word.argument);
      if (!value) {
        return false;
      }
      type.default_value = *std::move(value);
    } else if (word.name == "go") {
      return name_go_type(type, word.argument);
    } else {
      return false;
    }
    return true;
  }

  // Of a list the name is its elements'.
  bool name_go_type(Type& type, std::string_view name) {
    if (type.form != Form::List) {
      type.go_type = name;
      return true;
    }
    Type& element = arena_.add();
    element = *type.element;
    element.go_type = name;
    type.element = &element;
    return true;
  }

  struct Copy {
    Type* type;
    const Type* of;
    bool granular;
  };

  Arena& arena_;
  std::map<std::string, const Type*, std::less<>> by_spec_;
  std::vector<Copy> copies_;
};

} // namespace

std::string_view bundle_text() {
  const char* const begin = &berth_schema_bundle[0];
  return {begin, static_cast<std::size_t>(&berth_schema_bundle_end[0] - begin)};
}

Result<void> read_types(const json::object& types, Arena& arena) {
  Reader reader(arena);
  return reader.read(types);
}

} // namespace berth::schema
