// KubeSchedulerConfiguration, kubescheduler.config.k8s.io/v1, as it is written: every field of its
// own, checked alone. What it adds up to: config.h. Source: kube-scheduler apis/config (spec 8).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <boost/json/value.hpp>

#include "berth/base/result.h"
#include "berth/base/time.h"
#include "berth/sched/framework.h"
#include "berth/sched/profile_merge.h"

namespace berth::sched {

inline constexpr std::string_view kConfigApiVersion = "kubescheduler.config.k8s.io/v1";
inline constexpr std::string_view kConfigKind = "KubeSchedulerConfiguration";

/// An HTTP webhook that filters, scores, preempts or binds.
struct Extender {
  struct Resource {
    std::string name;
    bool ignored_by_scheduler = false;
  };
  /// How its server is known over https. Texts are PEM; files are read when it is called.
  struct Tls {
    bool insecure = false;
    std::string server_name;
    std::string cert_file, key_file, ca_file;
    std::string cert_data, key_data, ca_data; ///< base64 of PEM; stands before the file

    bool operator==(const Tls&) const = default;
  };
  std::string url_prefix;
  std::string filter_verb, preempt_verb, prioritize_verb, bind_verb; ///< "": not asked for this
  std::int64_t weight = 0;
  bool enable_https = false;
  Tls tls;
  bool node_cache_capable = false; ///< gets names of nodes, not the nodes
  bool ignorable = false;          ///< its failure is no error
  Duration http_timeout = Duration::seconds(5);
  std::vector<Resource> managed_resources; ///< none: it is asked about every pod
};

struct LeaderElection {
  bool leader_elect = true;
  Duration lease_duration = Duration::seconds(15);
  Duration renew_deadline = Duration::seconds(10);
  Duration retry_period = Duration::seconds(2);
  std::string resource_lock = "leases";
  std::string resource_name = "kube-scheduler";
  std::string resource_namespace = "kube-system";
};

struct ClientConnection {
  std::string kubeconfig, accept_content_types;
  std::string content_type = "application/vnd.kubernetes.protobuf";
  double qps = 50;
  std::int64_t burst = 100;
};

struct PluginArgs {
  std::string name;
  boost::json::value args; ///< without apiVersion and kind
};

struct ProfileDocument {
  std::optional<std::string> scheduler_name;
  std::optional<KubernetesVersion> kubernetes_version; ///< Berth's own field
  std::optional<std::int64_t> percentage_of_nodes;
  PluginSets plugins;
  std::vector<PluginArgs> plugin_config;
};

struct ConfigDocument {
  std::int64_t parallelism = 16;
  std::optional<std::int64_t> percentage_of_nodes;
  std::int64_t pod_initial_backoff_seconds = 1;
  std::int64_t pod_max_backoff_seconds = 10;
  std::optional<LeaderElection> leader_election;
  std::optional<ClientConnection> client_connection;
  std::vector<ProfileDocument> profiles; ///< at least one, once read
  std::vector<Extender> extenders;
  /// Top-level fields that are read and make no difference in one process.
  std::vector<std::string> without_effect;
};

/// Errors have the field as place: another apiVersion or kind (and what to change), unknown fields,
/// wrong types, values out of range, a scheduler name twice.
Result<ConfigDocument> decode_config(const boost::json::value& document);

} // namespace berth::sched
