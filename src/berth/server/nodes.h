// What the API server asks of nodes, as kube-apiserver and metrics-server ask kubelets: what their
// containers print, and what they and the GPUs use. Who serves nodes beside the API (berth up)
// implements it; without nodes there is none.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/base/time.h"

namespace berth::server {

struct LogLine {
  TimePoint at;
  std::string text; ///< without a line break
};

struct ContainerLog {
  std::vector<LogLine> lines; ///< oldest first; grows at its end alone
  bool open = false;          ///< the container runs, so that more may come
};

struct ContainerUsage {
  std::string name;
  std::int64_t cpu_nanocores = 0;
  std::int64_t memory_bytes = 0;
};

struct PodUsage {
  std::string uid;
  std::vector<ContainerUsage> containers; ///< those that run
};

struct GpuUsage {
  int index = 0;
  std::string uuid;
  std::string product;
  std::int64_t memory_bytes = 0; ///< that it has
  std::int64_t used_bytes = 0;
  int percent = 0;      ///< of the time that it computed
  std::string sickness; ///< why it is unhealthy; "" if it is well
  std::string pod_uid;  ///< who has it; "" for nobody
  std::string container;
};

struct NodeUsage {
  TimePoint at;    ///< when it was measured
  Duration window; ///< over how long
  std::int64_t cpu_nanocores = 0;
  std::int64_t memory_bytes = 0;
  std::vector<PodUsage> pods;
  std::vector<GpuUsage> gpus; ///< by index
};

/// Dropping it ends the following; nothing is called afterwards.
class LogFollower {
 public:
  virtual ~LogFollower() = default;
};

/// Lives on the server's loop and outlives the server.
class Nodes {
 public:
  virtual ~Nodes() = default;

  /// Whether the node's agent answers.
  virtual bool reachable(std::string_view node) const = 0;
  /// `container`: the id in the pod's status. nullopt: the node does not have it any more.
  virtual std::optional<ContainerLog> log(std::string_view node,
                                          std::string_view container) const = 0;
  /// `on_more` runs as a later task whenever log() may answer something else.
  virtual std::unique_ptr<LogFollower> follow(std::string_view node, std::string_view container,
                                              std::function<void()> on_more) = 0;
  /// nullopt: the node does not answer. O(containers and GPUs of the node).
  virtual std::optional<NodeUsage> usage(std::string_view node) const = 0;
};

} // namespace berth::server
