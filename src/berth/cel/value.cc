#include "berth/cel/value.h"

#include <algorithm>
#include <cmath>

namespace berth::cel {
namespace {

class Items final : public List {
 public:
  explicit Items(std::vector<Value> items) : items_(std::move(items)) {}
  std::size_t size() const override { return items_.size(); }
  Value at(std::size_t i) const override { return items_[i]; }

 private:
  std::vector<Value> items_;
};

/// Literals are small: keys are looked through.
class Pairs final : public Map {
 public:
  explicit Pairs(std::vector<std::pair<Value, Value>> pairs) {
    for (auto& [key, value] : pairs) {
      const auto held = std::ranges::find_if(
          pairs_, [&wanted = key](const auto& one) { return equal(one.first, wanted); });
      if (held == pairs_.end()) {
        pairs_.emplace_back(std::move(key), std::move(value));
      } else {
        held->second = std::move(value);
      }
    }
  }
  std::size_t size() const override { return pairs_.size(); }
  std::optional<Value> find(const Value& key) const override {
    const auto held =
        std::ranges::find_if(pairs_, [&](const auto& one) { return equal(one.first, key); });
    return held == pairs_.end() ? std::nullopt : std::optional(held->second);
  }
  std::vector<Value> keys() const override {
    std::vector<Value> out;
    out.reserve(pairs_.size());
    for (const auto& [key, value] : pairs_) {
      out.push_back(key);
    }
    return out;
  }

 private:
  std::vector<std::pair<Value, Value>> pairs_;
};

/// Of a map's elements, whether they are of one key.
bool same_keys(const Value& a, const Value& b, const std::vector<std::string>& keys) {
  const Map* left = a.map();
  const Map* right = b.map();
  return left != nullptr && right != nullptr && std::ranges::all_of(keys, [&](const auto& key) {
           const auto one = left->find(Value(key));
           const auto other = right->find(Value(key));
           return one.has_value() == other.has_value() && (!one || equal(*one, *other));
         });
}

bool equal_unordered(const List& a, const List& b, const std::vector<std::string>& keys) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    const Value one = a.at(i);
    bool found = false;
    for (std::size_t j = 0; j < b.size() && !found; ++j) {
      const Value other = b.at(j);
      found = keys.empty() ? equal(one, other) : same_keys(one, other, keys) && equal(one, other);
    }
    if (!found) {
      return false;
    }
  }
  return true;
}

bool equal_lists(const List& a, const List& b) {
  if (a.size() != b.size()) {
    return false;
  }
  if (const Type* declared = a.declared();
      declared != nullptr && (declared->set || !declared->keys.empty())) {
    return equal_unordered(a, b, declared->keys);
  }
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!equal(a.at(i), b.at(i))) {
      return false;
    }
  }
  return true;
}

bool equal_maps(const Map& a, const Map& b) {
  return a.size() == b.size() && std::ranges::all_of(a.keys(), [&](const Value& key) {
           const auto other = b.find(key);
           return other && equal(*a.find(key), *other);
         });
}

bool equal_opaque(const Opaque& a, const Opaque& b) {
  if (const auto* version = std::get_if<Semver>(&a)) {
    const auto* other = std::get_if<Semver>(&b);
    return other != nullptr && compare(*version, *other) == 0;
  }
  if (const auto* quantity = std::get_if<api::Quantity>(&a)) {
    const auto* other = std::get_if<api::Quantity>(&b);
    return other != nullptr && *quantity == *other;
  }
  if (const auto* url = std::get_if<Url>(&a)) {
    const auto* other = std::get_if<Url>(&b);
    return other != nullptr && *url == *other;
  }
  if (const auto* ip = std::get_if<Ip>(&a)) {
    const auto* other = std::get_if<Ip>(&b);
    return other != nullptr && *ip == *other;
  }
  const auto* cidr = std::get_if<Cidr>(&a);
  const auto* other = std::get_if<Cidr>(&b);
  return cidr != nullptr && other != nullptr && *cidr == *other;
}

bool is_number(const Value& value) {
  return value.is<std::int64_t>() || value.is<std::uint64_t>() || value.is<double>();
}

/// Exact, whatever the two are: a double beyond 2^53 is not rounded to be compared.
std::partial_ordering compare_numbers(const Value& a, const Value& b) {
  const auto* a_double = a.get<double>();
  const auto* b_double = b.get<double>();
  if (a_double == nullptr && b_double == nullptr) {
    __extension__ using Wide = __int128;
    const auto wide = [](const Value& of) {
      const auto* whole = of.get<std::int64_t>();
      return whole != nullptr ? Wide{*whole} : Wide{*of.get<std::uint64_t>()};
    };
    const Wide left = wide(a);
    const Wide right = wide(b);
    return left < right   ? std::partial_ordering::less
           : left > right ? std::partial_ordering::greater
                          : std::partial_ordering::equivalent;
  }
  const auto plain = [](const Value& of) {
    if (const auto* real = of.get<double>()) {
      return static_cast<long double>(*real);
    }
    const auto* whole = of.get<std::int64_t>();
    return whole != nullptr ? static_cast<long double>(*whole)
                            : static_cast<long double>(*of.get<std::uint64_t>());
  };
  return plain(a) <=> plain(b);
}

TypeRef opaque_type(const Opaque& value) {
  constexpr const char* kNames[] = {"kubernetes.Quantity",
                                    "kubernetes.URL",
                                    "net.IP",
                                    "net.CIDR",
                                    "kubernetes.Semver",
                                    "kubernetes.authorization.Authorizer",
                                    "kubernetes.authorization.PathCheck",
                                    "kubernetes.authorization.GroupCheck",
                                    "kubernetes.authorization.ResourceCheck",
                                    "kubernetes.authorization.Decision"};
  return opaque(kNames[value.index()]);
}

} // namespace

