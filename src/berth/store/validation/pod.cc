#include "berth/store/validation/pod.h"

#include <charconv>
#include <set>

#include "berth/store/naming.h"
#include "berth/store/validation/affinity.h"
#include "berth/store/validation/containers.h"
#include "berth/store/validation/formats.h"
#include "berth/store/validation/metadata.h"
#include "berth/store/validation/pod_resize.h"
#include "berth/store/validation/pod_security.h"
#include "berth/store/validation/pod_status.h"
#include "berth/store/validation/pod_update.h"
#include "berth/store/validation/pod_volumes.h"
#include "berth/store/validation/resources.h"

namespace berth::store {
namespace {

constexpr std::size_t kMaxNameservers = 3;
constexpr std::size_t kMaxSearches = 32;
constexpr std::size_t kMaxSearchText = 2048;

ClaimNames check_claims(const Judged& spec, std::string_view pod_name) {
  ClaimNames names;
  spec.each("resourceClaims", [&](const Judged& claim) {
    const Judged name = claim["name"];
    const Judged direct = claim["resourceClaimName"];
    const Judged from_template = claim["resourceClaimTemplateName"];
    if (name.need_text()) {
      if (!names.emplace(name.text()).second) {
        name.duplicate();
      } else if (!label_name_errors(name.text()).empty()) {
        name.dns_label();
      } else if (!pod_name.empty() && from_template) {
        const std::string made = fmt::format("{}-{}", pod_name, name.text());
        for (const std::string& why : subdomain_errors(made)) {
          name.invalid(quote(made), "final ResourceClaim name: " + why);
        }
      }
    }
    if (bool(direct) == bool(from_template)) {
      const auto shown = [](const Judged& text) {
        return text ? quote(text.text()) : std::string("null");
      };
      claim.invalid(
          fmt::format(R"({{"Name":{},"ResourceClaimName":{},"ResourceClaimTemplateName":{}}})",
                      quote(name.text()), shown(direct), shown(from_template)),
          direct
              ? "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
              : "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`");
    }
    for (const Judged& reference : {direct, from_template}) {
      if (reference) {
        reference.dns_subdomain();
      }
    }
  });
  return names;
}

void check_host_network(const Judged& spec) {
  if (!spec.is_true("hostNetwork")) {
    return;
  }
  spec.each("containers", [](const Judged& container) {
    container.each("ports", [](const Judged& port) {
      const std::int64_t host = port.number("hostPort").value_or(0);
      if (host != port.number("containerPort").value_or(0)) {
        port["hostPort"].invalid(fmt::to_string(host),
                                 "must match `containerPort` when `hostNetwork` is true");
      }
    });
  });
}

void check_dns(const Judged& spec) {
  const Judged config = spec["dnsConfig"];
  if (spec.text("dnsPolicy") == "None") {
    if (!config) {
      config.required("must provide `dnsConfig` when `dnsPolicy` is None");
      return;
    }
    if (config.size("nameservers") == 0) {
      config["nameservers"].required(
          "must provide at least one DNS nameserver when `dnsPolicy` is None");
      return;
    }
  }
  if (config.size("nameservers") > kMaxNameservers) {
    config["nameservers"].invalid(
        fmt::format("must not have more than {} nameservers", kMaxNameservers));
  }
  config.each("nameservers", check_ip);
  std::size_t letters = config.size("searches") == 0 ? 0 : config.size("searches") - 1;
  if (config.size("searches") > kMaxSearches) {
    config["searches"].invalid(
        fmt::format("must not have more than {} search paths", kMaxSearches));
  }
  config.each("searches", [&](const Judged& search) { letters += search.text().size(); });
  if (letters > kMaxSearchText) {
    config["searches"].invalid(
        fmt::format("must not have more than {} characters (including spaces) in the search list",
                    kMaxSearchText));
  }
  config.each("searches", [](const Judged& search) {
    std::string_view text = search.text();
    if (text == ".") {
      return;
    }
    if (text.ends_with('.')) {
      text.remove_suffix(1);
    }
    std::string plain(text);
    std::erase(plain, '_'); // search paths may have them
    for (const std::string& why : subdomain_errors(plain)) {
      search.invalid(why);
    }
  });
  config.each("options", [](const Judged& option) {
    if (option.text("name").empty()) {
      option.required("must not be empty");
    }
  });
}

void check_gates(const Judged& spec) {
  std::set<std::string, std::less<>> seen;
  spec.each("schedulingGates", [&](const Judged& gate) {
    const std::string_view name = gate.text("name");
    add_invalid(gate.errors(), gate.path(), name, qualified_name_errors(name));
    if (!seen.emplace(name).second) {
      gate.duplicate(quote(name));
    }
  });
}

void check_toleration(const Judged& toleration) {
  const std::string_view key = toleration.text("key");
  const std::string_view op = toleration.text("operator");
  const std::string_view text = toleration.text("value");
  const Judged operation = toleration["operator"];
  if (!key.empty()) {
    toleration["key"].label_name();
  } else if (op != "Exists") {
    operation.invalid("operator must be Exists when `key` is empty, which means \"match all values "
                      "and all keys\"");
  }
  if (toleration.has("tolerationSeconds") && toleration.text("effect") != "NoExecute") {
    toleration["effect"].invalid("effect must be 'NoExecute' when `tolerationSeconds` is set");
  }
  if (op == "Exists") {
    if (!text.empty()) {
      operation.invalid(quote(text), "value must be empty when `operator` is 'Exists'");
    }
  } else if (op == "Equal" || op.empty()) {
    if (const auto whys = label_value_errors(text); !whys.empty()) {
      operation.invalid(quote(text), fmt::format("{}", fmt::join(whys, ";")));
    }
  } else {
    operation.unsupported({"Equal", "Exists"});
  }
  toleration["effect"].one_of({"NoSchedule", "PreferNoSchedule", "NoExecute"});
}

void check_places(const Judged& spec) {
  if (const Judged account = spec["serviceAccountName"]; !account.text().empty()) {
    account.dns_subdomain();
  }
  if (const Judged node = spec["nodeName"]; !node.text().empty()) {
    node.dns_subdomain();
  }
  spec["activeDeadlineSeconds"].in_range(1, INT32_MAX);
  for (const std::string_view name : {"hostname", "subdomain"}) {
    if (!spec.text(name).empty()) {
      spec[name].dns_label();
    }
  }
  check_tolerations(spec);
  spec.each("hostAliases", [](const Judged& alias) {
    check_ip(alias["ip"]);
    alias.each("hostnames", [](const Judged& name) { name.dns_subdomain(); });
  });
  for (const std::string_view name : {"priorityClassName", "runtimeClassName"}) {
    if (!spec.text(name).empty()) {
      spec[name].dns_subdomain();
    }
  }
  spec["preemptionPolicy"].one_of({"PreemptLowerPriority", "Never"});
  if (const Judged os = spec["os"]) {
    if (os["name"].text().empty()) {
      os["name"].required("cannot be empty");
    } else if (os.text("name") != "linux" && os.text("name") != "windows") {
      spec.errors().push_back(
          unsupported_value(os.path(), quote(os.text("name")), {"linux", "windows"}));
    }
  }
}

/// A pod that has users of its own does not share the host's names.
void check_host_users(const Judged& spec) {
  const Judged own = spec["hostUsers"];
  if (own.json() == nullptr || own.is_true()) {
    return;
  }
  // The paths are spelled as kube-apiserver spells them.
  for (const auto& [member, shown] :
       {std::pair<std::string_view, std::string_view>{"hostNetwork", "hostNetwork"},
        {"hostPID", "HostPID"},
        {"hostIPC", "HostIPC"}}) {
    if (spec.is_true(member)) {
      spec[shown].forbidden("when `pod.Spec.HostUsers` is false");
    }
  }
}

void check_overhead(const Judged& spec) {
  if (const Judged overhead = spec["overhead"]) {
    const api::json::value resources = api::json::object{{"limits", *overhead.json()}};
    check_resources(Judged(&resources, overhead.path(), overhead.errors()), {});
  }
}

/// controller.kubernetes.io/pod-deletion-cost: 32 bits, without a plus or leading zeros.
bool is_cost(std::string_view text) {
  std::int32_t cost = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), cost);
  const bool leading = text == "0" || text.starts_with('-') ||
                       (!text.empty() && text.front() >= '1' && text.front() <= '9');
  return leading && error == std::errc() && end == text.data() + text.size();
}

