#include "berth/store/validation/resources.h"

#include <algorithm>
#include <array>

#include "berth/store/naming.h"

namespace berth::store {
namespace {

bool is_hugepage(std::string_view name) {
  return name.starts_with("hugepages-");
}

/// Kubernetes' own: no domain, or one of kubernetes.io.
bool is_native(std::string_view name) {
  return name.find('/') == std::string_view::npos ||
         name.find("kubernetes.io/") != std::string_view::npos;
}

bool is_container_resource(std::string_view name) {
  return name == "cpu" || name == "memory" || name == "ephemeral-storage" || is_hugepage(name);
}

bool is_pod_resource(std::string_view name) {
  return name == "cpu" || name == "memory" || is_hugepage(name);
}

bool overcommit_allowed(std::string_view name) {
  return is_native(name) && !is_hugepage(name);
}

void check_container_name(const Judged& entry, const std::string& name) {
  const auto texts = qualified_name_errors(name);
  const auto refuse = [&](std::string_view why) { entry.invalid(quote(name), why); };
  for (const std::string& text : texts) {
    refuse(text);
  }
  if (!texts.empty()) {
    return;
  }
  if (name.find('/') == std::string::npos) {
    if (!is_standard_resource(name)) {
      refuse("must be a standard resource type or fully qualified");
    }
    if (!is_container_resource(name)) {
      refuse("must be a standard resource for containers");
    }
  } else if (!is_native(name) && !is_extended_resource(name)) {
    refuse("doesn't follow extended resource name standard");
  }
}

void check_pod_name(const Judged& entry, const std::string& name) {
  if (!is_pod_resource(name)) {
    entry.errors().push_back(
        unsupported_value(entry.path(), quote(name), {"cpu", "hugepages-", "memory"}));
  }
}

void check_quantity(const Judged& entry, std::string_view name, const api::Quantity& quantity) {
  const std::string shown = quote(quantity.to_string());
  if (quantity.sign() < 0) {
    entry.invalid(shown, "must be greater than or equal to 0");
  }
  if (is_extended_resource(name) && api::Quantity::from_int(quantity.value()) != quantity) {
    entry.invalid(shown, "must be an integer");
  }
}

void check_against_limit(const Judged& resources, const std::string& name,
                         const api::Quantity& request) {
  const auto limit = quantity_of(resources["limits"].key(name));
  if (!limit) {
    if (!overcommit_allowed(name)) {
      resources["limits"].required("Limit must be set for non overcommitable resources");
    }
    return;
  }
  const std::string why = fmt::format("{} limit of {}", name, limit->to_string());
  if (request != *limit && !overcommit_allowed(name)) {
    resources["requests"].invalid(quote(request.to_string()), "must be equal to " + why);
  } else if (request > *limit) {
    resources["requests"].invalid(quote(request.to_string()),
                                  "must be less than or equal to " + why);
  }
}

using CheckName = void (*)(const Judged& entry, const std::string& name);

void check_amounts(const Judged& resources, CheckName check_name) {
  bool huge = false;
  bool compute = false;
  for (const std::string_view list : {"limits", "requests"}) {
    const Judged amounts = resources[list];
    for (const std::string& name : amounts.names()) {
      const Judged entry = amounts.key(name);
      check_name(entry, name);
      const auto quantity = quantity_of(entry);
      if (quantity) {
        check_quantity(entry, name, *quantity);
      }
      huge = huge || is_hugepage(name);
      compute = compute || name == "cpu" || name == "memory";
      if (quantity && list == "requests") {
        check_against_limit(resources, name, *quantity);
      }
    }
  }
  if (huge && !compute) {
    resources.forbidden("HugePages require cpu or memory");
  }
}

void check_claims(const Judged& resources, const ClaimNames& claims) {
  std::set<std::pair<std::string, std::string>> seen;
  resources.each("claims", [&](const Judged& claim) {
    const std::string name(claim.text("name"));
    const std::string request(claim.text("request"));
    if (name.empty()) {
      claim["name"].required();
      return;
    }
    const bool twice = seen.contains({name, request}) || seen.contains({name, ""});
    if (twice || (request.empty() &&
                  std::ranges::any_of(seen, [&](const auto& one) { return one.first == name; }))) {
      claim.duplicate(quote(request.empty() ? name : name + "/" + request));
    }
    seen.emplace(name, request);
    if (!claims.contains(name)) {
      claim.errors().push_back(not_found_value(
          claim.path(),
          fmt::format("{}: must be one of the names in pod.spec.resourceClaims{}", quote(name),
                      claims.empty() ? " which is empty"
                                     : fmt::format(": {}", fmt::join(claims, ", ")))));
    }
  });
}

} // namespace

bool is_extended_resource(std::string_view name) {
  return !is_native(name) && !name.starts_with("requests.") &&
         qualified_name_errors(std::string("requests.").append(name)).empty();
}

bool is_standard_resource(std::string_view name) {
  static constexpr std::array<std::string_view, 20> kStandard = {
      "cpu",
      "memory",
      "ephemeral-storage",
      "requests.cpu",
      "requests.memory",
      "requests.ephemeral-storage",
      "limits.cpu",
      "limits.memory",
      "limits.ephemeral-storage",
      "pods",
      "resourcequotas",
      "services",
      "replicationcontrollers",
      "secrets",
      "configmaps",
      "persistentvolumeclaims",
      "storage",
      "requests.storage",
      "services.nodeports",
      "services.loadbalancers",
  };
  return std::ranges::find(kStandard, name) != kStandard.end() || is_hugepage(name) ||
         name.starts_with("requests.hugepages-");
}

std::optional<api::Quantity> quantity_of(const Judged& value) {
  if (!value) {
    return std::nullopt;
  }
  const auto parsed = api::Quantity::parse(value.json()->is_string() ? std::string(value.text())
                                                                     : api::to_json(*value.json()));
  return parsed ? std::optional(*parsed) : std::nullopt;
}

void check_resources(const Judged& resources, const ClaimNames& claims) {
  check_amounts(resources, &check_container_name);
  check_claims(resources, claims);
}

void check_pod_resources(const Judged& spec) {
  const Judged resources = spec["resources"];
  if (!resources) {
    return;
  }
  if (resources.size("claims") != 0) {
    resources["claims"].forbidden("claims cannot be set for Resources at pod-level");
  }
  check_amounts(resources, &check_pod_name);
  const Judged requests = resources["requests"];
  for (const std::string& name : requests.names()) {
    api::Quantity sum;
    spec.each("containers", [&](const Judged& container) {
      if (const auto asked = quantity_of(container["resources"]["requests"].key(name))) {
        sum += *asked;
      }
    });
    const auto own = quantity_of(requests.key(name));
    if (own && sum > *own) {
      requests.key(name).invalid(
          quote(own->to_string()),
          fmt::format("must be greater than or equal to aggregate container requests of {}",
                      sum.to_string()));
    }
  }
}

void check_quantities(const Judged& list) {
  for (const std::string& name : list.names()) {
    const Judged entry = list.key(name);
    const auto texts = qualified_name_errors(name);
    for (const std::string& text : texts) {
      entry.invalid(quote(name), text);
    }
    if (texts.empty() && name.find('/') == std::string::npos && !is_standard_resource(name)) {
      entry.invalid(quote(name), "must be a standard resource type or fully qualified");
    }
    if (const auto quantity = quantity_of(entry)) {
      check_quantity(entry, name, *quantity);
    }
  }
}

} // namespace berth::store
