// What berth status says of a running cluster, put together from the API's answers.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "berth/api/json.h"
#include "berth/base/time.h"

namespace berth::cli {

struct ClusterStatus {
  std::string url;
  int pid = 0;
  std::optional<Duration> uptime;
  std::string kubeconfig;
  std::string data;
  std::string log;
  std::optional<std::int64_t> store_bytes; ///< none: nothing is kept
  bool answers = false;                    ///< the API does; else the rest is unknown
  std::string problem;                     ///< why it does not

  int nodes = 0;
  int nodes_ready = 0;
  int gpus = 0;
  int gpus_taken = 0;
  int gpus_sick = 0;
  std::map<std::string, int> pods;    ///< by phase
  std::map<std::string, int> pending; ///< why pods are Pending, by the scheduler's word
};

/// Nodes that are Ready, and how many there are. The lists are those of the API.
void count_nodes(const api::json::value& nodes, ClusterStatus& status);
/// GPUs of metrics.berth.dev.
void count_gpus(const api::json::value& gpus, ClusterStatus& status);
void count_pods(const api::json::value& pods, ClusterStatus& status);

std::string to_text(const ClusterStatus& status);
api::json::object to_document(const ClusterStatus& status);

} // namespace berth::cli
