#include "berth/cel/cost_estimate.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace berth::cel {
namespace {

using Amount = std::uint64_t;

constexpr Amount kListCost = 10;
constexpr Amount kMapCost = 30;
constexpr double kPerByte = 0.1;       ///< of a text that is gone through
constexpr double kPerRegexByte = 0.25; ///< about one part of a pattern in four bytes

Amount times(Amount amount, double factor) {
  const double out = std::ceil(static_cast<double>(amount) * factor);
  constexpr double kLimit = 18446744073709551616.0; // 2^64
  return out >= kLimit ? kUnboundedCost : static_cast<Amount>(out);
}

bool is_text(Kind kind) {
  return kind == Kind::String || kind == Kind::Bytes;
}

bool is_scalar(Kind kind) {
  return kind == Kind::Bool || kind == Kind::Double || kind == Kind::Duration ||
         kind == Kind::Int || kind == Kind::Timestamp || kind == Kind::Uint;
}

bool is_order(const std::string& name) {
  return name == "_<_" || name == "_<=_" || name == "_>_" || name == "_>=_";
}

class Estimator {
 public:
  explicit Estimator(const NodeTypes& types) : types_(&types) {}

  Amount cost(const Node& node) {
    switch (node.form) {
    case Node::Form::Literal:
      return 0;
    case Node::Form::Name:
      return 1;
    case Node::Form::Select:
      return saturating_add(cost(*node.args[0]), selects_field(*node.args[0]) ? 1 : 0);
    case Node::Form::Has:
      return cost(*node.args[0]);
    case Node::Form::Call:
      return call(node);
    case Node::Form::List:
      return saturating_add(kListCost, of_all(node));
    case Node::Form::Map:
      return saturating_add(kMapCost, of_all(node));
    case Node::Form::Loop:
      return loop(node);
    case Node::Form::Let:
      return saturating_add(kListCost, of_all(node));
    case Node::Form::IfPresent: // hasValue() ? optional.of(value().body) : none
      return saturating_add(saturating_add(of_all(node), cost(*node.args[0])), kListCost + 3);
    }
    return 0;
  }

 private:
  Kind kind_of(const Node& node) const {
    const auto type = types_->find(&node);
    return type == types_->end() ? Kind::Dyn : type->second->kind;
  }

  bool selects_field(const Node& of) const {
    const Kind kind = kind_of(of);
    return kind == Kind::Map || kind == Kind::Object;
  }

  Amount of_all(const Node& node) {
    Amount sum = 0;
    for (const NodePtr& arg : node.args) {
      sum = saturating_add(sum, cost(*arg));
    }
    return sum;
  }

  // ---- how long values get
  Amount size(const Node& node) const {
    if (const auto made = sizes_.find(&node); made != sizes_.end()) {
      return made->second;
    }
    if (const auto* text = node.literal.get<std::string>();
        node.form == Node::Form::Literal && text != nullptr) {
      return text->size();
    }
    if (node.form == Node::Form::List) {
      return node.args.size();
    }
    if (node.form == Node::Form::Map) {
      return node.args.size() / 2;
    }
    const auto type = types_->find(&node);
    if (type == types_->end()) {
      return kUnboundedCost;
    }
    if (type->second->max_elements >= 0) {
      return static_cast<Amount>(type->second->max_elements);
    }
    return is_scalar(type->second->kind) ? 1 : kUnboundedCost;
  }

  /// Of the elements of a list.
  Amount element_cost(const Node& list) const {
    const auto type = types_->find(&list);
    if (type == types_->end() || type->second->kind != Kind::List) {
      return 1;
    }
    const Type& element = *type->second->of[0];
    if (!is_text(element.kind)) {
      return 1;
    }
    const Amount longest =
        element.max_elements < 0 ? kUnboundedCost : static_cast<Amount>(element.max_elements);
    return saturating_add(1, times(longest, kPerByte));
  }

  // ---- calls
  Amount call(const Node& node) {
    if (node.name == "_?_:_") {
      sizes_[&node] = std::max(size(*node.args[1]), size(*node.args[2]));
      return saturating_add(cost(*node.args[0]),
                            std::max(cost(*node.args[1]), cost(*node.args[2])));
    }
    const Amount args = of_all(node);
    if (node.name == "_&&_" || node.name == "_||_") {
      return args;
    }
    return saturating_add(args, own_cost(node));
  }

  /// Beyond what its arguments cost. The target of a member is args[0].
  Amount own_cost(const Node& node) {
    const std::string& name = node.name;
    if (name == "dyn" && node.args.size() == 1) {
      sizes_[&node] = size(*node.args[0]);
      return 1;
    }
    if (name == "_[_]") {
      return 1;
    }
    if (node.args.size() == 2) {
      if (const auto special = of_two(node)) {
        return *special;
      }
    }
    if (node.member) {
      if (const auto special = of_member(node)) {
        return *special;
      }
    } else if (node.args.size() == 1 && takes_text(name) && is_text(kind_of(*node.args[0]))) {
      if (name == "url" || name == "bytes") {
        sizes_[&node] = size(*node.args[0]);
      }
      return times(size(*node.args[0]), kPerByte);
    }
    return 1;
  }

