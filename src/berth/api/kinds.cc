#include "berth/api/kinds.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace berth::api {
namespace {

constexpr std::array kKnown = {
    KindInfo{"", "v1", "Namespace", "namespaces", Scope::Cluster},
    KindInfo{"scheduling.k8s.io", "v1", "PriorityClass", "priorityclasses", Scope::Cluster},
    KindInfo{"", "v1", "ResourceQuota", "resourcequotas", Scope::Namespaced},
    KindInfo{"storage.k8s.io", "v1", "StorageClass", "storageclasses", Scope::Cluster},
    KindInfo{"", "v1", "PersistentVolume", "persistentvolumes", Scope::Cluster},
    KindInfo{"", "v1", "PersistentVolumeClaim", "persistentvolumeclaims", Scope::Namespaced},
    KindInfo{"storage.k8s.io", "v1", "CSINode", "csinodes", Scope::Cluster},
    KindInfo{"storage.k8s.io", "v1", "CSIDriver", "csidrivers", Scope::Cluster},
    KindInfo{"storage.k8s.io", "v1", "CSIStorageCapacity", "csistoragecapacities",
             Scope::Namespaced},
    KindInfo{"storage.k8s.io", "v1", "VolumeAttachment", "volumeattachments", Scope::Cluster},
    KindInfo{"", "v1", "Node", "nodes", Scope::Cluster},
    KindInfo{"topology.node.k8s.io", "v1alpha2", "NodeResourceTopology", "noderesourcetopologies",
             Scope::Cluster},
    KindInfo{"metrics.k8s.io", "v1beta1", "NodeMetrics", "nodes", Scope::Cluster},
    KindInfo{"coordination.k8s.io", "v1", "Lease", "leases", Scope::Namespaced},
    KindInfo{"scheduling.x-k8s.io", "v1alpha1", "ElasticQuota", "elasticquotas", Scope::Namespaced},
    KindInfo{"scheduling.x-k8s.io", "v1alpha1", "PodGroup", "podgroups", Scope::Namespaced},
    KindInfo{"", "v1", "Service", "services", Scope::Namespaced},
    KindInfo{"batch", "v1", "Job", "jobs", Scope::Namespaced},
    KindInfo{"", "v1", "Pod", "pods", Scope::Namespaced},
    KindInfo{"", "v1", "Event", "events", Scope::Namespaced},
};

struct ClusterKind {
  std::string_view group;
  std::string_view kind;
};

/// Cluster-scoped kinds that manifests of GPU clusters bring along.
constexpr std::array kClusterScoped = {
    ClusterKind{"", "ComponentStatus"},
    ClusterKind{"admissionregistration.k8s.io", "MutatingWebhookConfiguration"},
    ClusterKind{"admissionregistration.k8s.io", "ValidatingWebhookConfiguration"},
    ClusterKind{"admissionregistration.k8s.io", "ValidatingAdmissionPolicy"},
    ClusterKind{"admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding"},
    ClusterKind{"admissionregistration.k8s.io", "MutatingAdmissionPolicy"},
    ClusterKind{"admissionregistration.k8s.io", "MutatingAdmissionPolicyBinding"},
    ClusterKind{"apiextensions.k8s.io", "CustomResourceDefinition"},
    ClusterKind{"apiregistration.k8s.io", "APIService"},
    ClusterKind{"certificates.k8s.io", "CertificateSigningRequest"},
    ClusterKind{"flowcontrol.apiserver.k8s.io", "FlowSchema"},
    ClusterKind{"flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration"},
    ClusterKind{"networking.k8s.io", "IngressClass"},
    ClusterKind{"node.k8s.io", "RuntimeClass"},
    ClusterKind{"policy", "PodSecurityPolicy"},
    ClusterKind{"rbac.authorization.k8s.io", "ClusterRole"},
    ClusterKind{"rbac.authorization.k8s.io", "ClusterRoleBinding"},
    ClusterKind{"resource.k8s.io", "DeviceClass"},
    ClusterKind{"resource.k8s.io", "ResourceSlice"},
    ClusterKind{"resource.k8s.io", "DeviceTaintRule"},
    ClusterKind{"storage.k8s.io", "VolumeAttributesClass"},
    ClusterKind{"kueue.x-k8s.io", "ClusterQueue"},
    ClusterKind{"kueue.x-k8s.io", "Cohort"},
    ClusterKind{"kueue.x-k8s.io", "ResourceFlavor"},
    ClusterKind{"kueue.x-k8s.io", "AdmissionCheck"},
    ClusterKind{"kueue.x-k8s.io", "Topology"},
    ClusterKind{"kueue.x-k8s.io", "WorkloadPriorityClass"},
    ClusterKind{"kueue.x-k8s.io", "ProvisioningRequestConfig"},
    ClusterKind{"kueue.x-k8s.io", "MultiKueueConfig"},
    ClusterKind{"kueue.x-k8s.io", "MultiKueueCluster"},
    ClusterKind{"scheduling.volcano.sh", "Queue"},
    ClusterKind{"topology.volcano.sh", "HyperNode"},
    ClusterKind{"scheduling.run.ai", "Queue"},
    ClusterKind{"simulation.berth.dev", "Fault"},
    ClusterKind{"metrics.berth.dev", "GPU"},
    ClusterKind{"nvidia.com", "ClusterPolicy"},
    ClusterKind{"nvidia.com", "NVIDIADriver"},
    ClusterKind{"nfd.k8s-sigs.io", "NodeFeatureRule"},
    ClusterKind{"karpenter.sh", "NodePool"},
    ClusterKind{"karpenter.sh", "NodeClaim"},
    ClusterKind{"karpenter.k8s.aws", "EC2NodeClass"},
    ClusterKind{"trainer.kubeflow.org", "ClusterTrainingRuntime"},
    ClusterKind{"cert-manager.io", "ClusterIssuer"},
    ClusterKind{"snapshot.storage.k8s.io", "VolumeSnapshotClass"},
};

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

} // namespace

