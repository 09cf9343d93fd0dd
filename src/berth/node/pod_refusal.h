// Why a node turns a pod away for what its document asks of the machine beyond resources: sysctls
// that would reach other pods, ports of the machine that others have, another operating system or
// another node. Pure. Reasons and messages
// are the kubelet's.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/api/json.h"
#include "berth/model/pod.h"
#include "berth/node/pod_status.h"

namespace berth::node {

/// The pod's sysctls are all of its own namespaces and harmless; "*" at the end of an allowed
/// pattern stands for any rest.
std::optional<Reason> sysctl_refusal(const api::json::value& pod,
                                     const std::vector<std::string>& allowed_unsafe);

/// `others` hold ports now. Two want the same if protocol and number agree and so do the addresses,
/// of which 0.0.0.0 is every one.
std::optional<Reason> host_port_refusal(const api::json::value& pod,
                                        const std::vector<const api::json::value*>& others);

/// The pod is of another operating system than Linux; or its node selector and required node
/// affinity do not match the Node, which may have other labels now than when it was bound.
std::optional<Reason> place_refusal(const api::json::value& pod, const model::Pod& view,
                                    const api::Labels& node_labels, std::string_view node_name);

} // namespace berth::node
