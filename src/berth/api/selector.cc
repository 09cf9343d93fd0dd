#include "berth/api/selector.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "berth/api/field.h"

namespace berth::api {
namespace {

struct OperatorName {
  Operator op;
  std::string_view name;
};
constexpr std::array kOperators = {
    OperatorName{Operator::In, "In"},         OperatorName{Operator::NotIn, "NotIn"},
    OperatorName{Operator::Exists, "Exists"}, OperatorName{Operator::DoesNotExist, "DoesNotExist"},
    OperatorName{Operator::Gt, "Gt"},         OperatorName{Operator::Lt, "Lt"},
};

std::optional<std::int64_t> parse_int(std::string_view text) {
  if (text.starts_with('+') && !text.starts_with("+-")) {
    text.remove_prefix(1);
  }
  std::int64_t value = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value);
  return ec == std::errc() && end == text.data() + text.size() ? std::optional(value)
                                                               : std::nullopt;
}

bool value_matches(const Requirement& requirement, std::string_view value) {
  const auto listed = [&] {
    return std::find(requirement.values.begin(), requirement.values.end(), value) !=
           requirement.values.end();
  };
  switch (requirement.op) {
  case Operator::In:
    return listed();
  case Operator::NotIn:
    return !listed();
  case Operator::Exists:
    return true;
  case Operator::DoesNotExist:
    return false;
  case Operator::Gt:
  case Operator::Lt: {
    if (requirement.values.size() != 1) {
      return false;
    }
    const auto left = parse_int(value);
    const auto right = parse_int(requirement.values[0]);
    return left && right && (requirement.op == Operator::Gt ? *left > *right : *left < *right);
  }
  }
  return false;
}

enum class Numeric { Allowed, Forbidden };

/// A requirement's operator and the number of values it takes.
void decode_requirement(const Field& in, Requirement& out, Numeric numeric) {
  in.read("key", out.key);
  in.read("values", out.values);
  std::string op;
  in.read("operator", op);
  if (in.failed()) {
    return;
  }
  if (out.key.empty()) {
    return in.fail("an expression needs a key");
  }
  const auto parsed = parse_operator(op);
  const bool comparison = parsed && (*parsed == Operator::Gt || *parsed == Operator::Lt);
  if (!parsed || (comparison && numeric == Numeric::Forbidden)) {
    return in.fail(fmt::format("operator must be In, NotIn, Exists{} DoesNotExist{}, not \"{}\"",
                               numeric == Numeric::Allowed ? "," : " or",
                               numeric == Numeric::Allowed ? ", Gt or Lt" : "", op));
  }
  out.op = *parsed;
  const bool set = out.op == Operator::In || out.op == Operator::NotIn;
  if (set && out.values.empty()) {
    return in.fail(fmt::format("operator {} needs values", op));
  }
  if (comparison && out.values.size() != 1) {
    return in.fail(fmt::format("operator {} needs exactly one value, an integer; got {}", op,
                               out.values.size()));
  }
  if (!set && !comparison && !out.values.empty()) {
    return in.fail(fmt::format("operator {} takes no values", op));
  }
}

} // namespace

Result<Operator> parse_operator(std::string_view text) {
  for (const OperatorName& known : kOperators) {
    if (known.name == text) {
      return known.op;
    }
  }
  return fail(
      Code::Invalid,
      fmt::format("operator must be In, NotIn, Exists, DoesNotExist, Gt or Lt, not \"{}\"", text));
}

std::string_view to_string(Operator op) {
  return kOperators[static_cast<std::size_t>(op)].name;
}

bool Requirement::matches(const Labels& labels) const {
  const auto it = labels.find(key);
  if (it == labels.end()) {
    return op == Operator::NotIn || op == Operator::DoesNotExist;
  }
  return value_matches(*this, it->second);
}

bool Selector::matches(const Labels& labels) const {
  return std::all_of(requirements.begin(), requirements.end(),
                     [&](const Requirement& requirement) { return requirement.matches(labels); });
}

bool NodeSelectorTerm::matches(const Labels& labels, std::string_view node_name) const {
  if (match_expressions.empty() && match_fields.empty()) {
    return false;
  }
  const auto label_matches = [&](const Requirement& requirement) {
    return requirement.matches(labels);
  };
  const auto field_matches = [&](const Requirement& requirement) {
    return requirement.key == "metadata.name" && value_matches(requirement, node_name);
  };
  return std::all_of(match_expressions.begin(), match_expressions.end(), label_matches) &&
         std::all_of(match_fields.begin(), match_fields.end(), field_matches);
}

bool NodeSelector::matches(const Labels& labels, std::string_view node_name) const {
  return std::any_of(terms.begin(), terms.end(),
                     [&](const NodeSelectorTerm& term) { return term.matches(labels, node_name); });
}

void decode(const Field& in, Selector& out) {
  Labels match_labels;
  in.read("matchLabels", match_labels);
  for (auto& [key, value] : match_labels) {
    out.requirements.push_back({.key = key, .op = Operator::In, .values = {value}});
  }
  in.within("matchExpressions", [&](const Field& list) {
    list.each([&](const Field& expression) {
      decode_requirement(expression, out.requirements.emplace_back(), Numeric::Forbidden);
    });
  });
}

void decode(const Field& in, NodeSelectorTerm& out) {
  const auto read_list = [&](std::string_view name, std::vector<Requirement>& list_out) {
    in.within(name, [&](const Field& list) {
      list.each([&](const Field& expression) {
        decode_requirement(expression, list_out.emplace_back(), Numeric::Allowed);
      });
    });
  };
  read_list("matchExpressions", out.match_expressions);
  read_list("matchFields", out.match_fields);
}

void decode(const Field& in, NodeSelector& out) {
  in.read("nodeSelectorTerms", out.terms);
}

Result<Selector> parse_label_selector(const json::value& value) {
  if (value.is_null()) {
    return Selector{};
  }
  return decode_document<Selector>(value);
}

std::string to_string(const Selector& selector) {
  std::vector<std::string> parts;
  for (const Requirement& r : selector.requirements) {
    const bool single = r.values.size() == 1;
    switch (r.op) {
    case Operator::In:
      parts.push_back(single ? fmt::format("{}={}", r.key, r.values[0])
                             : fmt::format("{} in ({})", r.key, fmt::join(r.values, ",")));
      break;
    case Operator::NotIn:
      parts.push_back(single ? fmt::format("{}!={}", r.key, r.values[0])
                             : fmt::format("{} notin ({})", r.key, fmt::join(r.values, ",")));
      break;
    case Operator::Exists:
      parts.push_back(r.key);
      break;
    case Operator::DoesNotExist:
      parts.push_back("!" + r.key);
      break;
    case Operator::Gt:
    case Operator::Lt:
      parts.push_back(
          fmt::format("{}{}{}", r.key, r.op == Operator::Gt ? ">" : "<", fmt::join(r.values, ",")));
      break;
    }
  }
  return fmt::format("{}", fmt::join(parts, ","));
}

} // namespace berth::api
