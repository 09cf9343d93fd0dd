#include "berth/controllers/controllers.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "berth/api/json.h"
#include "berth/client/sharing_client.h"
#include "berth/controllers/cron_job/cron_job_controller.h"
#include "berth/controllers/daemon_set/daemon_set_controller.h"
#include "berth/controllers/deployment/deployment_controller.h"
#include "berth/controllers/disruption/disruption_controller.h"
#include "berth/controllers/elastic_quota/elastic_quota_controller.h"
#include "berth/controllers/endpoints/endpoints_controller.h"
#include "berth/controllers/fresh_view.h"
#include "berth/controllers/namespace_life/contents.h"
#include "berth/controllers/namespace_life/namespace_controller.h"
#include "berth/controllers/node/taint_eviction.h"
#include "berth/controllers/pod_group/pod_group_controller.h"
#include "berth/controllers/quota/resource_quota_controller.h"
#include "berth/controllers/replica_set/replica_set_controller.h"
#include "berth/controllers/standing_objects/standing_objects.h"
#include "berth/controllers/stateful_set/stateful_set_controller.h"
#include "berth/controllers/ttl/ttl_after_finished.h"
#include "berth/controllers/volume/volume_controller.h"

namespace berth::controllers {

struct Controllers::Running {
  Running(client::Client& of_all, Loop& loop, Rng rng, const Options& options)
      : client(of_all), jobs(client, loop, rng.fork(1), options.jobs),
        nodes(client, loop, rng.fork(2), options.nodes), evictions(client, loop, rng.fork(3)),
        pod_gc(client, loop, options.pod_gc), pod_groups(client, loop), quotas(client, loop),
        elastic_quotas(client, loop), volumes(client, loop),
        replica_sets(client, loop, rng.fork(4)), deployments(client, loop, rng.fork(5)),
        disruptions(client, loop, rng.fork(6)), daemon_sets(client, loop, rng.fork(7)),
        stateful_sets(client, loop, rng.fork(8)), cron_jobs(client, loop, rng.fork(9)),
        ttl(client, loop), namespaces(client, loop), endpoints(client, loop),
        garbage(client, loop, options.owned_kinds) {
    if (!options.root_ca.empty()) {
      standing.emplace(client, loop, options.root_ca);
      replication_controllers.emplace(client, loop, rng.fork(10), kReplicationControllers);
      collect_everything(loop);
    }
  }

  /// Where users bring what they want, anything may own anything.
  void collect_everything(Loop& loop) {
    for (const client::GroupKind& kind : namespaced_kinds()) {
      if (kind != client::kEvents) {
        garbage.watch(kind);
      }
    }
    definitions.emplace(
        client, loop,
        FreshView::Spec{.what = {.kind = {"apiextensions.k8s.io", "CustomResourceDefinition"}},
                        .index_of = {},
                        .on_change = [this](const api::Object&, const api::Object& now) {
                          if (now) {
                            garbage.watch(
                                {std::string(api::string_at(now.json(), "spec.group")),
                                 std::string(api::string_at(now.json(), "spec.names.kind"))});
                          }
                        }});
  }

  client::SharingClient client;
  JobController jobs;
  NodeLifecycle nodes;
  TaintEviction evictions;
  PodGc pod_gc;
  PodGroupController pod_groups;
  ResourceQuotaController quotas;
  ElasticQuotaController elastic_quotas;
  VolumeController volumes;
  ReplicaSetController replica_sets;
  DeploymentController deployments;
  DisruptionController disruptions;
  DaemonSetController daemon_sets;
  StatefulSetController stateful_sets;
  CronJobController cron_jobs;
  TtlAfterFinished ttl;
  NamespaceController namespaces;
  EndpointsController endpoints;
  std::optional<StandingObjects> standing;
  std::optional<ReplicaSetController> replication_controllers;
  GarbageCollector garbage;
  std::optional<FreshView> definitions;
};

Controllers::Controllers(client::Client& client, Loop& loop, Rng rng, const Options& options)
    : running_(std::make_unique<Running>(client, loop, rng, options)) {}

Controllers::~Controllers() = default;

void Controllers::collect(const client::GroupKind& kind) {
  running_->garbage.watch(kind);
}

bool Controllers::settled() const {
  return running_->jobs.idle() && running_->nodes.idle() && running_->evictions.idle() &&
         running_->pod_gc.idle() && running_->pod_groups.idle() && running_->quotas.idle() &&
         running_->elastic_quotas.idle() && running_->volumes.idle() &&
         running_->replica_sets.idle() &&
         (!running_->replication_controllers || running_->replication_controllers->idle()) &&
         running_->deployments.idle() && running_->disruptions.idle() &&
         running_->daemon_sets.idle() && running_->stateful_sets.idle() &&
         running_->cron_jobs.idle() && running_->ttl.idle() && running_->namespaces.idle() &&
         running_->endpoints.idle() && (!running_->standing || running_->standing->idle()) &&
         running_->garbage.idle();
}

std::string_view acts_on(const client::GroupKind& kind) {
  struct Actor {
    std::string_view group;
    std::string_view kind;
    std::string_view actor;
  };
  static constexpr std::array<Actor, 28> kActors = {{
      {"", "Pod", "scheduler"},
      {"", "Node", "node-controller"},
      {"", "Namespace", "namespace-controller"},
      {"", "Event", "api"},
      {"", "ReplicationController", "replication-controller"},
      {"", "ResourceQuota", "resource-quota-controller"},
      {"", "Service", "endpoints-controller"},
      {"", "ServiceAccount", "api"},
      {"", "PersistentVolume", "volume-controller"},
      {"", "PersistentVolumeClaim", "volume-controller"},
      {"apps", "DaemonSet", "daemonset-controller"},
      {"apps", "Deployment", "deployment-controller"},
      {"apps", "ReplicaSet", "replicaset-controller"},
      {"apps", "StatefulSet", "statefulset-controller"},
      {"batch", "CronJob", "cronjob-controller"},
      {"batch", "Job", "job-controller"},
      {"coordination.k8s.io", "Lease", "node-controller"},
      {"metrics.k8s.io", "NodeMetrics", "scheduler"},
      {"policy", "PodDisruptionBudget", "disruption-controller"},
      {"scheduling.k8s.io", "PriorityClass", "api"},
      {"scheduling.x-k8s.io", "ElasticQuota", "elastic-quota-controller"},
      {"scheduling.x-k8s.io", "PodGroup", "pod-group-controller"},
      {"storage.k8s.io", "CSIDriver", "scheduler"},
      {"storage.k8s.io", "CSINode", "scheduler"},
      {"storage.k8s.io", "CSIStorageCapacity", "scheduler"},
      {"storage.k8s.io", "StorageClass", "volume-controller"},
      {"storage.k8s.io", "VolumeAttachment", "scheduler"},
      {"topology.node.k8s.io", "NodeResourceTopology", "scheduler"},
  }};
  const auto it = std::ranges::find_if(
      kActors, [&](const Actor& a) { return a.group == kind.group && a.kind == kind.kind; });
  return it == kActors.end() ? std::string_view() : it->actor;
}

} // namespace berth::controllers
