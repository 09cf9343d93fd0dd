// The /etc/hosts of a pod with hostAliases; every other pod has that of the container runtime.
// Pure. Text: kubelet's managed hosts file.
#pragma once

#include <string>
#include <string_view>

#include "berth/api/json.h"

namespace berth::node {

/// Does the pod have names of its own to add?
bool wants_hosts_file(const api::json::value& pod);

/// `machine_hosts` is the machine's own file, which a pod on the host's network goes on from.
std::string hosts_file(const api::json::value& pod, std::string_view pod_ip,
                       std::string_view machine_hosts);

/// What a pod calls itself: its hostname, or its name, cut to what the kernel takes.
std::string hostname_of(const api::json::value& pod);

} // namespace berth::node
