#include "berth/cel/evaluate.h"

#include <algorithm>

#include <fmt/format.h>

#include "berth/cel/checker.h"
#include "berth/cel/library.h"

namespace berth::cel {
namespace {

constexpr std::int64_t kListCost = 10;
constexpr std::int64_t kMapCost = 30;
constexpr std::size_t kBytesOfOne = 10; ///< that cost as much as a step

std::int64_t cost_of(const Value& arg) {
  if (const auto* text = arg.get<std::string>()) {
    return static_cast<std::int64_t>(text->size() / kBytesOfOne);
  }
  const List* list = arg.list();
  return list != nullptr ? static_cast<std::int64_t>(list->size()) : 0;
}

tl::unexpected<Failure> no_overload() {
  return failure("no such overload");
}

/// As cel-go names what a value is kept in.
std::string go_type(const Value& value) {
  const TypeRef type = type_of(value);
  std::string name = type->kind == Kind::Opaque ? type->name : to_string(*type);
  name.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(name.front())));
  return "types." + name;
}

class Evaluation {
 public:
  Evaluation(std::span<const Bound> variables, std::int64_t limit)
      : scope_(variables.begin(), variables.end()), limit_(limit) {}

  std::int64_t cost() const { return cost_; }

  Outcome value_of(const Node& node) {
    if (node.form != Node::Form::Literal && !spend(1)) {
      return failure(kCostExceeded);
    }
    switch (node.form) {
    case Node::Form::Literal:
      return node.literal;
    case Node::Form::Name:
      return name(node);
    case Node::Form::Select:
      return select(node);
    case Node::Form::Has:
      return has(node);
    case Node::Form::Call:
      return call(node);
    case Node::Form::List:
      return list(node);
    case Node::Form::Map:
      return map(node);
    case Node::Form::Loop:
      return loop(node);
    case Node::Form::Let:
      return let(node);
    case Node::Form::IfPresent:
      return if_present(node);
    }
    return no_overload();
  }

 private:
  bool spend(std::int64_t cost) {
    cost_ += cost;
    return cost_ <= limit_;
  }

  Outcome name(const Node& node) {
    for (auto it = scope_.rbegin(); it != scope_.rend(); ++it) {
      if (it->name == node.name) {
        return it->value;
      }
    }
    if (const TypeRef type = named_type(node.name)) {
      return Value(type);
    }
    return failure(fmt::format("no such attribute(s): {}", node.name));
  }

  // ---- fields
  // ------------------------------------------------------------------------------------

  static tl::expected<std::optional<Value>, Failure> member(const Map& map,
                                                            const std::string& field) {
    return map.look_up(Value(map.is_object() ? unescaped(field) : field));
  }

  /// A variable whose name has a dot in it, such as "authorizer.requestResource".
  const Value* qualified(const Node& node) const {
    const Node& of = *node.args[0];
    if (of.form != Node::Form::Name || node.optional) {
      return nullptr;
    }
    const auto found = std::ranges::find_if(
        scope_, [&](const Bound& one) { return is_qualified(one.name, of.name, node.name); });
    return found == scope_.end() ? nullptr : &found->value;
  }

  Outcome select(const Node& node) {
    if (const Value* variable = qualified(node)) {
      return *variable;
    }
    Outcome of = value_of(*node.args[0]);
    if (!of) {
      return of;
    }
    bool optional = node.optional;
    if (const auto* held = of->get<Optional>()) {
      if (held->value == nullptr) {
        return none();
      }
      optional = true;
      of = Value(*held->value);
    }
    const Map* map = of->map();
    if (map == nullptr) {
      return no_overload();
    }
    auto found = member(*map, node.name);
    if (!found) {
      return tl::unexpected(std::move(found).error());
    }
    if (*found) {
      return optional ? some(**std::move(found)) : Outcome(**std::move(found));
    }
    return optional ? Outcome(none()) : failure(fmt::format("no such key: {}", node.name));
  }

  Outcome has(const Node& node) {
    Outcome of = value_of(*node.args[0]);
    if (!of) {
      return of;
    }
    if (const auto* held = of->get<Optional>()) {
      if (held->value == nullptr) {
        return Value(false);
      }
      of = Value(*held->value);
    }
    const Map* map = of->map();
    if (map == nullptr) {
      return no_overload();
    }
    const auto found = member(*map, node.name);
    return found ? Outcome(Value(found->has_value())) : tl::unexpected(found.error());
  }

  // ---- calls
  // -------------------------------------------------------------------------------------

