// claim("data").of_class("fast").size("1Gi"), volume("pv-1"), storage_class("fast"),
// csi_node("n").limit("csi.example", 2): storage objects for tests.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string_view>

#include "berth/model/storage.h"
#include "berth/testing/object_builder.h"

namespace berth::test {

/// Starts in namespace "default" with ReadWriteOnce and 1Gi; no class is said.
class ClaimBuilder : public ObjectBuilder<ClaimBuilder> {
 public:
  explicit ClaimBuilder(std::string_view name)
      : ObjectBuilder("v1", "PersistentVolumeClaim", name) {
    ns("default");
    mode("ReadWriteOnce").size("1Gi");
  }

  ClaimBuilder& of_class(std::string_view name) {
    spec()["storageClassName"] = text(name);
    return *this;
  }
  ClaimBuilder& mode(std::string_view mode) {
    json::array modes;
    modes.push_back(json::value(text(mode)));
    spec()["accessModes"] = std::move(modes);
    return *this;
  }
  ClaimBuilder& size(std::string_view quantity) {
    api::object_at(api::object_at(spec(), "resources"), "requests")["storage"] = text(quantity);
    return *this;
  }
  ClaimBuilder& block() {
    spec()["volumeMode"] = "Block";
    return *this;
  }
  ClaimBuilder& selects(std::string_view key, std::string_view value) {
    api::object_at(api::object_at(spec(), "selector"), "matchLabels")[text(key)] = text(value);
    return *this;
  }
  /// spec.volumeName alone: wanted, not bound yet.
  ClaimBuilder& wants(std::string_view volume) {
    spec()["volumeName"] = text(volume);
    return *this;
  }
  ClaimBuilder& bound_to(std::string_view volume) {
    return wants(volume).annotation(model::kBindCompletedAnnotation, "yes").phase("Bound");
  }
  ClaimBuilder& selected(std::string_view node) {
    return annotation(model::kSelectedNodeAnnotation, node);
  }
  ClaimBuilder& phase(std::string_view phase) {
    status()["phase"] = text(phase);
    return *this;
  }

  std::shared_ptr<const model::PersistentVolumeClaim> build() const {
    return decoded(model::decode_claim(json::value(document())));
  }
};

/// Starts Available with ReadWriteOnce and 1Gi, of no class, on a path of its host.
class VolumeBuilder : public ObjectBuilder<VolumeBuilder> {
 public:
  explicit VolumeBuilder(std::string_view name) : ObjectBuilder("v1", "PersistentVolume", name) {
    mode("ReadWriteOnce").size("1Gi").phase("Available");
    spec()["hostPath"] = json::object{{"path", "/data"}};
  }

  VolumeBuilder& of_class(std::string_view name) {
    spec()["storageClassName"] = text(name);
    return *this;
  }
  VolumeBuilder& mode(std::string_view mode) {
    json::array modes;
    modes.push_back(json::value(text(mode)));
    spec()["accessModes"] = std::move(modes);
    return *this;
  }
  VolumeBuilder& size(std::string_view quantity) {
    api::object_at(spec(), "capacity")["storage"] = text(quantity);
    return *this;
  }
  VolumeBuilder& block() {
    spec()["volumeMode"] = "Block";
    return *this;
  }
  VolumeBuilder& phase(std::string_view phase) {
    status()["phase"] = text(phase);
    return *this;
  }
  VolumeBuilder& for_claim(std::string_view name, std::string_view uid = "",
                           std::string_view ns = "default") {
    json::object& reference = api::object_at(spec(), "claimRef");
    reference["namespace"] = text(ns);
    reference["name"] = text(name);
    if (!uid.empty()) {
      reference["uid"] = text(uid);
    }
    return *this;
  }
  /// Only nodes whose label has one of the values reach it.
  VolumeBuilder& only_on(std::string_view key, std::initializer_list<std::string_view> values) {
    json::array list;
    for (const std::string_view value : values) {
      list.push_back(json::value(text(value)));
    }
    json::array expressions;
    expressions.push_back(
        json::object{{"key", text(key)}, {"operator", "In"}, {"values", std::move(list)}});
    json::array terms;
    terms.push_back(json::object{{"matchExpressions", std::move(expressions)}});
    api::object_at(api::object_at(spec(), "nodeAffinity"), "required")["nodeSelectorTerms"] =
        std::move(terms);
    return *this;
  }
  VolumeBuilder& csi(std::string_view driver, std::string_view handle) {
    return source("csi", json::object{{"driver", text(driver)}, {"volumeHandle", text(handle)}});
  }
  VolumeBuilder& source(std::string_view name, json::object what) {
    spec().erase("hostPath");
    spec()[text(name)] = std::move(what);
    return *this;
  }

  std::shared_ptr<const model::PersistentVolume> build() const {
    return decoded(model::decode_volume(json::value(document())));
  }
};

/// Starts with provisioner "csi.example" and Immediate binding.
class StorageClassBuilder : public ObjectBuilder<StorageClassBuilder> {
 public:
  explicit StorageClassBuilder(std::string_view name)
      : ObjectBuilder("storage.k8s.io/v1", "StorageClass", name) {
    provisioner("csi.example");
  }

