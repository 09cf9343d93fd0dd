// What a simulated cluster is made of: groups of catalogue nodes, nodes given as Kubernetes
// objects, and faults that happen at set times. Read from --nodes, --at and --cluster files.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/api/manifest.h"
#include "berth/base/result.h"
#include "berth/base/time.h"
#include "berth/cluster/topology_file.h"
#include "berth/deviceplugin/config/config.h"
#include "berth/hardware/platform.h"
#include "berth/model/node.h"
#include "berth/node/simulated_machine.h"
#include "berth/topology/settings.h"

namespace berth::cluster {

/// `count` nodes of one catalogue platform, named PREFIX-1 .. PREFIX-count.
struct NodeGroup {
  std::string platform; ///< catalogue name
  int count = 1;
  std::string prefix; ///< "" means the platform's name
  api::Labels labels; ///< added to those the agent sets
  std::vector<model::Taint> taints;
  topology::Settings numa = {}; ///< its agents' topology, CPU and memory manager policies
  /// How its GPUs are given: MIG strategy, sharing.
  deviceplugin::Config device_plugin = node::usual_plugin_config();
  std::optional<node::HamiSettings> hami = {}; ///< they are given as HAMi's vGPUs
  std::string mig; ///< how each of its GPUs is cut at the start, "1g.10gb=7"; "": not at all
};

/// Something that happens to a node at a time after start.
struct Fault {
  enum class Kind {
    Xid,         ///< GPU `gpu` reports Xid `code`
    Repair,      ///< GPU `gpu` is healthy again
    NodeDown,    ///< the machine stops: agent, plugin and containers
    NodeUp,      ///< the machine boots again
    AgentCrash,  ///< the agent dies and is started again at once; containers go on
    PluginCrash, ///< the device plugin dies and is started again after `pause`
    Cut,         ///< the node loses the API server for `pause`
  };
  Duration at;
  Kind kind = Kind::Xid;
  std::string node;
  int gpu = 0;
  int code = 79;
  Duration pause = Duration::seconds(10);
};

struct ClusterSpec {
  /// Where platforms are looked up, by the name in a group and by the labels of a node.
  hardware::Catalogue catalogue = hardware::Catalogue::builtin();
  std::vector<NodeGroup> groups;
  /// Nodes given as Kubernetes objects (a dump, a manifest): hardware from the catalogue when
  /// recognised, otherwise GPUs without known topology, counted from capacity.
  std::vector<api::Manifest> nodes;
  std::vector<Fault> faults;
  /// Further labels of single nodes; those that a node has already count more.
  NodeLabels node_labels;

  int node_count() const;
};

/// "dgx-h100:4" or "dgx-h100" (one), or users' "4xdgx-h100". Errors list the catalogue's names.
Result<NodeGroup>
parse_node_group(std::string_view text,
                 const hardware::Catalogue& catalogue = hardware::Catalogue::builtin());

/// "5m:xid:dgx-h100-1:3:79", "5m:repair:NODE:GPU", "1h:node-down:NODE", "2h:node-up:NODE",
/// "10s:agent-crash:NODE", "10s:plugin-crash:NODE[:PAUSE]", "1m:cut:NODE:PAUSE".
Result<Fault> parse_fault(std::string_view text);
/// The same form, without the time: "xid:dgx-h100-1:3:79".
std::string to_string(const Fault& fault);

/// A --cluster file: `apiVersion: berth.dev/v1alpha1, kind: Cluster` documents (spec.nodes[]:
/// platform, count, name, labels, taints, kubelet (see topology::read_settings), devicePlugin
/// (NVIDIA's configuration, as an object), hami (see node::read_hami_settings), mig ("1g.10gb=7",
/// of each GPU); spec.faults[]:
/// texts as for parse_fault) and Kubernetes Node objects, in any mix.
Result<ClusterSpec>
read_cluster_spec(const std::vector<api::Manifest>& manifests,
                  const hardware::Catalogue& catalogue = hardware::Catalogue::builtin());

/// Faults and objects must name nodes that exist, names must be unique. Error Invalid.
Result<void> validate(const ClusterSpec& spec);

} // namespace berth::cluster