void check_own_annotations(const api::Object& pod, const Judged& spec) {
  constexpr std::string_view kMirror = "kubernetes.io/config.mirror";
  constexpr std::string_view kCost = "controller.kubernetes.io/pod-deletion-cost";
  const auto refuse = [&](std::string_view key, const std::string& text, std::string_view why) {
    spec.errors().push_back(
        invalid_value(fmt::format("metadata.annotations[{}]", key), quote(text), why));
  };
  const auto& annotations = pod.meta().annotations;
  if (const auto mirror = annotations.find(kMirror);
      mirror != annotations.end() && spec.text("nodeName").empty()) {
    refuse(kMirror, mirror->second, "must set spec.nodeName if mirror pod annotation is set");
  }
  if (const auto cost = annotations.find(kCost);
      cost != annotations.end() && !is_cost(cost->second)) {
    refuse(kCost, cost->second, "must be a 32bit integer");
  }
}

/// What an update changes, by the subresource that it came through.
void check_change(const AdmissionRequest& request, const api::Object& object, FieldErrors& errors) {
  if (request.subresource == Subresource::EphemeralContainers) {
    check_debugged_pod(*request.before, object, errors);
  } else if (request.subresource == Subresource::Resize) {
    check_resized_pod(*request.before, object, errors);
  } else {
    check_changed_pod(*request.before, object, errors);
  }
}

} // namespace

