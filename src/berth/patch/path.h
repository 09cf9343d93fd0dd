// How a field of an object is named: by a name, by the keys or the value of a list's element, by an
// index. Sources: structured-merge-diff's fieldpath (element.go, path.go), which Kubernetes writes
// into conflicts and managedFields.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/json/value.hpp>

namespace berth::patch {

namespace json = boost::json;

/// One step from a value to one inside it.
struct PathElement {
  enum class Kind {
    Field, ///< member `name` of an object
    Key,   ///< the element of a list whose members equal `keys`
    Value, ///< the element of a set that equals `value`
    Index, ///< the element at `index`
  };
  Kind kind = Kind::Field;
  std::string name;
  std::vector<std::pair<std::string, json::value>> keys; ///< ordered by name
  json::value value;
  int index = 0;

  static PathElement field(std::string_view name);
  /// Orders the keys.
  static PathElement key(std::vector<std::pair<std::string, json::value>> keys);
  static PathElement item(json::value value);
  static PathElement at(int index);
};

/// < 0, 0 or > 0: fields before keys before values before indices; numbers before texts before
/// booleans. 1 and 1.0 are equal.
int compare(const PathElement& left, const PathElement& right);
inline bool operator==(const PathElement& left, const PathElement& right) {
  return compare(left, right) == 0;
}

using Path = std::vector<PathElement>;

/// ".spec", "[name=\"c\"]", "[=\"a\"]", "[3]".
std::string to_string(const PathElement& element);
/// ".spec.containers[name=\"c\"].image".
std::string to_string(const Path& path);

/// < 0, 0 or > 0 for any two JSON values: the order of structured-merge-diff's value.Compare.
int compare_values(const json::value& left, const json::value& right);
/// Equal as Kubernetes compares values: members in any order, 1 equal to 1.0.
inline bool same_value(const json::value& left, const json::value& right) {
  return compare_values(left, right) == 0;
}

} // namespace berth::patch