GroupVersionKind make_gvk(std::string_view api_version, std::string_view kind) {
  const std::size_t slash = api_version.rfind('/');
  if (slash == std::string_view::npos) {
    return {.group = {}, .version = std::string(api_version), .kind = std::string(kind)};
  }
  return {.group = std::string(api_version.substr(0, slash)),
          .version = std::string(api_version.substr(slash + 1)),
          .kind = std::string(kind)};
}

std::span<const KindInfo> known_kinds() {
  return kKnown;
}

const KindInfo* find_kind(std::string_view group, std::string_view kind) {
  const auto it = std::find_if(kKnown.begin(), kKnown.end(), [&](const KindInfo& info) {
    return info.group == group && info.kind == kind;
  });
  return it == kKnown.end() ? nullptr : &*it;
}

Scope scope_of(const GroupVersionKind& gvk) {
  if (const KindInfo* info = find_kind(gvk.group, gvk.kind)) {
    return info->scope;
  }
  const bool cluster =
      std::any_of(kClusterScoped.begin(), kClusterScoped.end(), [&](const ClusterKind& known) {
        return known.group == gvk.group && known.kind == gvk.kind;
      });
  return cluster ? Scope::Cluster : Scope::Namespaced;
}

std::string plural_of(const GroupVersionKind& gvk) {
  if (const KindInfo* info = find_kind(gvk.group, gvk.kind)) {
    return std::string(info->plural);
  }
  std::string name = lower(gvk.kind);
  if (name == "endpoints") {
    return name;
  }
  const auto ends = [&](std::string_view suffix) { return name.ends_with(suffix); };
  const bool vowel_before_y =
      name.size() > 1 &&
      std::string_view("aeiou").find(name[name.size() - 2]) != std::string_view::npos;
  if (ends("y") && !vowel_before_y) {
    name.back() = 'i';
    return name + "es";
  }
  return name + (ends("s") || ends("x") || ends("z") || ends("ch") || ends("sh") ? "es" : "s");
}

std::string resource_name(const GroupVersionKind& gvk, std::string_view name) {
  const std::string kind = lower(gvk.kind) + (gvk.group.empty() ? "" : "." + gvk.group);
  return kind + "/" + std::string(name);
}

} // namespace berth::api
