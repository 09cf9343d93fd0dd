#include "berth/patch/path.h"

#include <algorithm>

#include <fmt/format.h>

#include "berth/api/json.h"

namespace berth::patch {
namespace {

template <class T> int three_way(const T& left, const T& right) {
  return left < right ? -1 : right < left ? 1 : 0;
}

int rank(const json::value& value) {
  switch (value.kind()) {
  case json::kind::int64:
  case json::kind::uint64:
  case json::kind::double_:
    return 0;
  case json::kind::string:
    return 1;
  case json::kind::bool_:
    return 2;
  case json::kind::array:
    return 3;
  case json::kind::object:
    return 4;
  case json::kind::null:
    return 5;
  }
  return 5;
}

int compare_numbers(const json::value& left, const json::value& right) {
  if (left.is_double() || right.is_double()) {
    return three_way(left.to_number<double>(), right.to_number<double>());
  }
  // An unsigned value that fits no int64 is above every int64.
  const bool left_big = left.is_uint64() && left.get_uint64() > INT64_MAX;
  const bool right_big = right.is_uint64() && right.get_uint64() > INT64_MAX;
  if (left_big || right_big) {
    return left_big && right_big ? three_way(left.get_uint64(), right.get_uint64())
                                 : three_way(left_big, right_big);
  }
  return three_way(left.to_number<std::int64_t>(), right.to_number<std::int64_t>());
}

std::vector<const json::key_value_pair*> by_key(const json::object& object) {
  std::vector<const json::key_value_pair*> members;
  members.reserve(object.size());
  for (const auto& member : object) {
    members.push_back(&member);
  }
  std::ranges::sort(members, {}, [](const auto* member) { return member->key(); });
  return members;
}

int compare_objects(const json::object& left, const json::object& right) {
  const auto lefts = by_key(left);
  const auto rights = by_key(right);
  for (std::size_t i = 0; i < std::min(lefts.size(), rights.size()); ++i) {
    if (const int c = three_way(lefts[i]->key(), rights[i]->key()); c != 0) {
      return c;
    }
    if (const int c = compare_values(lefts[i]->value(), rights[i]->value()); c != 0) {
      return c;
    }
  }
  return three_way(lefts.size(), rights.size());
}

int compare_arrays(const json::array& left, const json::array& right) {
  for (std::size_t i = 0; i < std::min(left.size(), right.size()); ++i) {
    if (const int c = compare_values(left[i], right[i]); c != 0) {
      return c;
    }
  }
  return three_way(left.size(), right.size());
}

int compare_keys(const std::vector<std::pair<std::string, json::value>>& left,
                 const std::vector<std::pair<std::string, json::value>>& right) {
  for (std::size_t i = 0; i < std::min(left.size(), right.size()); ++i) {
    if (const int c = three_way(left[i].first, right[i].first); c != 0) {
      return c;
    }
    if (const int c = compare_values(left[i].second, right[i].second); c != 0) {
      return c;
    }
  }
  return three_way(left.size(), right.size());
}

} // namespace

PathElement PathElement::field(std::string_view name) {
  PathElement out;
  out.name = name;
  return out;
}

PathElement PathElement::key(std::vector<std::pair<std::string, json::value>> keys) {
  PathElement out;
  out.kind = Kind::Key;
  out.keys = std::move(keys);
  std::ranges::sort(out.keys, {},
                    [](const auto& entry) -> const std::string& { return entry.first; });
  return out;
}

PathElement PathElement::item(json::value value) {
  PathElement out;
  out.kind = Kind::Value;
  out.value = std::move(value);
  return out;
}

PathElement PathElement::at(int index) {
  PathElement out;
  out.kind = Kind::Index;
  out.index = index;
  return out;
}

int compare_values(const json::value& left, const json::value& right) {
  if (const int c = three_way(rank(left), rank(right)); c != 0) {
    return c;
  }
  switch (left.kind()) {
  case json::kind::int64:
  case json::kind::uint64:
  case json::kind::double_:
    return compare_numbers(left, right);
  case json::kind::string:
    return three_way(left.get_string(), right.get_string());
  case json::kind::bool_:
    return three_way(left.get_bool(), right.get_bool());
  case json::kind::array:
    return compare_arrays(left.get_array(), right.get_array());
  case json::kind::object:
    return compare_objects(left.get_object(), right.get_object());
  case json::kind::null:
    return 0;
  }
  return 0;
}

int compare(const PathElement& left, const PathElement& right) {
  if (left.kind != right.kind) {
    return three_way(left.kind, right.kind);
  }
  switch (left.kind) {
  case PathElement::Kind::Field:
    return three_way(left.name, right.name);
  case PathElement::Kind::Key:
    return compare_keys(left.keys, right.keys);
  case PathElement::Kind::Value:
    return compare_values(left.value, right.value);
  case PathElement::Kind::Index:
    return three_way(left.index, right.index);
  }
  return 0;
}

std::string to_string(const PathElement& element) {
  switch (element.kind) {
  case PathElement::Kind::Field:
    return "." + element.name;
  case PathElement::Kind::Key: {
    std::string out;
    for (const auto& [name, value] : element.keys) {
      out += (out.empty() ? "" : ",") + name + "=" + api::to_json(value);
    }
    return "[" + out + "]";
  }
  case PathElement::Kind::Value:
    return "[=" + api::to_json(element.value) + "]";
  case PathElement::Kind::Index:
    return fmt::format("[{}]", element.index);
  }
  return "";
}

std::string to_string(const Path& path) {
  std::string out;
  for (const PathElement& element : path) {
    out += to_string(element);
  }
  return out;
}

} // namespace berth::patch
