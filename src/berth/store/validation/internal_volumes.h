// Internal types of a pod's volumes and of what refers into objects. Source:
// kubernetes/pkg/apis/core/types.go.
#pragma once

#include "berth/store/validation/internal_text.h"

namespace berth::store::internal {

inline constexpr Member kName[] = {{"Name", "name", Form::Text}};
inline constexpr Member kField[] = {{"APIVersion", "apiVersion", Form::Text},
                                    {"FieldPath", "fieldPath", Form::Text}};
inline constexpr Member kResourceField[] = {{"ContainerName", "containerName", Form::Text},
                                            {"Resource", "resource", Form::Text},
                                            {"Divisor", "divisor", Form::Amount}};
inline constexpr Member kItem[] = {
    {"Key", "key", Form::Text}, {"Path", "path", Form::Text}, {"Mode", "mode", Form::Pointer}};
inline constexpr Member kDownwardItem[] = {
    {"Path", "path", Form::Text},
    {"FieldRef", "fieldRef", Form::StructPointer, kField},
    {"ResourceFieldRef", "resourceFieldRef", Form::StructPointer, kResourceField},
    {"Mode", "mode", Form::Pointer}};
inline constexpr Member kHostPath[] = {{"Path", "path", Form::Text},
                                       {"Type", "type", Form::Pointer}};
inline constexpr Member kEmptyDir[] = {{"Medium", "medium", Form::Text},
                                       {"SizeLimit", "sizeLimit", Form::Pointer}};
inline constexpr Member kSecret[] = {{"SecretName", "secretName", Form::Text},
                                     {"Items", "items", Form::Structs, kItem},
                                     {"DefaultMode", "defaultMode", Form::Pointer},
                                     {"Optional", "optional", Form::Pointer}};
inline constexpr Member kConfigMap[] = {{"Name", "name", Form::Text},
                                        {"Items", "items", Form::Structs, kItem},
                                        {"DefaultMode", "defaultMode", Form::Pointer},
                                        {"Optional", "optional", Form::Pointer}};
inline constexpr Member kNamedItems[] = {{"Name", "name", Form::Text},
                                         {"Items", "items", Form::Structs, kItem},
                                         {"Optional", "optional", Form::Pointer}};
inline constexpr Member kNfs[] = {{"Server", "server", Form::Text},
                                  {"Path", "path", Form::Text},
                                  {"ReadOnly", "readOnly", Form::Flag}};
inline constexpr Member kClaim[] = {{"ClaimName", "claimName", Form::Text},
                                    {"ReadOnly", "readOnly", Form::Flag}};
inline constexpr Member kDownward[] = {{"Items", "items", Form::Structs, kDownwardItem},
                                       {"DefaultMode", "defaultMode", Form::Pointer}};
inline constexpr Member kDownwardItems[] = {{"Items", "items", Form::Structs, kDownwardItem}};
inline constexpr Member kToken[] = {{"Audience", "audience", Form::Text},
                                    {"ExpirationSeconds", "expirationSeconds", Form::Number},
                                    {"Path", "path", Form::Text}};
inline constexpr Member kProjection[] = {
    {"Secret", "secret", Form::StructPointer, kNamedItems},
    {"DownwardAPI", "downwardAPI", Form::StructPointer, kDownwardItems},
    {"ConfigMap", "configMap", Form::StructPointer, kNamedItems},
    {"ServiceAccountToken", "serviceAccountToken", Form::StructPointer, kToken},
    {"ClusterTrustBundle", "clusterTrustBundle", Form::Unknown},
    {"PodCertificate", "podCertificate", Form::Unknown}};
inline constexpr Member kProjected[] = {{"Sources", "sources", Form::Structs, kProjection},
                                        {"DefaultMode", "defaultMode", Form::Pointer}};
inline constexpr Member kCsi[] = {
    {"Driver", "driver", Form::Text},
    {"ReadOnly", "readOnly", Form::Pointer},
    {"FSType", "fsType", Form::Pointer},
    {"VolumeAttributes", "volumeAttributes", Form::Amounts},
    {"NodePublishSecretRef", "nodePublishSecretRef", Form::StructPointer, kName}};
inline constexpr Member kImage[] = {{"Reference", "reference", Form::Text},
                                    {"PullPolicy", "pullPolicy", Form::Text}};

inline constexpr Member kVolume[] = {
    {"Name", "name", Form::Text},
    {"HostPath", "hostPath", Form::StructPointer, kHostPath},
    {"EmptyDir", "emptyDir", Form::StructPointer, kEmptyDir},
    {"GCEPersistentDisk", "gcePersistentDisk", Form::Unknown},
    {"AWSElasticBlockStore", "awsElasticBlockStore", Form::Unknown},
    {"GitRepo", "gitRepo", Form::Unknown},
    {"Secret", "secret", Form::StructPointer, kSecret},
    {"NFS", "nfs", Form::StructPointer, kNfs},
    {"ISCSI", "iscsi", Form::Unknown},
    {"Glusterfs", "glusterfs", Form::Unknown},
    {"PersistentVolumeClaim", "persistentVolumeClaim", Form::StructPointer, kClaim},
    {"RBD", "rbd", Form::Unknown},
    {"Quobyte", "quobyte", Form::Unknown},
    {"FlexVolume", "flexVolume", Form::Unknown},
    {"Cinder", "cinder", Form::Unknown},
    {"CephFS", "cephfs", Form::Unknown},
    {"Flocker", "flocker", Form::Unknown},
    {"DownwardAPI", "downwardAPI", Form::StructPointer, kDownward},
    {"FC", "fc", Form::Unknown},
    {"AzureFile", "azureFile", Form::Unknown},
    {"ConfigMap", "configMap", Form::StructPointer, kConfigMap},
    {"VsphereVolume", "vsphereVolume", Form::Unknown},
    {"AzureDisk", "azureDisk", Form::Unknown},
    {"PhotonPersistentDisk", "photonPersistentDisk", Form::Unknown},
    {"Projected", "projected", Form::StructPointer, kProjected},
    {"PortworxVolume", "portworxVolume", Form::Unknown},
    {"ScaleIO", "scaleIO", Form::Unknown},
    {"StorageOS", "storageos", Form::Unknown},
    {"CSI", "csi", Form::StructPointer, kCsi},
    {"Ephemeral", "ephemeral", Form::Unknown},
    {"Image", "image", Form::StructPointer, kImage}};

} // namespace berth::store::internal
