// A value of an object that is being judged: what it is, where it stands, and what is wrong with
// it, said in the words of apimachinery util/validation/field.
//
//   const Judged port = spec["ports"][0];
//   if (!port["name"]) port["name"].required();
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/store/errors.h"

namespace berth::store {

/// Cheap to copy but for its path. Wrongly typed values read as absent: decoding speaks of them.
class Judged {
 public:
  /// `value` may be null; both it and `errors` must outlive this.
  Judged(const api::json::value* value, std::string path, FieldErrors& errors)
      : value_(value != nullptr && value->is_null() ? nullptr : value), path_(std::move(path)),
        errors_(&errors) {}

  const std::string& path() const { return path_; }
  /// nullptr if it is absent or null.
  const api::json::value* json() const { return value_; }
  explicit operator bool() const { return value_ != nullptr; }

  Judged operator[](std::string_view member) const;
  Judged operator[](std::size_t index) const;
  /// A map's value: "path[name]".
  Judged key(std::string_view name) const;

  bool has(std::string_view member) const { return child(member) != nullptr; }
  std::string_view text() const;
  std::string_view text(std::string_view member) const;
  std::optional<std::int64_t> number() const;
  std::optional<std::int64_t> number(std::string_view member) const;
  bool is_true() const;
  bool is_true(std::string_view member) const;
  const api::json::object* object() const;
  const api::json::array* array() const;
  /// Elements or members; 0 for anything else.
  std::size_t size() const;
  std::size_t size(std::string_view member) const;

  /// f(Judged element) for every element of the array member.
  template <class F> void each(std::string_view member, const F& f) const {
    const api::json::value* list = child(member);
    if (list == nullptr || !list->is_array()) {
      return;
    }
    const Judged all(list, below(member), *errors_);
    for (std::size_t i = 0; i < list->get_array().size(); ++i) {
      f(all[i]);
    }
  }
  /// The names of an object's members, sorted.
  std::vector<std::string> names() const;

  // ---- what is wrong
  void required(std::string_view detail = "") const;
  void forbidden(std::string_view why) const;
  /// Shows the value; an absent one as "".
  void invalid(std::string_view why) const;
  void invalid(std::string_view shown, std::string_view why) const;
  void invalid(const std::vector<std::string>& whys) const;
  void unsupported(const std::vector<std::string>& supported) const;
  void duplicate() const;
  void duplicate(std::string_view shown) const;
  void not_found(std::string_view detail = "") const;
  void too_long(std::size_t bytes) const;
  void too_many(std::size_t limit) const;

  // ---- common rules
  /// Required unless there is some text; whether there is.
  bool need_text(std::string_view detail = "") const;
  /// An absent number passes.
  void not_negative() const;
  void positive() const;
  void in_range(std::int64_t low, std::int64_t high) const;
  /// An absent or empty text passes.
  void one_of(const std::vector<std::string>& supported) const;
  void label_name() const; ///< of a text, absent or not: what IsQualifiedName says
  void dns_label() const;
  void dns_subdomain() const;

  FieldErrors& errors() const { return *errors_; }

 private:
  const api::json::value* child(std::string_view member) const;
  std::string below(std::string_view member) const;
  static std::string keyed(std::string_view list, std::string_view key);
  std::string shown() const;

  const api::json::value* value_;
  std::string path_;
  FieldErrors* errors_;
};

} // namespace berth::store
