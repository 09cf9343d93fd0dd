#include "berth/node/volumes/claim.h"

#include <fmt/format.h>

#include "berth/node/contents/spec_field.h"

namespace berth::node {

std::string claim_of(const api::json::value& volume, const std::string& pod) {
  if (const std::string_view named = api::string_at(volume, "persistentVolumeClaim.claimName");
      !named.empty()) {
    return std::string(named);
  }
  return api::find(volume, "ephemeral") ? fmt::format("{}-{}", pod, api::string_at(volume, "name"))
                                        : "";
}

Result<void> check_owner(const api::json::value& volume, const api::Object& claim,
                         const api::Object& pod) {
  const api::OwnerReference* owner = claim.meta().controller();
  if (api::find(volume, "ephemeral") && (!owner || owner->uid != pod.meta().uid)) {
    return fail(Code::Invalid, fmt::format("PVC {} was not created for pod {} (pod is not owner)",
                                           claim.key().to_string(), pod.key().to_string()));
  }
  return {};
}

Result<std::string> bound_volume(const api::json::value& claim) {
  const std::string_view volume = api::string_at(claim, "spec.volumeName");
  if (volume.empty() || api::string_at(claim, "status.phase") != "Bound") {
    return fail(Code::Unavailable, fmt::format("error processing PVC {}/{}: PVC is not bound",
                                               api::string_at(claim, "metadata.namespace"),
                                               api::string_at(claim, "metadata.name")));
  }
  return std::string(volume);
}

Result<ClaimedPath> claimed_path(const api::json::value& persistent_volume) {
  for (const std::string_view kind : {"spec.hostPath", "spec.local"}) {
    const api::json::value* source = api::find_path(persistent_volume, kind);
    if (source) {
      return ClaimedPath{.path = std::string(api::string_at(*source, "path")),
                         .type = kind == "spec.local"
                                     ? "Directory"
                                     : std::string(api::string_at(*source, "type"))};
    }
  }
  return fail(
      Code::Invalid,
      fmt::format("PersistentVolume needs a storage driver, which this node does not have; try "
                  "one of kind local or hostPath: {}",
                  api::string_at(persistent_volume, "metadata.name")));
}

} // namespace berth::node