tl::expected<std::optional<Value>, Failure> Map::look_up(const Value& key) const {
  return find(key);
}

const List* Value::list() const {
  const auto* held = get<std::shared_ptr<const List>>();
  return held == nullptr ? nullptr : held->get();
}

const Map* Value::map() const {
  const auto* held = get<std::shared_ptr<const Map>>();
  return held == nullptr ? nullptr : held->get();
}

tl::unexpected<Failure> failure(std::string what) {
  return tl::unexpected(Failure{std::move(what)});
}

Value list_value(std::vector<Value> items) {
  return {std::shared_ptr<const List>(std::make_shared<Items>(std::move(items)))};
}

Value map_value(std::vector<std::pair<Value, Value>> pairs) {
  return {std::shared_ptr<const Map>(std::make_shared<Pairs>(std::move(pairs)))};
}

Value opaque_value(Opaque value) {
  return {std::make_shared<const Opaque>(std::move(value))};
}

Value some(Value value) {
  return {Optional{std::make_shared<const Value>(std::move(value))}};
}

Value none() {
  return {Optional{}};
}

TypeRef type_of(const Value& value) {
  struct Visitor {
    TypeRef operator()(Null) const { return simple(Kind::Null); }
    TypeRef operator()(bool) const { return simple(Kind::Bool); }
    TypeRef operator()(std::int64_t) const { return simple(Kind::Int); }
    TypeRef operator()(std::uint64_t) const { return simple(Kind::Uint); }
    TypeRef operator()(double) const { return simple(Kind::Double); }
    TypeRef operator()(const std::string&) const { return simple(Kind::String); }
    TypeRef operator()(const Bytes&) const { return simple(Kind::Bytes); }
    TypeRef operator()(Duration) const { return simple(Kind::Duration); }
    TypeRef operator()(TimePoint) const { return simple(Kind::Timestamp); }
    TypeRef operator()(const std::shared_ptr<const List>&) const { return simple(Kind::List); }
    TypeRef operator()(const std::shared_ptr<const Map>& map) const {
      return simple(map->is_object() ? Kind::Object : Kind::Map);
    }
    TypeRef operator()(const Optional&) const { return simple(Kind::Optional); }
    TypeRef operator()(const std::shared_ptr<const Opaque>& held) const {
      return opaque_type(*held);
    }
    TypeRef operator()(const TypeRef&) const { return simple(Kind::Type); }
  };
  return std::visit(Visitor(), value.rep());
}

bool equal(const Value& a, const Value& b) {
  if (is_number(a) && is_number(b)) {
    return compare_numbers(a, b) == 0;
  }
  if (a.rep().index() != b.rep().index()) {
    return false;
  }
  struct Visitor {
    const Value& other;
    bool operator()(const std::shared_ptr<const List>& list) const {
      return equal_lists(*list, *other.list());
    }
    bool operator()(const std::shared_ptr<const Map>& map) const {
      return equal_maps(*map, *other.map());
    }
    bool operator()(const Optional& one) const {
      const Optional& two = *other.get<Optional>();
      return (one.value == nullptr) == (two.value == nullptr) &&
             (one.value == nullptr || equal(*one.value, *two.value));
    }
    bool operator()(const std::shared_ptr<const Opaque>& held) const {
      return equal_opaque(*held, **other.get<std::shared_ptr<const Opaque>>());
    }
    bool operator()(const TypeRef& type) const {
      const TypeRef& two = *other.get<TypeRef>();
      return type->kind == two->kind && type->name == two->name;
    }
    bool operator()(double one) const { return one == *other.get<double>(); }
    bool operator()(Null) const { return true; }
    bool operator()(bool one) const { return one == *other.get<bool>(); }
    bool operator()(std::int64_t one) const { return one == *other.get<std::int64_t>(); }
    bool operator()(std::uint64_t one) const { return one == *other.get<std::uint64_t>(); }
    bool operator()(const std::string& one) const { return one == *other.get<std::string>(); }
    bool operator()(const Bytes& one) const { return one == *other.get<Bytes>(); }
    bool operator()(Duration one) const { return one == *other.get<Duration>(); }
    bool operator()(TimePoint one) const { return one == *other.get<TimePoint>(); }
  };
  return std::visit(Visitor{b}, a.rep());
}

std::partial_ordering compare(const Value& a, const Value& b) {
  if (is_number(a) && is_number(b)) {
    return compare_numbers(a, b);
  }
  if (const auto* text = a.get<std::string>(); text != nullptr && b.is<std::string>()) {
    return *text <=> *b.get<std::string>();
  }
  if (const auto* bytes = a.get<Bytes>(); bytes != nullptr && b.is<Bytes>()) {
    return *bytes <=> *b.get<Bytes>();
  }
  if (const auto* truth = a.get<bool>(); truth != nullptr && b.is<bool>()) {
    return *truth <=> *b.get<bool>();
  }
  if (const auto* span = a.get<Duration>(); span != nullptr && b.is<Duration>()) {
    return *span <=> *b.get<Duration>();
  }
  if (const auto* time = a.get<TimePoint>(); time != nullptr && b.is<TimePoint>()) {
    return *time <=> *b.get<TimePoint>();
  }
  return std::partial_ordering::unordered;
}

} // namespace berth::cel
