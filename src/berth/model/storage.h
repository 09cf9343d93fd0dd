// Typed views of the storage kinds that scheduling reads: PersistentVolumeClaim, PersistentVolume,
// StorageClass, CSINode, CSIDriver, CSIStorageCapacity, VolumeAttachment.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/model/in_tree_disk.h"
#include "berth/model/pod.h"

namespace berth::model {

/// The node for which a claim's volume shall be provisioned; the scheduler writes it to the claim.
inline constexpr std::string_view kSelectedNodeAnnotation = "volume.kubernetes.io/selected-node";
/// On a claim: its binding is complete on both sides.
inline constexpr std::string_view kBindCompletedAnnotation = "pv.kubernetes.io/bind-completed";
/// On a claim or volume: the binding was chosen for it, not written by its user.
inline constexpr std::string_view kBoundByControllerAnnotation =
    "pv.kubernetes.io/bound-by-controller";
/// On a volume: who provisioned it.
inline constexpr std::string_view kProvisionedByAnnotation = "pv.kubernetes.io/provisioned-by";
/// Older name of spec.storageClassName, which it overrides.
inline constexpr std::string_view kBetaStorageClassAnnotation =
    "volume.beta.kubernetes.io/storage-class";
inline constexpr std::string_view kDefaultClassAnnotation =
    "storageclass.kubernetes.io/is-default-class";
/// On a CSINode: in-tree plugins whose volumes CSI drivers serve there, joined by commas.
inline constexpr std::string_view kMigratedPluginsAnnotation =
    "storage.alpha.kubernetes.io/migrated-plugins";
/// Provisioner of classes whose volumes are made by hand.
inline constexpr std::string_view kNoProvisioner = "kubernetes.io/no-provisioner";
inline constexpr std::string_view kWaitForFirstConsumer = "WaitForFirstConsumer";
inline constexpr std::string_view kReadWriteOncePod = "ReadWriteOncePod";

struct PersistentVolumeClaim {
  api::ObjectMeta meta;
  std::optional<std::string> storage_class; ///< none: not said; "": no class
  std::string volume_name;
  std::vector<std::string> access_modes;
  std::optional<api::Selector> selector;
  api::Quantity request; ///< of storage
  std::string volume_mode = "Filesystem";
  std::string volume_attributes_class;
  std::string phase; ///< "", Pending, Bound or Lost

  api::Key key() const { return {meta.ns, meta.name}; }
  /// The class it asks for; "" if none.
  std::string_view class_name() const;
  /// Bound to a volume, on both sides.
  bool bound() const;
  /// The node its volume is to be provisioned for, if one was chosen.
  std::optional<std::string_view> selected_node() const;
};

/// Which claim a volume belongs to. uid "": reserved by name, for whichever claim has it.
struct ClaimReference {
  std::string ns;
  std::string name;
  std::string uid;

  bool operator==(const ClaimReference&) const = default;
};

/// A volume's handle at its CSI driver.
struct CsiSource {
  std::string driver;
  std::string handle;
};

struct PersistentVolume {
  api::ObjectMeta meta;
  api::Quantity capacity; ///< of storage
  std::vector<std::string> access_modes;
  std::string storage_class;
  std::string volume_mode = "Filesystem";
  std::string volume_attributes_class;
  std::string reclaim_policy = "Retain";
  std::optional<ClaimReference> claim;
  std::optional<api::NodeSelector> node_affinity; ///< nodes that reach it; none: all
  std::optional<CsiSource> csi;
  std::optional<InTreeDisk> disk;
  std::string phase; ///< "", Pending, Available, Bound, Released or Failed

  std::string_view class_name() const;
  /// Is it reserved for this very claim?
  bool belongs_to(const PersistentVolumeClaim& of) const;
  /// Can a node with these labels reach it?
  bool reachable_from(const api::Labels& node_labels) const;
};

/// May the volume serve the claim, as far as size, volume mode and attributes class go?
bool large_enough(const PersistentVolume& volume, const PersistentVolumeClaim& claim);
/// May it be given to the claim if nobody has it: an Available volume of its class that its
/// selector and access modes allow?
bool free_for(const PersistentVolume& volume, const PersistentVolumeClaim& claim);

/// All labels must have one of the values. An empty term matches nothing.
struct TopologyTerm {
  std::vector<api::Requirement> labels; ///< all In

