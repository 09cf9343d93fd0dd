// YAML through libyaml's events, read as kubectl reads it: YAML 1.1 scalars (yes/no/on/off stay
// booleans as in go-yaml v2's sigs.k8s.io/yaml, 0777, 1e3), anchors with an expansion limit, merge
// keys, duplicate keys an error.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <boost/json/value.hpp>

#include "berth/base/result.h"

namespace berth::api {

namespace json = boost::json;

struct Position {
  int line = 0;   ///< from 1
  int column = 0; ///< from 1
};

/// Where each value of a document stands, by RFC 6901 pointer ("" is the document itself).
class PositionMap {
 public:
  void set(std::string pointer, Position at) {
    by_pointer_.insert_or_assign(std::move(pointer), at);
  }
  /// Position of the value, or of the nearest ancestor that has one.
  Position find(std::string_view pointer) const;

 private:
  std::unordered_map<std::string, Position> by_pointer_;
};

struct YamlDocument {
  json::value value;
  PositionMap positions;
};

/// Every non-empty document of a YAML (or JSON) stream; lines count from the start of the stream.
/// Errors name file, line, column, problem and context. Never throws, never crashes on any bytes;
/// documents are limited in depth (128) and alias expansion (1,000,000 nodes).
Result<std::vector<YamlDocument>> parse_yaml(std::string_view text, std::string_view file);

/// YAML block style with the keys in order, as `kubectl -o yaml` prints it.
std::string to_yaml(const json::value& value);

} // namespace berth::api
