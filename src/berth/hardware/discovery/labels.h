// The labels that GPU feature discovery sets on a node, from what an inventory knows. Source: its
// README and internal/lm (k8s-device-plugin 0.20); names and values are its own, all prefixed
// nvidia.com/, but for one that says when the others are not to be relied on.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "berth/api/object.h"
#include "berth/base/result.h"
#include "berth/hardware/discovery/facts.h"

namespace berth::hardware {

/// While the labels do not say what the GPUs will be: kMigPending or kGpuUnknown; absent otherwise.
/// Not nvidia.com/mig.config.state, which is the word of NVIDIA's mig-manager on what it was told
/// to do (pending, rebooting, success, failed): two writers of one label would undo each other's.
inline constexpr std::string_view kMigStateLabel = "berth.dev/mig-state";
inline constexpr std::string_view kMigPending = "pending"; ///< a GPU's MIG mode is to change
inline constexpr std::string_view kGpuUnknown = "unknown"; ///< a GPU does not say what it is

enum class MigStrategy {
  None,   ///< MIG devices are not looked at
  Single, ///< nvidia.com/gpu stands for MIG devices, which must all be of one profile
  Mixed,  ///< each profile has a resource of its own, nvidia.com/mig-PROFILE
};

enum class Sharing { None, TimeSlicing, Mps };

struct LabelOptions {
  MigStrategy mig = MigStrategy::None;
  Sharing sharing = Sharing::None;
  int replicas = 1;     ///< of each device; at least 2 with Sharing
  bool renamed = false; ///< the shared resource has a name of its own (nvidia.com/gpu.shared)
  std::optional<std::int64_t> timestamp; ///< unix seconds; none: as with --no-timestamp
};

/// Empty for a node without GPUs. GPUs that do not say what they are count for nothing but
/// kMigStateLabel. A node that breaks the rules of strategy single gets the product
/// MODEL-MIG-INVALID and counts of 0. Error Invalid: replicas below 2 with sharing, or above 1
/// without; MPS on a node with MIG.
Result<api::Labels> discovery_labels(const NodeFacts& facts, const LabelOptions& options);

/// "KEY=VALUE" a line, sorted by key: the file that node feature discovery reads in features.d.
std::string features_file(const api::Labels& labels);

} // namespace berth::hardware
