// Values of the Common Expression Language. Lists and maps are interfaces, so that what stands in a
// JSON document is wrapped, not copied. Source: cel-spec, doc/langdef.md ("Values", "Equality and
// Ordering"); Kubernetes' additions by k8s.io/apiserver/pkg/cel/library.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <tl/expected.hpp>

#include "berth/api/quantity.h"
#include "berth/base/time.h"
#include "berth/cel/access.h"
#include "berth/cel/ip.h"
#include "berth/cel/semver.h"
#include "berth/cel/type.h"
#include "berth/cel/url.h"

namespace berth::cel {

class Value;

struct Null {
  bool operator==(const Null&) const = default;
};

struct Bytes {
  std::string bytes;
  auto operator<=>(const Bytes&) const = default;
};

/// Why an evaluation has no value: "no such key: a", "division by zero".
struct Failure {
  std::string what;
};

/// Immutable; shared.
class List {
 public:
  virtual ~List() = default;
  virtual std::size_t size() const = 0;
  /// `i` below size().
  virtual Value at(std::size_t i) const = 0;
  /// What is declared of it; null: nothing.
  virtual const Type* declared() const { return nullptr; }
};

/// A map, or an object, whose fields are keys of text. Immutable; shared.
class Map {
 public:
  virtual ~Map() = default;
  virtual std::size_t size() const = 0;
  virtual std::optional<Value> find(const Value& key) const = 0;
  /// The same of a map whose values are only made when they are asked for, which may fail.
  virtual tl::expected<std::optional<Value>, Failure> look_up(const Value& key) const;
  /// Each key once, always in the same order.
  virtual std::vector<Value> keys() const = 0;
  virtual bool is_object() const { return false; }
};

/// null: none.
struct Optional {
  std::shared_ptr<const Value> value;
};

using Opaque = std::variant<api::Quantity, Url, Ip, Cidr, Semver, Authorizer, PathCheck, GroupCheck,
                            ResourceCheck, AccessAnswer>;

/// Copying copies texts and counts references to everything larger.
class Value {
 public:
  using Rep =
      std::variant<Null, bool, std::int64_t, std::uint64_t, double, std::string, Bytes, Duration,
                   TimePoint, std::shared_ptr<const List>, std::shared_ptr<const Map>, Optional,
                   std::shared_ptr<const Opaque>, TypeRef>;

  Value() = default;
  Value(Rep rep) : rep_(std::move(rep)) {} // NOLINT(google-explicit-constructor)

  template <class T> const T* get() const { return std::get_if<T>(&rep_); }
  template <class T> bool is() const { return std::holds_alternative<T>(rep_); }
  /// The list or the map; null if it is none.
  const List* list() const;
  const Map* map() const;
  template <class T> const T* opaque() const {
    const auto* held = get<std::shared_ptr<const Opaque>>();
    return held == nullptr ? nullptr : std::get_if<T>(held->get());
  }
  const Rep& rep() const { return rep_; }

 private:
  Rep rep_;
};

using Outcome = tl::expected<Value, Failure>;

tl::unexpected<Failure> failure(std::string what);

Value list_value(std::vector<Value> items);
/// Pairs in their order; of equal keys the last counts.
Value map_value(std::vector<std::pair<Value, Value>> pairs);
Value opaque_value(Opaque value);
Value some(Value value);
Value none();

/// The type that type() tells: of lists and maps without what they are of.
TypeRef type_of(const Value& value);

/// Numbers by what they count, lists that are sets in any order; values of different types differ.
/// O(size), for sets O(size^2).
bool equal(const Value& a, const Value& b);
/// Unordered: not comparable with each other.
std::partial_ordering compare(const Value& a, const Value& b);

} // namespace berth::cel
