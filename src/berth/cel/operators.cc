// Operators. Source: cel-spec, doc/langdef.md ("List of Standard Definitions", "Overflow").
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "berth/cel/library.h"

namespace berth::cel {
namespace {

using Args = std::span<const Value>;

constexpr const char* kIntOverflow = "integer overflow";
constexpr const char* kUintOverflow = "unsigned integer overflow";

template <class T> const T& as(const Value& value) {
  return *value.get<T>();
}

/// One of the compiler's checked operations on two values of T.
template <class T, bool (*operation)(T, T, T*)> Outcome checked(Args args) {
  T out{};
  if (operation(as<T>(args[0]), as<T>(args[1]), &out)) {
    return failure(std::is_signed_v<T> ? kIntOverflow : kUintOverflow);
  }
  return Value(out);
}
template <class T> bool add(T a, T b, T* out) {
  return __builtin_add_overflow(a, b, out);
}
template <class T> bool subtract(T a, T b, T* out) {
  return __builtin_sub_overflow(a, b, out);
}
template <class T> bool multiply(T a, T b, T* out) {
  return __builtin_mul_overflow(a, b, out);
}

template <class T> Outcome divide(Args args) {
  const T by = as<T>(args[1]);
  if (by == 0) {
    return failure("division by zero");
  }
  if constexpr (std::is_signed_v<T>) {
    if (by == -1 && as<T>(args[0]) == std::numeric_limits<T>::min()) {
      return failure(kIntOverflow);
    }
  }
  return Value(static_cast<T>(as<T>(args[0]) / by));
}

template <class T> Outcome modulo(Args args) {
  const T by = as<T>(args[1]);
  if (by == 0) {
    return failure("modulus by zero");
  }
  if constexpr (std::is_signed_v<T>) {
    if (by == -1) {
      return as<T>(args[0]) == std::numeric_limits<T>::min() ? failure(kIntOverflow)
                                                             : Outcome(Value(T{0}));
    }
  }
  return Value(static_cast<T>(as<T>(args[0]) % by));
}

Outcome negate(Args args) {
  const auto value = as<std::int64_t>(args[0]);
  return value == std::numeric_limits<std::int64_t>::min() ? failure(kIntOverflow)
                                                           : Outcome(Value(-value));
}

Outcome concatenate_lists(Args args) {
  const List& a = *args[0].list();
  const List& b = *args[1].list();
  std::vector<Value> items;
  items.reserve(a.size() + b.size());
  for (const List* list : {&a, &b}) {
    for (std::size_t i = 0; i < list->size(); ++i) {
      items.push_back(list->at(i));
    }
  }
  return list_value(std::move(items));
}

/// Of times and spans, in nanoseconds.
template <class A, class B, class Out> Outcome moved(Args args, int sign) {
  const auto nanos = [](const auto& of) {
    if constexpr (std::is_same_v<std::decay_t<decltype(of)>, Duration>) {
      return of.count_nanos();
    } else {
      return of.unix_nanos();
    }
  };
  std::int64_t out = 0;
  const std::int64_t a = nanos(as<A>(args[0]));
  const std::int64_t b = nanos(as<B>(args[1]));
  if (sign > 0 ? __builtin_add_overflow(a, b, &out) : __builtin_sub_overflow(a, b, &out)) {
    return failure(std::is_same_v<Out, Duration> ? "duration overflow" : "timestamp overflow");
  }
  if constexpr (std::is_same_v<Out, Duration>) {
    return Value(Duration::nanos(out));
  } else {
    return Value(TimePoint::from_unix_nanos(out));
  }
}

std::vector<Declaration> arithmetic() {
  using I = std::int64_t;
  using U = std::uint64_t;
  return {
      {"_+_(int, int) -> int", checked<I, add<I>>},
      {"_+_(uint, uint) -> uint", checked<U, add<U>>},
      {"_+_(double, double) -> double",
       [](Args a) -> Outcome { return Value(as<double>(a[0]) + as<double>(a[1])); }},
      {"_+_(string, string) -> string",
       [](Args a) -> Outcome { return Value(as<std::string>(a[0]) + as<std::string>(a[1])); }},
      {"_+_(bytes, bytes) -> bytes",
       [](Args a) -> Outcome {
         return Value(Bytes{as<Bytes>(a[0]).bytes + as<Bytes>(a[1]).bytes});
       }},
      {"_+_(list(A), list(A)) -> list(A)", concatenate_lists},
      {"_+_(timestamp, duration) -> timestamp",
       [](Args a) { return moved<TimePoint, Duration, TimePoint>(a, 1); }},
      {"_+_(duration, timestamp) -> timestamp",
       [](Args a) { return moved<Duration, TimePoint, TimePoint>(a, 1); }},
      {"_+_(duration, duration) -> duration",
       [](Args a) { return moved<Duration, Duration, Duration>(a, 1); }},
      {"_-_(int, int) -> int", checked<I, subtract<I>>},
      {"_-_(uint, uint) -> uint", checked<U, subtract<U>>},
      {"_-_(double, double) -> double",
       [](Args a) -> Outcome { return Value(as<double>(a[0]) - as<double>(a[1])); }},
      {"_-_(timestamp, timestamp) -> duration",
       [](Args a) { return moved<TimePoint, TimePoint, Duration>(a, -1); }},
      {"_-_(timestamp, duration) -> timestamp",
       [](Args a) { return moved<TimePoint, Duration, TimePoint>(a, -1); }},
      {"_-_(duration, duration) -> duration",
       [](Args a) { return moved<Duration, Duration, Duration>(a, -1); }},
      {"_*_(int, int) -> int", checked<I, multiply<I>>},
      {"_*_(uint, uint) -> uint", checked<U, multiply<U>>},
      {"_*_(double, double) -> double",
       [](Args a) -> Outcome { return Value(as<double>(a[0]) * as<double>(a[1])); }},
      {"_/_(int, int) -> int", divide<I>},
      {"_/_(uint, uint) -> uint", divide<U>},
      {"_/_(double, double) -> double",
       [](Args a) -> Outcome { return Value(as<double>(a[0]) / as<double>(a[1])); }},
      {"_%_(int, int) -> int", modulo<I>},
      {"_%_(uint, uint) -> uint", modulo<U>},
      {"-_(int) -> int", negate},
      {"-_(double) -> double", [](Args a) -> Outcome { return Value(-as<double>(a[0])); }},
      {"!_(bool) -> bool", [](Args a) -> Outcome { return Value(!as<bool>(a[0])); }},
  };
}

template <auto holds> Outcome ordered(Args args) {
  return Value(holds(compare(args[0], args[1])));
}

void add_comparisons(std::vector<Declaration>& out) {
  const auto add_all = [&](std::string_view sign, Run run) {
    for (const char* type : {"bool", "string", "bytes", "timestamp", "duration"}) {
      out.push_back({fmt::format("_{}_({}, {}) -> bool", sign, type, type), run});
    }
    for (const char* left : {"int", "uint", "double"}) {
      for (const char* right : {"int", "uint", "double"}) {
        out.push_back({fmt::format("_{}_({}, {}) -> bool", sign, left, right), run});
      }
    }
  };
  add_all("<", ordered<[](std::partial_ordering o) { return std::is_lt(o); }>);
  add_all("<=", ordered<[](std::partial_ordering o) { return std::is_lteq(o); }>);
  add_all(">", ordered<[](std::partial_ordering o) { return std::is_gt(o); }>);
  add_all(">=", ordered<[](std::partial_ordering o) { return std::is_gteq(o); }>);
}

Outcome element(Args args) {
  const List& list = *args[0].list();
  const auto at = as<std::int64_t>(args[1]);
  if (at < 0 || static_cast<std::uint64_t>(at) >= list.size()) {
    return failure(fmt::format("index out of bounds: {}", at));
  }
  return list.at(static_cast<std::size_t>(at));
}

/// As an error names a key.
std::string shown(const Value& key) {
  const Outcome text = call("string", false, std::span(&key, 1));
  return text ? as<std::string>(*text) : std::string("?");
}

Outcome member_of_map(Args args) {
  if (auto found = args[0].map()->find(args[1])) {
    return *std::move(found);
  }
  return failure(fmt::format("no such key: {}", shown(args[1])));
}

Outcome is_in_list(Args args) {
  const List& list = *args[1].list();
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (equal(list.at(i), args[0])) {
      return Value(true);
    }
  }
  return Value(false);
}

/// What is found in an optional list or map; none of none.
Outcome through_optional(Args args) {
  const auto& held = as<Optional>(args[0]).value;
  if (held == nullptr) {
    return none();
  }
  const Value inside[] = {*held, args[1]};
  return call("_[?_]", false, inside);
}

} // namespace

