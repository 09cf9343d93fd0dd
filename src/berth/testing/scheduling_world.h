// A small cluster to try scheduling in: nodes and pods by builder, one profile, decisions as
// values.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/api/json.h"
#include "berth/base/assert.h"
#include "berth/sched/cycle.h"
#include "berth/testing/builders.h"

namespace berth::test {

/// Owns the state and the framework of a profile (default: Kubernetes' default plugins).
class SchedulingWorld {
 public:
  explicit SchedulingWorld(const sched::Profile& profile = sched::default_profile())
      : framework_(make(profile)) {}

  SchedulingWorld& with(const NodeBuilder& node) {
    state_.set_node(node.build());
    return *this;
  }
  /// A pod that is bound already.
  SchedulingWorld& with(PodBuilder pod, std::string_view node) {
    state_.set_pod(describe(pod.on_node(node)));
    return *this;
  }
  SchedulingWorld& with(const ClaimBuilder& claim) {
    state_.change_storage().set_claim(claim.build());
    return *this;
  }
  SchedulingWorld& with(const VolumeBuilder& volume) {
    state_.change_storage().set_volume(volume.build());
    return *this;
  }
  SchedulingWorld& with(const StorageClassBuilder& storage_class) {
    state_.change_storage().set_class(storage_class.build());
    return *this;
  }
  SchedulingWorld& with(const CsiNodeBuilder& node) {
    state_.change_storage().set_csi_node(node.build());
    return *this;
  }
  SchedulingWorld& with(const CsiDriverBuilder& driver) {
    state_.change_storage().set_csi_driver(driver.build());
    return *this;
  }
  SchedulingWorld& with(const CapacityBuilder& capacity) {
    state_.change_storage().set_capacity(capacity.build());
    return *this;
  }
  SchedulingWorld& with(const AttachmentBuilder& attachment) {
    state_.change_storage().set_attachment(attachment.build());
    return *this;
  }
  SchedulingWorld& with(const ElasticQuotaBuilder& quota) {
    state_.set_quota(quota.build());
    return *this;
  }
  SchedulingWorld& with(const NumaReportBuilder& report) {
    state_.set_numa_report(*report.build());
    return *this;
  }
  SchedulingWorld& with(const NodeMetricsBuilder& metrics) {
    state_.set_node_metrics(metrics.build());
    return *this;
  }
  SchedulingWorld& with(const SelectorBuilder& selector) {
    auto& workloads = state_.change_workloads();
    selector.is_service() ? workloads.set_service(selector.build())
                          : workloads.set_controller("ReplicaSet", selector.build());
    return *this;
  }
  sched::PodPtr describe(const PodBuilder& pod) { return state_.describe(pod.build()); }

  sched::Decision decide(const PodBuilder& pod, sched::CycleOptions options = {}) {
    return sched::schedule_one(framework_, state_, describe(pod), options);
  }
  /// Weighted score of one plugin by node name; empty if the plugin was not asked.
  std::map<std::string, std::int64_t> scores(const PodBuilder& pod, std::string_view plugin) {
    const auto decision = decide(pod, {.explain = sched::Explain::Table});
    state_.forget(describe(pod)->uid);
    std::map<std::string, std::int64_t> scores;
    const auto& plugins = decision.table->score_plugins;
    for (std::size_t i = 0; i < plugins.size(); ++i) {
      for (const auto& row : decision.table->rows) {
        if (plugins[i] == plugin && row.status.ok()) {
          scores.emplace(state_.node_name(row.node), row.weighted[i]);
        }
      }
    }
    return scores;
  }
  /// What a decision says of each node: "ok", or plugin and reasons.
  std::map<std::string, std::string> verdicts(const PodBuilder& pod) {
    const auto decision = decide(pod, {.explain = sched::Explain::Table});
    state_.forget(describe(pod)->uid);
    std::map<std::string, std::string> verdicts;
    for (const auto& row : decision.table->rows) {
      const sched::Status& status = row.status;
      verdicts.emplace(state_.node_name(row.node),
                       status.ok() ? "ok"
                                   : std::string(to_string(status.code)) + ": " + status.message());
    }
    return verdicts;
  }

  sched::ClusterState& state() { return state_; }
  sched::Framework& framework() { return framework_; }

 private:
  static sched::Framework make(const sched::Profile& profile) {
    auto made = sched::Framework::make(profile, sched::builtin_plugins());
    BERTH_ASSERT(made, to_string(made.error()));
    return std::move(*made);
  }

  sched::Framework framework_;
  sched::ClusterState state_;
};

inline boost::json::value json_of(std::string_view text) {
  auto parsed = api::parse_json(text);
  BERTH_ASSERT(parsed, to_string(parsed.error()));
  return std::move(*parsed);
}

/// The pod with one member of its spec given as JSON: with_spec(pod("p"), "affinity", R"({...})").
inline PodBuilder with_spec(PodBuilder pod, std::string_view member, std::string_view json) {
  pod.edit([&](json::object& document) {
    api::object_at(document, "spec")[text(member)] = json_of(json);
  });
  return pod;
}

/// A profile of PrioritySort and the named plugins, each of weight 1.
inline sched::Profile profile_of(std::vector<sched::ProfilePlugin> plugins,
                                 sched::KubernetesVersion version = {}) {
  plugins.insert(plugins.begin(), {.name = "PrioritySort", .weight = 1, .args = nullptr});
  return {.scheduler_name = "test", .kubernetes_version = version, .plugins = std::move(plugins)};
}
inline sched::Profile profile_of(std::string_view plugin, boost::json::value args = nullptr,
                                 sched::KubernetesVersion version = {}) {
  return profile_of(
      {sched::ProfilePlugin{.name = std::string(plugin), .weight = 1, .args = std::move(args)}},
      version);
}

} // namespace berth::test
