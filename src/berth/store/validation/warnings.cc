#include "berth/store/validation/warnings.h"

#include <array>
#include <map>
#include <set>

#include "berth/store/naming.h"
#include "berth/store/validation/judged.h"
#include "berth/store/validation/resources.h"

namespace berth::store {
namespace {

using Texts = std::vector<std::string>;

constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kOldLabels = {
    {{"beta.kubernetes.io/arch", "deprecated since v1.14; use \"kubernetes.io/arch\" instead"},
     {"beta.kubernetes.io/instance-type",
      "deprecated since v1.17; use \"node.kubernetes.io/instance-type\" instead"},
     {"beta.kubernetes.io/os", "deprecated since v1.14; use \"kubernetes.io/os\" instead"},
     {"failure-domain.beta.kubernetes.io/region",
      "deprecated since v1.17; use \"topology.kubernetes.io/region\" instead"},
     {"failure-domain.beta.kubernetes.io/zone",
      "deprecated since v1.17; use \"topology.kubernetes.io/zone\" instead"}}};

/// A selector that is left out selects nothing.
void warn_of_no_selector(const Judged& term, Texts& out) {
  if (!term.has("labelSelector")) {
    out.push_back(term["labelSelector"].path() +
                  ": a null labelSelector results in matching no pod");
  }
}

void warn_of_ports(const Judged& container, Texts& out) {
  std::map<std::string, std::string> seen;
  container.each("ports", [&](const Judged& port) {
    const std::string key =
        fmt::format("{}/{}/{}", port.text("protocol"), port.number("containerPort").value_or(0),
                    port.number("hostPort").value_or(0));
    const auto [at, added] = seen.emplace(key, port.path());
    if (!added) {
      out.push_back(fmt::format("{}: duplicate port definition with {}", port.path(), at->second));
    }
  });
}

void warn_of_amounts(const Judged& container, Texts& out) {
  for (const std::string_view list : {"limits", "requests"}) {
    for (const std::string_view name : {"memory", "ephemeral-storage"}) {
      const Judged entry = container["resources"][list].key(name);
      const auto amount = quantity_of(entry);
      if (amount && amount->milli_value() % 1000 != 0) {
        out.push_back(fmt::format("{}: fractional byte value \"{}\" is invalid, must be an integer",
                                  entry.path(), amount->to_string()));
      }
    }
  }
}

/// A name that is set again counts as hidden unless its value is made of the one before.
void warn_of_variables(const Judged& container, Texts& out) {
  std::set<std::string, std::less<>> names;
  container.each("env", [&](const Judged& variable) {
    const std::string_view name = variable.text("name");
    if (names.emplace(name).second) {
      return;
    }
    const std::string earlier = fmt::format("$({})", name);
    const std::string_view value = variable.text("value");
    if (variable.has("valueFrom") || value == earlier ||
        value.find(earlier) == std::string_view::npos) {
      out.push_back(fmt::format(
          "{}: hides previous definition of \"{}\", which may be dropped when using apply",
          variable.path(), name));
    }
  });
}

void warn_of_container(const Judged& container, Texts& out) {
  warn_of_amounts(container, out);
  warn_of_variables(container, out);
  warn_of_ports(container, out);
}

std::string_view why_old(std::string_view label) {
  const auto* const found =
      std::ranges::find(kOldLabels, label, [](const auto& one) { return one.first; });
  return found == kOldLabels.end() ? std::string_view() : found->second;
}

void warn_of_node_term(const Judged& term, Texts& out) {
  term.each("matchExpressions", [&](const Judged& wanted) {
    if (const auto why = why_old(wanted.text("key")); !why.empty()) {
      out.push_back(fmt::format("{}: {} is {}", wanted["key"].path(), wanted.text("key"), why));
    }
  });
}

void warn_of_placement(const Judged& spec, Texts& out) {
  for (const std::string& label : spec["nodeSelector"].names()) {
    if (const auto why = why_old(label); !why.empty()) {
      out.push_back(fmt::format("{}: {}", spec["nodeSelector"].key(label).path(), why));
    }
  }
  const Judged nodes = spec["affinity"]["nodeAffinity"];
  nodes["requiredDuringSchedulingIgnoredDuringExecution"].each(
      "nodeSelectorTerms", [&](const Judged& term) { warn_of_node_term(term, out); });
  nodes.each("preferredDuringSchedulingIgnoredDuringExecution",
             [&](const Judged& one) { warn_of_node_term(one["preference"], out); });
  spec.each("topologySpreadConstraints", [&](const Judged& constraint) {
    if (const auto why = why_old(constraint.text("topologyKey")); !why.empty()) {
      out.push_back(fmt::format("{}: {} is {}", constraint["topologyKey"].path(),
                                constraint.text("topologyKey"), why));
    }
    warn_of_no_selector(constraint, out);
  });
}

void warn_of_peers(const Judged& spec, Texts& out) {
  for (const std::string_view kind : {"podAffinity", "podAntiAffinity"}) {
    const Judged affinity = spec["affinity"][kind];
    affinity.each("requiredDuringSchedulingIgnoredDuringExecution",
                  [&](const Judged& term) { warn_of_no_selector(term, out); });
    affinity.each("preferredDuringSchedulingIgnoredDuringExecution",
                  [&](const Judged& one) { warn_of_no_selector(one["podAffinityTerm"], out); });
  }
}

void warn_of_volume(const Judged& volume, Texts& out) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kOld = {
      {{"gitRepo", "deprecated in v1.11, and disabled by default in v1.33+"},
       {"scaleIO", "deprecated in v1.16, non-functional in v1.22+"},
       {"flocker", "deprecated in v1.22, non-functional in v1.25+"},
       {"storageos", "deprecated in v1.22, non-functional in v1.25+"},
       {"quobyte", "deprecated in v1.22, non-functional in v1.25+"},
       {"glusterfs", "deprecated in v1.25, non-functional in v1.26+"},
       {"cephfs", "deprecated in v1.28, non-functional in v1.31+"},
       {"rbd", "deprecated in v1.28, non-functional in v1.31+"}}};
  for (const auto& [source, why] : kOld) {
    if (volume.has(source)) {
      out.push_back(fmt::format("{}: {}", volume[source].path(), why));
    }
  }
}

void warn_of_repeated(const Judged& spec, std::string_view list, std::string_view member,
                      std::string_view what, Texts& out) {
  std::set<std::string, std::less<>> seen;
  spec.each(list, [&](const Judged& one) {
    if (!seen.emplace(one.text(member)).second) {
      out.push_back(
          fmt::format("{}: duplicate {} {}", one[member].path(), what, quote(one.text(member))));
    }
  });
}

void warn_of_spec(const Judged& spec, Texts& out) {
  warn_of_placement(spec, out);
  spec.each("volumes", [&](const Judged& volume) { warn_of_volume(volume, out); });
  warn_of_repeated(spec, "hostAliases", "ip", "ip", out);
  warn_of_repeated(spec, "imagePullSecrets", "name", "name", out);
  spec.each("imagePullSecrets", [&](const Judged& secret) {
    if (secret.text("name").empty()) {
      out.push_back(fmt::format("{}: invalid empty name \"\"", secret["name"].path()));
    }
  });
  for (const std::string_view list : {"initContainers", "containers"}) {
    spec.each(list, [&](const Judged& container) { warn_of_container(container, out); });
  }
  if (spec.number("terminationGracePeriodSeconds").value_or(0) < 0) {
    out.push_back(spec["terminationGracePeriodSeconds"].path() +
                  ": must be >= 0; negative values are invalid and will be treated as 1.");
  }
  warn_of_peers(spec, out);
}

void warn_of_service(const Judged& spec, Texts& out) {
  const bool external = spec.text("type") == "ExternalName";
  if (external && spec.size("externalIPs") > 0) {
    out.emplace_back("spec.externalIPs is ignored when spec.type is \"ExternalName\"");
  }
  if (!external && !spec.text("externalName").empty()) {
    out.emplace_back("spec.externalName is ignored when spec.type is not \"ExternalName\"");
  }
}

constexpr std::string_view kClassAnnotation = "volume.beta.kubernetes.io/storage-class";

void warn_of_class_annotation(const api::Object& object, Texts& out) {
  if (object.meta().annotations.contains(kClassAnnotation)) {
    out.push_back(fmt::format("metadata.annotations[{}]: deprecated since v1.8; use "
                              "\"storageClassName\" attribute instead",
                              kClassAnnotation));
  }
}

void warn_of_claim(const api::Object& object, const Judged& spec, Texts& out) {
  warn_of_class_annotation(object, out);
  for (const std::string_view list : {"requests", "limits"}) {
    const Judged entry = spec["resources"][list].key("storage");
    const auto amount = quantity_of(entry);
    if (amount && amount->milli_value() % 1000 != 0) {
      out.push_back(fmt::format("{}: fractional byte value {} is invalid, must be an integer",
                                entry.path(), quote(amount->to_string())));
    }
  }
}

void warn_of_persistent_volume(const api::Object& object, const Judged& spec, Texts& out) {
  warn_of_class_annotation(object, out);
  if (spec.text("persistentVolumeReclaimPolicy") == "Recycle") {
    out.emplace_back("spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is "
                     "deprecated. Instead, the recommended approach is to use dynamic "
                     "provisioning.");
  }
  warn_of_volume(spec, out);
}

void warn_of_name(const api::Object& object, std::string_view use, Texts& out) {
  if (const auto whys = label_name_errors(object.meta().name); !whys.empty()) {
    out.push_back(fmt::format("metadata.name: this is used in {}, which can result in surprising "
                              "behavior; a DNS label is recommended: [{}]",
                              use, fmt::join(whys, " ")));
  }
}

} // namespace

