#include "berth/store/validation/affinity.h"

#include <array>

#include "berth/store/naming.h"
#include "berth/store/validation/formats.h"

namespace berth::store {
namespace {

constexpr std::string_view kRequired = "requiredDuringSchedulingIgnoredDuringExecution";
constexpr std::string_view kPreferred = "preferredDuringSchedulingIgnoredDuringExecution";
constexpr std::int64_t kHighestWeight = 100;

enum class Values { Any, Labels };

void check_expression(const Judged& requirement, Values values) {
  const std::string_view op = requirement.text("operator");
  const std::size_t count = requirement.size("values");
  const Judged listed = requirement["values"];
  if (op == "In" || op == "NotIn") {
    if (count == 0) {
      listed.required("must be specified when `operator` is 'In' or 'NotIn'");
    }
  } else if (op == "Exists" || op == "DoesNotExist") {
    if (count > 0) {
      listed.forbidden("may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
    }
  } else if (op == "Gt" || op == "Lt") {
    if (count != 1) {
      listed.required("must be specified single value when `operator` is 'Lt' or 'Gt'");
    }
  } else {
    requirement["operator"].invalid("not a valid selector operator");
  }
  requirement["key"].label_name();
  if (values == Values::Labels) {
    requirement.each("values",
                     [](const Judged& value) { value.invalid(label_value_errors(value.text())); });
  }
}

void check_field(const Judged& requirement) {
  const std::string_view op = requirement.text("operator");
  if (op != "In" && op != "NotIn") {
    requirement["operator"].invalid("not a valid selector operator");
  } else if (requirement.size("values") != 1) {
    requirement["values"].required(
        "must be only one value when `operator` is 'In' or 'NotIn' for node field selector");
  }
  if (requirement.text("key") != "metadata.name") {
    requirement["key"].invalid("not a valid field selector key");
    return;
  }
  requirement.each("values", [](const Judged& value) { value.dns_subdomain(); });
}

void check_term(const Judged& term, Values values) {
  term.each("matchExpressions",
            [&](const Judged& requirement) { check_expression(requirement, values); });
  term.each("matchFields", check_field);
}

void check_node_terms(const Judged& selector, Values values) {
  if (selector.size("nodeSelectorTerms") == 0) {
    selector["nodeSelectorTerms"].required("must have at least one node selector term");
    return;
  }
  selector.each("nodeSelectorTerms", [&](const Judged& term) { check_term(term, values); });
}

void check_weight(const Judged& term) {
  const std::int64_t weight = term.number("weight").value_or(0);
  if (weight < 1 || weight > kHighestWeight) {
    term["weight"].invalid(fmt::to_string(weight), "must be in the range 1-100");
  }
}

/// matchLabelKeys and mismatchLabelKeys of a term; they need a selector to add to.
void check_label_keys(const Judged& term, std::string_view member) {
  if (term.size(member) == 0) {
    return;
  }
  if (!term.has("labelSelector")) {
    term[member].forbidden("must not be specified when labelSelector is not set");
  }
  term.each(member, [&](const Judged& key) { key.label_name(); });
}

void check_pod_term(const Judged& term) {
  check_label_selector(term["labelSelector"]);
  check_label_selector(term["namespaceSelector"]);
  term.each("namespaces", [&](const Judged& ns) {
    for (const std::string& why : label_name_errors(ns.text())) {
      term["namespace"].invalid(quote(ns.text()), why);
    }
  });
  check_label_keys(term, "matchLabelKeys");
  check_label_keys(term, "mismatchLabelKeys");
  term["topologyKey"].need_text("can not be empty");
  term["topologyKey"].label_name();
}

void check_constraint(const Judged& constraint, const std::vector<std::string>& seen) {
  const std::int64_t skew = constraint.number("maxSkew").value_or(0);
  if (skew <= 0) {
    constraint["maxSkew"].invalid(fmt::to_string(skew), "must be greater than zero");
  }
  if (constraint["topologyKey"].need_text("can not be empty")) {
    constraint["topologyKey"].label_name();
  }
  const std::string_view when = constraint.text("whenUnsatisfiable");
  if (when != "DoNotSchedule" && when != "ScheduleAnyway") {
    constraint["whenUnsatisfiable"].unsupported({"DoNotSchedule", "ScheduleAnyway"});
  }
  const std::string pair = fmt::format("{{{}, {}}}", constraint.text("topologyKey"), when);
  for (const std::string& other : seen) {
    if (other == pair) {
      constraint["{topologyKey, whenUnsatisfiable}"].duplicate(quote(pair));
    }
  }
  if (const Judged domains = constraint["minDomains"]) {
    domains.positive();
    if (when != "DoNotSchedule") {
      domains.invalid(
          fmt::format("can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {}", when));
    }
  }
  constraint["nodeAffinityPolicy"].one_of({"Honor", "Ignore"});
  constraint["nodeTaintsPolicy"].one_of({"Honor", "Ignore"});
  check_label_keys(constraint, "matchLabelKeys");
  check_label_selector(constraint["labelSelector"]);
}

} // namespace

void check_node_selector(const Judged& selector) {
  check_node_terms(selector, Values::Labels);
}

void check_affinity(const Judged& spec) {
  const Judged affinity = spec["affinity"];
  if (!affinity) {
    return;
  }
  if (const Judged node = affinity["nodeAffinity"]) {
    if (node.has(kRequired)) {
      check_node_terms(node[kRequired], Values::Labels);
    }
    node.each(kPreferred, [](const Judged& weighted) {
      check_weight(weighted);
      check_term(weighted["preference"], Values::Any);
    });
  }
  for (const std::string_view kind : {"podAffinity", "podAntiAffinity"}) {
    if (const Judged pods = affinity[kind]) {
      pods.each(kRequired, check_pod_term);
      pods.each(kPreferred, [](const Judged& weighted) {
        check_weight(weighted);
        check_pod_term(weighted["podAffinityTerm"]);
      });
    }
  }
}

void check_spread(const Judged& spec) {
  // A pair is complained of where it stands first.
  std::vector<std::string> pairs;
  spec.each("topologySpreadConstraints", [&](const Judged& constraint) {
    pairs.push_back(fmt::format("{{{}, {}}}", constraint.text("topologyKey"),
                                constraint.text("whenUnsatisfiable")));
  });
  std::size_t i = 0;
  spec.each("topologySpreadConstraints", [&](const Judged& constraint) {
    ++i;
    check_constraint(constraint, {pairs.begin() + static_cast<std::ptrdiff_t>(i), pairs.end()});
  });
}

} // namespace berth::store
