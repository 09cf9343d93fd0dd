#include "berth/node/agent_counts.h"

#include <fmt/format.h>
#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

namespace berth::node {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using Bounds = prometheus::Histogram::BucketBoundaries;
using Labels = std::vector<ClientMetric::Label>;

/// Client libraries' defaults, seconds.
const Bounds kSecondBounds{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10};

// Fifteen, each twice the one before.
Bounds admission_bounds() {
  Bounds bounds{.05};
  while (bounds.size() < 15) {
    bounds.push_back(bounds.back() * 2);
  }
  return bounds;
}

Labels of_resource(const std::string& resource) {
  return {{"resource_name", resource}};
}

} // namespace

/// Metrics in the order of their first mention, each with what all nodes say of it.
class AgentCounts::Page {
 public:
  /// Whose series come now.
  void begin(const std::string& node) { node_ = node.empty() ? Labels() : Labels{{"node", node}}; }
  /// Begins a metric, or goes on with one; what is added belongs to it.
  void metric(const std::string& name, MetricType type, std::string_view help) {
    const auto [at, fresh] = places_.try_emplace(name, families_.size());
    place_ = at->second;
    if (fresh) {
      families_.push_back(
          {.name = name, .help = fmt::format("[ALPHA] {}", help), .type = type, .metric = {}});
    }
  }
  void number(Labels labels, std::uint64_t value) {
    ClientMetric metric;
    metric.counter.value = static_cast<double>(value);
    add(std::move(metric), std::move(labels));
  }
  void times(Labels labels, const prometheus::Histogram& value) {
    add(value.Collect(), std::move(labels));
  }
  void counter(const std::string& name, std::string_view help, std::uint64_t value,
               Labels labels = {}) {
    metric(name, MetricType::Counter, help);
    number(std::move(labels), value);
  }
  void scopes(const std::map<topology::Scope, std::uint64_t>& counts) {
    for (const auto& [scope, count] : counts) {
      number({{"boundary", "numa_node"}, {"scope", std::string(topology::to_string(scope))}},
             count);
    }
  }
  void pod_resources(const PodResourcesCounts& asked);
  std::string text() const { return prometheus::TextSerializer().Serialize(families_); }

 private:
  void add(ClientMetric metric, Labels labels) {
    labels.insert(labels.end(), node_.begin(), node_.end());
    metric.label = std::move(labels);
    families_[place_].metric.push_back(std::move(metric));
  }

  std::vector<MetricFamily> families_;
  std::map<std::string, std::size_t> places_;
  std::size_t place_ = 0;
  Labels node_;
};

void AgentCounts::Page::pod_resources(const PodResourcesCounts& asked) {
  const auto add_one = [&](std::string_view name, std::string_view help, std::uint64_t value) {
    counter(fmt::format("kubelet_pod_resources_endpoint_{}", name),
            fmt::format("{} Broken down by server api version.", help), value,
            {{"server_api_version", "v1"}});
  };
  add_one("requests_total", "Cumulative number of requests to the PodResource endpoint.",
          asked.total);
  add_one("requests_list", "Number of requests to the PodResource List endpoint.",
          asked.list.requests);
  add_one("requests_get", "Number of requests to the PodResource Get endpoint.",
          asked.get.requests);
  add_one("requests_get_allocatable",
          "Number of requests to the PodResource GetAllocatableResources endpoint.",
          asked.get_allocatable.requests);
  add_one("errors_list",
          "Number of requests to the PodResource List endpoint which returned error.",
          asked.list.errors);
  add_one("errors_get", "Number of requests to the PodResource Get endpoint which returned error.",
          asked.get.errors);
  add_one("errors_get_allocatable",
          "Number of requests to the PodResource GetAllocatableResources endpoint which returned "
          "error.",
          asked.get_allocatable.errors);
}

AgentCounts::AgentCounts() : admission_ms_(admission_bounds()) {}

void AgentCounts::allocated(const std::string& resource, Duration took) {
  constexpr double kNanos = 1e9;
  allocations_.try_emplace(resource, kSecondBounds)
      .first->second.Observe(static_cast<double>(took.count_nanos()) / kNanos);
}

void AgentCounts::admitted(Admission outcome, Duration took) {
  constexpr double kNanosOfMilli = 1e6;
  ++admissions_;
  refusals_ += outcome == Admission::Refused ? 1 : 0;
  admission_ms_.Observe(static_cast<double>(took.count_nanos()) / kNanosOfMilli);
}

void AgentCounts::assigned(topology::Scope scope, Place place) {
  ++assignments_;
  aligned_[scope] += place == Place::OneNode ? 1 : 0;
}

std::string AgentCounts::text(const PodResourcesCounts& asked) const {
  return page({{.node = {}, .counts = this, .asked = asked}});
}

std::string AgentCounts::page(const std::vector<NodeCounts>& nodes) {
  Page page;
  for (const NodeCounts& node : nodes) {
    page.begin(node.node);
    node.counts->add_to(page, node.asked);
  }
  return page.text();
}

void AgentCounts::add_to(Page& page, const PodResourcesCounts& asked) const {
  page.metric("kubelet_device_plugin_registration_total", MetricType::Counter,
              "Cumulative number of device plugin registrations. Broken down by resource name.");
  for (const auto& [resource, count] : registrations_) {
    page.number(of_resource(resource), count);
  }
  page.metric("kubelet_device_plugin_alloc_duration_seconds", MetricType::Histogram,
              "Duration in seconds to serve a device plugin Allocation request. Broken down by "
              "resource name.");
  for (const auto& [resource, times] : allocations_) {
    page.times(of_resource(resource), times);
  }
  page.pod_resources(asked);
  page.counter("kubelet_topology_manager_admission_requests_total",
               "The number of admission requests where resources have to be aligned.", admissions_);
  page.counter("kubelet_topology_manager_admission_errors_total",
               "The number of admission request failures where resources could not be aligned.",
               refusals_);
  page.metric("kubelet_topology_manager_admission_duration_ms", MetricType::Histogram,
              "Duration in milliseconds to serve a pod admission request.");
  page.times({}, admission_ms_);
  const Labels node{{"source", "node"}};
  page.counter("kubelet_resource_manager_allocations_total",
               "Number of exclusive resource allocations performed by a manager.", assignments_,
               node);
  page.counter("kubelet_resource_manager_allocation_errors_total",
               "Number of errors encountered during exclusive resource allocation.",
               assignment_errors_, node);
  page.counter("kubelet_resource_manager_container_assignments",
               "Cumulative number of containers that were granted a type of resource assignment.",
               assignments_, {{"assignment_type", "node_exclusive"}});
  page.metric("kubelet_container_aligned_compute_resources_count", MetricType::Counter,
              "Cumulative number of aligned compute resources allocated to containers by alignment "
              "type.");
  page.scopes(aligned_);
  page.metric(
      "kubelet_container_aligned_compute_resources_failure_count", MetricType::Counter,
      "Cumulative number of failures to allocate aligned compute resources to containers by "
      "alignment type.");
  page.scopes(misaligned_);
}

} // namespace berth::node
