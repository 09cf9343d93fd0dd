// The two things that are decoded: JSON text that json_syntax_error() has found sound, and a value
// that was read before. Both are walked the same way, each value exactly once: whoever is handed an
// input takes its value by one of text(), number(), boolean(), any(), skip() or the each_ calls.
#pragma once

#include <string>
#include <string_view>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

namespace berth::schema {

namespace json = boost::json;

enum class JsonKind { Object, Array, String, Number, Boolean, Null };

/// As Go's decoder calls them: "object", "bool", ...
std::string_view to_string(JsonKind kind);

/// The value of a number's text: an integer where it is written as one and fits 64 bits.
json::value number_value(std::string_view text);

class TextInput {
 public:
  explicit TextInput(std::string_view text) : at_(text.data()), end_(text.data() + text.size()) {
    blanks();
  }

  JsonKind kind() const;
  std::string text();
  std::string_view number();
  bool boolean();
  json::value any();
  void skip();

  /// visit(key) for each member, duplicates included; the input then stands at its value.
  template <class Visit> void each_member(Visit&& visit) {
    for (enter(); *at_ != '}'; after_element()) {
      const std::string key = text();
      ++at_; // :
      blanks();
      visit(std::string_view(key));
    }
    leave();
  }
  template <class Visit> void each_element(Visit&& visit) {
    for (enter(); *at_ != ']'; after_element()) {
      visit();
    }
    leave();
  }

 private:
  void blanks();
  void enter();         // over the opening bracket
  void after_element(); // over a comma, if there is one
  void leave();
  std::string_view raw_string();

  const char* at_;
  const char* end_;
};

class ValueInput {
 public:
  explicit ValueInput(const json::value& value) : value_(&value) {}

  JsonKind kind() const;
  std::string text() const { return std::string(value_->as_string()); }
  std::string_view number();
  bool boolean() const { return value_->as_bool(); }
  json::value any() const { return *value_; }
  void skip() const {}

  template <class Visit> void each_member(Visit&& visit) {
    const json::value* const whole = value_;
    for (const auto& [key, member] : whole->as_object()) {
      value_ = &member;
      visit(std::string_view(key.data(), key.size()));
    }
    value_ = whole;
  }
  template <class Visit> void each_element(Visit&& visit) {
    const json::value* const whole = value_;
    for (const json::value& element : whole->as_array()) {
      value_ = &element;
      visit();
    }
    value_ = whole;
  }

 private:
  const json::value* value_;
  std::string number_;
};

} // namespace berth::schema
