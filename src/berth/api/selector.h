// Label selectors (matchLabels, matchExpressions, kubectl's "a=b,c in (x,y),!d") and node
// selectors.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "berth/api/object.h"
#include "berth/base/result.h"

namespace berth::api {

enum class Operator { In, NotIn, Exists, DoesNotExist, Gt, Lt };

/// "In", "NotIn", ... Error: Invalid naming the value.
Result<Operator> parse_operator(std::string_view text);
std::string_view to_string(Operator op);

struct Requirement {
  std::string key;
  Operator op = Operator::In;
  std::vector<std::string> values;

  /// In/NotIn/Exists/DoesNotExist as labels.Requirement (NotIn passes when the key is absent);
  /// Gt/Lt parse both sides as int64 and fail when either is absent or no integer.
  bool matches(const Labels& labels) const;
  bool operator==(const Requirement&) const = default;
};

/// AND of requirements. An empty selector matches everything; "no selector" is std::optional's
/// business.
struct Selector {
  std::vector<Requirement> requirements;

  bool matches(const Labels& labels) const;
  bool empty() const { return requirements.empty(); }
  bool operator==(const Selector&) const = default;
};

class Field;
/// Readers of metav1.LabelSelector, v1.NodeSelectorTerm and v1.NodeSelector for typed decoding (see
/// field.h).
void decode(const Field& in, Selector& out);
void decode(const Field& in, struct NodeSelectorTerm& out);
void decode(const Field& in, struct NodeSelector& out);

/// metav1.LabelSelector JSON: {matchLabels, matchExpressions}.
Result<Selector> parse_label_selector(const json::value& value);
/// kubectl's -l text: "a=b", "a==b", "a!=b", "a", "!a", "a in (x,y)", "a notin (x)", "a>1", "a<1",
/// comma-joined.
Result<Selector> parse_selector_text(std::string_view text);
std::string to_string(const Selector& selector);

/// One term of a v1.NodeSelector: matchExpressions over labels AND matchFields (metadata.name
/// only). A term with neither matches nothing.
struct NodeSelectorTerm {
  std::vector<Requirement> match_expressions;
  std::vector<Requirement> match_fields;

  bool matches(const Labels& labels, std::string_view node_name) const;
  bool operator==(const NodeSelectorTerm&) const = default;
};

/// OR of terms; no terms match nothing.
struct NodeSelector {
  std::vector<NodeSelectorTerm> terms;

  bool matches(const Labels& labels, std::string_view node_name) const;
  bool operator==(const NodeSelector&) const = default;
};

} // namespace berth::api
