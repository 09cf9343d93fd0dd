#include "berth/server/field_selector.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "berth/server/event_views.h"

namespace berth::server {
namespace {

using Fields = std::vector<std::string_view>;

/// Beside metadata.name and metadata.namespace, which every kind has.
const std::map<store::GroupKind, Fields>& selectable() {
  static const std::map<store::GroupKind, Fields> kSelectable = {
      {store::kPods,
       {"spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName",
        "spec.hostNetwork", "status.phase", "status.podIP", "status.podIPs",
        "status.nominatedNodeName"}},
      {store::kNodes, {"spec.unschedulable"}},
      {store::kNamespaces, {"status.phase"}},
      {store::kEvents,
       {"involvedObject.kind", "involvedObject.namespace", "involvedObject.name",
        "involvedObject.uid", "involvedObject.apiVersion", "involvedObject.resourceVersion",
        "involvedObject.fieldPath", "reason", "reportingComponent", "source", "type"}},
      {{"events.k8s.io", "Event"},
       {"regarding.kind", "regarding.namespace", "regarding.name", "regarding.uid",
        "regarding.apiVersion", "regarding.resourceVersion", "regarding.fieldPath", "reason",
        "reportingController", "type"}},
      {store::kJobs, {"status.successful"}},
      {{"", "Secret"}, {"type"}},
      {{"", "ReplicationController"}, {"status.replicas"}},
      {{"", "Service"}, {"spec.clusterIP", "spec.type"}},
      {{"apps", "ReplicaSet"}, {"status.replicas"}},
      {{"resource.k8s.io", "ResourceSlice"}, {"spec.nodeName", "spec.driver"}},
      {{"apiextensions.k8s.io", "CustomResourceDefinition"}, {}},
  };
  return kSelectable;
}

/// Where a label is no path of the stored object, or what it reads as when it is absent.
struct Spelling {
  std::string_view label;
  std::string_view path;
  std::string_view absent; ///< the text that an absent value has
};
constexpr std::array<Spelling, 5> kSpellings = {{
    {"status.successful", "status.succeeded", "0"},
    {"status.replicas", "status.replicas", "0"},
    {"spec.unschedulable", "spec.unschedulable", "false"},
    {"spec.hostNetwork", "spec.hostNetwork", "false"},
    {"source", "source.component", ""},
}};

bool can_select(const schema::Resource& resource, std::string_view label) {
  if (label == "metadata.name" || label == "metadata.namespace") {
    return true;
  }
  const auto fields = selectable().find({resource.group, resource.kind});
  return fields != selectable().end() &&
         std::ranges::find(fields->second, label) != fields->second.end();
}

struct Term {
  std::string label;
  std::string value;
  bool equal = true;
};

/// "a=b", "a==b", "a!=b"; \ , = may be escaped by \ in values.
std::optional<Term> parse_term(std::string_view text) {
  for (const auto& [mark, equal] :
       {std::pair<std::string_view, bool>("!=", false), {"==", true}, {"=", true}}) {
    const std::size_t at = text.find(mark);
    if (at == std::string_view::npos || (mark == "=" && at > 0 && text[at - 1] == '!')) {
      continue;
    }
    Term term{.label = std::string(text.substr(0, at)), .value = {}, .equal = equal};
    const std::string_view raw = text.substr(at + mark.size());
    for (std::size_t i = 0; i < raw.size(); ++i) {
      if (raw[i] == '\\') {
        if (++i == raw.size() || std::string_view("\\,=").find(raw[i]) == std::string_view::npos) {
          return std::nullopt;
        }
      } else if (raw[i] == '=' || raw[i] == ',') {
        return std::nullopt;
      }
      term.value += raw[i];
    }
    return term;
  }
  return std::nullopt;
}

std::vector<std::string_view> terms_of(std::string_view selector) {
  std::vector<std::string_view> terms;
  std::size_t start = 0;
  for (std::size_t i = 0; i <= selector.size(); ++i) {
    if (i < selector.size() && selector[i] == '\\') {
      ++i;
    } else if (i == selector.size() || selector[i] == ',') {
      if (i > start) {
        terms.push_back(selector.substr(start, i - start));
      }
      start = i + 1;
    }
  }
  return terms;
}

void add(const Term& term, const schema::Resource& resource, store::ListOptions& what) {
  if (term.equal && term.label == "metadata.name" && !what.name) {
    what.name = term.value;
    return;
  }
  if (term.equal && term.label == "spec.nodeName" && resource.kind == "Pod" && !what.node) {
    what.node = term.value;
    return;
  }
  if (is_event_view(resource)) {
    constexpr std::string_view kRegarding = "regarding.";
    const std::string_view label = term.label;
    const std::string path = label.starts_with(kRegarding)
                                 ? fmt::format("involvedObject.{}", label.substr(kRegarding.size()))
                             : label == "reportingController" ? "reportingComponent"
                                                              : std::string(label);
    what.fields.push_back({.path = path, .value = term.value, .equal = term.equal});
    return;
  }
  const auto* const spelling = std::ranges::find(kSpellings, term.label, &Spelling::label);
  store::FieldRequirement field{.path = term.label, .value = term.value, .equal = term.equal};
  if (spelling != kSpellings.end()) {
    field.path = spelling->path;
    if (!spelling->absent.empty()) {
      field.absent = spelling->absent;
    }
  }
  what.fields.push_back(std::move(field));
}

} // namespace

Answer<void> select_fields(const schema::Resource& resource, std::string_view selector,
                           store::ListOptions& what) {
  for (const std::string_view text : terms_of(selector)) {
    const auto term = parse_term(text);
    if (!term) {
      return bad_request(
          fmt::format("invalid selector: '{}'; can't understand '{}'", selector, text));
    }
    if (!can_select(resource, term->label)) {
      return bad_request(fmt::format("field label not supported: {}", term->label));
    }
    add(*term, resource, what);
  }
  return {};
}

std::optional<std::string> selected_name(std::string_view selector) {
  std::optional<std::string> name;
  for (const std::string_view text : terms_of(selector)) {
    auto term = parse_term(text);
    if (!term) {
      return std::nullopt;
    }
    if (!name && term->equal && term->label == "metadata.name") {
      name = std::move(term->value);
    }
  }
  return name;
}

} // namespace berth::server
