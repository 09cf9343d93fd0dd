#include "berth/cli/up/cluster_status.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "berth/cli/up/admin_api.h"
#include "berth/cli/up/usage_rows.h"
#include "berth/report/text.h"

namespace berth::cli {
namespace {

namespace json = api::json;

constexpr std::size_t kReasons = 5;

/// nullptr if the object has no condition of that type.
const json::value* condition_of(const json::value& object, std::string_view type) {
  const json::value* conditions = api::find_path(object, "status.conditions");
  if (conditions == nullptr || !conditions->is_array()) {
    return nullptr;
  }
  const json::array& all = conditions->get_array();
  const auto* const found = std::ranges::find_if(
      all, [&](const json::value& one) { return api::string_at(one, "type") == type; });
  return found == all.end() ? nullptr : found;
}

/// Why a pod does not run yet: what the scheduler said, or that its node has it already.
std::string reason_of(const json::value& pod) {
  const json::value* scheduled = condition_of(pod, "PodScheduled");
  if (scheduled == nullptr) {
    return "not looked at yet";
  }
  if (api::string_at(*scheduled, "status") == "True") {
    return "starting";
  }
  const std::string message(api::string_at(*scheduled, "message"));
  return message.empty() ? std::string(api::string_at(*scheduled, "reason")) : message;
}

std::string size_text(std::int64_t bytes) {
  constexpr std::int64_t kMiB = std::int64_t{1} << 20;
  return bytes >= kMiB ? fmt::format("{:.1f} MiB", static_cast<double>(bytes) / kMiB)
                       : fmt::format("{} KiB", (bytes + 1023) / 1024);
}

std::string pods_text(const ClusterStatus& status) {
  std::vector<std::string> parts;
  int all = 0;
  for (const auto& [phase, count] : status.pods) {
    parts.push_back(fmt::format("{} {}", count, phase));
    all += count;
  }
  return parts.empty() ? "none" : fmt::format("{}: {}", all, fmt::join(parts, ", "));
}

} // namespace

void count_nodes(const json::value& nodes, ClusterStatus& status) {
  for (const json::value& node : items_of(nodes)) {
    ++status.nodes;
    const json::value* ready = condition_of(node, "Ready");
    status.nodes_ready += ready != nullptr && api::string_at(*ready, "status") == "True" ? 1 : 0;
  }
}

void count_gpus(const json::value& gpus, ClusterStatus& status) {
  for (const GpuRow& gpu : gpu_rows(gpus)) {
    ++status.gpus;
    status.gpus_taken += gpu.pod.empty() ? 0 : 1;
    status.gpus_sick += gpu.sickness.empty() ? 0 : 1;
  }
}

void count_pods(const json::value& pods, ClusterStatus& status) {
  for (const json::value& pod : items_of(pods)) {
    const std::string phase(api::string_at(pod, "status.phase"));
    ++status.pods[phase.empty() ? "Unknown" : phase];
    if (phase == "Pending") {
      ++status.pending[reason_of(pod)];
    }
  }
}

std::string to_text(const ClusterStatus& status) {
  std::string text = fmt::format("API         {}   process {}", status.url, status.pid);
  if (status.uptime) {
    text += fmt::format("   up {}", to_age(*status.uptime));
  }
  text += fmt::format("\nkubeconfig  {}\ndata        {}", status.kubeconfig, status.data);
  if (status.store_bytes) {
    text += fmt::format("   {}", size_text(*status.store_bytes));
  }
  text += fmt::format("\nlog         {}\n", status.log);
  if (!status.answers) {
    return text + fmt::format("the API does not answer: {}\n", status.problem);
  }
  text += fmt::format("nodes       {}, {} ready\n", status.nodes, status.nodes_ready);
  text += fmt::format("GPUs        {}: {} free, {} taken", status.gpus,
                      std::max(status.gpus - status.gpus_taken - status.gpus_sick, 0),
                      status.gpus_taken);
  text += status.gpus_sick > 0 ? fmt::format(", {} unhealthy\n", status.gpus_sick) : "\n";
  text += fmt::format("pods        {}\n", pods_text(status));
  std::vector<std::pair<std::string, int>> reasons(status.pending.begin(), status.pending.end());
  std::ranges::stable_sort(reasons, std::greater<>(), &std::pair<std::string, int>::second);
  for (std::size_t i = 0; i < std::min(reasons.size(), kReasons); ++i) {
    text += fmt::format("{:<12}{} Pending: {}\n", "", reasons[i].second,
                        report::printable(reasons[i].first));
  }
  if (reasons.size() > kReasons) {
    text += fmt::format("{:<12}and {} more reasons\n", "", reasons.size() - kReasons);
  }
  return text;
}

json::object to_document(const ClusterStatus& status) {
  json::object out{{"url", status.url},   {"pid", status.pid}, {"kubeconfig", status.kubeconfig},
                   {"data", status.data}, {"log", status.log}, {"answers", status.answers}};
  if (status.uptime) {
    out["uptimeSeconds"] = status.uptime->count_seconds();
  }
  if (status.store_bytes) {
    out["storeBytes"] = *status.store_bytes;
  }
  if (!status.answers) {
    out["problem"] = status.problem;
    return out;
  }
  out["nodes"] = json::object{{"count", status.nodes}, {"ready", status.nodes_ready}};
  out["gpus"] = json::object{
      {"count", status.gpus}, {"taken", status.gpus_taken}, {"unhealthy", status.gpus_sick}};
  json::object pods;
  for (const auto& [phase, count] : status.pods) {
    pods[phase] = count;
  }
  out["pods"] = std::move(pods);
  json::object pending;
  for (const auto& [reason, count] : status.pending) {
    pending[reason] = count;
  }
  out["pendingReasons"] = std::move(pending);
  return out;
}

} // namespace berth::cli
