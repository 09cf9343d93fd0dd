// What only a real machine gives its pods: folders for volumes and logs, images, the network of
// their probes. The agents of simulated machines have none of it and do without.
#pragma once

#include <functional>
#include <set>
#include <string>

#include "berth/base/background.h"
#include "berth/base/loop.h"
#include "berth/client/client.h"
#include "berth/client/token_source.h"
#include "berth/model/pod.h"
#include "berth/node/contents/pod_dns.h"
#include "berth/node/images/image_pulls.h"
#include "berth/node/volume_path.h"
#include "berth/runtime/runtime.h"

namespace berth::node {

class ProbeNetwork;

/// What it stands on; everything outlives it.
struct ContentsPlace {
  Loop* loop = nullptr;
  client::Client* client = nullptr;
  runtime::Runtime* runtime = nullptr;
  Background* background = nullptr;      ///< for files
  client::TokenSource* tokens = nullptr; ///< may be null: pods get no service account tokens
  ProbeNetwork* network = nullptr;       ///< may be null: probes over the network fail
};

struct ContentsOptions {
  std::string kubelet_root{kKubeletRoot};
  std::string log_root = "/var/log/pods";
  std::string owner = "berth"; ///< the node's name: others may keep pods below the same root
  /// How often a running pod's volumes are made like the objects that they show.
  Duration volume_refresh = Duration::minutes(1);
  DnsSettings dns;
};

/// What the node has for pods and what it has in all: limits that a container does not set, and
/// shares of its memory.
struct NodeAmounts {
  model::ResourceList allocatable;
  model::ResourceList capacity;

  std::int64_t memory_bytes() const;
};

/// One for a machine.
class Contents {
 public:
  Contents(ContentsPlace place, ContentsOptions options);
  Contents(const Contents&) = delete;
  Contents& operator=(const Contents&) = delete;

  const ContentsPlace& place() const { return place_; }
  const ContentsOptions& options() const { return options_; }
  ImagePulls& images() { return images_; }

  /// ROOT/NAMESPACE_NAME_UID.
  std::string log_folder(const model::Pod& pod) const;
  /// Everything of a pod that is gone: its folder with what is mounted there, its logs. `done` is a
  /// later task.
  void remove_pod(const std::string& uid, std::function<void(Result<void>)> done);
  /// The same for every pod that has a folder of this owner's here and is not among `known` uids:
  /// an agent that died left it.
  void remove_unknown(std::set<std::string> known);

 private:
  ContentsPlace place_;
  ContentsOptions options_;
  ImagePulls images_;
};

} // namespace berth::node
