// Where the kubelet keeps a pod's volumes on the machine. Pure.
#pragma once

#include <string>
#include <string_view>

#include "berth/api/json.h"

namespace berth::node {

inline constexpr std::string_view kKubeletRoot = "/var/lib/kubelet";

/// ROOT/pods/UID.
std::string pod_folder(std::string_view root, std::string_view pod_uid);
/// The path of a hostPath volume, else ROOT/pods/UID/volumes/kubernetes.io~PLUGIN/NAME; "" for
/// kinds without a directory of their own.
std::string volume_path(const api::json::value& volume, std::string_view pod_uid,
                        std::string_view root = kKubeletRoot);

} // namespace berth::node
