// Which nodes are near each other, from a file: for machines that do not say it by labels. Two
// forms are read: Berth's own `kind: Topology`, and the switch models of NVIDIA topograph.
//
//   apiVersion: berth.dev/v1alpha1         switches:                  # topograph
//   kind: Topology                           spine-1:
//   spec:                                      labels: {topology.kubernetes.io/zone: z1}
//     levels:                                  switches: [leaf-1, leaf-2]
//       - label: berth.dev/rack            blocks:
//         domains:                           - switch: leaf-1
//           r1: ["dgx-h100-[1-4]"]             nodes: ["node[1101-1118]"]
//
// A switch that nodes hang on is their berth.dev/rack, the one above it their berth.dev/block;
// labels of the switches above are the nodes' too, and a block's accelerator annotation is their
// nvidia.com/gpu.clique.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "berth/api/object.h"
#include "berth/base/result.h"

namespace berth::cluster {

/// By node name.
using NodeLabels = std::map<std::string, api::Labels, std::less<>>;

/// Errors name file, line, column and field.
Result<NodeLabels> read_topology(std::string_view text, std::string_view file);

/// Slurm's host lists: "gpu[1-3,07]-a" is gpu1-a, gpu2-a, gpu3-a, gpu07-a; numbers keep the width
/// of the first of a range. At most 100,000 names. Error Invalid.
Result<std::vector<std::string>> expand_node_names(std::string_view pattern);

} // namespace berth::cluster