  Outcome call(const Node& node) {
    if (!node.member && (node.name == "_&&_" || node.name == "_||_")) {
      return logical(node, node.name == "_||_");
    }
    if (!node.member && node.name == "_?_:_") {
      const Outcome condition = value_of(*node.args[0]);
      const bool* truth = condition ? condition->get<bool>() : nullptr;
      return !condition         ? condition
             : truth == nullptr ? no_overload()
                                : value_of(*node.args[*truth ? 1 : 2]);
    }
    std::vector<Value> args;
    args.reserve(node.args.size());
    std::int64_t cost = 0;
    for (const NodePtr& arg : node.args) {
      Outcome value = value_of(*arg);
      if (!value) {
        return value;
      }
      cost += cost_of(*value);
      args.push_back(*std::move(value));
    }
    if (!spend(cost)) {
      return failure(kCostExceeded);
    }
    return cel::call(node.name, node.member, args);
  }

  /// `decides` is the value of either side that decides, whatever the other is.
  Outcome logical(const Node& node, bool decides) {
    const Outcome left = value_of(*node.args[0]);
    const bool* one = left ? left->get<bool>() : nullptr;
    if (one != nullptr && *one == decides) {
      return left;
    }
    const Outcome right = value_of(*node.args[1]);
    const bool* two = right ? right->get<bool>() : nullptr;
    if (two != nullptr && (*two == decides || one != nullptr)) {
      return right;
    }
    return !left ? left : one == nullptr ? Outcome(no_overload()) : !right ? right : no_overload();
  }

  // ---- literals
  // ----------------------------------------------------------------------------------

  /// The element; nullopt if it is written as optional and there is none.
  tl::expected<std::optional<Value>, Failure> element(const Node& node, bool optional) {
    Outcome value = value_of(node);
    if (!value) {
      return tl::unexpected(std::move(value).error());
    }
    if (!optional) {
      return *std::move(value);
    }
    const auto* held = value->get<Optional>();
    if (held == nullptr) {
      return no_overload();
    }
    return held->value == nullptr ? std::nullopt : std::optional(*held->value);
  }

  Outcome list(const Node& node) {
    if (!spend(kListCost)) {
      return failure(kCostExceeded);
    }
    std::vector<Value> items;
    for (std::size_t i = 0; i < node.args.size(); ++i) {
      auto item = element(*node.args[i], node.optionals[i]);
      if (!item) {
        return tl::unexpected(std::move(item).error());
      }
      if (*item) {
        items.push_back(**std::move(item));
      }
    }
    return list_value(std::move(items));
  }

  Outcome map(const Node& node) {
    if (!spend(kMapCost)) {
      return failure(kCostExceeded);
    }
    std::vector<std::pair<Value, Value>> pairs;
    for (std::size_t i = 0; i < node.args.size(); i += 2) {
      Outcome key = value_of(*node.args[i]);
      if (!key) {
        return key;
      }
      auto value = element(*node.args[i + 1], node.optionals[i / 2]);
      if (!value) {
        return tl::unexpected(std::move(value).error());
      }
      if (std::ranges::any_of(pairs, [&](const auto& one) { return equal(one.first, *key); })) {
        return failure("Failed with repeated key");
      }
      if (*value) {
        pairs.emplace_back(*std::move(key), **std::move(value));
      }
    }
    return map_value(std::move(pairs));
  }

  // ---- macros
  // ------------------------------------------------------------------------------------

  Outcome within(std::span<const Bound> variables, const Node& body) {
    const std::size_t before = scope_.size();
    scope_.insert(scope_.end(), variables.begin(), variables.end());
    Outcome out = value_of(body);
    scope_.erase(scope_.begin() + static_cast<std::ptrdiff_t>(before), scope_.end());
    return out;
  }

  Outcome let(const Node& node) {
    Outcome value = value_of(*node.args[0]);
    if (!value) {
      return value;
    }
    const Bound bound[] = {{.name = node.variables[0], .value = *std::move(value)}};
    return within(bound, *node.args[1]);
  }

  Outcome if_present(const Node& node) {
    const Outcome of = value_of(*node.args[0]);
    const Optional* held = of ? of->get<Optional>() : nullptr;
    if (!of) {
      return of;
    }
    if (held == nullptr) {
      return no_overload();
    }
    if (held->value == nullptr) {
      return none();
    }
    const Bound bound[] = {{.name = node.variables[0], .value = *held->value}};
    Outcome made = within(bound, *node.args[1]);
    return !made || node.optional ? made : Outcome(some(*std::move(made)));
  }

