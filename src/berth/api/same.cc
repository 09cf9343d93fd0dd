#include "berth/api/same.h"

#include <algorithm>

namespace berth::api {

namespace json = boost::json;

bool same(const json::value& one, const json::value& other) {
  if (one.is_object() && other.is_object()) {
    return same(one.get_object(), other.get_object());
  }
  if (!one.is_array() || !other.is_array()) {
    return one == other;
  }
  const json::array& left = one.get_array();
  const json::array& right = other.get_array();
  return std::equal(left.begin(), left.end(), right.begin(), right.end(),
                    [](const json::value& a, const json::value& b) { return same(a, b); });
}

bool same(const json::object& one, const json::object& other) {
  if (one.size() != other.size()) {
    return false;
  }
  auto likely = other.begin();
  for (const json::key_value_pair& member : one) {
    const auto at =
        likely != other.end() && likely->key() == member.key() ? likely : other.find(member.key());
    if (at == other.end() || !same(member.value(), at->value())) {
      return false;
    }
    likely = at + 1;
  }
  return true;
}

} // namespace berth::api
