#include "berth/kubelet/stats_summary.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <fmt/format.h>
#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

namespace berth::kubelet {
namespace {

namespace json = api::json;
using runtime::Usage;

constexpr Duration kUsualWindow = Duration::seconds(15);

void put(json::object& to, const char* name, const std::optional<std::int64_t>& number) {
  if (number) {
    to[name] = *number;
  }
}

json::object cpu_stats(const Usage& usage, const std::optional<std::int64_t>& nanocores) {
  json::object out{{"time", to_rfc3339(usage.at)}};
  put(out, "usageNanoCores", nanocores);
  put(out, "usageCoreNanoSeconds", usage.cpu_nanos);
  return out;
}

json::object memory_stats(const Usage& usage, const std::optional<std::int64_t>& available = {}) {
  json::object out{{"time", to_rfc3339(usage.at)}};
  put(out, "availableBytes", available);
  put(out, "usageBytes", usage.memory_usage_bytes);
  put(out, "workingSetBytes", usage.memory_bytes);
  put(out, "rssBytes", usage.memory_rss_bytes);
  put(out, "pageFaults", usage.page_faults);
  put(out, "majorPageFaults", usage.major_page_faults);
  return out;
}

json::object disk_stats(const DiskUsage& disk, TimePoint at) {
  return {{"time", to_rfc3339(at)},
          {"availableBytes", disk.available_bytes},
          {"capacityBytes", disk.capacity_bytes},
          {"usedBytes", disk.used_bytes},
          {"inodesFree", disk.inodes_free},
          {"inodes", disk.inodes},
          {"inodesUsed", disk.inodes - disk.inodes_free}};
}

json::object interface_stats(const runtime::SandboxUsage::Interface& one) {
  return {{"name", one.name},
          {"rxBytes", one.received_bytes},
          {"rxErrors", one.receive_errors},
          {"txBytes", one.sent_bytes},
          {"txErrors", one.send_errors}};
}

json::object network_stats(const MeasuredPod& pod) {
  json::object out = interface_stats(pod.interfaces.front());
  out["time"] = to_rfc3339(pod.usage.at);
  json::array all;
  for (const auto& each : pod.interfaces) {
    all.push_back(interface_stats(each));
  }
  out["interfaces"] = std::move(all);
  return out;
}

json::object container_stats(const MeasuredContainer& container) {
  const Usage& usage = container.told.usage;
  json::object out{{"name", container.told.name},
                   {"startTime", to_rfc3339(container.started_at)},
                   {"cpu", cpu_stats(usage, container.nanocores)},
                   {"memory", memory_stats(usage)}};
  if (container.told.written_bytes) {
    json::object root{{"time", to_rfc3339(usage.at)}};
    put(root, "usedBytes", container.told.written_bytes);
    put(root, "inodesUsed", container.told.written_inodes);
    out["rootfs"] = std::move(root);
  }
  return out;
}

json::object pod_stats(const MeasuredPod& pod) {
  json::array containers;
  for (const MeasuredContainer& each : pod.containers) {
    containers.push_back(container_stats(each));
  }
  json::object out{
      {"podRef", json::object{{"name", pod.name}, {"namespace", pod.ns}, {"uid", pod.uid}}},
      {"startTime", to_rfc3339(pod.started_at)},
      {"containers", std::move(containers)},
      {"cpu", cpu_stats(pod.usage, pod.nanocores)},
      {"memory", memory_stats(pod.usage)}};
  if (!pod.interfaces.empty()) {
    out["network"] = network_stats(pod);
  }
  if (pod.processes) {
    out["process_stats"] = json::object{{"process_count", *pod.processes}};
  }
  return out;
}

// ---- Prometheus' text format -------------------------------------------------------------------

using prometheus::ClientMetric;
using Labels = std::vector<ClientMetric::Label>;

class Page {
 public:
  /// Begins a metric; samples follow.
  void metric(std::string name, prometheus::MetricType type, std::string_view help) {
    families_.push_back({.name = std::move(name),
                         .help = fmt::format("[STABLE] {}", help),
                         .type = type,
                         .metric = {}});
  }
  void sample(Labels labels, double value, std::optional<TimePoint> at = {}) {
    ClientMetric metric;
    metric.label = std::move(labels);
    if (families_.back().type == prometheus::MetricType::Counter) {
      metric.counter.value = value;
    } else {
      metric.gauge.value = value;
    }
    metric.timestamp_ms = at ? at->unix_nanos() / 1'000'000 : 0; // 0: none
    families_.back().metric.push_back(std::move(metric));
  }
  /// Of what is known.
  void seconds(Labels labels, const std::optional<std::int64_t>& nanos, TimePoint at) {
    if (nanos) {
      sample(std::move(labels), static_cast<double>(*nanos) / 1e9, at);
    }
  }
  void bytes(Labels labels, const std::optional<std::int64_t>& number, TimePoint at) {
    if (number) {
      sample(std::move(labels), static_cast<double>(*number), at);
    }
  }
  std::string text() const { return prometheus::TextSerializer().Serialize(families_); }

