// The parser behind parse_json, for callers inside api/ that read several values from one text.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "berth/api/duplicate_key.h"
#include "berth/api/json.h"

namespace berth::api {

/// A place of a text as people count it: line and column from 1, columns in characters.
struct LineColumn {
  int line = 1;
  int column = 1;
};
LineColumn line_column(std::string_view text, std::size_t offset);

struct JsonValue {
  json::value value;
  std::size_t end = 0; ///< offset just behind the value and the white space after it
  /// With Duplicates::TakeLast, in the order in which the objects that have them end.
  std::vector<DuplicateKey> duplicates = {};
  /// Offsets of the keys whose values do not count, ascending; those written with escapes are left
  /// out.
  std::vector<std::size_t> dropped = {};
};

/// Reads the value that starts at `from`. Positions in errors count from the start of `text`.
/// Documents are kept in plain memory: a copy of a value uses its original's storage, so an arena
/// would grow with every copy of a long-lived object, and a counted one costs as much as it saves
/// (measured).
Result<JsonValue> read_json_value(std::string_view text, std::size_t from, std::string_view file,
                                  const json::storage_ptr& storage,
                                  Duplicates duplicates = Duplicates::Refuse);

} // namespace berth::api
