// The Node object as this agent wants it: what it registers, and what has to change in what is
// stored. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "berth/api/json.h"
#include "berth/api/object.h"
#include "berth/base/time.h"
#include "berth/model/node.h"
#include "berth/node/device_pool.h"

namespace berth::node {

struct NodeFacts {
  std::map<std::string, DeviceCount> devices; ///< resources that plugins give (or gave)
  std::vector<std::string> departed; ///< gave, and will not again: the Node names them no more
  std::map<std::string, std::string>
      annotations; ///< ""  is to be absent; what is not known is not named, and left as it is
  std::map<std::string, std::string> labels; ///< likewise
  std::vector<std::string> plugin_resources; ///< "0" in the Node where no plugin has given them
  bool awaits_gpus = false; ///< GPUs were found and no plugin gives any; see startup_taint.h
  TimePoint now;
};

/// A user's or the catalogue's Node document turned into this agent's own: name and hostname label,
/// labels and taints added, resources that only a plugin can give left out.
api::json::value make_base_node(api::json::value document, const api::Labels& labels,
                                const std::vector<model::Taint>& taints,
                                const std::vector<std::string>& plugin_resources);

/// The object to register: the base with the facts in, and the startup taint if it awaits GPUs.
api::json::value make_new_node(const api::json::value& base, const NodeFacts& facts);

/// Merge patches that make the stored Node what it should be, in the order in which they are to be
/// written; none where nothing differs. The startup taint is taken away, never added. Resources
/// that somebody else advertised in the status are left alone; a resource to be taken out is null
/// in the patch.
struct NodePatches {
  std::optional<api::json::value> metadata;
  std::optional<api::json::value> status;
  std::optional<api::json::value> taints; ///< see without_startup_taint
};
NodePatches node_patches(const api::json::value& stored, const api::json::value& base,
                         const NodeFacts& facts);

/// capacity or allocatable of a Node document.
model::ResourceList node_resources(const api::json::value& node, std::string_view list);

} // namespace berth::node
