// What an agent counts of its device plugins and of who was let in where, under the kubelet's
// names, types, labels and buckets. Source: kubelet pkg/kubelet/metrics/metrics.go.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <prometheus/histogram.h>

#include "berth/base/time.h"
#include "berth/topology/policy.h"

namespace berth::node {

/// How often the API of who has which devices was asked: pod_resources_endpoint_requests_* and
/// _errors_*.
struct PodResourcesCounts {
  struct Method {
    std::uint64_t requests = 0;
    std::uint64_t errors = 0;
  };
  std::uint64_t total = 0; ///< asked, those that came too often not among them
  Method list;
  Method get;
  Method get_allocatable;
};

struct NodeCounts;

class AgentCounts {
 public:
  AgentCounts();
  void plugin_registered(const std::string& resource) { ++registrations_[resource]; }
  /// A plugin has answered Allocate, or has not.
  void allocated(const std::string& resource, Duration took);
  enum class Admission { Granted, Refused };
  /// A pod has got, or was refused, its devices, CPUs and memory.
  void admitted(Admission outcome, Duration took);
  /// A container has got CPUs or memory of its own, on one NUMA node or on several.
  enum class Place { OneNode, Wider };
  void assigned(topology::Scope scope, Place place);
  void not_assigned() { ++assignment_errors_; }
  /// A pod was turned away because its resources are not where they are to be.
  void not_aligned(topology::Scope scope) { ++misaligned_[scope]; }

  /// Prometheus' text format.
  std::string text(const PodResourcesCounts& asked) const;
  /// Of several agents on one page, each metric once with a series or more for each node.
  static std::string page(const std::vector<NodeCounts>& nodes);

 private:
  class Page;
  void add_to(Page& page, const PodResourcesCounts& asked) const;

  std::map<std::string, std::uint64_t> registrations_;       ///< by resource
  std::map<std::string, prometheus::Histogram> allocations_; ///< by resource, seconds
  std::uint64_t admissions_ = 0;
  std::uint64_t refusals_ = 0;
  prometheus::Histogram admission_ms_;
  std::uint64_t assignments_ = 0;
  std::uint64_t assignment_errors_ = 0;
  std::map<topology::Scope, std::uint64_t> aligned_;
  std::map<topology::Scope, std::uint64_t> misaligned_;
};

struct NodeCounts {
  std::string node; ///< told as label node; "": not told
  const AgentCounts* counts = nullptr;
  PodResourcesCounts asked;
};

} // namespace berth::node
