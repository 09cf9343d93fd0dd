// Merged lists of strategic merge patch: elements found by merge key, and their order. Source:
// apimachinery's util/strategicpatch (mergeSlice, normalizeElementOrder).
#pragma once

#include <string>
#include <string_view>

#include <boost/json/array.hpp>

#include "berth/base/result.h"
#include "berth/patch/path.h"

namespace berth::patch {

/// The merge key of maps; "" for scalars.
struct MergeKey {
  std::string name;

  /// What tells an element from others: its member, or itself; null if it has none.
  const json::value* of(const json::value& element) const;
};

/// A map that lacks its merge key.
tl::unexpected<Error> no_merge_key(const json::value& map, std::string_view key);
/// Something of another type than `expected`, a Go type.
tl::unexpected<Error> wrong_type(std::string_view expected, const json::value& actual);
/// That all elements are of one type and none is a list; whether that type is a map. An error if
/// there is no element.
Result<bool> holds_maps(const json::array& a, const json::array& b);

/// `merged` in the order that follows from `wanted` (elements it names, in its order) and `live`
/// (all others, in that order; between the wanted ones as far as `live` says so). Error: an element
/// without merge key.
Result<json::array> in_order(const json::array& merged, const json::array& wanted,
                             const json::array& live, const MergeKey& key);

/// Without later duplicates.
json::array distinct(const json::array& scalars);
/// Where `element`'s key stands in `list`; -1 if it does not.
std::ptrdiff_t place_of(const json::value& element, const json::array& list, const MergeKey& key);

} // namespace berth::patch
