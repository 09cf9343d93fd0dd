// Typed reading of one mapping of a YAML document. Every error names file, line, column and field;
// errors collect, so that a file's faults are all reported at once; fields nobody asked for are
// errors (a typo must not pass as absence).
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "berth/api/yaml.h"
#include "berth/base/result.h"

namespace berth::hardware {

/// One document being read. Outlives the Fields that point to it.
struct DocumentReading {
  const api::YamlDocument& document;
  std::string file;
  std::vector<Error> errors;

  /// Adds an error at the value that `pointer` (RFC 6901) names.
  void report(const std::string& pointer, std::string message);
};

/// Inclusive bounds of an integer field.
struct Range {
  std::int64_t low = 0;
  std::int64_t high = 0;
};

/// A reader of one mapping; reading a missing or mistyped field reports it and yields an empty
/// value.
class Fields {
 public:
  Fields(DocumentReading& reading, const api::json::value& value, std::string pointer);

  std::string text(std::string_view key);
  int number(std::string_view key, Range range);
  /// The same for a field that may be left out.
  int number_or(std::string_view key, Range range, int absent);
  bool flag(std::string_view key);
  std::vector<std::string> texts(std::string_view key);
  /// A sequence of exactly `count` integers.
  std::vector<int> numbers(std::string_view key, std::size_t count, Range range);
  /// Reads a nested mapping.
  void mapping(std::string_view key, const std::function<void(Fields&)>& read);
  /// Reads every mapping of a sequence, in order.
  void each(std::string_view key, const std::function<void(Fields&)>& read);
  bool has(std::string_view key) const;

  /// Reports the fields that were not asked for.
  void finish();

 private:
  const api::json::value* take(std::string_view key);
  std::string at(std::string_view key) const;
  int checked(const api::json::value& value, const std::string& pointer, Range range);

  DocumentReading* reading_;
  const api::json::object* object_ = nullptr;
  std::string pointer_;
  std::set<std::string, std::less<>> taken_;
};

/// "/gpus/3/numa" -> "gpus[3].numa".
std::string field_path(std::string_view pointer);

} // namespace berth::hardware
