#include "berth/store/validation/storage_text.h"

#include "berth/store/validation/internal_volumes.h"
#include "berth/store/validation/line_diff.h"

namespace berth::store {
namespace {

constexpr Member kAmounts[] = {{"Limits", "limits", Form::Amounts},
                               {"Requests", "requests", Form::Amounts}};
constexpr Member kSource[] = {{"APIGroup", "apiGroup", Form::Pointer},
                              {"Kind", "kind", Form::Text},
                              {"Name", "name", Form::Text}};
constexpr Member kSourceReference[] = {{"APIGroup", "apiGroup", Form::Pointer},
                                       {"Kind", "kind", Form::Text},
                                       {"Name", "name", Form::Text},
                                       {"Namespace", "namespace", Form::Pointer}};
constexpr Member kClaimSpec[] = {
    {"AccessModes", "accessModes", Form::Texts},
    {"Selector", "selector", Form::Plain},
    {"Resources", "resources", Form::Struct, kAmounts},
    {"VolumeName", "volumeName", Form::Text},
    {"StorageClassName", "storageClassName", Form::Pointer},
    {"VolumeMode", "volumeMode", Form::Pointer},
    {"DataSource", "dataSource", Form::StructPointer, kSource},
    {"DataSourceRef", "dataSourceRef", Form::StructPointer, kSourceReference},
    {"VolumeAttributesClassName", "volumeAttributesClassName", Form::Pointer}};

constexpr Member kSecretReference[] = {{"Name", "name", Form::Text},
                                       {"Namespace", "namespace", Form::Text}};
constexpr Member kLocal[] = {{"Path", "path", Form::Text}, {"FSType", "fsType", Form::Pointer}};
constexpr Member kDriver[] = {
    {"Driver", "driver", Form::Text},
    {"VolumeHandle", "volumeHandle", Form::Text},
    {"ReadOnly", "readOnly", Form::Flag},
    {"FSType", "fsType", Form::Text},
    {"VolumeAttributes", "volumeAttributes", Form::Amounts},
    {"ControllerPublishSecretRef", "controllerPublishSecretRef", Form::StructPointer,
     kSecretReference},
    {"NodeStageSecretRef", "nodeStageSecretRef", Form::StructPointer, kSecretReference},
    {"NodePublishSecretRef", "nodePublishSecretRef", Form::StructPointer, kSecretReference},
    {"ControllerExpandSecretRef", "controllerExpandSecretRef", Form::StructPointer,
     kSecretReference},
    {"NodeExpandSecretRef", "nodeExpandSecretRef", Form::StructPointer, kSecretReference}};
constexpr Member kVolumeSource[] = {
    {"GCEPersistentDisk", "gcePersistentDisk", Form::Unknown},
    {"AWSElasticBlockStore", "awsElasticBlockStore", Form::Unknown},
    {"HostPath", "hostPath", Form::StructPointer, internal::kHostPath},
    {"Glusterfs", "glusterfs", Form::Unknown},
    {"NFS", "nfs", Form::StructPointer, internal::kNfs},
    {"RBD", "rbd", Form::Unknown},
    {"Quobyte", "quobyte", Form::Unknown},
    {"ISCSI", "iscsi", Form::Unknown},
    {"FlexVolume", "flexVolume", Form::Unknown},
    {"Cinder", "cinder", Form::Unknown},
    {"CephFS", "cephfs", Form::Unknown},
    {"FC", "fc", Form::Unknown},
    {"Flocker", "flocker", Form::Unknown},
    {"AzureFile", "azureFile", Form::Unknown},
    {"VsphereVolume", "vsphereVolume", Form::Unknown},
    {"AzureDisk", "azureDisk", Form::Unknown},
    {"PhotonPersistentDisk", "photonPersistentDisk", Form::Unknown},
    {"PortworxVolume", "portworxVolume", Form::Unknown},
    {"ScaleIO", "scaleIO", Form::Unknown},
    {"Local", "local", Form::StructPointer, kLocal},
    {"StorageOS", "storageos", Form::Unknown},
    {"CSI", "csi", Form::StructPointer, kDriver}};

std::string difference(const api::json::value& before, const api::json::value& now,
                       std::span<const Member> members) {
  const auto old = internal_lines(before, members);
  const auto next = internal_lines(now, members);
  return old && next ? "\n" + line_diff(*old, *next) : "";
}

} // namespace

std::string claim_difference(const api::json::value& before, const api::json::value& now) {
  return difference(before, now, kClaimSpec);
}

std::string source_difference(const api::json::value& before, const api::json::value& now) {
  return difference(before, now, kVolumeSource);
}

} // namespace berth::store
