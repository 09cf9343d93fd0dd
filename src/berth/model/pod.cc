#include "berth/model/pod.h"

#include <algorithm>

#include <fmt/format.h>

#include "berth/model/decode.h"

namespace berth::model {

using api::Field;

void decode(const Field& in, ResourceRequirements& out) {
  in.read("limits", out.limits);
  in.read("requests", out.requests);
}

void decode(const Field& in, Condition& out) {
  in.read("type", out.type);
  in.read("status", out.status);
  in.read("reason", out.reason);
  in.read("message", out.message);
  in.read("lastTransitionTime", out.last_transition_time);
  in.read("lastHeartbeatTime", out.last_heartbeat_time);
}

void decode(const Field& in, ContainerPort& out) {
  in.read("name", out.name);
  in.read("containerPort", out.container_port);
  in.read("hostPort", out.host_port);
  in.read("hostIP", out.host_ip);
  in.read("protocol", out.protocol);
}

void decode(const Field& in, EnvVar& out) {
  in.read("name", out.name);
  in.read("value", out.value);
}

void decode(const Field& in, Container& out) {
  in.read("name", out.name);
  in.read("image", out.image);
  in.read("command", out.command);
  in.read("args", out.args);
  in.read("env", out.env);
  in.read("ports", out.ports);
  in.read("resources", out.resources);
  in.read("restartPolicy", out.restart_policy);
}

void decode(const Field& in, Toleration& out) {
  in.read("key", out.key);
  in.read("operator", out.op);
  in.read("value", out.value);
  in.read("effect", out.effect);
  in.read("tolerationSeconds", out.toleration_seconds);
}

void decode(const Field& in, PreferredSchedulingTerm& out) {
  in.read("weight", out.weight);
  in.read("preference", out.preference);
}

void decode(const Field& in, NodeAffinity& out) {
  in.read("requiredDuringSchedulingIgnoredDuringExecution", out.required);
  in.read("preferredDuringSchedulingIgnoredDuringExecution", out.preferred);
}

void decode(const Field& in, PodAffinityTerm& out) {
  in.read("labelSelector", out.label_selector);
  in.read("namespaces", out.namespaces);
  in.read("namespaceSelector", out.namespace_selector);
  in.read("topologyKey", out.topology_key);
}

void decode(const Field& in, WeightedPodAffinityTerm& out) {
  in.read("weight", out.weight);
  in.read("podAffinityTerm", out.term);
}

void decode(const Field& in, PodAffinity& out) {
  in.read("requiredDuringSchedulingIgnoredDuringExecution", out.required);
  in.read("preferredDuringSchedulingIgnoredDuringExecution", out.preferred);
}

void decode(const Field& in, TopologySpreadConstraint& out) {
  in.read("maxSkew", out.max_skew);
  in.read("topologyKey", out.topology_key);
  in.read("whenUnsatisfiable", out.when_unsatisfiable);
  in.read("labelSelector", out.label_selector);
  in.read("minDomains", out.min_domains);
  in.read("nodeAffinityPolicy", out.node_affinity_policy);
  in.read("nodeTaintsPolicy", out.node_taints_policy);
  in.read("matchLabelKeys", out.match_label_keys);
}

namespace {

struct SchedulingGate {
  std::string name;
};
void decode(const Field& in, SchedulingGate& out) {
  in.read("name", out.name);
}

void decode_affinity(const Field& in, PodSpec& out) {
  in.read("nodeAffinity", out.node_affinity);
  in.read("podAffinity", out.pod_affinity);
  in.read("podAntiAffinity", out.pod_anti_affinity);
}

/// References of volumes of type image, which count for ImageLocality, and what the volume plugins
/// look at.
void decode_volumes(const Field& in, PodSpec& out) {
  in.each([&](const Field& volume) {
    volume.within("image", [&](const Field& image) {
      std::string reference;
      image.read("reference", reference);
      if (!reference.empty()) {
        out.image_volumes.push_back(std::move(reference));
      }
    });
    PodVolume read;
    volume.read("name", read.name);
    bool claims = false;
    volume.within("persistentVolumeClaim", [&](const Field& source) {
      source.read("claimName", read.claim);
      claims = true;
    });
    volume.within("ephemeral", [&](const Field&) { read.ephemeral = !claims; });
    if (!claims && !read.ephemeral) {
      read.disk = decode_in_tree_disk(volume);
    }
    if (claims || read.ephemeral || read.disk) {
      out.volumes.push_back(std::move(read));
    }
  });
}

/// A pod in the host's network namespace holds every port it names (API defaulting of hostPort).
void default_host_ports(PodSpec& spec) {
  for (std::vector<Container>* list : {&spec.containers, &spec.init_containers}) {
    for (Container& container : *list) {
      for (ContainerPort& port : container.ports) {
        port.host_port = port.host_port == 0 ? port.container_port : port.host_port;
      }
    }
  }
}

} // namespace

void decode(const Field& in, PodSpec& out) {
  in.read("containers", out.containers);
  in.read("initContainers", out.init_containers);
  in.read("nodeName", out.node_name);
  in.read("schedulerName", out.scheduler_name);
  in.read("nodeSelector", out.node_selector);
  in.within("affinity", [&](const Field& affinity) { decode_affinity(affinity, out); });
  in.read("tolerations", out.tolerations);
  in.read("topologySpreadConstraints", out.topology_spread_constraints);
  std::vector<SchedulingGate> gates;
  in.read("schedulingGates", gates);
  for (SchedulingGate& gate : gates) {
    out.scheduling_gates.push_back(std::move(gate.name));
  }
  in.read("priorityClassName", out.priority_class_name);
  in.read("priority", out.priority);
  in.read("preemptionPolicy", out.preemption_policy);
  in.read("overhead", out.overhead);
  in.read("resources", out.resources);
  in.read("hostNetwork", out.host_network);
  in.read("restartPolicy", out.restart_policy);
  in.read("terminationGracePeriodSeconds", out.termination_grace_period_seconds);
  in.read("activeDeadlineSeconds", out.active_deadline_seconds);
  in.within("volumes", [&](const Field& volumes) { decode_volumes(volumes, out); });
  // An empty name stands for the default, as an omitted one does.
  out.scheduler_name =
      out.scheduler_name.empty() ? "default-scheduler" : std::move(out.scheduler_name);
  out.restart_policy = out.restart_policy.empty() ? "Always" : std::move(out.restart_policy);
  if (out.host_network) {
    default_host_ports(out);
  }
}

void decode(const Field& in, PodStatus& out) {
  in.read("phase", out.phase);
  in.read("reason", out.reason);
  in.read("message", out.message);
  in.read("nominatedNodeName", out.nominated_node_name);
  in.read("startTime", out.start_time);
  in.read("conditions", out.conditions);
}

void decode(const Field& in, Pod& out) {
  in.read("metadata", out.meta);
  in.read("spec", out.spec);
  in.read("status", out.status);
  for (PodVolume& volume : out.spec.volumes) {
    if (volume.ephemeral) {
      volume.claim = out.meta.name + "-" + volume.name;
    }
  }
}

const Condition* PodStatus::condition(std::string_view type) const {
  for (const Condition& condition : conditions) {
    if (condition.type == type) {
      return &condition;
    }
  }
  return nullptr;
}

std::string_view Pod::pod_group() const {
  const auto it = meta.labels.find(kPodGroupLabel);
  return it == meta.labels.end() ? std::string_view() : std::string_view(it->second);
}

bool Pod::uses_claim(std::string_view ns, std::string_view claim) const {
  return ns == meta.ns && std::ranges::any_of(spec.volumes, [&](const PodVolume& volume) {
           return volume.is_claim() && volume.claim == claim;
         });
}

Result<std::shared_ptr<const Pod>> decode_pod(const api::json::value& document) {
  return decode_shared<Pod>(document);
}

} // namespace berth::model