  bool matches(const api::Labels& node_labels) const;
  bool operator==(const TopologyTerm&) const = default;
};

struct StorageClass {
  api::ObjectMeta meta;
  std::string provisioner;
  std::string binding_mode = "Immediate";
  std::string reclaim_policy = "Delete";
  std::vector<TopologyTerm> allowed_topologies; ///< any of them; none: every node

  bool waits_for_consumer() const { return binding_mode == kWaitForFirstConsumer; }
  /// Does it make volumes by itself?
  bool provisions() const { return !provisioner.empty() && provisioner != kNoProvisioner; }
  bool allows(const api::Labels& node_labels) const;
  bool is_default() const;
};

struct CsiNode {
  struct Driver {
    std::string name;
    std::optional<std::int64_t> allocatable; ///< volumes; none: no limit
  };
  api::ObjectMeta meta; ///< its name is the node's
  std::vector<Driver> drivers;

  std::string_view migrated_plugins() const;
  /// Does a CSI driver serve the in-tree plugin's volumes on this node?
  bool migrates(std::string_view in_tree_plugin) const;
};

struct CsiDriver {
  api::ObjectMeta meta;          ///< its name is the driver's
  bool storage_capacity = false; ///< it tells how much it can provision, and where
};

/// How much a driver can provision for a class, for some nodes.
struct CsiStorageCapacity {
  api::ObjectMeta meta;
  std::string storage_class;
  std::optional<api::Selector> node_topology; ///< none: no node
  std::optional<api::Quantity> capacity;
  std::optional<api::Quantity> maximum_volume_size;

  /// The largest volume that can be made; none: not known.
  const std::optional<api::Quantity>& limit() const {
    return maximum_volume_size ? maximum_volume_size : capacity;
  }
};

struct VolumeAttachment {
  api::ObjectMeta meta;
  std::string attacher; ///< CSI driver
  std::string node;
  std::string volume; ///< PersistentVolume; "" for an inline one
};

Result<std::shared_ptr<const PersistentVolumeClaim>> decode_claim(const api::json::value& document);
Result<std::shared_ptr<const PersistentVolume>> decode_volume(const api::json::value& document);
Result<std::shared_ptr<const StorageClass>> decode_storage_class(const api::json::value& document);
Result<std::shared_ptr<const CsiNode>> decode_csi_node(const api::json::value& document);
Result<std::shared_ptr<const CsiDriver>> decode_csi_driver(const api::json::value& document);
Result<std::shared_ptr<const CsiStorageCapacity>>
decode_storage_capacity(const api::json::value& document);
Result<std::shared_ptr<const VolumeAttachment>>
decode_volume_attachment(const api::json::value& document);

inline Result<std::shared_ptr<const PersistentVolumeClaim>> claim_view(const api::Object& o) {
  return o.view<PersistentVolumeClaim>(&decode_claim);
}
inline Result<std::shared_ptr<const PersistentVolume>> volume_view(const api::Object& o) {
  return o.view<PersistentVolume>(&decode_volume);
}
inline Result<std::shared_ptr<const StorageClass>> storage_class_view(const api::Object& o) {
  return o.view<StorageClass>(&decode_storage_class);
}
inline Result<std::shared_ptr<const CsiNode>> csi_node_view(const api::Object& o) {
  return o.view<CsiNode>(&decode_csi_node);
}
inline Result<std::shared_ptr<const CsiDriver>> csi_driver_view(const api::Object& o) {
  return o.view<CsiDriver>(&decode_csi_driver);
}
inline Result<std::shared_ptr<const CsiStorageCapacity>>
storage_capacity_view(const api::Object& o) {
  return o.view<CsiStorageCapacity>(&decode_storage_capacity);
}
inline Result<std::shared_ptr<const VolumeAttachment>>
volume_attachment_view(const api::Object& o) {
  return o.view<VolumeAttachment>(&decode_volume_attachment);
}

} // namespace berth::model
