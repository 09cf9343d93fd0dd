// All controllers of a cluster, started together: what kube-controller-manager is to Kubernetes.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "berth/base/loop.h"
#include "berth/base/rng.h"
#include "berth/client/client.h"
#include "berth/controllers/gc/garbage_collector.h"
#include "berth/controllers/job/job_controller.h"
#include "berth/controllers/node/node_lifecycle.h"
#include "berth/controllers/pod_gc/pod_gc.h"

namespace berth::controllers {

/// Starts on construction, stops on destruction; may be destroyed and made again at any time on the
/// same API.
class Controllers {
 public:
  struct Options {
    JobController::Options jobs;
    NodeLifecycle::Options nodes;
    PodGc::Options pod_gc;
    std::vector<client::GroupKind> owned_kinds = GarbageCollector::default_kinds();
    /// The certificate by which pods know the API server, in PEM. With one, namespaces have what
    /// pods need to reach it, and objects of every kind go with their owners; "": none is served.
    std::string root_ca = {};
  };

  Controllers(client::Client& client, Loop& loop, Rng rng)
      : Controllers(client, loop, rng, Options()) {}
  Controllers(client::Client& client, Loop& loop, Rng rng, const Options& options);
  ~Controllers();
  Controllers(const Controllers&) = delete;
  Controllers& operator=(const Controllers&) = delete;

  /// A kind that is stored in this cluster: its objects are collected with their owners.
  void collect(const client::GroupKind& kind);

  /// No controller has anything queued, under way or due later, such as a back-off or a deadline.
  bool settled() const;

 private:
  struct Running;
  std::unique_ptr<Running> running_;
};

/// What acts on a kind in a Berth cluster, e.g. "job-controller"; "" for a kind that is only
/// stored.
std::string_view acts_on(const client::GroupKind& kind);

} // namespace berth::controllers
