// The parser behind parse_json, for callers inside api/ that read several values from one text.
#pragma once

#include <cstddef>
#include <string_view>

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
};

/// Reads the value that starts at `from`. Positions in errors count from the start of `text`.
Result<JsonValue> read_json_value(std::string_view text, std::size_t from, std::string_view file,
                                  const json::storage_ptr& storage);

/// Storage for one document: freed at once, filled front to back.
json::storage_ptr document_storage(std::size_t expected_bytes = 1024);

} // namespace berth::api
