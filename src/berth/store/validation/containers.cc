#include "berth/store/validation/containers.h"

#include <algorithm>
#include <array>
#include <set>

#include "berth/store/naming.h"
#include "berth/store/validation/formats.h"
#include "berth/store/validation/pod_security.h"
#include "berth/store/validation/probes.h"

namespace berth::store {
namespace {

using Names = std::set<std::string, std::less<>>;

void check_ports(const Judged& container) {
  Names names;
  container.each("ports", [&](const Judged& port) {
    if (const Judged name = port["name"]; !name.text().empty()) {
      const auto whys = port_name_errors(name.text());
      name.invalid(whys);
      if (whys.empty() && !names.emplace(name.text()).second) {
        name.duplicate();
      }
    }
    if (port.number("containerPort").value_or(0) == 0) {
      port["containerPort"].required();
    } else {
      port["containerPort"].in_range(1, kHighestPort);
    }
    if (port.number("hostPort").value_or(0) != 0) {
      port["hostPort"].in_range(1, kHighestPort);
    }
    port["protocol"].one_of({"SCTP", "TCP", "UDP"});
  });
}

void check_key_reference(const Judged& reference) {
  reference["name"].need_text();
  if (reference["key"].need_text()) {
    reference["key"].invalid(config_key_errors(reference.text("key")));
  }
}

void check_value_source(const Judged& variable) {
  const Judged from = variable["valueFrom"];
  if (!from) {
    return;
  }
  std::size_t sources = 0;
  if (const Judged field = from["fieldRef"]) {
    ++sources;
    check_field_reference(field, {"metadata.name", "metadata.namespace", "metadata.uid",
                                  "spec.nodeName", "spec.serviceAccountName", "status.hostIP",
                                  "status.hostIPs", "status.podIP", "status.podIPs"});
  }
  if (const Judged resource = from["resourceFieldRef"]) {
    ++sources;
    check_resource_reference(resource, false);
  }
  for (const std::string_view key : {"configMapKeyRef", "secretKeyRef"}) {
    if (const Judged reference = from[key]) {
      ++sources;
      check_key_reference(reference);
    }
  }
  if (sources == 0) {
    from.invalid("\"\"", "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef` "
                         "or `secretKeyRef`");
  } else if (!variable.text("value").empty()) {
    from.invalid("\"\"", "may not be specified when `value` is not empty");
  } else if (sources > 1) {
    from.invalid("\"\"", "may not have more than one field specified at a time");
  }
}

void check_environment(const Judged& container) {
  container.each("env", [](const Judged& variable) {
    if (variable["name"].need_text()) {
      variable["name"].invalid(variable_name_errors(variable.text("name")));
    }
    check_value_source(variable);
  });
  container.each("envFrom", [&](const Judged& source) {
    source["prefix"].invalid(variable_name_errors(source.text("prefix")));
    std::size_t sources = 0;
    for (const std::string_view kind : {"configMapRef", "secretRef"}) {
      if (source.has(kind)) {
        ++sources;
        source[kind]["name"].need_text();
      }
    }
    if (sources == 0) {
      container["envFrom"].invalid("\"\"", "must specify one of: `configMapRef` or `secretRef`");
    } else if (sources > 1) {
      container["envFrom"].invalid("\"\"", "may not have more than one field specified at a time");
    }
  });
}

Names texts_of(const Judged& container, std::string_view list, std::string_view member) {
  Names out;
  container.each(list, [&](const Judged& one) { out.emplace(one.text(member)); });
  return out;
}

void check_mount_kind(const Judged& container, const Judged& mount) {
  const Judged mounts = container["volumeMounts"];
  if (!mount.text("subPath").empty()) {
    check_descending_path(
        Judged(mount["subPath"].json(), mounts.path() + ".subPath", mounts.errors()));
  }
  if (!mount.text("subPathExpr").empty()) {
    if (!mount.text("subPath").empty()) {
      mount["subPathExpr"].invalid("subPathExpr and subPath are mutually exclusive");
    }
    check_descending_path(
        Judged(mount["subPathExpr"].json(), mounts.path() + ".subPathExpr", mounts.errors()));
  }
  const Judged propagation(mount["mountPropagation"].json(), mounts.path() + ".mountPropagation",
                           mounts.errors());
  propagation.one_of({"Bidirectional", "HostToContainer", "None"});
  if (propagation.text() == "Bidirectional" &&
      !container["securityContext"].is_true("privileged")) {
    propagation.forbidden("Bidirectional mount propagation is available only to privileged "
                          "containers");
  }
}

void check_mounts(const Judged& container, const PodContext& pod) {
  const Names devices = texts_of(container, "volumeDevices", "name");
  const Names device_paths = texts_of(container, "volumeDevices", "devicePath");
  Names paths;
  container.each("volumeMounts", [&](const Judged& mount) {
    const Judged name = mount["name"];
    const Judged path = mount["mountPath"];
    name.need_text();
    if (!pod.volumes.contains(name.text())) {
      name.not_found();
    }
    path.need_text();
    if (!paths.emplace(path.text()).second) {
      path.invalid("must be unique");
    }
    if (devices.contains(name.text())) {
      name.invalid("must not already exist in volumeDevices");
    }
    if (device_paths.contains(path.text())) {
      path.invalid("must not already exist as a path in volumeDevices");
    }
    check_mount_kind(container, mount);
  });
}

void check_devices(const Judged& container, const PodContext& pod) {
  const Names mounts = texts_of(container, "volumeMounts", "name");
  const Names mount_paths = texts_of(container, "volumeMounts", "mountPath");
  Names names;
  Names paths;
  container.each("volumeDevices", [&](const Judged& device) {
    const Judged name = device["name"];
    const Judged path = device["devicePath"];
    const auto volume = pod.volumes.find(name.text());
    name.need_text();
    if (!names.emplace(name.text()).second) {
      name.invalid("must be unique");
    }
    if (volume == pod.volumes.end()) {
      name.not_found();
    } else if (api::find(*volume->second, "persistentVolumeClaim") == nullptr &&
               api::find(*volume->second, "ephemeral") == nullptr) {
      name.invalid("can only use volume source type of PersistentVolumeClaim or Ephemeral for "
                   "block mode");
    }
    path.need_text();
    if (!paths.emplace(path.text()).second) {
      path.invalid("must be unique");
    }
    check_no_backsteps(path);
    if (mounts.contains(name.text())) {
      name.invalid("must not already exist in volumeMounts");
    }
    if (mount_paths.contains(path.text())) {
      path.invalid("must not already exist as a path in volumeMounts");
    }
  });
}

void check_resize_policy(const Judged& container, const PodContext& pod) {
  Names seen;
  const Judged policies = container["resizePolicy"];
  container.each("resizePolicy", [&](const Judged& policy) {
    const std::string_view resource = policy.text("resourceName");
    const std::string_view restart = policy.text("restartPolicy");
    if (!seen.emplace(resource).second) {
      policy.duplicate(quote(resource));
    }
    const auto check = [&](std::string_view member, const std::vector<std::string>& known) {
      const Judged named(policy[member].json(), policies.path(), policies.errors());
      if (named.need_text()) {
        named.one_of(known);
      }
    };
    check("resourceName", {"cpu", "memory"});
    check("restartPolicy", {"NotRequired", "RestartContainer"});
    if (pod.restart_policy == "Never" && restart != "NotRequired") {
      policies.invalid(quote(restart), "must be 'NotRequired' when `restartPolicy` is 'Never'");
    }
  });
}

void check_container(const Judged& container, const PodContext& pod) {
  if (container["name"].need_text()) {
    container["name"].dns_label();
  }
  container["image"].need_text();
  container["terminationMessagePolicy"].one_of({"FallbackToLogsOnError", "File"});
  check_ports(container);
  check_environment(container);
  check_mounts(container, pod);
  check_devices(container, pod);
  container["imagePullPolicy"].one_of({"Always", "IfNotPresent", "Never"});
  if (container.has("resources")) {
    check_resources(container["resources"], pod.claims);
  }
  check_resize_policy(container, pod);
  check_container_security(container["securityContext"]);
}

/// One host port for one container, among those that run at the same time.
void claim_host_ports(const Judged& container, Names& taken) {
  container.each("ports", [&](const Judged& port) {
    const std::int64_t number = port.number("hostPort").value_or(0);
    if (number == 0) {
      return;
    }
    const std::string key =
        fmt::format("{}/{}/{}", port.text("protocol"), port.text("hostIP"), number);
    if (!taken.insert(key).second) {
      port["hostPort"].duplicate(quote(key));
    }
  });
}

void check_init_container(const Judged& container, const PodContext& pod, Names& names) {
  check_container(container, pod);
  const Judged policy = container["restartPolicy"];
  if (policy && policy.text() != "Always") {
    policy.unsupported({"Always"});
  }
  if (!container.text("name").empty() && !names.emplace(container.text("name")).second) {
    container["name"].duplicate();
  }
  Names host_ports;
  claim_host_ports(container, host_ports);
  if (policy.text() == "Always") {
    check_probes(container, pod.grace);
    return;
  }
  for (const std::string_view field :
       {"lifecycle", "livenessProbe", "readinessProbe", "startupProbe"}) {
    if (container.has(field)) {
      container[field].forbidden("may not be set for init containers without restartPolicy=Always");
    }
  }
}

} // namespace

void check_containers(const Judged& spec, const PodContext& pod) {
  if (spec.size("containers") == 0) {
    spec["containers"].required();
  }
  Names names;
  Names host_ports;
  spec.each("containers", [&](const Judged& container) {
    check_container(container, pod);
    if (!names.emplace(container.text("name")).second) {
      container["name"].duplicate();
    }
    check_probes(container, pod.grace);
    if (container.has("restartPolicy")) {
      container["restartPolicy"].forbidden("may not be set for non-init containers");
    }
  });
  spec.each("containers",
            [&](const Judged& container) { claim_host_ports(container, host_ports); });
  spec.each("initContainers",
            [&](const Judged& container) { check_init_container(container, pod, names); });
}

void check_image_blanks(const Judged& container) {
  const std::string_view image = container.text("image");
  if (!image.empty() && (std::isspace(static_cast<unsigned char>(image.front())) != 0 ||
                         std::isspace(static_cast<unsigned char>(image.back())) != 0)) {
    container["image"].invalid("must not have leading or trailing whitespace");
  }
}

void check_images(const Judged& spec) {
  for (const std::string_view list : {"containers", "initContainers"}) {
    spec.each(list, check_image_blanks);
  }
}

void check_ephemeral_containers(const Judged& spec, const PodContext& pod) {
  Names names;
  for (const std::string_view list : {"containers", "initContainers"}) {
    names.merge(texts_of(spec, list, "name"));
  }
  const Names others = names;
  spec.each("ephemeralContainers", [&](const Judged& container) {
    check_container(container, pod);
    check_image_blanks(container);
    if (!names.emplace(container.text("name")).second) {
      container["name"].duplicate();
    }
    if (const Judged target = container["targetContainerName"];
        !target.text().empty() && !others.contains(target.text())) {
      target.not_found();
    }
    for (const std::string_view field :
         {"ports", "resources", "resizePolicy", "restartPolicy", "restartPolicyRules",
          "livenessProbe", "readinessProbe", "startupProbe", "lifecycle"}) {
      const Judged given = container[field];
      const bool there = given && (given.json()->is_string() || given.size() > 0);
      if (there) {
        container[field].forbidden("cannot be set for an Ephemeral Container");
      }
    }
    container.each("volumeMounts", [](const Judged& mount) {
      for (const std::string_view field : {"subPath", "subPathExpr"}) {
        if (!mount.text(field).empty()) {
          mount[field].forbidden("cannot be set for an Ephemeral Container");
        }
      }
    });
  });
}

} // namespace berth::store
