#include "berth/node/volume_path.h"

#include <algorithm>
#include <array>

#include <boost/json/object.hpp>
#include <fmt/format.h>

namespace berth::node {

std::string pod_folder(std::string_view root, std::string_view pod_uid) {
  return fmt::format("{}/pods/{}", root, pod_uid);
}

std::string volume_path(const api::json::value& volume, std::string_view pod_uid,
                        std::string_view root) {
  struct Kind {
    std::string_view member;
    std::string_view plugin;
  };
  constexpr std::array<Kind, 7> kKinds{{{"emptyDir", "empty-dir"},
                                        {"configMap", "configmap"},
                                        {"secret", "secret"},
                                        {"projected", "projected"},
                                        {"downwardAPI", "downward-api"},
                                        {"persistentVolumeClaim", "csi"},
                                        {"ephemeral", "csi"}}};
  if (const std::string_view path = api::string_at(volume, "hostPath.path"); !path.empty()) {
    return std::string(path);
  }
  const auto kind = std::ranges::find_if(kKinds, [&](const Kind& each) {
    return volume.is_object() && volume.get_object().contains(each.member);
  });
  return kind == kKinds.end()
             ? ""
             : fmt::format("{}/volumes/kubernetes.io~{}/{}", pod_folder(root, pod_uid),
                           kind->plugin, api::string_at(volume, "name"));
}

} // namespace berth::node