void check_tolerations(const Judged& spec) {
  spec.each("tolerations", check_toleration);
}

void check_pod_spec(const Judged& spec, std::string_view pod_name) {
  PodContext pod{.volumes = check_volumes(spec),
                 .claims = check_claims(spec, pod_name),
                 .grace = spec.number("terminationGracePeriodSeconds").value_or(0),
                 .restart_policy = std::string(spec.text("restartPolicy"))};
  check_containers(spec, pod);
  check_ephemeral_containers(spec, pod);
  check_pod_resources(spec);
  check_host_network(spec);
  spec["restartPolicy"].one_of({"Always", "OnFailure", "Never"});
  spec["dnsPolicy"].one_of({"ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"});
  if (spec.has("nodeSelector")) {
    check_label_map(spec["nodeSelector"]);
  }
  check_pod_security(spec);
  check_affinity(spec);
  check_dns(spec);
  spec.each("readinessGates", [](const Judged& gate) { gate["conditionType"].label_name(); });
  check_gates(spec);
  check_spread(spec);
  check_host_users(spec);
  check_places(spec);
  check_overhead(spec);
}

void check_pod_template(const Judged& pod) {
  const Judged meta = pod["metadata"];
  // The paths leave "metadata" out, as ValidatePodTemplateSpec's do.
  const auto part = [&](std::string_view member) {
    return Judged(meta[member].json(), fmt::format("{}.{}", pod.path(), member), pod.errors());
  };
  check_label_map(part("labels"));
  check_annotations(part("annotations"));
  const Judged spec = pod["spec"];
  check_pod_spec(spec, "");
  if (spec.size("ephemeralContainers") > 0) {
    spec["ephemeralContainers"].forbidden("ephemeral containers not allowed in pod template");
  }
}

void check_pod(const AdmissionRequest& request, const api::Object& object, FieldErrors& errors) {
  if (request.kind != kPods) {
    return;
  }
  if (request.subresource == Subresource::Status) {
    check_pod_status(*request.before, object, errors);
    return;
  }
  const Judged spec(api::find(object.json(), "spec"), "spec", errors);
  if (request.before != nullptr && spec &&
      *spec.json() == *api::find(request.before->json(), "spec")) {
    return; // it was judged when it came
  }
  check_own_annotations(object, spec);
  check_pod_spec(spec, object.meta().name);
  check_projected_tokens(spec);
  check_images(spec);
  if (request.before != nullptr) {
    check_change(request, object, errors);
    return;
  }
  if (spec.size("ephemeralContainers") > 0) {
    spec["ephemeralContainers"].forbidden("cannot be set on create");
  }
  if (!spec.text("nodeName").empty() && spec.size("schedulingGates") > 0) {
    spec["nodeName"].forbidden("cannot be set until all schedulingGates have been cleared");
  }
}

} // namespace berth::store
