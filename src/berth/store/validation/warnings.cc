#include "berth/store/validation/warnings.h"

#include <array>
#include <map>

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

void warn_of_container(const Judged& container, Texts& out) {
  warn_of_amounts(container, out);
  std::map<std::string, bool, std::less<>> names;
  container.each("env", [&](const Judged& variable) {
    if (!names.emplace(variable.text("name"), true).second) {
      out.push_back(fmt::format(
          "{}: hides previous definition of \"{}\", which may be dropped when using apply",
          variable.path(), variable.text("name")));
    }
  });
  warn_of_ports(container, out);
}

void warn_of_spec(const Judged& spec, Texts& out) {
  for (const auto& [label, why] : kOldLabels) {
    if (spec["nodeSelector"].has(label)) {
      out.push_back(fmt::format("{}: {}", spec["nodeSelector"].key(label).path(), why));
    }
  }
  for (const std::string_view list : {"initContainers", "containers"}) {
    spec.each(list, [&](const Judged& container) { warn_of_container(container, out); });
  }
  if (spec.number("terminationGracePeriodSeconds").value_or(0) < 0) {
    out.push_back(spec["terminationGracePeriodSeconds"].path() +
                  ": must be >= 0; negative values are invalid and will be treated as 1.");
  }
}

void warn_of_name(const api::Object& object, std::string_view use, Texts& out) {
  if (const auto whys = label_name_errors(object.meta().name); !whys.empty()) {
    out.push_back(fmt::format("metadata.name: this is used in {}, which can result in surprising "
                              "behavior; a DNS label is recommended: [{}]",
                              use, fmt::join(whys, " ")));
  }
}

} // namespace

std::vector<std::string> warnings_of(const api::Object& object) {
  const GroupKind kind = group_kind(object);
  Texts out;
  FieldErrors unused;
  const Judged spec(api::find(object.json(), "spec"), "spec", unused);
  if (kind == kPods) {
    warn_of_name(object, "the Pod's hostname", out);
    warn_of_spec(spec, out);
  } else if (kind == kJobs ||
             (kind.group == "apps" && (kind.kind == "Deployment" || kind.kind == "ReplicaSet"))) {
    warn_of_name(object, "Pod names and hostnames", out);
    warn_of_spec(spec["template"]["spec"], out);
  }
  return out;
}

} // namespace berth::store
