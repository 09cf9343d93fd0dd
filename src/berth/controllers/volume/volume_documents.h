// The documents the volume controller writes: patches of claims and volumes, new volumes and
// claims.
#pragma once

#include <string>
#include <string_view>

#include "berth/api/object.h"
#include "berth/model/storage.h"

namespace berth::controllers {

/// Merge patches; each counts only for the version of the object it was made from.
api::json::value patch_class(const model::PersistentVolumeClaim& claim, std::string_view name);
/// spec.claimRef; a volume that nobody had reserved is marked as bound by a controller.
api::json::value patch_claim_reference(const model::PersistentVolume& volume,
                                       const model::PersistentVolumeClaim& claim);
/// spec.volumeName and the mark that binding is complete.
api::json::value patch_volume_name(const model::PersistentVolumeClaim& claim,
                                   std::string_view volume);
api::json::value patch_phase(std::uint64_t resource_version, std::string_view phase);
/// Phase Bound, with the volume's capacity and access modes (from its document).
api::json::value patch_bound(const model::PersistentVolumeClaim& claim,
                             const api::json::value& volume);

/// A volume as its class makes it for the claim (whose document is given too), reached from nodes
/// as `node_labels` says where the class allows only some: the node's own topology if one was
/// chosen, else the class's first.
api::json::value provisioned_volume(const model::PersistentVolumeClaim& claim,
                                    const api::json::value& document, const model::StorageClass& of,
                                    const api::Labels* node_labels);

/// The claim of an ephemeral volume, from the pod's document; null if the pod has no such volume.
api::json::value ephemeral_claim(const api::Object& pod, std::string_view volume);

} // namespace berth::controllers
