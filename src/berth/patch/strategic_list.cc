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

struct Placed {
  const json::value* element = nullptr;
  std::ptrdiff_t live = -1;   // where the live list has it
  std::ptrdiff_t wanted = -1; // where the wanted order has it
};

/// Puts `others` between `named`, each before the first one that follows it in the live list; those
/// that the live list lacks come last.
json::array interleaved(const std::vector<Placed>& others, const std::vector<Placed>& named) {
  json::array out;
  auto other = others.begin();
  auto next = named.begin();
  while (other != others.end() || next != named.end()) {
    bool other_first = next == named.end();
    if (other != others.end() && next != named.end()) {
      other_first = other->live >= 0 && next->live >= 0 && other->live < next->live;
    }
    out.push_back(other_first ? *(other++)->element : *(next++)->element);
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
  const Places in_wanted(wanted, key);
  const Places in_live(live, key);
  std::vector<Placed> named;
  std::vector<Placed> others;
  for (const json::value& element : merged) {
    const json::value* own = key.of(element);
    const Placed placed{.element = &element, .live = in_live.of(own), .wanted = in_wanted.of(own)};
    (placed.wanted >= 0 ? named : others).push_back(placed);
  }
  std::ranges::stable_sort(named, {}, &Placed::wanted);
  std::ranges::stable_sort(others, {}, &Placed::live);
  return interleaved(others, named);
}

json::array distinct(const json::array& scalars) {
  json::array out;
  Places seen;
  for (const json::value& scalar : scalars) {
    if (seen.add(&scalar, 0)) {
      out.push_back(scalar);
    }
  }
  return out;
}

Places::Places(const json::array& list, const MergeKey& key) {
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (const json::value* own = key.of(list[i])) {
      add(own, static_cast<std::ptrdiff_t>(i));
    }
  }
}

std::ptrdiff_t Places::of(const json::value* key) const {
  const auto at = key == nullptr ? places_.end() : places_.find(key);
  return at == places_.end() ? -1 : at->second;
}

} // namespace berth::patch