std::vector<std::string> warnings_of(const api::Object& object, const api::Object* before) {
  const GroupKind kind = group_kind(object);
  Texts out;
  FieldErrors unused;
  const Judged spec(api::find(object.json(), "spec"), "spec", unused);
  const bool apps = kind.group == "apps";
  if (kind == kPods) {
    if (before == nullptr) {
      warn_of_name(object, "the Pod's hostname", out);
      warn_of_spec(spec, out);
    }
  } else if (kind == GroupKind{"", "Service"}) {
    warn_of_service(spec, out);
  } else if (kind == kVolumeClaims) {
    warn_of_claim(object, spec, out);
  } else if (kind == kVolumes) {
    warn_of_persistent_volume(object, spec, out);
  } else if (before != nullptr && before->meta().generation == object.meta().generation) {
    return out; // its template is as it was
  } else if (kind == kJobs || kind == GroupKind{"batch", "CronJob"}) {
    if (before == nullptr) {
      warn_of_name(object, "Pod names and hostnames", out);
    }
    warn_of_spec(kind == kJobs ? spec["template"]["spec"]
                               : spec["jobTemplate"]["spec"]["template"]["spec"],
                 out);
  } else if (apps && (kind.kind == "Deployment" || kind.kind == "ReplicaSet")) {
    if (before == nullptr) {
      warn_of_name(object, "Pod names and hostnames", out);
    }
    warn_of_spec(spec["template"]["spec"], out);
  } else if ((apps && (kind.kind == "StatefulSet" || kind.kind == "DaemonSet")) ||
             kind == GroupKind{"", "ReplicationController"}) {
    warn_of_spec(spec["template"]["spec"], out);
  }
  return out;
}

} // namespace berth::store
