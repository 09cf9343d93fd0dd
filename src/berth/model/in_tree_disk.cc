#include "berth/model/in_tree_disk.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace berth::model {
namespace {

struct DiskName {
  DiskKind kind;
  std::string_view member; ///< of the volume's sources
  std::string_view id;     ///< member of the source that names the disk
  std::string_view plugin;
  std::string_view driver; ///< "": not migrated
};

constexpr std::array<DiskName, 9> kDisks{{
    {DiskKind::GcePersistentDisk, "gcePersistentDisk", "pdName", "kubernetes.io/gce-pd",
     "pd.csi.storage.gke.io"},
    {DiskKind::AwsElasticBlockStore, "awsElasticBlockStore", "volumeID", "kubernetes.io/aws-ebs",
     "ebs.csi.aws.com"},
    {DiskKind::Iscsi, "iscsi", "iqn", "kubernetes.io/iscsi", ""},
    {DiskKind::Rbd, "rbd", "image", "kubernetes.io/rbd", ""},
    {DiskKind::AzureDisk, "azureDisk", "diskURI", "kubernetes.io/azure-disk", "disk.csi.azure.com"},
    {DiskKind::AzureFile, "azureFile", "shareName", "kubernetes.io/azure-file",
     "file.csi.azure.com"},
    {DiskKind::Cinder, "cinder", "volumeID", "kubernetes.io/cinder", "cinder.csi.openstack.org"},
    {DiskKind::Vsphere, "vsphereVolume", "volumePath", "kubernetes.io/vsphere-volume",
     "csi.vsphere.vmware.com"},
    {DiskKind::Portworx, "portworxVolume", "volumeID", "kubernetes.io/portworx-volume",
     "pxd.portworx.com"},
}};

const DiskName& name_of(DiskKind kind) {
  return *std::ranges::find(kDisks, kind, &DiskName::kind);
}

} // namespace

std::optional<InTreeDisk> decode_in_tree_disk(const api::Field& sources) {
  std::optional<InTreeDisk> disk;
  for (const DiskName& known : kDisks) {
    sources.within(known.member, [&](const api::Field& source) {
      disk = InTreeDisk{.kind = known.kind, .id = {}, .monitors = {}, .pool = {}};
      source.read(known.id, disk->id);
      source.read("readOnly", disk->read_only);
      if (known.kind == DiskKind::Rbd) {
        disk->pool = "rbd";
        source.read("monitors", disk->monitors);
        source.read("pool", disk->pool);
      }
    });
  }
  return disk;
}

std::string_view in_tree_plugin(DiskKind kind) {
  return name_of(kind).plugin;
}

std::string_view csi_driver_of(std::string_view in_tree_plugin) {
  const auto it = std::ranges::find(kDisks, in_tree_plugin, &DiskName::plugin);
  return it == kDisks.end() ? std::string_view() : it->driver;
}

std::string csi_volume_handle(const InTreeDisk& disk, std::string_view zones) {
  if (disk.kind == DiskKind::AwsElasticBlockStore) {
    // "aws://zone/vol-1" and "vol-1" are one volume.
    const auto slash = disk.id.rfind('/');
    return slash == std::string::npos ? disk.id : disk.id.substr(slash + 1);
  }
  if (disk.kind == DiskKind::GcePersistentDisk) {
    const auto separator = zones.find("__");
    if (separator != std::string_view::npos) {
      // A disk of several zones belongs to their region, the zone without its last part.
      const std::string_view zone = zones.substr(0, separator);
      return fmt::format("projects/UNSPECIFIED/regions/{}/disks/{}",
                         zone.substr(0, zone.rfind('-')), disk.id);
    }
    return fmt::format("projects/UNSPECIFIED/zones/{}/disks/{}",
                       zones.empty() ? "UNSPECIFIED" : zones, disk.id);
  }
  return disk.id;
}

} // namespace berth::model
