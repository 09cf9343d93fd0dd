// Functions of lists, of lists as sets, and of optional values. Sources:
// k8s.io/apiserver/pkg/cel/library lists.go; cel-go ext/sets.go, cel/library.go (optional types).
#include <algorithm>

#include <fmt/format.h>

#include "berth/cel/library.h"

namespace berth::cel {
namespace {

using Args = std::span<const Value>;

Outcome is_sorted(Args args) {
  const List& list = *args[0].list();
  for (std::size_t i = 1; i < list.size(); ++i) {
    const auto order = compare(list.at(i - 1), list.at(i));
    if (order == std::partial_ordering::unordered) {
      return failure("no such overload");
    }
    if (order > 0) {
      return Value(false);
    }
  }
  return Value(true);
}

/// Of an empty list the zero of what the elements would be, which is not known: 0.
Outcome sum(Args args) {
  const List& list = *args[0].list();
  if (list.size() == 0) {
    return Value(std::int64_t{0});
  }
  Outcome total = list.at(0);
  for (std::size_t i = 1; total && i < list.size(); ++i) {
    const Value pair[] = {*total, list.at(i)};
    total = call("_+_", false, pair);
  }
  return total;
}

template <auto better> Outcome outermost(Args args, std::string_view function) {
  const List& list = *args[0].list();
  if (list.size() == 0) {
    return failure(fmt::format("{} called on empty list", function));
  }
  Value best = list.at(0);
  for (std::size_t i = 1; i < list.size(); ++i) {
    const Value next = list.at(i);
    const auto order = compare(next, best);
    if (order == std::partial_ordering::unordered) {
      return failure("no such overload");
    }
    best = better(order) ? next : best;
  }
  return best;
}

Outcome index_of(Args args) {
  const List& list = *args[0].list();
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (equal(list.at(i), args[1])) {
      return Value(static_cast<std::int64_t>(i));
    }
  }
  return Value(std::int64_t{-1});
}

Outcome last_index_of(Args args) {
  const List& list = *args[0].list();
  for (std::size_t i = list.size(); i-- > 0;) {
    if (equal(list.at(i), args[1])) {
      return Value(static_cast<std::int64_t>(i));
    }
  }
  return Value(std::int64_t{-1});
}

bool holds(const List& list, const Value& wanted) {
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (equal(list.at(i), wanted)) {
      return true;
    }
  }
  return false;
}

bool holds_all(const List& list, const List& wanted) {
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (!holds(list, wanted.at(i))) {
      return false;
    }
  }
  return true;
}

bool share(const List& a, const List& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (holds(b, a.at(i))) {
      return true;
    }
  }
  return false;
}

bool is_zero(const Value& value) {
  if (const List* list = value.list()) {
    return list->size() == 0;
  }
  if (const Map* map = value.map()) {
    return map->size() == 0;
  }
  for (const Value& zero :
       {Value(Null()), Value(false), Value(std::int64_t{0}), Value(""), Value(Bytes()),
        Value(Duration()), Value(TimePoint()), Value(Optional())}) {
    if (equal(value, zero)) {
      return true;
    }
  }
  return false;
}

const std::shared_ptr<const Value>& held(const Value& optional) {
  return optional.get<Optional>()->value;
}

} // namespace

std::vector<Declaration> list_functions() {
  std::vector<Declaration> out = {
      {"list(A)::indexOf(A) -> int", index_of},
      {"list(A)::lastIndexOf(A) -> int", last_index_of},
      {"sets.contains(list(A), list(A)) -> bool",
       [](Args a) -> Outcome { return Value(holds_all(*a[0].list(), *a[1].list())); }},
      {"sets.equivalent(list(A), list(A)) -> bool",
       [](Args a) -> Outcome {
         return Value(holds_all(*a[0].list(), *a[1].list()) &&
                      holds_all(*a[1].list(), *a[0].list()));
       }},
      {"sets.intersects(list(A), list(A)) -> bool",
       [](Args a) -> Outcome { return Value(share(*a[0].list(), *a[1].list())); }},
  };
  for (const char* type :
       {"int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes"}) {
    out.push_back({fmt::format("list({})::isSorted() -> bool", type), is_sorted});
    out.push_back({fmt::format("list({0})::min() -> {0}", type), [](Args a) {
                     return outermost<[](std::partial_ordering o) { return std::is_lt(o); }>(a,
                                                                                             "min");
                   }});
    out.push_back({fmt::format("list({0})::max() -> {0}", type), [](Args a) {
                     return outermost<[](std::partial_ordering o) { return std::is_gt(o); }>(a,
                                                                                             "max");
                   }});
  }
  for (const char* type : {"int", "uint", "double", "duration"}) {
    out.push_back({fmt::format("list({0})::sum() -> {0}", type), sum});
  }
  return out;
}

std::vector<Declaration> optional_functions() {
  return {
      {"optional.of(A) -> optional(A)", [](Args a) -> Outcome { return some(a[0]); }},
      {"optional.none() -> optional(A)", [](Args) -> Outcome { return none(); }},
      {"optional.ofNonZeroValue(A) -> optional(A)",
       [](Args a) -> Outcome { return is_zero(a[0]) ? none() : some(a[0]); }},
      {"optional(A)::hasValue() -> bool",
       [](Args a) -> Outcome { return Value(held(a[0]) != nullptr); }},
      {"optional(A)::value() -> A",
       [](Args a) -> Outcome {
         return held(a[0]) != nullptr ? Outcome(*held(a[0]))
                                      : failure("optional.none() dereference");
       }},
      {"optional(A)::or(optional(A)) -> optional(A)",
       [](Args a) -> Outcome { return held(a[0]) != nullptr ? a[0] : a[1]; }},
      {"optional(A)::orValue(A) -> A",
       [](Args a) -> Outcome { return held(a[0]) != nullptr ? *held(a[0]) : a[1]; }},
  };
}

} // namespace berth::cel
