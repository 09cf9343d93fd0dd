#include "berth/schema/lists.h"

#include <algorithm>
#include <set>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <fmt/format.h>

#include "berth/api/json.h"

namespace berth::schema {
namespace {

namespace json = boost::json;

std::string child(const std::string& path, std::string_view name) {
  return path.empty() ? std::string(name) : fmt::format("{}.{}", path, name);
}

/// The keys of an element, with the defaults of those that it leaves out.
json::value key_of(const json::value& element, const Type& type) {
  const auto* object = element.if_object();
  if (type.list != ListKind::Map || object == nullptr) {
    return element;
  }
  json::object out;
  for (const std::string& key : type.list_keys) {
    if (const json::value* given = object->if_contains(key)) {
      out[key] = *given;
    } else if (const Field* field = type.element->field(key);
               field != nullptr && field->type->default_value) {
      out[key] = *field->type->default_value;
    }
  }
  return out;
}

void check_at(const json::value& value, const Type& type, const std::string& path,
              FieldErrors& errors) {
  if (!type.structural) {
    return;
  }
  if (const auto* object = value.if_object()) {
    for (const auto& [name, member] : *object) {
      const Field* field = type.field(std::string_view(name));
      const Type* of = type.form == Form::Map ? type.element : field ? field->type : nullptr;
      if (of != nullptr) {
        check_at(member, *of, child(path, name), errors);
      }
    }
  }
  const auto* array = value.if_array();
  if (array == nullptr || type.form != Form::List) {
    return;
  }
  if (type.list != ListKind::Atomic) {
    std::set<std::string> seen;
    for (std::size_t i = 0; i < array->size(); ++i) {
      const json::value key = key_of((*array)[i], type);
      if (!seen.insert(api::to_json(key)).second) {
        errors.push_back(duplicate_value(fmt::format("{}[{}]", path, i), key));
      }
    }
  }
  for (std::size_t i = 0; i < array->size(); ++i) {
    check_at((*array)[i], *type.element, fmt::format("{}[{}]", path, i), errors);
  }
}

} // namespace

void check_lists(const json::value& object, const Type& type, FieldErrors& errors) {
  check_at(object, type, "", errors);
}

const json::value* same_element(const Type& list, const json::value& element,
                                const json::array* old) {
  if (old == nullptr || list.list != ListKind::Map) {
    return nullptr;
  }
  const auto same = [&](const json::value& other) {
    return std::ranges::all_of(list.list_keys, [&](const std::string& key) {
      const json::value* one = api::find(element, key);
      const json::value* two = api::find(other, key);
      return (one == nullptr) == (two == nullptr) && (one == nullptr || *one == *two);
    });
  };
  const auto found = std::ranges::find_if(*old, same);
  return found == old->end() ? nullptr : &*found;
}

} // namespace berth::schema
