// Which columns every kind has: names, types and priorities of Kubernetes 1.34.
#include <gtest/gtest.h>

#include "berth/schema/catalogue.h"
#include "berth/server/tables/table_fixture.h"

namespace berth::server {
namespace {

struct Case {
  std::string kind;
  std::string want;
};

const std::string kTemplateColumns = " | Containers* | Images*";
const std::string kSelected = kTemplateColumns + " | Selector*";

const Case kCases[] = {
    {"Pod", "Name/name | Ready | Status | Restarts | Age | IP* | Node* | Nominated Node* | "
            "Readiness Gates*"},
    {"Node", "Name/name | Status | Roles | Age | Version | Internal-IP* | External-IP* | "
             "OS-Image* | Kernel-Version* | Container-Runtime*"},
    {"Event", "Last Seen | Type | Reason | Object | Subobject* | Source* | Message | First Seen* | "
              "Count* | Name/name*"},
    {"events.k8s.io/Event", "Last Seen | Type | Reason | Object | Subobject* | Source* | Message | "
                            "First Seen* | Count* | Name/name*"},
    {"Namespace", "Name/name | Status | Age"},
    {"ConfigMap", "Name/name | Data | Age"},
    {"Secret", "Name/name | Type | Data | Age"},
    {"ServiceAccount", "Name/name | Secrets | Age"},
    {"ResourceQuota", "Name/name | Request | Limit | Age"},
    {"LimitRange", "Name/name | Created At:date"},
    {"ComponentStatus", "Name/name | Status | Message | Error"},
    {"PodTemplate", "Name/name | Containers | Images | Pod Labels"},
    {"ReplicationController",
     "Name/name | Desired:integer | Current:integer | Ready:integer | Age" + kSelected},
    {"apps/ReplicaSet",
     "Name/name | Desired:integer | Current:integer | Ready:integer | Age" + kSelected},
    {"apps/Deployment", "Name/name | Ready | Up-to-date | Available | Age" + kSelected},
    {"apps/StatefulSet", "Name/name | Ready | Age" + kTemplateColumns},
    {"apps/DaemonSet",
     "Name/name | Desired:integer | Current:integer | Ready:integer | Up-to-date:integer | "
     "Available:integer | Node Selector | Age" +
         kSelected},
    {"apps/ControllerRevision", "Name/name | Controller | Revision | Age"},
    {"batch/Job", "Name/name | Status | Completions | Duration | Age" + kSelected},
    {"batch/CronJob",
     "Name/name | Schedule | Timezone | Suspend:boolean | Active:integer | Last Schedule | Age" +
         kSelected},
    {"policy/PodDisruptionBudget",
     "Name/name | Min Available | Max Unavailable | Allowed Disruptions:integer | Age"},
    {"autoscaling/Scale", "Name | Desired:integer | Available:integer | Age"},
    {"autoscaling/HorizontalPodAutoscaler",
     "Name/name | Reference | Targets | MinPods | MaxPods | Replicas | Age"},
    {"Service", "Name/name | Type | Cluster-IP | External-IP | Port(s) | Age | Selector*"},
    {"Endpoints", "Name/name | Endpoints | Age"},
    {"discovery.k8s.io/EndpointSlice", "Name/name | AddressType | Ports | Endpoints | Age"},
    {"networking.k8s.io/Ingress", "Name/name | Class | Hosts | Address | Ports | Age"},
    {"networking.k8s.io/IngressClass", "Name/name | Controller | Parameters | Age"},
    {"networking.k8s.io/NetworkPolicy", "Name/name | Pod-Selector | Age"},
    {"networking.k8s.io/ServiceCIDR", "Name/name | CIDRs | Age"},
    {"networking.k8s.io/IPAddress", "Name/name | ParentRef"},
    {"PersistentVolume",
     "Name/name | Capacity | Access Modes | Reclaim Policy | Status | Claim | StorageClass | "
     "VolumeAttributesClass | Reason | Age | VolumeMode*"},
    {"PersistentVolumeClaim",
     "Name/name | Status | Volume | Capacity | Access Modes | StorageClass | "
     "VolumeAttributesClass | Age | VolumeMode*"},
    {"storage.k8s.io/StorageClass",
     "Name/name | Provisioner | ReclaimPolicy | VolumeBindingMode | AllowVolumeExpansion | Age"},
    {"storage.k8s.io/VolumeAttributesClass", "Name/name | DriverName | Age"},
    {"storage.k8s.io/VolumeAttachment",
     "Name/name | Attacher/name | PV | Node | Attached:boolean | Age"},
    {"storage.k8s.io/CSINode", "Name/name | Drivers:integer | Age"},
    {"storage.k8s.io/CSIDriver",
     "Name/name | AttachRequired:boolean | PodInfoOnMount:boolean | StorageCapacity:boolean | "
     "TokenRequests | RequiresRepublish:boolean | Modes | Age"},
    {"storage.k8s.io/CSIStorageCapacity", "Name/name | StorageClassName | Capacity"},
    {"rbac.authorization.k8s.io/Role", "Name/name | Created At:date"},
    {"rbac.authorization.k8s.io/ClusterRole", "Name/name | Created At:date"},
    {"rbac.authorization.k8s.io/RoleBinding",
     "Name/name | Role | Age | Users* | Groups* | ServiceAccounts*"},
    {"rbac.authorization.k8s.io/ClusterRoleBinding",
     "Name/name | Role | Age | Users* | Groups* | ServiceAccounts*"},
    {"certificates.k8s.io/CertificateSigningRequest",
     "Name/name | Age | SignerName | Requestor | RequestedDuration | Condition"},
    {"admissionregistration.k8s.io/MutatingWebhookConfiguration",
     "Name/name | Webhooks:integer | Age"},
    {"admissionregistration.k8s.io/ValidatingWebhookConfiguration",
     "Name/name | Webhooks:integer | Age"},
    {"apiregistration.k8s.io/APIService", "Name/name | Service | Available | Age"},
    {"apiextensions.k8s.io/CustomResourceDefinition", "Name/name | Created At:date"},
    {"scheduling.k8s.io/PriorityClass",
     "Name/name | Value:integer | Global-Default:boolean | Age | PreemptionPolicy"},
    {"admissionregistration.k8s.io/ValidatingAdmissionPolicy",
     "Name/name | Validations:integer | ParamKind | Age"},
    {"admissionregistration.k8s.io/ValidatingAdmissionPolicyBinding",
     "Name/name | PolicyName | ParamRef | Age"},
    {"flowcontrol.apiserver.k8s.io/FlowSchema",
     "Name/name | PriorityLevel | MatchingPrecedence:integer | DistinguisherMethod | Age | "
     "MissingPL"},
    {"flowcontrol.apiserver.k8s.io/PriorityLevelConfiguration",
     "Name/name | Type | NominalConcurrencyShares | Queues | HandSize | QueueLengthLimit | Age"},
    {"coordination.k8s.io/Lease", "Name/name | Holder | Age"},
    {"node.k8s.io/RuntimeClass", "Name/name | Handler | Age"},
    {"resource.k8s.io/DeviceClass", "Name/name | Age"},
    {"resource.k8s.io/ResourceClaim", "Name/name | State | Age"},
    {"resource.k8s.io/ResourceClaimTemplate", "Name/name | Age"},
    {"resource.k8s.io/ResourceSlice", "Name/name | Node | Driver | Pool | Age"},
};

TEST(TableColumns, AreThoseOfKubernetes) {
  for (const Case& c : kCases) {
    EXPECT_EQ(test::columns_text(table_shape(test::table_resource(c.kind))), c.want) << c.kind;
  }
}

TEST(TableColumns, EveryListedKindOfTheCatalogueIsNamedHere) {
  for (const schema::Resource& resource : schema::Catalogue::builtin().resources()) {
    if (!resource.can("list")) {
      continue;
    }
    const std::string name =
        resource.group.empty() ? resource.kind : resource.group + "/" + resource.kind;
    EXPECT_TRUE(std::ranges::any_of(kCases, [&](const Case& c) { return c.kind == name; })) << name;
  }
}

TEST(TableColumns, OfGpusComeAfterThoseOfKubernetesAndOnlyWhenAskedFor) {
  const auto shape = [](std::string_view kind) {
    return test::columns_text(table_shape(test::table_resource(kind), GpuColumns::Shown));
  };
  EXPECT_TRUE(shape("Node").ends_with("Container-Runtime* | GPUs* | GPU-Model*"));
  EXPECT_TRUE(shape("Pod").ends_with("Readiness Gates* | GPUs* | GPU-Indices*"));
  EXPECT_EQ(shape("ConfigMap"), "Name/name | Data | Age");
  EXPECT_EQ(shape("metrics.k8s.io/Node"), "Name/name | Created At:date");
}

TEST(TableColumns, DefinitionsSayWhatAMetaTableSays) {
  const auto definitions =
      column_definitions(table_shape(test::table_resource("scheduling.k8s.io/PriorityClass")));
  ASSERT_EQ(definitions.size(), 5U);
  EXPECT_EQ(
      api::to_json(definitions[1]),
      R"({"name":"Value","type":"integer","format":"","description":"The priority.","priority":0})");
}

} // namespace
} // namespace berth::server