std::vector<Declaration> operators() {
  std::vector<Declaration> out = arithmetic();
  add_comparisons(out);
  const std::vector<Declaration> rest = {
      {"_==_(A, A) -> bool", [](Args a) -> Outcome { return Value(equal(a[0], a[1])); }},
      {"_!=_(A, A) -> bool", [](Args a) -> Outcome { return Value(!equal(a[0], a[1])); }},
      {"_&&_(bool, bool) -> bool"},
      {"_||_(bool, bool) -> bool"},
      {"_?_:_(bool, A, A) -> A"},
      {"_[_](list(A), int) -> A", element},
      {"_[_](map(A, B), A) -> B", member_of_map},
      {"@in(A, list(A)) -> bool", is_in_list},
      {"@in(A, map(A, B)) -> bool",
       [](Args a) -> Outcome { return Value(a[1].map()->find(a[0]).has_value()); }},
      {"_[?_](list(A), int) -> optional(A)",
       [](Args a) -> Outcome {
         const Outcome found = element(a);
         return found ? some(*found) : none();
       }},
      {"_[?_](map(A, B), A) -> optional(B)",
       [](Args a) -> Outcome {
         const auto found = a[0].map()->find(a[1]);
         return found ? some(*found) : none();
       }},
      {"_[_](optional(list(A)), int) -> optional(A)", through_optional},
      {"_[_](optional(map(A, B)), A) -> optional(B)", through_optional},
      {"_[?_](optional(list(A)), int) -> optional(A)", through_optional},
      {"_[?_](optional(map(A, B)), A) -> optional(B)", through_optional},
  };
  out.insert(out.end(), rest.begin(), rest.end());
  return out;
}

} // namespace berth::cel
