// Volumes, their classes and drivers. Source: printers.go.
#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "berth/model/storage.h"
#include "berth/server/tables/cells.h"
#include "berth/server/tables/shapes.h"

namespace berth::server::tables {
namespace {

/// "RWO,ROX,RWX,RWOP", in that order.
std::string access_modes(const json::value& in, std::string_view path) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kShort = {
      {{"ReadWriteOnce", "RWO"},
       {"ReadOnlyMany", "ROX"},
       {"ReadWriteMany", "RWX"},
       {"ReadWriteOncePod", "RWOP"}}};
  const std::vector<std::string> modes = texts_of(list_at(in, path));
  std::vector<std::string_view> out;
  for (const auto& [mode, brief] : kShort) {
    if (std::ranges::find(modes, mode) != modes.end()) {
      out.push_back(brief);
    }
  }
  return fmt::format("{}", fmt::join(out, ","));
}

/// The annotation of old decides.
json::value storage_class(const Row& row) {
  const api::Labels& annotations = row.object.meta().annotations;
  const auto of_old = annotations.find(model::kBetaStorageClassAnnotation);
  return json::value(of_old != annotations.end()
                         ? of_old->second
                         : text_at(row.document(), "spec.storageClassName"));
}

json::value phase(const Row& row) {
  return json::value(row.object.meta().deletion_timestamp
                         ? "Terminating"
                         : text_at(row.document(), "status.phase"));
}

Column access_modes_column(Cell cell) {
  return {.name = "Access Modes", .description = "How it can be mounted.", .cell = std::move(cell)};
}

Column attributes_class_column() {
  return {.name = "VolumeAttributesClass",
          .description = "Its VolumeAttributesClass.",
          .cell = set_text("spec.volumeAttributesClassName", "<unset>")};
}

Column storage_class_column() {
  return {.name = "StorageClass", .description = "Its StorageClass.", .cell = &storage_class};
}

Column volume_mode_column() {
  return {.name = "VolumeMode",
          .description = "Filesystem or Block.",
          .priority = 1,
          .cell = text("spec.volumeMode", "Filesystem")};
}

json::value volume_claim(const Row& row) {
  const json::value* claim = api::find_path(row.document(), "spec.claimRef");
  return json::value(claim == nullptr ? ""
                                      : fmt::format("{}/{}", api::string_at(*claim, "namespace"),
                                                    api::string_at(*claim, "name")));
}

TableShape volume_shape() {
  return {
      .columns = {name_column(),
                  {.name = "Capacity",
                   .description = "Size.",
                   .cell =
                       [](const Row& row) {
                         return json::value(quantity_text(
                             api::find_path(row.document(), "spec.capacity.storage")));
                       }},
                  access_modes_column([](const Row& row) {
                    return json::value(access_modes(row.document(), "spec.accessModes"));
                  }),
                  {.name = "Reclaim Policy",
                   .description = "What happens to it when its claim goes.",
                   .cell = text("spec.persistentVolumeReclaimPolicy", "Retain")},
                  {.name = "Status", .description = "Phase.", .cell = &phase},
                  {.name = "Claim", .description = "The claim that has it.", .cell = &volume_claim},
                  storage_class_column(),
                  attributes_class_column(),
                  {.name = "Reason",
                   .description = "Why it is in its phase.",
                   .cell = text("status.reason")},
                  age_column(),
                  volume_mode_column()}};
}

bool is_bound(const Row& row) {
  return !api::string_at(row.document(), "spec.volumeName").empty();
}

TableShape claim_shape() {
  return {.columns = {name_column(),
                      {.name = "Status", .description = "Phase.", .cell = &phase},
                      {.name = "Volume",
                       .description = "The volume that it has.",
                       .cell = text("spec.volumeName")},
                      {.name = "Capacity",
                       .description = "Size of the volume.",
                       .cell =
                           [](const Row& row) {
                             const json::value* size =
                                 api::find_path(row.document(), "status.capacity.storage");
                             return json::value(is_bound(row) ? quantity_text(size) : "");
                           }},
                      access_modes_column([](const Row& row) {
                        return json::value(is_bound(row)
                                               ? access_modes(row.document(), "status.accessModes")
                                               : "");
                      }),
                      storage_class_column(),
                      attributes_class_column(),
                      age_column(),
                      volume_mode_column()}};
}

json::value class_name(const Row& row) {
  constexpr std::string_view kBetaMark = "storageclass.beta.kubernetes.io/is-default-class";
  for (const std::string_view mark : {model::kDefaultClassAnnotation, kBetaMark}) {
    const auto it = row.object.meta().annotations.find(mark);
    if (it != row.object.meta().annotations.end() && it->second == "true") {
      return json::value(row.object.meta().name + " (default)");
    }
  }
  return json::value(row.object.meta().name);
}

TableShape storage_class_shape() {
  Column name = name_column();
  name.cell = &class_name;
  return {.columns = {std::move(name),
                      {.name = "Provisioner",
                       .description = "Who makes its volumes.",
                       .cell = text("provisioner")},
                      {.name = "ReclaimPolicy",
                       .description = "What happens to a volume when its claim goes.",
                       .cell = text("reclaimPolicy", "Delete")},
                      {.name = "VolumeBindingMode",
                       .description = "When claims are bound.",
                       .cell = text("volumeBindingMode", "Immediate")},
                      {.name = "AllowVolumeExpansion",
                       .description = "Whether claims may grow.",
                       .cell = truth("allowVolumeExpansion")},
                      age_column()}};
}

TableShape attributes_class_shape() {
  return {.columns = {name_column(),
                      {.name = "DriverName",
                       .description = "The CSI driver that it is for.",
                       .cell = text("driverName")},
                      age_column()}};
}

TableShape attachment_shape() {
  return {.columns = {name_column(),
                      {.name = "Attacher",
                       .format = "name",
                       .description = "Who attaches it.",
                       .cell = text("spec.attacher")},
                      {.name = "PV",
                       .description = "The volume.",
                       .cell = text("spec.source.persistentVolumeName")},
                      {.name = "Node", .description = "The node.", .cell = text("spec.nodeName")},
                      {.name = "Attached",
                       .type = "boolean",
                       .description = "Whether it is attached.",
                       .cell = truth("status.attached")},
                      age_column()}};
}

TableShape csi_node_shape() {
  return {.columns = {name_column(),
                      {.name = "Drivers",
                       .type = "integer",
                       .description = "Number of CSI drivers of the node.",
                       .cell = size_of("spec.drivers")},
                      age_column()}};
}

json::value token_requests(const Row& row) {
  if (api::find_path(row.document(), "spec.tokenRequests") == nullptr) {
    return "<unset>";
  }
  std::vector<std::string> audiences;
  for (const json::value& request : list_at(row.document(), "spec.tokenRequests")) {
    audiences.push_back(text_at(request, "audience"));
  }
  return json::value(fmt::format("{}", fmt::join(audiences, ",")));
}

json::value lifecycle_modes(const Row& row) {
  const auto modes = texts_of(list_at(row.document(), "spec.volumeLifecycleModes"));
  return json::value(modes.empty() ? "<none>" : fmt::format("{}", fmt::join(modes, ",")));
}

TableShape csi_driver_shape() {
  const auto flag = [](std::string_view name, std::string_view description, std::string_view path,
                       bool otherwise) {
    return Column{.name = std::string(name),
                  .type = "boolean",
                  .description = std::string(description),
                  .cell = truth(path, otherwise)};
  };
  return {
      .columns = {
          name_column(),
          flag("AttachRequired", "Whether volumes are attached.", "spec.attachRequired", true),
          flag("PodInfoOnMount", "Whether it is told of the pod.", "spec.podInfoOnMount", false),
          flag("StorageCapacity", "Whether it says what room is left.", "spec.storageCapacity",
               false),
          {.name = "TokenRequests",
           .description = "Audiences of the tokens that it is given.",
           .cell = &token_requests},
          flag("RequiresRepublish", "Whether it is called again and again.",
               "spec.requiresRepublish", false),
          {.name = "Modes", .description = "Persistent, Ephemeral.", .cell = &lifecycle_modes},
          age_column()}};
}

TableShape csi_capacity_shape() {
  return {.columns = {
              name_column(),
              {.name = "StorageClassName",
               .description = "The class that it is about.",
               .cell = text("storageClassName")},
              {.name = "Capacity", .description = "Room that is left.", .cell = [](const Row& row) {
                 const json::value* room = api::find(row.document(), "capacity");
                 return json::value(room == nullptr ? "<unset>" : quantity_text(room));
               }}}};
}

constexpr std::string_view kStorage = "storage.k8s.io";
constexpr KindShape kShapes[] = {
    {"", "PersistentVolume", &volume_shape},
    {"", "PersistentVolumeClaim", &claim_shape},
    {kStorage, "StorageClass", &storage_class_shape},
    {kStorage, "VolumeAttributesClass", &attributes_class_shape},
    {kStorage, "VolumeAttachment", &attachment_shape},
    {kStorage, "CSINode", &csi_node_shape},
    {kStorage, "CSIDriver", &csi_driver_shape},
    {kStorage, "CSIStorageCapacity", &csi_capacity_shape},
};

} // namespace

std::span<const KindShape> storage_shapes() {
  return kShapes;
}

} // namespace berth::server::tables
