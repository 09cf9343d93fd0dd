#include "berth/patch/strategic_list.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "berth/patch/go_text.h"

namespace berth::patch {
namespace {

Result<void> check_keys(const json::array& list, const MergeKey& key) {
  for (const json::value& element : list) {
    if (key.name.empty()) {
      continue;
    }
    if (!element.is_object()) {
      return wrong_type("map[string]interface {}", element);
    }
    if (key.of(element) == nullptr) {
      return no_merge_key(element, key.name);
    }
  }
  return {};
}

using Elements = std::vector<const json::value*>;

void sort_by_place(Elements& elements, const json::array& order, const MergeKey& key) {
  std::ranges::stable_sort(
      elements, {}, [&](const json::value* element) { return place_of(*element, order, key); });
}

/// Puts `live` elements between `wanted` ones, each before the first one that follows it in
/// `order`; elements that `order` does not have come before.
json::array interleaved(const Elements& live, const Elements& wanted, const json::array& order,
                        const MergeKey& key) {
  json::array out;
  auto l = live.begin();
  auto w = wanted.begin();
  while (l != live.end() || w != wanted.end()) {
    bool live_first = w == wanted.end();
    if (l != live.end() && w != wanted.end()) {
      const std::ptrdiff_t live_place = place_of(**l, order, key);
      const std::ptrdiff_t wanted_place = place_of(**w, order, key);
      live_first = live_place >= 0 && wanted_place >= 0 && live_place < wanted_place;
    }
    out.push_back(live_first ? **l++ : **w++);
  }
  return out;
}

} // namespace

const json::value* MergeKey::of(const json::value& element) const {
  if (name.empty()) {
    return &element;
  }
  return element.is_object() ? element.get_object().if_contains(name) : nullptr;
}

tl::unexpected<Error> no_merge_key(const json::value& map, std::string_view key) {
  return fail(Code::Internal,
              fmt::format("map: {} does not contain declared merge key: {}", go_value(map), key));
}

tl::unexpected<Error> wrong_type(std::string_view expected, const json::value& actual) {
  return fail(Code::Internal, fmt::format("expected a {}, but received a {}", expected,
                                          actual.is_null() ? "%!s(<nil>)" : go_type(actual)));
}

Result<bool> holds_maps(const json::array& a, const json::array& b) {
  const json::value* first = nullptr;
  for (const json::array* list : {&a, &b}) {
    for (const json::value& element : *list) {
      if (first == nullptr) {
        first = &element;
        if (element.is_array()) {
          return fail(Code::Invalid, "lists of lists are not supported");
        }
      } else if (go_type(*first) != go_type(element)) {
        return fail(Code::Internal,
                    fmt::format("list element types are not identical: [{} {}]",
                                go_value(json::value(a)), go_value(json::value(b))));
      }
    }
  }
  if (first == nullptr) {
    return fail(Code::Internal, "no elements in any of the given slices");
  }
  return first->is_object();
}

Result<json::array> in_order(const json::array& merged, const json::array& wanted,
                             const json::array& live, const MergeKey& key) {
  BERTH_CHECK(check_keys(merged, key));
  BERTH_CHECK(check_keys(wanted, key));
  BERTH_CHECK(check_keys(live, key));
  Elements named;
  Elements others;
  for (const json::value& element : merged) {
    (place_of(element, wanted, key) >= 0 ? named : others).push_back(&element);
  }
  sort_by_place(named, wanted, key);
  sort_by_place(others, live, key);
  return interleaved(others, named, live, key);
}

json::array distinct(const json::array& scalars) {
  json::array out;
  for (const json::value& scalar : scalars) {
    if (place_of(scalar, out, {}) < 0) {
      out.push_back(scalar);
    }
  }
  return out;
}

std::ptrdiff_t place_of(const json::value& element, const json::array& list, const MergeKey& key) {
  const json::value* wanted = key.of(element);
  for (std::size_t i = 0; wanted != nullptr && i < list.size(); ++i) {
    if (const json::value* found = key.of(list[i]); found != nullptr && *found == *wanted) {
      return static_cast<std::ptrdiff_t>(i);
    }
  }
  return -1;
}

} // namespace berth::patch
