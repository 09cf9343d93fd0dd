#include "berth/server/field_selector.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "berth/server/event_views.h"
#include "berth/store/errors.h"

namespace berth::server {
namespace {

using Fields = std::vector<std::string_view>;

/// What a kind that has fields of its own may be selected by, and how it refuses the rest. Source:
/// the AddFieldLabelConversionFunc calls in kubernetes/pkg/apis.
struct Selectable {
  Fields fields; ///< beside metadata.name
  std::string_view refusal = "field label not supported: {}";
};
constexpr std::string_view kNamespace = "metadata.namespace";

const std::map<store::GroupKind, Selectable>& selectable() {
  static const std::map<store::GroupKind, Selectable> kSelectable = {
      {store::kPods,
       {{kNamespace, "spec.host", "spec.nodeName", "spec.restartPolicy", "spec.schedulerName",
         "spec.serviceAccountName", "spec.hostNetwork", "status.phase", "status.podIP",
         "status.podIPs", "status.nominatedNodeName"}}},
      {store::kNodes, {{"spec.unschedulable"}}},
      {store::kNamespaces, {{"status.phase"}}},
      {store::kEvents,
       {{kNamespace, "involvedObject.kind", "involvedObject.namespace", "involvedObject.name",
         "involvedObject.uid", "involvedObject.apiVersion", "involvedObject.resourceVersion",
         "involvedObject.fieldPath", "reason", "reportingComponent", "source", "type"}}},
      {{"events.k8s.io", "Event"},
       {{kNamespace, "regarding.kind", "regarding.namespace", "regarding.name", "regarding.uid",
         "regarding.apiVersion", "regarding.resourceVersion", "regarding.fieldPath", "reason",
         "reportingController", "type"}}},
      {store::kJobs,
       {{kNamespace, "status.successful"}, "field label \"{}\" not supported for batchv1.Job"}},
      {{"", "Secret"}, {{kNamespace, "type"}}},
      {{"", "ReplicationController"}, {{kNamespace, "status.replicas"}}},
      {{"", "Service"}, {{kNamespace, "spec.clusterIP", "spec.type"}}},
      {{"certificates.k8s.io", "CertificateSigningRequest"}, {{"spec.signerName"}}},
      {{"resource.k8s.io", "ResourceSlice"},
       {{"spec.nodeName", "spec.driver"},
        "field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: {}"}},
  };
  return kSelectable;
}

/// Where a label is no path of the stored object, or what it reads as when it is absent.
struct Spelling {
  std::string_view label;
  std::string_view path;
  std::string_view absent; ///< the text that an absent value has
};
constexpr std::array<Spelling, 6> kSpellings = {{
    {"spec.host", "spec.nodeName", ""},
    {"status.successful", "status.succeeded", "0"},
    {"status.replicas", "status.replicas", "0"},
    {"spec.unschedulable", "spec.unschedulable", "false"},
    {"spec.hostNetwork", "spec.hostNetwork", "false"},
    {"source", "source.component", ""},
}};

/// Why the kind cannot be selected by the label; none if it can.
std::optional<std::string> refusal_of(const schema::Resource& resource, std::string_view label) {
  if (label == "metadata.name") {
    return std::nullopt;
  }
  const auto own = selectable().find({resource.group, resource.kind});
  if (own != selectable().end()) {
    return std::ranges::find(own->second.fields, label) != own->second.fields.end()
               ? std::nullopt
               : std::optional(fmt::format(fmt::runtime(own->second.refusal), label));
  }
  if (label == kNamespace) {
    return std::nullopt;
  }
  if (resource.custom) {
    return std::ranges::find(resource.selectable, label) != resource.selectable.end()
               ? std::nullopt
               : std::optional(fmt::format("field label not supported: {}", label));
  }
  return fmt::format("{} is not a known field selector: only \"metadata.name\", "
                     "\"metadata.namespace\"",
                     store::quote(label));
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
        ++i;
        if (i == raw.size() || std::string_view("\\,=").find(raw[i]) == std::string_view::npos) {
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
    if (auto refused = refusal_of(resource, term->label)) {
      return bad_request(*std::move(refused));
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
