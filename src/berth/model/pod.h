// Typed, immutable view of a core/v1 Pod: what scheduling, gangs and the node agent read. Decoded
// at most once an object version (see pod_view); fields that nobody reads stay in the document.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "berth/api/object.h"
#include "berth/api/quantity.h"
#include "berth/api/selector.h"
#include "berth/base/result.h"
#include "berth/model/in_tree_disk.h"

namespace berth::model {

/// Resource name to quantity, e.g. {"nvidia.com/gpu", 8}.
using ResourceList = std::map<std::string, api::Quantity, std::less<>>;

struct ResourceRequirements {
  ResourceList requests; ///< as written; see effective_requests for limits -> requests defaulting
  ResourceList limits;
};

struct ContainerPort {
  std::string name;
  int container_port = 0;
  int host_port = 0; ///< 0: none
  std::string host_ip;
  std::string protocol = "TCP";
};

struct EnvVar {
  std::string name;
  std::string value;
};

struct Container {
  std::string name;
  std::string image;
  std::vector<std::string> command;
  std::vector<std::string> args;
  std::vector<EnvVar>
      env; ///< literal values only; valueFrom entries keep their name with an empty value
  std::vector<ContainerPort> ports;
  ResourceRequirements resources;
  std::string restart_policy; ///< "Always" on an init container: a sidecar
};

struct Toleration {
  std::string key;
  std::string op; ///< "" means Equal
  std::string value;
  std::string effect; ///< "" matches every effect
  std::optional<std::int64_t> toleration_seconds;

  bool operator==(const Toleration&) const = default;
};

struct PreferredSchedulingTerm {
  std::int64_t weight = 0;
  api::NodeSelectorTerm preference;

  bool operator==(const PreferredSchedulingTerm&) const = default;
};

struct NodeAffinity {
  std::optional<api::NodeSelector> required;
  std::vector<PreferredSchedulingTerm> preferred;

  bool operator==(const NodeAffinity&) const = default;
};

struct PodAffinityTerm {
  std::optional<api::Selector> label_selector; ///< none matches nothing
  std::vector<std::string> namespaces;
  std::optional<api::Selector> namespace_selector; ///< none: see spec; empty: every namespace
  std::string topology_key;

  bool operator==(const PodAffinityTerm&) const = default;
};

struct WeightedPodAffinityTerm {
  std::int64_t weight = 0;
  PodAffinityTerm term;

  bool operator==(const WeightedPodAffinityTerm&) const = default;
};

struct PodAffinity {
  std::vector<PodAffinityTerm> required;
  std::vector<WeightedPodAffinityTerm> preferred;

  bool operator==(const PodAffinity&) const = default;
};

struct TopologySpreadConstraint {
  std::int64_t max_skew = 1;
  std::string topology_key;
  std::string when_unsatisfiable; ///< DoNotSchedule or ScheduleAnyway
  std::optional<api::Selector> label_selector;
  std::optional<std::int64_t> min_domains;
  std::string node_affinity_policy = "Honor";
  std::string node_taints_policy = "Ignore";
  std::vector<std::string> match_label_keys;

  bool operator==(const TopologySpreadConstraint&) const = default;
};

/// A volume that scheduling depends on: a claim, or a disk named directly.
struct PodVolume {
  std::string name;
  std::string claim;      ///< of PersistentVolumeClaims in the pod's namespace; "" for a disk
  bool ephemeral = false; ///< the claim is made for this pod, "<pod>-<volume>", and must be its own
  std::optional<InTreeDisk> disk;

  bool is_claim() const { return !disk; }
  bool operator==(const PodVolume&) const = default;
};

struct PodSpec {
  std::vector<Container> containers;
  std::vector<Container> init_containers;
  std::string node_name;
  std::string scheduler_name = "default-scheduler";
  std::map<std::string, std::string> node_selector;
  std::optional<NodeAffinity> node_affinity;
  std::optional<PodAffinity> pod_affinity;
  std::optional<PodAffinity> pod_anti_affinity;
  std::vector<Toleration> tolerations;
  std::vector<TopologySpreadConstraint> topology_spread_constraints;
  std::vector<std::string> scheduling_gates; ///< names
  std::string priority_class_name;
  std::optional<std::int64_t> priority;
  std::string preemption_policy; ///< "" means PreemptLowerPriority
  ResourceList overhead;
  std::optional<ResourceRequirements> resources; ///< pod-level
  bool host_network = false;
  std::string restart_policy = "Always";
  std::optional<std::int64_t> termination_grace_period_seconds;
  std::optional<std::int64_t> active_deadline_seconds;
  std::vector<std::string> image_volumes; ///< references of volumes of type image
  std::vector<PodVolume> volumes;         ///< claims and in-tree disks, in order
};

struct Condition {
  std::string type;
  std::string status; ///< True, False or Unknown
  std::string reason;
  std::string message;
  std::optional<TimePoint> last_transition_time;
  std::optional<TimePoint> last_heartbeat_time;
};

struct PodStatus {
  std::string phase; ///< "" before the first write counts as Pending
  std::string reason;
  std::string message;
  std::string nominated_node_name;
  std::optional<TimePoint> start_time;
  std::vector<Condition> conditions;

  const Condition* condition(std::string_view type) const;
};

struct Pod {
  api::ObjectMeta meta;
  PodSpec spec;
  PodStatus status;

  api::Key key() const { return {meta.ns, meta.name}; }
  std::int64_t priority() const { return spec.priority.value_or(0); }
  /// Succeeded or Failed.
  bool terminal() const { return status.phase == "Succeeded" || status.phase == "Failed"; }
  /// Name of the scheduling.x-k8s.io PodGroup this pod belongs to; "" if none.
  std::string_view pod_group() const;
  /// Does it use a volume claim of this namespace and name?
  bool uses_claim(std::string_view ns, std::string_view claim) const;
};

/// Decodes a Pod document. Errors name the field: "spec.containers[0].resources.requests.cpu: ...".
Result<std::shared_ptr<const Pod>> decode_pod(const api::json::value& document);
/// The shared view of a stored Pod.
inline Result<std::shared_ptr<const Pod>> pod_view(const api::Object& object) {
  return object.view<Pod>(&decode_pod);
}

/// Request for GPUs by the pod as a whole, over every "nvidia.com/gpu" (and MIG) style name; see
/// requests.h.
inline constexpr std::string_view kGpuResource = "nvidia.com/gpu";
inline constexpr std::string_view kPodGroupLabel = "scheduling.x-k8s.io/pod-group";
inline constexpr std::string_view kRunForAnnotation = "berth.dev/run-for";
/// The GPU indices Reserve chose on the node, e.g. "0,1,2,3"; binding for Berth's own agent.
inline constexpr std::string_view kGpuIndicesAnnotation = "berth.dev/gpu-indices";

} // namespace berth::model
