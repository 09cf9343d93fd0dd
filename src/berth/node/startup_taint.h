// The taint that a Node of a machine with GPUs has from its registration until a device plugin
// gives some, so that nobody who only wants cpu and memory gets onto it first, and autoscalers see
// a node that is still coming.
//
// It is the one that clouds put on nodes with GPUs, because whoever has to run there to bring the
// GPUs about tolerates that: NVIDIA's device plugin, GPU feature discovery and the operator's
// DaemonSets (nvidia.com/gpu, operator Exists), and node feature discovery, by whose labels
// NVIDIA's charts choose nodes (only nvidia.com/gpu=present). With a key or a value of our own they
// would not be scheduled onto the node, and the taint would stay for ever. Pods that tolerate it
// because they ask for GPUs are kept away by the count, which is absent until there are some. An
// annotation tells it from a taint that is meant to last.
#pragma once

#include <optional>
#include <string_view>

#include "berth/api/json.h"

namespace berth::node {

/// Whether an agent whose machine has GPUs registers its Node so.
enum class StartupTaint { None, UntilGpus };

inline constexpr std::string_view kStartupTaintKey = "nvidia.com/gpu";
inline constexpr std::string_view kStartupTaintValue = "present";
inline constexpr std::string_view kStartupTaintEffect = "NoSchedule";
/// On a Node that has the taint from its agent, "nvidia.com/gpu=present:NoSchedule".
inline constexpr std::string_view kStartupTaintAnnotation = "berth.dev/startup-taint";

/// Nothing if the Node has a taint of the key and effect already: it can have only one, and that
/// one does the same.
void add_startup_taint(api::json::value& node);

/// A merge patch that takes it and its annotation away. It holds only for the version that it was
/// made from. None: the Node does not have it.
std::optional<api::json::value> without_startup_taint(const api::json::value& stored);

} // namespace berth::node
