// What the API server asks of nodes, as kube-apiserver and metrics-server ask kubelets: what their
// containers print, where one speaks with their processes, and what they and the GPUs use. Who
// serves nodes beside the API (berth up) implements it; without nodes there is none.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/base/time.h"
#include "berth/model/gpu_readings.h"
#include "berth/net/asio_loop.h"
#include "berth/net/http.h"
#include "berth/server/status.h"

namespace berth::server {

struct LogOptions {
  std::string container; ///< "": the pod's only one
  bool follow = false;
  bool previous = false;
  bool timestamps = false;
  std::optional<TimePoint> since;
  std::optional<std::int64_t> tail_lines;
  std::optional<std::int64_t> limit_bytes;
};

struct LogRequest {
  std::string ns;
  std::string pod;
  std::string pod_uid;
  std::string container;    ///< its name
  std::string container_id; ///< as the pod's status has it, "containerd://..."; "": by its name
  LogOptions options;
};

/// A log that somebody reads. Dropping it ends the reading.
class LogReading {
 public:
  virtual ~LogReading() = default;

  /// What can be told now, a piece at a time; "" when there is nothing more for now.
  virtual std::string more() = 0;
  /// Nothing comes any more once more() has given "".
  virtual bool over() const = 0;
};

/// What somebody wants to speak with: exec, attach or port-forward.
struct StreamRequest {
  enum class Kind { Exec, Attach, PortForward };
  Kind kind = Kind::Exec;
  std::string ns;
  std::string pod;
  std::string pod_uid;
  std::string container; ///< "" for PortForward
  std::vector<std::string> command;
  bool in = false;
  bool out = false;
  bool err = false;
  bool tty = false;
  std::vector<std::int32_t> ports; ///< of clients that say them beforehand
};

/// A streaming server that waits for it: a container runtime's, or a kubelet.
struct StreamPlace {
  net::AsioLoop* loop = nullptr; ///< whose sockets lead there
  net::HttpUrl url;
  std::string target; ///< appended to the URL's path
  std::shared_ptr<const net::TlsContext> tls;
  net::HttpHeaders headers; ///< who asks
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

/// A MIG device: its GPU instance and what it does.
struct MigUsage {
  std::string uuid;
  std::string profile;
  int gpu_instance = 0;
  std::optional<int> percent; ///< of the time that it computed
  std::optional<std::int64_t> used_bytes;
  std::optional<std::int64_t> free_bytes;
  std::string pod_uid; ///< who has it; "" for nobody
  std::string container;
};

/// Who has a replica of a GPU, a MIG device on it, or a part of it.
struct GpuSharer {
  std::string pod_uid;
  std::string container;
  std::string what; ///< "500m", "4096Mi", "2 replicas", "1g.10gb", "2x1g.10gb"
};

/// A process that computes on a GPU.
struct GpuProcess {
  std::int64_t pid = 0;                   ///< as the machine numbers it
  std::string name;                       ///< "" if it is not known
  std::optional<std::int64_t> used_bytes; ///< of the GPU's memory
  std::optional<int> gpu_instance;        ///< that it computes on; none: the GPU as a whole
  std::string pod_uid;                    ///< "" if it is in no container of the node's pods
  std::string container;
};

struct GpuUsage {
  int index = 0;
  std::string uuid;
  std::string product;
  std::string pci_bus_id;        ///< "" if it is not known
  std::int64_t memory_bytes = 0; ///< that it has
  std::optional<std::int64_t> used_bytes;
  std::optional<int> percent; ///< of the time that it computed
  std::string sickness;       ///< why it is unhealthy; "" if it is well
  int last_xid = 0;           ///< behind its sickness; 0 if none is known
  std::string pod_uid;        ///< who has it, or the first of its sharers; "" for nobody
  std::string container;
  model::GpuReadings more;
  std::vector<MigUsage> instances;        ///< while it is cut
  std::vector<GpuSharer> sharers = {};    ///< empty if it is given whole, or not at all
  std::vector<GpuProcess> processes = {}; ///< as far as the driver tells
};

struct NodeUsage {
  TimePoint at;    ///< when it was measured
  Duration window; ///< over how long
  std::int64_t cpu_nanocores = 0;
  std::int64_t memory_bytes = 0;
  std::vector<PodUsage> pods;
  std::vector<GpuUsage> gpus; ///< by index
};

/// Lives on the server's loop and outlives the server.
class Nodes {
 public:
  virtual ~Nodes() = default;

  /// It is one of these nodes, whether it answers or not.
  virtual bool has(std::string_view node) const = 0;
  /// Whether the node's agent answers.
  virtual bool reachable(std::string_view node) const = 0;
  /// `done` runs once, in the call or later. `on_more` runs as a later task whenever the reading
  /// may say something else, for as long as that lives.
  virtual void open_log(std::string_view node, LogRequest what, std::function<void()> on_more,
                        std::function<void(Answer<std::unique_ptr<LogReading>>)> done) = 0;
  /// Where to connect for it. `done` runs once, in the call or later.
  virtual void find_streams(std::string_view node, StreamRequest what,
                            std::function<void(Answer<StreamPlace>)> done) = 0;
  /// Brings what usage() says of these nodes up to date; others are not touched. `done` runs once,
  /// in the call or later, whether they answered or not.
  virtual void measure(const std::vector<std::string>& /*nodes*/, std::function<void()> done) {
    done();
  }
  /// nullopt: the node does not answer. O(containers and GPUs of the node).
  virtual std::optional<NodeUsage> usage(std::string_view node) const = 0;
};

} // namespace berth::server
