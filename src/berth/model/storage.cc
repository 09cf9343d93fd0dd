#include "berth/model/storage.h"

#include <algorithm>

#include "berth/model/decode.h"

namespace berth::model {

using api::Field;

namespace {

std::string_view annotation(const api::ObjectMeta& meta, std::string_view key) {
  const auto it = meta.annotations.find(key);
  return it == meta.annotations.end() ? std::string_view() : std::string_view(it->second);
}

/// The amount named "storage" of a resource list.
void read_storage(const Field& in, std::string_view list, api::Quantity& out) {
  in.within(list, [&](const Field& amounts) { amounts.read("storage", out); });
}

/// A name that was written but left empty counts as not written.
void keep_default(std::string& value, std::string_view fallback) {
  if (value.empty()) {
    value = fallback;
  }
}

} // namespace

void decode(const Field& in, PersistentVolumeClaim& out) {
  in.read("metadata", out.meta);
  in.within("spec", [&](const Field& spec) {
    spec.read("storageClassName", out.storage_class);
    spec.read("volumeName", out.volume_name);
    spec.read("accessModes", out.access_modes);
    spec.read("selector", out.selector);
    spec.read("volumeMode", out.volume_mode);
    spec.read("volumeAttributesClassName", out.volume_attributes_class);
    spec.within("resources",
                [&](const Field& resources) { read_storage(resources, "requests", out.request); });
  });
  in.within("status", [&](const Field& status) { status.read("phase", out.phase); });
  keep_default(out.volume_mode, "Filesystem");
}

void decode(const Field& in, ClaimReference& out) {
  in.read("namespace", out.ns);
  in.read("name", out.name);
  in.read("uid", out.uid);
}

void decode(const Field& in, CsiSource& out) {
  in.read("driver", out.driver);
  in.read("volumeHandle", out.handle);
}

void decode(const Field& in, PersistentVolume& out) {
  in.read("metadata", out.meta);
  in.within("spec", [&](const Field& spec) {
    read_storage(spec, "capacity", out.capacity);
    spec.read("accessModes", out.access_modes);
    spec.read("storageClassName", out.storage_class);
    spec.read("volumeMode", out.volume_mode);
    spec.read("volumeAttributesClassName", out.volume_attributes_class);
    spec.read("persistentVolumeReclaimPolicy", out.reclaim_policy);
    spec.read("claimRef", out.claim);
    spec.within("nodeAffinity",
                [&](const Field& affinity) { affinity.read("required", out.node_affinity); });
    spec.read("csi", out.csi);
    out.disk = decode_in_tree_disk(spec);
  });
  in.within("status", [&](const Field& status) { status.read("phase", out.phase); });
  keep_default(out.volume_mode, "Filesystem");
  keep_default(out.reclaim_policy, "Retain");
}

void decode(const Field& in, TopologyTerm& out) {
  in.within("matchLabelExpressions", [&](const Field& expressions) {
    expressions.each([&](const Field& expression) {
      api::Requirement& label = out.labels.emplace_back();
      expression.read("key", label.key);
      expression.read("values", label.values);
    });
  });
}

void decode(const Field& in, StorageClass& out) {
  in.read("metadata", out.meta);
  in.read("provisioner", out.provisioner);
  in.read("volumeBindingMode", out.binding_mode);
  in.read("reclaimPolicy", out.reclaim_policy);
  in.read("allowedTopologies", out.allowed_topologies);
  keep_default(out.binding_mode, "Immediate");
  keep_default(out.reclaim_policy, "Delete");
}

void decode(const Field& in, CsiNode::Driver& out) {
  in.read("name", out.name);
  in.within("allocatable", [&](const Field& limits) { limits.read("count", out.allocatable); });
}

void decode(const Field& in, CsiNode& out) {
  in.read("metadata", out.meta);
  in.within("spec", [&](const Field& spec) { spec.read("drivers", out.drivers); });
}

void decode(const Field& in, CsiDriver& out) {
  in.read("metadata", out.meta);
  in.within("spec", [&](const Field& spec) { spec.read("storageCapacity", out.storage_capacity); });
}

void decode(const Field& in, CsiStorageCapacity& out) {
  in.read("metadata", out.meta);
  in.read("storageClassName", out.storage_class);
  in.read("nodeTopology", out.node_topology);
  in.read("capacity", out.capacity);
  in.read("maximumVolumeSize", out.maximum_volume_size);
}

void decode(const Field& in, VolumeAttachment& out) {
  in.read("metadata", out.meta);
  in.within("spec", [&](const Field& spec) {
    spec.read("attacher", out.attacher);
    spec.read("nodeName", out.node);
    spec.within("source",
                [&](const Field& source) { source.read("persistentVolumeName", out.volume); });
  });
}

std::string_view PersistentVolumeClaim::class_name() const {
  const auto it = meta.annotations.find(kBetaStorageClassAnnotation);
  if (it != meta.annotations.end()) {
    return it->second;
  }
  return storage_class ? std::string_view(*storage_class) : std::string_view();
}

bool PersistentVolumeClaim::bound() const {
  return !volume_name.empty() && meta.annotations.contains(kBindCompletedAnnotation);
}

std::optional<std::string_view> PersistentVolumeClaim::selected_node() const {
  const auto it = meta.annotations.find(kSelectedNodeAnnotation);
  return it == meta.annotations.end() ? std::nullopt : std::optional<std::string_view>(it->second);
}

std::string_view PersistentVolume::class_name() const {
  const auto it = meta.annotations.find(kBetaStorageClassAnnotation);
  return it == meta.annotations.end() ? std::string_view(storage_class)
                                      : std::string_view(it->second);
}

bool PersistentVolume::belongs_to(const PersistentVolumeClaim& of) const {
  return claim && claim->ns == of.meta.ns && claim->name == of.meta.name &&
         (claim->uid.empty() || claim->uid == of.meta.uid);
}

bool PersistentVolume::reachable_from(const api::Labels& node_labels) const {
  return !node_affinity || node_affinity->matches(node_labels, "");
}

bool large_enough(const PersistentVolume& volume, const PersistentVolumeClaim& claim) {
  return !(volume.capacity < claim.request) && volume.volume_mode == claim.volume_mode &&
         volume.volume_attributes_class == claim.volume_attributes_class;
}

bool free_for(const PersistentVolume& volume, const PersistentVolumeClaim& claim) {
  return !volume.claim && volume.phase == "Available" &&
         volume.class_name() == claim.class_name() &&
         (!claim.selector || claim.selector->matches(volume.meta.labels)) &&
         std::ranges::all_of(claim.access_modes, [&](const std::string& mode) {
           return std::ranges::find(volume.access_modes, mode) != volume.access_modes.end();
         });
}

bool TopologyTerm::matches(const api::Labels& node_labels) const {
  return !labels.empty() && std::ranges::all_of(labels, [&](const api::Requirement& label) {
    return label.matches(node_labels);
  });
}

bool StorageClass::allows(const api::Labels& node_labels) const {
  return allowed_topologies.empty() ||
         std::ranges::any_of(allowed_topologies,
                             [&](const TopologyTerm& term) { return term.matches(node_labels); });
}

bool StorageClass::is_default() const {
  return annotation(meta, kDefaultClassAnnotation) == "true" ||
         annotation(meta, "storageclass.beta.kubernetes.io/is-default-class") == "true";
}

std::string_view CsiNode::migrated_plugins() const {
  return annotation(meta, kMigratedPluginsAnnotation);
}

bool CsiNode::migrates(std::string_view plugin) const {
  // The migration of these four cannot be turned off any more; a node need not say so.
  for (const DiskKind kind : {DiskKind::AwsElasticBlockStore, DiskKind::GcePersistentDisk,
                              DiskKind::AzureDisk, DiskKind::Cinder}) {
    if (plugin == in_tree_plugin(kind)) {
      return true;
    }
  }
  if (plugin != in_tree_plugin(DiskKind::Portworx)) {
    return false;
  }
  std::string_view rest = migrated_plugins();
  while (!rest.empty()) {
    const auto comma = rest.find(',');
    if (rest.substr(0, comma) == plugin) {
      return true;
    }
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
  }
  return false;
}

Result<std::shared_ptr<const PersistentVolumeClaim>>
decode_claim(const api::json::value& document) {
  return decode_shared<PersistentVolumeClaim>(document);
}

Result<std::shared_ptr<const PersistentVolume>> decode_volume(const api::json::value& document) {
  return decode_shared<PersistentVolume>(document);
}

Result<std::shared_ptr<const StorageClass>> decode_storage_class(const api::json::value& document) {
  return decode_shared<StorageClass>(document);
}

Result<std::shared_ptr<const CsiNode>> decode_csi_node(const api::json::value& document) {
  return decode_shared<CsiNode>(document);
}

Result<std::shared_ptr<const CsiDriver>> decode_csi_driver(const api::json::value& document) {
  return decode_shared<CsiDriver>(document);
}

Result<std::shared_ptr<const CsiStorageCapacity>>
decode_storage_capacity(const api::json::value& document) {
  return decode_shared<CsiStorageCapacity>(document);
}

Result<std::shared_ptr<const VolumeAttachment>>
decode_volume_attachment(const api::json::value& document) {
  return decode_shared<VolumeAttachment>(document);
}

} // namespace berth::model
