// Strict reading of a JSON object: every member is asked for by name and type, and one that nobody
// asked for is an error. For file formats where an unknown field must not pass.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/api/json.h"
#include "berth/api/object.h"
#include "berth/base/result.h"

namespace berth::cdi {

namespace json = boost::json;

/// What a number or a boolean is where a string is wanted.
enum class Scalars {
  Strict,    ///< an error
  BecomeText ///< its text, as sigs.k8s.io/yaml has it
};

/// Reads members of one object and keeps the first error, so that a caller reads everything and
/// asks once. The object must outlive the reader.
class StrictReader {
 public:
  /// `path` is the object's own field path, "" for a document.
  StrictReader(const json::value& object, std::string_view file, std::string path,
               Scalars scalars = Scalars::Strict);

  /// An absent or null member leaves `out` as it is.
  void text(std::string_view key, std::string& out);
  void flag(std::string_view key, bool& out);
  void texts(std::string_view key, std::vector<std::string>& out);
  void labels(std::string_view key, api::Labels& out);
  void number(std::string_view key, std::optional<std::int64_t>& out);
  void number(std::string_view key, std::optional<std::uint32_t>& out);
  void numbers(std::string_view key, std::vector<std::uint32_t>& out);

  /// Calls read(reader) for the object member, or for each element of the array member.
  template <class F> void object(std::string_view key, F read) {
    if (const json::value* member = take(key)) {
      child(*member, field(key), read);
    }
  }
  template <class F> void objects(std::string_view key, F read) {
    const json::array* items = take_array(key);
    for (std::size_t i = 0; items && i < items->size(); ++i) {
      child((*items)[i], field(key) + "[" + std::to_string(i) + "]", read);
    }
  }

  /// The first error, or one for a member that was never asked for.
  Result<void> finish();

 private:
  template <class F> void child(const json::value& value, std::string path, F read) {
    StrictReader reader(value, file_, std::move(path), scalars_);
    read(reader);
    if (auto result = reader.finish(); !result && !error_) {
      error_ = std::move(result).error();
    }
  }
  const json::value* take(std::string_view key);
  const json::array* take_array(std::string_view key);
  std::optional<std::int64_t> integer(const json::value& value, std::string_view key,
                                      std::int64_t low, std::int64_t high);
  std::string field(std::string_view key) const;
  void complain(std::string field_path, std::string message);

  const json::object* object_ = nullptr;
  std::string file_;
  std::string path_;
  Scalars scalars_;
  std::vector<std::string> asked_;
  std::optional<Error> error_;
};

} // namespace berth::cdi
