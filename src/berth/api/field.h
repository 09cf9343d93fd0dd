// Reads typed values out of a JSON document by field, as Go's decoder does for Kubernetes: null
// counts as absent, unknown fields are ignored, a wrong type is an error that names its path. The
// first error wins.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/json/value.hpp>

#include "berth/base/result.h"
#include "berth/base/time.h"

namespace berth::api {

namespace json = boost::json;

class Quantity;

/// A value and the path that led to it. Lives on the stack of one decode; the path is spelled out
/// for errors only. A struct T joins in with `void decode(const Field& in, T& out)` in its own
/// namespace or here, calling in.read().
class Field {
 public:
  Field(const json::value& root, std::optional<Error>& failure)
      : value_(&root), failure_(&failure) {}

  const json::value& value() const { return *value_; }
  bool is_null() const { return value_->is_null(); }
  bool failed() const { return failure_->has_value(); }
  /// "spec.containers[0].image"; "" for the root.
  std::string path() const;
  /// Records an error here, unless one is recorded already.
  void fail(std::string message) const;
  /// The same at the member `name`, which need not be there.
  void fail_member(std::string_view name, std::string message) const;
  /// fail("expected a string, got a number: 8"), for the wanted type.
  void expected(std::string_view wanted) const;

  /// Decodes member `name`; `out` is left alone when the member is absent or null.
  template <class T> void read(std::string_view name, T& out) const {
    if (const json::value* member = find(name)) {
      decode(Field(this, name, 0, *member), out);
    }
  }
  /// Calls `with` with the member, unless it is absent or null.
  template <class F> void within(std::string_view name, F&& with) const {
    if (const json::value* member = find(name)) {
      with(Field(this, name, 0, *member));
    }
  }
  /// Calls `with` with each element of an array.
  template <class F> void each(F&& with) const {
    const json::array* array = as_array();
    for (std::size_t i = 0; array != nullptr && i < array->size() && !failed(); ++i) {
      with(Field(this, {}, i, (*array)[i]));
    }
  }
  /// Calls `with` with the name and value of each member of an object.
  template <class F> void each_member(F&& with) const {
    const json::object* object = as_object();
    if (object == nullptr) {
      return;
    }
    for (const auto& [name, member] : *object) {
      const std::string_view key(name.data(), name.size());
      with(key, Field(this, key, 0, member));
    }
  }
  /// The array, or nullptr after recording an error.
  const json::array* as_array() const;
  const json::object* as_object() const;

 private:
  Field(const Field* parent, std::string_view name, std::size_t index, const json::value& value)
      : parent_(parent), name_(name), index_(index), value_(&value), failure_(parent->failure_) {}
  const json::value* find(std::string_view name) const;

  const Field* parent_ = nullptr;
  std::string_view name_; // empty data pointer: an array element
  std::size_t index_ = 0;
  const json::value* value_;
  std::optional<Error>* failure_;
};

/// Every decode() may assume a value that is not null, except elements of arrays and maps.
void decode(const Field& in, std::string& out);
void decode(const Field& in, bool& out);
void decode(const Field& in, int& out);
void decode(const Field& in, std::int64_t& out);
void decode(const Field& in, TimePoint& out);
/// From a string or a number, as Kubernetes allows.
void decode(const Field& in, Quantity& out);
/// A copy of the value as written.
void decode(const Field& in, json::value& out);

template <class T> void decode(const Field& in, std::optional<T>& out) {
  if (!in.is_null()) {
    decode(in, out.emplace());
  }
}

template <class T> void decode(const Field& in, std::vector<T>& out) {
  const json::array* array = in.as_array();
  out.clear();
  out.reserve(array == nullptr ? 0 : array->size());
  in.each([&](const Field& element) {
    T& made = out.emplace_back();
    if (!element.is_null()) {
      decode(element, made);
    }
  });
}

template <class T, class Less> void decode(const Field& in, std::map<std::string, T, Less>& out) {
  out.clear();
  in.each_member([&](std::string_view name, const Field& member) {
    T& made = out[std::string(name)];
    if (!member.is_null()) {
      decode(member, made);
    }
  });
}

/// Decodes a whole document into T; the Error's place is the field path.
template <class T> Result<T> decode_document(const json::value& document) {
  std::optional<Error> failure;
  T out;
  decode(Field(document, failure), out);
  if (failure) {
    return tl::unexpected(*std::move(failure));
  }
  return out;
}

} // namespace berth::api
