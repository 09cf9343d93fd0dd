#include "berth/node/agent_counts.h"

#include <algorithm>

#include <fmt/format.h>

namespace berth::node {
namespace {

/// Client libraries' defaults, seconds.
const std::vector<double> kSecondBounds{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10};

std::string braced(const std::string& labels) {
  return labels.empty() ? "" : "{" + labels + "}";
}

class Page {
 public:
  void metric(std::string_view name, std::string_view type, std::string_view help) {
    name_ = name;
    text_ += fmt::format("# HELP {0} [ALPHA] {2}\n# TYPE {0} {1}\n", name, type, help);
  }
  void number(const std::string& labels, std::uint64_t value) {
    text_ += fmt::format("{}{} {}\n", name_, braced(labels), value);
  }
  void times(const std::string& labels, const CountedTimes& value) {
    text_ += value.text(name_, labels);
  }
  void counter(std::string_view name, std::string_view help, std::uint64_t value,
               const std::string& labels = "") {
    metric(name, "counter", help);
    number(labels, value);
  }
  std::string take() { return std::move(text_); }

 private:
  std::string name_;
  std::string text_;
};

std::string resource_label(const std::string& resource) {
  return fmt::format("resource_name=\"{}\"", resource); // a resource's name needs no escapes
}

void add_scopes(Page& page, const std::map<topology::Scope, std::uint64_t>& counts) {
  for (const auto& [scope, count] : counts) {
    page.number(fmt::format("boundary=\"numa_node\",scope=\"{}\"", topology::to_string(scope)),
                count);
  }
}

void add_pod_resources(Page& page, const PodResourcesCounts& asked) {
  const std::string version = "server_api_version=\"v1\"";
  const auto add = [&](std::string_view name, std::string_view help, std::uint64_t value) {
    page.counter(fmt::format("kubelet_pod_resources_endpoint_{}", name),
                 fmt::format("{} Broken down by server api version.", help), value, version);
  };
  add("requests_total", "Cumulative number of requests to the PodResource endpoint.", asked.total);
  add("requests_list", "Number of requests to the PodResource List endpoint.", asked.list.requests);
  add("requests_get", "Number of requests to the PodResource Get endpoint.", asked.get.requests);
  add("requests_get_allocatable",
      "Number of requests to the PodResource GetAllocatableResources endpoint.",
      asked.get_allocatable.requests);
  add("errors_list", "Number of requests to the PodResource List endpoint which returned error.",
      asked.list.errors);
  add("errors_get", "Number of requests to the PodResource Get endpoint which returned error.",
      asked.get.errors);
  add("errors_get_allocatable",
      "Number of requests to the PodResource GetAllocatableResources endpoint which returned "
      "error.",
      asked.get_allocatable.errors);
}

} // namespace

void CountedTimes::observe(double value) {
  ++all_;
  sum_ += value;
  const auto bound = std::ranges::lower_bound(bounds_, value);
  if (bound != bounds_.end()) {
    ++counts_[static_cast<std::size_t>(bound - bounds_.begin())];
  }
}

std::string CountedTimes::text(std::string_view name, const std::string& labels) const {
  const std::string before = labels.empty() ? "" : labels + ",";
  std::string text;
  std::uint64_t so_far = 0;
  for (std::size_t i = 0; i < bounds_.size(); ++i) {
    so_far += counts_[i];
    text += fmt::format("{}_bucket{{{}le=\"{}\"}} {}\n", name, before, bounds_[i], so_far);
  }
  text += fmt::format("{}_bucket{{{}le=\"+Inf\"}} {}\n", name, before, all_);
  text += fmt::format("{}_sum{} {}\n", name, braced(labels), sum_);
  return text + fmt::format("{}_count{} {}\n", name, braced(labels), all_);
}

// Fifteen, each twice the one before.
std::vector<double> AgentCounts::admission_bounds() {
  std::vector<double> bounds{.05};
  while (bounds.size() < 15) {
    bounds.push_back(bounds.back() * 2);
  }
  return bounds;
}

void AgentCounts::allocated(const std::string& resource, Duration took) {
  constexpr double kNanos = 1e9;
  allocations_.try_emplace(resource, kSecondBounds)
      .first->second.observe(static_cast<double>(took.count_nanos()) / kNanos);
}

void AgentCounts::admitted(Admission outcome, Duration took) {
  constexpr double kNanosOfMilli = 1e6;
  ++admissions_;
  refusals_ += outcome == Admission::Refused ? 1 : 0;
  admission_ms_.observe(static_cast<double>(took.count_nanos()) / kNanosOfMilli);
}

void AgentCounts::assigned(topology::Scope scope, Place place) {
  ++assignments_;
  aligned_[scope] += place == Place::OneNode ? 1 : 0;
}

std::string AgentCounts::text(const PodResourcesCounts& asked) const {
  Page page;
  page.metric("kubelet_device_plugin_registration_total", "counter",
              "Cumulative number of device plugin registrations. Broken down by resource name.");
  for (const auto& [resource, count] : registrations_) {
    page.number(resource_label(resource), count);
  }
  page.metric("kubelet_device_plugin_alloc_duration_seconds", "histogram",
              "Duration in seconds to serve a device plugin Allocation request. Broken down by "
              "resource name.");
  for (const auto& [resource, times] : allocations_) {
    page.times(resource_label(resource), times);
  }
  add_pod_resources(page, asked);
  page.counter("kubelet_topology_manager_admission_requests_total",
               "The number of admission requests where resources have to be aligned.", admissions_);
  page.counter("kubelet_topology_manager_admission_errors_total",
               "The number of admission request failures where resources could not be aligned.",
               refusals_);
  page.metric("kubelet_topology_manager_admission_duration_ms", "histogram",
              "Duration in milliseconds to serve a pod admission request.");
  page.times("", admission_ms_);
  const std::string node = "source=\"node\"";
  page.counter("kubelet_resource_manager_allocations_total",
               "Number of exclusive resource allocations performed by a manager.", assignments_,
               node);
  page.counter("kubelet_resource_manager_allocation_errors_total",
               "Number of errors encountered during exclusive resource allocation.",
               assignment_errors_, node);
  page.counter("kubelet_resource_manager_container_assignments",
               "Cumulative number of containers that were granted a type of resource assignment.",
               assignments_, "assignment_type=\"node_exclusive\"");
  page.metric("kubelet_container_aligned_compute_resources_count", "counter",
              "Cumulative number of aligned compute resources allocated to containers by alignment "
              "type.");
  add_scopes(page, aligned_);
  page.metric(
      "kubelet_container_aligned_compute_resources_failure_count", "counter",
      "Cumulative number of failures to allocate aligned compute resources to containers by "
      "alignment type.");
  add_scopes(page, misaligned_);
  return page.take();
}

} // namespace berth::node
