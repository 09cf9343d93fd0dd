// What a request to a kubelet is about. Source: kubelet server.go (InstallDefaultHandlers).
#pragma once

#include <optional>
#include <string>

#include "berth/net/http.h"
#include "berth/server/status.h"

namespace berth::kubelet {

struct KubeletPath {
  enum class What {
    Healthz,
    Pods,
    Metrics,
    ResourceMetrics,
    GpuMetrics,
    StatsSummary,
    StatsGpus,
    ContainerLogs,
    Exec,
    Attach,
    PortForward
  };
  What what = What::Healthz;
  std::string ns;
  std::string pod;
  std::string uid;       ///< "" unless the path has it
  std::string container; ///< "" for PortForward
};

/// "/healthz", "/pods", "/metrics", "/metrics/resource", "/metrics/gpus", "/stats/summary",
/// "/stats/gpus", "/containerLogs/NS/POD/CONTAINER", "/exec/NS/POD[/UID]/CONTAINER",
/// "/portForward/NS/POD[/UID]"; names percent-decoded. nullopt: there is nothing at this path.
std::optional<KubeletPath> kubelet_path(std::string_view path);

} // namespace berth::kubelet
