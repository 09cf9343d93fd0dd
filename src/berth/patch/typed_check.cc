// Whether a value is of its type: the errors of an apply whose object does not fit the schema.
#include <fmt/format.h>

#include "berth/patch/atom.h"
#include "berth/patch/go_text.h"
#include "berth/patch/typed.h"

namespace berth::patch {
namespace {

using schema::Form;
using schema::Type;

class Checker {
 public:
  explicit Checker(Duplicates duplicates) : duplicates_(duplicates) {}

  void check(const Type& type, const json::value& value) {
    switch (atom_of(type, &value).kind) {
    case Atom::Kind::Map:
      return check_map(type, value);
    case Atom::Kind::List:
      return check_list(type, value);
    case Atom::Kind::Scalar:
      return check_scalar(type, value);
    }
  }

  Result<void> result() const {
    if (errors_.empty()) {
      return {};
    }
    if (errors_.size() == 1) {
      return fail(Code::Invalid, errors_.front());
    }
    std::string all = "errors:";
    for (const std::string& error : errors_) {
      all += "\n  " + error;
    }
    return fail(Code::Invalid, all);
  }

 private:
  void error(std::string_view text) {
    errors_.push_back(path_.empty() ? std::string(text)
                                    : fmt::format("{}: {}", to_string(path_), text));
  }
  void below(PathElement element, const Type& type, const json::value& value) {
    path_.push_back(std::move(element));
    check(type, value);
    path_.pop_back();
  }

  void check_map(const Type& type, const json::value& value) {
    if (value.is_null()) {
      return;
    }
    if (!value.is_object()) {
      return error("expected map, got &{" + go_value(value) + "}");
    }
    for (const auto& [key, member] : value.get_object()) {
      const Type* of = member_type(type, key);
      if (of == nullptr) {
        path_.push_back(PathElement::field(key));
        error("field not declared in schema");
        path_.pop_back();
        return; // the first of a map, as Kubernetes stops there
      }
      below(PathElement::field(key), *of, member);
    }
  }

  void check_list(const Type& type, const json::value& value) {
    if (value.is_null()) {
      return;
    }
    if (!value.is_array()) {
      return error("expected list, got &{" + go_value(value) + "}");
    }
    const bool atomic = atom_of(type, &value).atomic;
    FieldSet seen;
    int index = 0;
    for (const json::value& item : value.get_array()) {
      auto element = atomic ? PathElement::at(index) : element_of(type, item);
      if (!element) {
        return error(fmt::format("element {}: {}", index, element.error().message));
      }
      if (duplicates_ == Duplicates::Refused && !atomic && seen.has_member(*element)) {
        error(fmt::format("duplicate entries for key {}", to_string(*element)));
      }
      seen.add(*element, true, {});
      below(std::move(*element), element_type(type), item);
      ++index;
    }
  }

  void check_scalar(const Type& type, const json::value& value) {
    if (value.is_null()) {
      return;
    }
    switch (type.form) {
    case Form::Integer:
    case Form::Number:
      if (!value.is_number()) {
        error(fmt::format("expected numeric (int or float), got {}", go_type(value)));
      }
      return;
    case Form::String:
      if (!value.is_string()) {
        error("expected string, got &value.valueUnstructured{Value:" + go_syntax(value) + "}");
      }
      return;
    case Form::Boolean:
      if (!value.is_bool()) {
        error("expected boolean, got &{" + go_value(value) + "}");
      }
      return;
    case Form::Any:
    case Form::IntOrString:
    case Form::Quantity:
    case Form::Struct:
    case Form::Map:
    case Form::List:
      return;
    }
  }

  Duplicates duplicates_;
  Path path_;
  std::vector<std::string> errors_;
};

} // namespace

Result<void> check_typed(const Type& type, const json::value& value, Duplicates duplicates) {
  Checker checker(duplicates);
  checker.check(type, value);
  return checker.result();
}

} // namespace berth::patch
