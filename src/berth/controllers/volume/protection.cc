#include "berth/controllers/volume/protection.h"

#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/controllers/finalizers.h"
#include "berth/model/pod.h"
#include "berth/store/storage_defaults.h"

namespace berth::controllers {

std::vector<std::string> claims_held_by(const api::Object& pod) {
  std::vector<std::string> out;
  const auto view = model::pod_view(pod);
  if (!view || (*view)->spec.node_name.empty()) {
    return out;
  }
  for (const model::PodVolume& volume : (*view)->spec.volumes) {
    if (!volume.claim.empty()) {
      out.push_back(fmt::format("{}/{}", pod.meta().ns, volume.claim));
    }
  }
  return out;
}

bool protected_for_nothing(const api::Object& volume) {
  return volume.meta().deletion_timestamp && has_finalizer(volume, store::kVolumeProtection) &&
         api::string_at(volume.json(), "status.phase") != "Bound";
}

bool protected_for_nothing(const api::Object& claim, bool held) {
  return claim.meta().deletion_timestamp && has_finalizer(claim, store::kClaimProtection) && !held;
}

} // namespace berth::controllers
