// How the nodes of a cluster are called.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "berth/cluster/spec.h"

namespace berth::cluster {

/// PREFIX-1 .. PREFIX-count.
std::vector<std::string> node_names(const NodeGroup& group);

using NodeNames = std::set<std::string, std::less<>>;
/// Of its groups and of the nodes given as objects.
NodeNames node_names(const ClusterSpec& spec);

} // namespace berth::cluster