  static bool takes_text(const std::string& name) {
    return name == "url" || name == "bytes" || name == "quantity" || name == "isQuantity" ||
           name == "ip" || name == "isIP" || name == "cidr" || name == "isCIDR" ||
           name == "semver" || name == "isSemver" || name == "strings.quote";
  }

  std::optional<Amount> of_two(const Node& node) {
    const std::string& name = node.name;
    const Node& left = *node.args[0];
    const Node& right = *node.args[1];
    if (name == "@in") {
      return kind_of(right) == Kind::List ? size(right) : 1;
    }
    if (name == "_==_" || name == "_!=_" ||
        (is_order(name) && is_text(kind_of(left)) && is_text(kind_of(right)))) {
      return times(std::min(size(left), size(right)), kPerByte);
    }
    if (name == "_+_" && (kind_of(left) == Kind::List || is_text(kind_of(left)))) {
      sizes_[&node] = saturating_add(size(left), size(right));
      return kind_of(left) == Kind::List ? 1 : times(sizes_[&node], kPerByte);
    }
    if (!node.member) {
      return std::nullopt;
    }
    if (name == "matches" || name == "find" || name == "findAll") {
      if (name != "matches") {
        sizes_[&node] = size(left);
      }
      return saturating_multiply(times(saturating_add(size(left), 1), kPerByte),
                                 times(size(right), kPerRegexByte));
    }
    if (name == "contains" && is_text(kind_of(left))) {
      return saturating_multiply(times(size(left), kPerByte), times(size(right), kPerByte));
    }
    if (name == "startsWith" || name == "endsWith") {
      return times(size(right), kPerByte);
    }
    return std::nullopt;
  }

  std::optional<Amount> of_member(const Node& node) {
    const std::string& name = node.name;
    const Node& target = *node.args[0];
    if (name == "isSorted" || name == "sum" || name == "max" || name == "min" ||
        name == "indexOf" || name == "lastIndexOf") {
      return kind_of(target) == Kind::List ? saturating_multiply(size(target), element_cost(target))
                                           : times(size(target), kPerByte);
    }
    if (name == "lowerAscii" || name == "upperAscii" || name == "substring" || name == "trim") {
      sizes_[&node] = size(target);
      return times(size(target), kPerByte);
    }
    if (name == "replace" && node.args.size() > 2) {
      // At worst every character is replaced.
      sizes_[&node] = saturating_multiply(size(target), std::max<Amount>(1, size(*node.args[2])));
      return times(size(target), 2 * kPerByte);
    }
    if (name == "split") {
      const auto* limit =
          node.args.size() > 2 ? node.args[2]->literal.get<std::int64_t>() : nullptr;
      sizes_[&node] = limit != nullptr && *limit >= 0 ? static_cast<Amount>(*limit) : size(target);
      return times(size(target), 2 * kPerByte);
    }
    if (name == "format") {
      return times(size(target), kPerByte);
    }
    if (name == "join") {
      return saturating_multiply(size(target), element_cost(target));
    }
    return std::nullopt;
  }

  // ---- macros, as the loops that cel-go makes of them
  Amount loop(const Node& node) {
    const Amount range = cost(*node.args[0]);
    const Amount body = cost(*node.args[1]);
    const Amount rounds = size(*node.args[0]);
    // Before and after the loop, and what one round adds to its body.
    Amount around = 1;
    Amount round = body;
    switch (node.macro) {
    case Macro::All:
      round = saturating_add(body, 3);
      break;
    case Macro::Exists:
      round = saturating_add(body, 4);
      break;
    case Macro::ExistsOne:
      around = 2;
      round = saturating_add(body, 2);
      break;
    case Macro::Filter:
      around += kListCost;
      round = saturating_add(body, kListCost + 3);
      sizes_[&node] = rounds;
      break;
    case Macro::Map:
    case Macro::TransformList:
      around += kListCost;
      round = saturating_add(gathered(node, body), kListCost + 2);
      sizes_[&node] = rounds;
      break;
    case Macro::TransformMap:
    case Macro::TransformMapEntry:
      around += kMapCost;
      round = saturating_add(gathered(node, body), 3);
      sizes_[&node] = rounds;
      break;
    }
    return saturating_add(saturating_add(range, around), saturating_multiply(rounds, round));
  }

  /// map(x, condition, value) costs both.
  Amount gathered(const Node& node, Amount body) {
    return node.args.size() > 2 ? saturating_add(body, cost(*node.args[2])) : body;
  }

  const NodeTypes* types_;
  std::map<const Node*, Amount> sizes_; ///< of what is made on the way
};

} // namespace

std::uint64_t saturating_add(std::uint64_t a, std::uint64_t b) {
  return a > kUnboundedCost - b ? kUnboundedCost : a + b;
}

std::uint64_t saturating_multiply(std::uint64_t a, std::uint64_t b) {
  return a != 0 && b > kUnboundedCost / a ? kUnboundedCost : a * b;
}

std::uint64_t estimate_cost(const Node& root, const NodeTypes& types) {
  return Estimator(types).cost(root);
}

} // namespace berth::cel