  /// What a loop goes over: keys and values, or positions and elements.
  struct Round {
    Value first;
    Value second;
  };
  static std::optional<std::vector<Round>> rounds_of(const Value& range) {
    std::vector<Round> out;
    if (const List* list = range.list()) {
      for (std::size_t i = 0; i < list->size(); ++i) {
        out.push_back({.first = Value(static_cast<std::int64_t>(i)), .second = list->at(i)});
      }
      return out;
    }
    if (const Map* map = range.map()) {
      for (const Value& key : map->keys()) {
        out.push_back({.first = key, .second = *map->find(key)});
      }
      return out;
    }
    return std::nullopt;
  }

  static std::vector<Bound> bound(const Node& node, bool is_list, const Round& round) {
    if (node.variables.size() > 1) {
      return {{.name = node.variables[0], .value = round.first},
              {.name = node.variables[1], .value = round.second}};
    }
    return {{.name = node.variables[0], .value = is_list ? round.second : round.first}};
  }

  Outcome loop(const Node& node) {
    const Outcome range = value_of(*node.args[0]);
    if (!range) {
      return range;
    }
    const auto rounds = rounds_of(*range);
    if (!rounds) {
      return failure(fmt::format("got '{}', expected iterable type", go_type(*range)));
    }
    const bool is_list = range->list() != nullptr;
    switch (node.macro) {
    case Macro::All:
    case Macro::Exists:
      return decided(node, is_list, *rounds);
    case Macro::ExistsOne:
      return exactly_one(node, is_list, *rounds);
    case Macro::Filter:
    case Macro::Map:
    case Macro::TransformList:
    case Macro::TransformMap:
    case Macro::TransformMapEntry:
      break;
    }
    return gathered(node, is_list, *rounds);
  }

  /// all() and exists(): an error counts only if no element decides.
  Outcome decided(const Node& node, bool is_list, const std::vector<Round>& rounds) {
    const bool decides = node.macro == Macro::Exists;
    Outcome out = Value(!decides);
    for (const Round& round : rounds) {
      Outcome one = within(bound(node, is_list, round), *node.args[1]);
      const bool* truth = one ? one->get<bool>() : nullptr;
      if (truth != nullptr && *truth == decides) {
        return one;
      }
      if (cost_ > limit_) {
        return failure(kCostExceeded);
      }
      if (truth == nullptr && out) {
        out = one ? Outcome(no_overload()) : one;
      }
    }
    return out;
  }

  Outcome exactly_one(const Node& node, bool is_list, const std::vector<Round>& rounds) {
    int count = 0;
    for (const Round& round : rounds) {
      const Outcome one = within(bound(node, is_list, round), *node.args[1]);
      if (!one) {
        return one;
      }
      if (!one->is<bool>()) {
        return no_overload();
      }
      count += *one->get<bool>() ? 1 : 0;
    }
    return Value(count == 1);
  }

  /// What a round gives to a new list or map.
  Outcome gathered(const Node& node, bool is_list, const std::vector<Round>& rounds) {
    const bool filters = node.macro == Macro::Filter || node.args.size() > 2;
    std::vector<Value> items;
    std::vector<std::pair<Value, Value>> pairs;
    for (const Round& round : rounds) {
      const auto variables = bound(node, is_list, round);
      if (filters) {
        const Outcome kept = within(variables, *node.args[1]);
        if (!kept) {
          return kept;
        }
        if (!kept->is<bool>()) {
          return no_overload();
        }
        if (!*kept->get<bool>()) {
          continue;
        }
      }
      Outcome made = node.macro == Macro::Filter ? Outcome(variables[0].value)
                                                 : within(variables, *node.args.back());
      if (!made) {
        return made;
      }
      if (node.macro == Macro::TransformMap) {
        pairs.emplace_back(round.first, *std::move(made));
      } else if (node.macro == Macro::TransformMapEntry) {
        if (made->map() == nullptr) {
          return no_overload();
        }
        for (const Value& key : made->map()->keys()) {
          pairs.emplace_back(key, *made->map()->find(key));
        }
      } else {
        items.push_back(*std::move(made));
      }
    }
    const bool makes_map =
        node.macro == Macro::TransformMap || node.macro == Macro::TransformMapEntry;
    return makes_map ? map_value(std::move(pairs)) : list_value(std::move(items));
  }

  std::vector<Bound> scope_;
  std::int64_t limit_;
  std::int64_t cost_ = 0;
};

} // namespace

Evaluated evaluate(const Node& root, std::span<const Bound> variables, std::int64_t limit) {
  Evaluation evaluation(variables, limit);
  Outcome value = evaluation.value_of(root);
  return {.value = std::move(value), .cost = evaluation.cost()};
}

} // namespace berth::cel