 private:
  std::vector<prometheus::MetricFamily> families_;
};

Labels pod_labels(const MeasuredPod& pod) {
  return {{"namespace", pod.ns}, {"pod", pod.name}};
}

template <class F> void each_container(const Measurement& measurement, F use) {
  for (const MeasuredPod& pod : measurement.pods) {
    for (const MeasuredContainer& container : pod.containers) {
      use(Labels{{"container", container.told.name}, {"namespace", pod.ns}, {"pod", pod.name}},
          container);
    }
  }
}

// ---- reading -----------------------------------------------------------------------------------

/// 0: it is not told, or no number.
std::int64_t number_at(const json::value& document, std::string_view path) {
  const json::value* found = api::find_path(document, path);
  boost::system::error_code no_number;
  const auto number = found == nullptr ? 0 : found->to_number<std::int64_t>(no_number);
  return no_number || number < 0 ? 0 : number;
}

const json::array& list_at(const json::value& document, std::string_view name) {
  static const json::array kNone;
  const json::value* found = api::find(document, name);
  return found != nullptr && found->is_array() ? found->get_array() : kNone;
}

} // namespace

json::object stats_summary(std::string_view node, const Measurement& measurement) {
  const MachineUsage& machine = measurement.machine;
  json::object of_node{{"nodeName", std::string(node)},
                       {"startTime", to_rfc3339(machine.booted_at.value_or(measurement.at))},
                       {"cpu", cpu_stats(machine.usage, measurement.nanocores)},
                       {"memory", memory_stats(machine.usage, machine.memory_available_bytes)}};
  if (machine.disk) {
    of_node["fs"] = disk_stats(*machine.disk, machine.usage.at);
  }
  json::array pods;
  for (const MeasuredPod& pod : measurement.pods) {
    pods.push_back(pod_stats(pod));
  }
  return {{"node", std::move(of_node)}, {"pods", std::move(pods)}};
}

std::string resource_metrics(const Measurement& measurement) {
  Page page;
  page.metric("container_cpu_usage_seconds_total", prometheus::MetricType::Counter,
              "Cumulative cpu time consumed by the container in core-seconds");
  each_container(measurement, [&](const Labels& labels, const MeasuredContainer& each) {
    page.seconds(labels, each.told.usage.cpu_nanos, each.told.usage.at);
  });
  page.metric("container_memory_working_set_bytes", prometheus::MetricType::Gauge,
              "Current working set of the container in bytes");
  each_container(measurement, [&](const Labels& labels, const MeasuredContainer& each) {
    page.bytes(labels, each.told.usage.memory_bytes, each.told.usage.at);
  });
  page.metric("container_start_time_seconds", prometheus::MetricType::Gauge,
              "Start time of the container since unix epoch in seconds");
  each_container(measurement, [&](const Labels& labels, const MeasuredContainer& each) {
    page.seconds(labels, each.started_at.unix_nanos(), each.told.usage.at);
  });
  const MachineUsage& machine = measurement.machine;
  page.metric("node_cpu_usage_seconds_total", prometheus::MetricType::Counter,
              "Cumulative cpu time consumed by the node in core-seconds");
  page.seconds({}, machine.usage.cpu_nanos, machine.usage.at);
  page.metric("node_memory_working_set_bytes", prometheus::MetricType::Gauge,
              "Current working set of the node in bytes");
  page.bytes({}, machine.usage.memory_bytes, machine.usage.at);
  page.metric("pod_cpu_usage_seconds_total", prometheus::MetricType::Counter,
              "Cumulative cpu time consumed by the pod in core-seconds");
  for (const MeasuredPod& pod : measurement.pods) {
    page.seconds(pod_labels(pod), pod.usage.cpu_nanos, pod.usage.at);
  }
  page.metric("pod_memory_working_set_bytes", prometheus::MetricType::Gauge,
              "Current working set of the pod in bytes");
  for (const MeasuredPod& pod : measurement.pods) {
    page.bytes(pod_labels(pod), pod.usage.memory_bytes, pod.usage.at);
  }
  page.metric("resource_scrape_error", prometheus::MetricType::Gauge,
              "1 if there was an error while getting container metrics, 0 otherwise");
  page.sample({}, 0);
  return page.text();
}

server::NodeUsage node_usage(const Measurement& measurement) {
  server::NodeUsage usage{.at = measurement.at,
                          .window = measurement.window,
                          .cpu_nanocores = measurement.nanocores.value_or(0),
                          .memory_bytes = measurement.machine.usage.memory_bytes.value_or(0),
                          .pods = {},
                          .gpus = {}};
  for (const MeasuredPod& pod : measurement.pods) {
    server::PodUsage& to = usage.pods.emplace_back();
    to.uid = pod.uid;
    for (const MeasuredContainer& each : pod.containers) {
      to.containers.push_back({.name = each.told.name,
                               .cpu_nanocores = each.nanocores.value_or(0),
                               .memory_bytes = each.told.usage.memory_bytes.value_or(0)});
    }
  }
  return usage;
}

Result<server::NodeUsage> read_stats_summary(const json::value& document) {
  const json::value* node = api::find(document, "node");
  const auto at = parse_rfc3339(api::string_at(document, "node.cpu.time"));
  if (node == nullptr || !at) {
    return fail(Code::Invalid, "no summary of what a node uses: node.cpu.time is not told");
  }
  server::NodeUsage usage{.at = *at,
                          .window = kUsualWindow,
                          .cpu_nanocores = number_at(*node, "cpu.usageNanoCores"),
                          .memory_bytes = number_at(*node, "memory.workingSetBytes"),
                          .pods = {},
                          .gpus = {}};
  for (const json::value& pod : list_at(document, "pods")) {
    server::PodUsage& to = usage.pods.emplace_back();
    to.uid = api::string_at(pod, "podRef.uid");
    for (const json::value& each : list_at(pod, "containers")) {
      to.containers.push_back({.name = std::string(api::string_at(each, "name")),
                               .cpu_nanocores = number_at(each, "cpu.usageNanoCores"),
                               .memory_bytes = number_at(each, "memory.workingSetBytes")});
    }
  }
  return usage;
}

} // namespace berth::kubelet
