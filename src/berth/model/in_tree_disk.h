// Disks that a pod or a PersistentVolume names directly, without a CSI driver: which two are the
// same disk, and how Kubernetes' CSI migration calls them. Names: k8s.io/csi-translation-lib.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/api/field.h"

namespace berth::model {

enum class DiskKind : std::uint8_t {
  GcePersistentDisk,
  AwsElasticBlockStore,
  Iscsi,
  Rbd,
  AzureDisk,
  AzureFile,
  Cinder,
  Vsphere,
  Portworx,
};

struct InTreeDisk {
  DiskKind kind = DiskKind::GcePersistentDisk;
  std::string id; ///< pdName, volumeID, iqn, image, diskURI, shareName or volumePath
  std::vector<std::string> monitors; ///< RBD
  std::string pool;                  ///< RBD
  bool read_only = false;

  bool operator==(const InTreeDisk&) const = default;
};

/// The disk among the sources of a pod's volume or of a PersistentVolume's spec; none: another kind
/// of source.
std::optional<InTreeDisk> decode_in_tree_disk(const api::Field& sources);

/// Name of the in-tree plugin, e.g. "kubernetes.io/gce-pd".
std::string_view in_tree_plugin(DiskKind kind);
/// CSI driver that stands in for an in-tree plugin, e.g. "pd.csi.storage.gke.io"; "" if none does.
std::string_view csi_driver_of(std::string_view in_tree_plugin);
/// The CSI volume handle of the disk; `zones` as a PersistentVolume's zone label has them ("" for
/// disks that a pod names).
std::string csi_volume_handle(const InTreeDisk& disk, std::string_view zones);

} // namespace berth::model
