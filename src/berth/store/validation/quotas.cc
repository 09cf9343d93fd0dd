#include "berth/store/validation/quotas.h"

#include <algorithm>
#include <array>
#include <set>

#include "berth/store/naming.h"
#include "berth/store/validation/immutable.h"
#include "berth/store/validation/resources.h"

namespace berth::store {
namespace {

bool has_domain(std::string_view name) {
  return name.find('/') != std::string_view::npos;
}

bool counts_objects(std::string_view name) {
  static constexpr std::array<std::string_view, 9> kCounted = {"pods",
                                                               "resourcequotas",
                                                               "services",
                                                               "replicationcontrollers",
                                                               "secrets",
                                                               "configmaps",
                                                               "services.nodeports",
                                                               "services.loadbalancers",
                                                               "persistentvolumeclaims"};
  return std::ranges::find(kCounted, name) != kCounted.end();
}

/// Names as any list of resources has them; whether they are sound.
bool check_resource_name(const Judged& entry, const std::string& name) {
  const auto refuse = [&](std::string_view why) { entry.invalid(quote(name), why); };
  const auto whys = qualified_name_errors(name);
  for (const std::string& why : whys) {
    refuse(why);
  }
  if (whys.empty() && !has_domain(name) && !is_standard_resource(name)) {
    refuse("must be a standard resource type or fully qualified");
  }
  return whys.empty();
}

void check_hard(const Judged& hard) {
  for (const std::string& name : hard.names()) {
    const Judged entry = hard.key(name);
    if (check_resource_name(entry, name) && !has_domain(name) &&
        (!is_standard_resource(name) || name == "storage")) {
      entry.invalid(quote(name), "must be a standard resource for quota");
    }
    const auto quantity = quantity_of(entry);
    if (!quantity) {
      continue;
    }
    if (quantity->sign() < 0) {
      entry.invalid(quote(quantity->to_string()), "must be greater than or equal to 0");
    }
    if ((counts_objects(name) || is_extended_resource(name)) &&
        api::Quantity::from_int(quantity->value()) != *quantity) {
      entry.invalid(quote(quantity->to_string()), "must be an integer");
    }
  }
}

constexpr std::array<std::string_view, 6> kScopes = {"Terminating",   "NotTerminating",
                                                     "BestEffort",    "NotBestEffort",
                                                     "PriorityClass", "CrossNamespacePodAffinity"};

bool is_scope(std::string_view scope) {
  return std::ranges::find(kScopes, scope) != kScopes.end();
}

/// Best effort pods have no amounts to count.
bool scope_counts(std::string_view scope, std::string_view name) {
  if (scope == "BestEffort") {
    return name == "pods";
  }
  if (scope == "VolumeAttributesClass") {
    return name == "persistentvolumeclaims" || name == "requests.storage";
  }
  return name == "pods" || name == "cpu" || name == "memory" || name == "ephemeral-storage" ||
         name.starts_with("requests.") || name.starts_with("limits.") ||
         name.starts_with("hugepages-");
}

bool is_quota_resource(std::string_view name) {
  return !has_domain(name) && is_standard_resource(name) && name != "storage";
}

void check_scopes(const Judged& spec) {
  const Judged scopes = spec["scopes"];
  const Judged hard = spec["hard"];
  std::set<std::string, std::less<>> seen;
  spec.each("scopes", [&](const Judged& scope) {
    if (!is_scope(scope.text())) {
      scopes.invalid("unsupported scope");
    }
    for (const std::string& name : hard.names()) {
      if (is_quota_resource(name) && !scope_counts(scope.text(), name)) {
        scopes.invalid("unsupported scope applied to resource");
      }
    }
    seen.emplace(scope.text());
  });
  for (const auto& [one, other] :
       {std::pair("BestEffort", "NotBestEffort"), std::pair("Terminating", "NotTerminating")}) {
    if (seen.contains(one) && seen.contains(other)) {
      scopes.invalid("conflicting scopes");
    }
  }
}

void check_scope_selector(const Judged& spec) {
  const Judged selector = spec["scopeSelector"];
  const Judged whole = selector["matchExpressions"];
  const Judged hard = spec["hard"];
  selector.each("matchExpressions", [&](const Judged& requirement) {
    const auto part = [&](std::string_view member) {
      return Judged(requirement[member].json(), fmt::format("{}.{}", whole.path(), member),
                    spec.errors());
    };
    const std::string_view scope = requirement.text("scopeName");
    const std::string_view op = requirement.text("operator");
    if (!is_scope(scope)) {
      part("scopeName").invalid("unsupported scope");
    }
    for (const std::string& name : hard.names()) {
      if (is_quota_resource(name) && !scope_counts(scope, name)) {
        whole.invalid("unsupported scope applied to resource");
      }
    }
    if (scope != "PriorityClass" && is_scope(scope) && op != "Exists") {
      part("operator")
          .invalid(
              "must be 'Exist' when scope is any of ResourceQuotaScopeTerminating, "
              "ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, "
              "ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity");
    }
    if (op == "In" || op == "NotIn") {
      if (requirement.size("values") == 0) {
        part("values").required("must be at least one value when `operator` is 'In' or 'NotIn' "
                                "for scope selector");
      }
    } else if (op == "Exists" || op == "DoesNotExist") {
      if (requirement.size("values") != 0) {
        part("values").invalid("must be no value when `operator` is 'Exist' or 'DoesNotExist' for "
                               "scope selector");
      }
    } else {
      part("operator").invalid("not a valid selector operator");
    }
  });
}

void check_quota(const AdmissionRequest& request, const Judged& spec) {
  check_hard(spec["hard"]);
  check_scopes(spec);
  check_scope_selector(spec);
  if (request.before != nullptr) {
    const Judged before(api::find(request.before->json(), "spec"), "spec", spec.errors());
    check_immutable(before, spec, "scopes");
  }
}

void check_limit_names(const Judged& limit, std::string_view list, std::string_view type,
                       std::set<std::string>& names) {
  const Judged amounts = limit[list];
  for (const std::string& name : amounts.names()) {
    names.insert(name);
    const Judged entry = amounts.key(name);
    if (!check_resource_name(entry, name) || (type != "Pod" && type != "Container")) {
      continue;
    }
    if (!has_domain(name)) {
      if (name != "cpu" && name != "memory" && name != "ephemeral-storage" &&
          !name.starts_with("hugepages-")) {
        entry.invalid(quote(name), "must be a standard resource for containers");
      }
    } else if (name.find("kubernetes.io/") == std::string::npos && !is_extended_resource(name)) {
      entry.invalid(quote(name), "doesn't follow extended resource name standard");
    }
  }
}

/// What the amounts of one resource say of each other.
void check_order(const Judged& limit, const std::string& name) {
  const auto at = [&](std::string_view list) { return quantity_of(limit[list].key(name)); };
  const auto least = at("min");
  const auto most = at("max");
  const auto preset = at("default");
  const auto request = at("defaultRequest");
  const auto refuse = [&](std::string_view list, const api::Quantity& shown, std::string_view what,
                          const api::Quantity& more, std::string_view than,
                          const api::Quantity& less) {
    limit[list].key(name).invalid(quote(shown.to_string()),
                                  fmt::format("{} value {} is greater than {} value {}", what,
                                              more.to_string(), than, less.to_string()));
  };
  if (least && most && *least > *most) {
    refuse("min", *least, "min", *least, "max", *most);
  }
  if (request && least && *least > *request) {
    refuse("defaultRequest", *request, "min", *least, "default request", *request);
  }
  if (request && most && *request > *most) {
    refuse("defaultRequest", *request, "default request", *request, "max", *most);
  }
  if (request && preset && *request > *preset) {
    refuse("defaultRequest", *request, "default request", *request, "default limit", *preset);
  }
  if (preset && least && *least > *preset) {
    refuse("default", *least, "min", *least, "default", *preset);
  }
  if (preset && most && *preset > *most) {
    refuse("default", *most, "default", *preset, "max", *most);
  }
  if (const auto ratio = at("maxLimitRequestRatio"); ratio && *ratio < api::Quantity::from_int(1)) {
    limit["maxLimitRequestRatio"].key(name).invalid(
        quote(ratio->to_string()), fmt::format("ratio {} is less than 1", ratio->to_string()));
  }
}

void check_limit_range(const Judged& spec) {
  std::set<std::string, std::less<>> types;
  spec.each("limits", [&](const Judged& limit) {
    const std::string_view type = limit.text("type");
    const Judged kind = limit["type"];
    const auto whys = qualified_name_errors(type);
    kind.invalid(whys);
    if (whys.empty() && !has_domain(type) && type != "Pod" && type != "Container" &&
        type != "PersistentVolumeClaim") {
      kind.invalid("must be a standard limit type or fully qualified");
    }
    if (!types.emplace(type).second) {
      kind.duplicate();
    }
    std::set<std::string> names;
    check_limit_names(limit, "max", type, names);
    check_limit_names(limit, "min", type, names);
    for (const std::string_view list : {"default", "defaultRequest"}) {
      if (type != "Pod") {
        check_limit_names(limit, list, type, names);
      } else if (limit.size(list) > 0) {
        limit[list].forbidden("may not be specified when `type` is 'Pod'");
      }
    }
    if (type == "PersistentVolumeClaim" && !limit["min"].has("storage") &&
        !limit["max"].has("storage")) {
      limit.required("either minimum or maximum storage value is required, but neither was "
                     "provided");
    }
    check_limit_names(limit, "maxLimitRequestRatio", type, names);
    for (const std::string& name : names) {
      check_order(limit, name);
    }
  });
}

} // namespace

void check_quotas(const AdmissionRequest& request, const api::Object& object, FieldErrors& errors) {
  static const GroupKind kLimitRanges{"", "LimitRange"};
  if (request.subresource == Subresource::Status) {
    return;
  }
  const Judged spec(api::find(object.json(), "spec"), "spec", errors);
  if (request.kind == kResourceQuotas) {
    check_quota(request, spec);
  } else if (request.kind == kLimitRanges) {
    check_limit_range(spec);
  }
}

} // namespace berth::store
