#include "berth/sched/pod_info.h"

namespace berth::sched {

std::int64_t PodInfo::request(ResourceId id) const {
  for (const auto& [resource, amount] : requests) {
    if (resource == id) {
      return amount;
    }
  }
  return 0;
}

bool PodInfo::has_affinity() const {
  const auto bears = [](const std::optional<model::PodAffinity>& affinity) {
    return affinity && (!affinity->required.empty() || !affinity->preferred.empty());
  };
  return bears(pod->spec.pod_affinity) || bears(pod->spec.pod_anti_affinity);
}

std::string normalised_image(std::string_view reference) {
  // A tag is a colon after the last slash; a digest has a colon there too.
  const auto slash = reference.rfind('/');
  const auto colon = reference.rfind(':');
  const bool tagged =
      colon != std::string_view::npos && (slash == std::string_view::npos || colon > slash);
  return tagged ? std::string(reference) : std::string(reference) + ":latest";
}

} // namespace berth::sched
