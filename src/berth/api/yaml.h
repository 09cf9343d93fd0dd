// YAML through libyaml's events, read as kubectl reads it: YAML 1.1 scalars (yes/no/on/off stay
// booleans as in go-yaml v2's sigs.k8s.io/yaml, 0777, 1e3), anchors with an expansion limit, merge
// keys. Keys given twice are an error, or the last one counts (duplicate_key.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/value.hpp>

#include "berth/api/duplicate_key.h"
#include "berth/base/result.h"

namespace berth::api {

namespace json = boost::json;

struct Position {
  int line = 0;   ///< from 1
  int column = 0; ///< from 1

  bool operator==(const Position&) const = default;
};

/// Where each value of a document stands, by RFC 6901 pointer ("" is the document itself). 16 bytes
/// a value: pointers are kept as 64-bit hashes, in the order of the text. set() is O(1); find() is
/// O(values), for errors.
class PositionMap {
 public:
  /// A pointer on the way down, as a hash, so that building the map allocates nothing for paths.
  class Pointer {
   public:
    Pointer() = default;
    Pointer member(std::string_view name) const;
    Pointer element(std::size_t index) const;
    /// The pointer with this text: "/spec/containers/0".
    static Pointer of(std::string_view text);
    bool operator==(const Pointer&) const = default;

   private:
    void mix(std::string_view text);
    std::uint64_t hash_ = 0xCBF29CE484222325ULL; // FNV-1a
  };

  void set(Pointer pointer, Position at) { entries_.push_back({pointer, at}); }
  void set(std::string_view pointer, Position at) { set(Pointer::of(pointer), at); }
  /// Position of the value, or of the nearest ancestor that has one.
  Position find(std::string_view pointer) const;
  /// For walks in the order of the text: looks from `cursor` (0 at first) on and leaves it at the
  /// value found. A whole walk is O(values). Nothing found leaves the cursor alone.
  Position find_next(Pointer pointer, std::size_t& cursor) const;

  /// Values from the `from`th set on, before the `to`th.
  struct Range {
    std::size_t from = 0;
    std::size_t to = 0;
  };
  std::size_t size() const { return entries_.size(); }
  /// Forgets values that are not part of the document after all. The ranges ascend and do not
  /// overlap. O(values after the first of them).
  void forget(std::span<const Range> ranges);

 private:
  struct Entry {
    Pointer pointer;
    Position at;
  };
  std::vector<Entry> entries_;
};

struct YamlDocument {
  json::value value;
  PositionMap positions;
  std::vector<DuplicateKey> duplicates; ///< with Duplicates::TakeLast
};

/// Every non-empty document of a YAML (or JSON) stream; lines count from the start of the stream.
/// Errors name file, line, column, problem and context. Never throws, never crashes on any bytes;
/// documents are limited in depth (128) and alias expansion (1,000,000 nodes).
Result<std::vector<YamlDocument>> parse_yaml(std::string_view text, std::string_view file,
                                             Duplicates duplicates = Duplicates::Refuse);

/// YAML block style with the keys in order, as `kubectl -o yaml` prints it.
std::string to_yaml(const json::value& value);

} // namespace berth::api