  StorageClassBuilder& provisioner(std::string_view name) {
    root()["provisioner"] = text(name);
    return *this;
  }
  StorageClassBuilder& waits() {
    root()["volumeBindingMode"] = text(model::kWaitForFirstConsumer);
    return *this;
  }
  StorageClassBuilder& is_default() { return annotation(model::kDefaultClassAnnotation, "true"); }
  /// One more term of one label.
  StorageClassBuilder& allows(std::string_view key,
                              std::initializer_list<std::string_view> values) {
    json::array list;
    for (const std::string_view value : values) {
      list.push_back(json::value(text(value)));
    }
    json::array expressions;
    expressions.push_back(json::object{{"key", text(key)}, {"values", std::move(list)}});
    list_at(root(), "allowedTopologies")
        .push_back(json::object{{"matchLabelExpressions", std::move(expressions)}});
    return *this;
  }

  std::shared_ptr<const model::StorageClass> build() const {
    return decoded(model::decode_storage_class(json::value(document())));
  }
};

class CsiNodeBuilder : public ObjectBuilder<CsiNodeBuilder> {
 public:
  explicit CsiNodeBuilder(std::string_view node)
      : ObjectBuilder("storage.k8s.io/v1", "CSINode", node) {}

  CsiNodeBuilder& limit(std::string_view driver, std::int64_t volumes) {
    list_at(spec(), "drivers")
        .push_back(json::object{{"name", text(driver)},
                                {"allocatable", json::object{{"count", volumes}}}});
    return *this;
  }
  CsiNodeBuilder& unlimited(std::string_view driver) {
    list_at(spec(), "drivers").push_back(json::object{{"name", text(driver)}});
    return *this;
  }
  CsiNodeBuilder& migrates(std::string_view plugins) {
    return annotation(model::kMigratedPluginsAnnotation, plugins);
  }

  std::shared_ptr<const model::CsiNode> build() const {
    return decoded(model::decode_csi_node(json::value(document())));
  }
};

/// Tells what it can provision.
class CsiDriverBuilder : public ObjectBuilder<CsiDriverBuilder> {
 public:
  explicit CsiDriverBuilder(std::string_view name)
      : ObjectBuilder("storage.k8s.io/v1", "CSIDriver", name) {
    spec()["storageCapacity"] = true;
  }

  CsiDriverBuilder& silent() {
    spec()["storageCapacity"] = false;
    return *this;
  }

  std::shared_ptr<const model::CsiDriver> build() const {
    return decoded(model::decode_csi_driver(json::value(document())));
  }
};

/// Of one class, in namespace "default", for no node.
class CapacityBuilder : public ObjectBuilder<CapacityBuilder> {
 public:
  CapacityBuilder(std::string_view name, std::string_view class_name)
      : ObjectBuilder("storage.k8s.io/v1", "CSIStorageCapacity", name) {
    ns("default");
    root()["storageClassName"] = text(class_name);
  }

  CapacityBuilder& at(std::string_view key, std::string_view value) {
    api::object_at(api::object_at(root(), "nodeTopology"), "matchLabels")[text(key)] = text(value);
    return *this;
  }
  CapacityBuilder& size(std::string_view quantity) {
    root()["capacity"] = text(quantity);
    return *this;
  }
  CapacityBuilder& largest(std::string_view quantity) {
    root()["maximumVolumeSize"] = text(quantity);
    return *this;
  }

  std::shared_ptr<const model::CsiStorageCapacity> build() const {
    return decoded(model::decode_storage_capacity(json::value(document())));
  }
};

/// A volume attached to a node.
class AttachmentBuilder : public ObjectBuilder<AttachmentBuilder> {
 public:
  AttachmentBuilder(std::string_view attacher, std::string_view volume, std::string_view node)
      : ObjectBuilder("storage.k8s.io/v1", "VolumeAttachment",
                      std::string(volume) + "-" + std::string(node)) {
    spec()["attacher"] = text(attacher);
    spec()["nodeName"] = text(node);
    api::object_at(spec(), "source")["persistentVolumeName"] = text(volume);
  }

  std::shared_ptr<const model::VolumeAttachment> build() const {
    return decoded(model::decode_volume_attachment(json::value(document())));
  }
};

inline ClaimBuilder claim(std::string_view name) {
  return ClaimBuilder(name);
}
inline VolumeBuilder volume(std::string_view name) {
  return VolumeBuilder(name);
}
inline StorageClassBuilder storage_class(std::string_view name) {
  return StorageClassBuilder(name);
}
inline CsiNodeBuilder csi_node(std::string_view node) {
  return CsiNodeBuilder(node);
}
inline CsiDriverBuilder csi_driver(std::string_view name) {
  return CsiDriverBuilder(name);
}
inline CapacityBuilder capacity(std::string_view name, std::string_view class_name) {
  return {name, class_name};
}
inline AttachmentBuilder attachment(std::string_view attacher, std::string_view volume,
                                    std::string_view node) {
  return {attacher, volume, node};
}

} // namespace berth::test
