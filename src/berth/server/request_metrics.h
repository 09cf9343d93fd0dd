// kube-apiserver's metrics of requests under its names, labels and buckets: all that are STABLE
// there and have a meaning here. Source: kubernetes 1.34 apiserver pkg/endpoints/metrics,
// pkg/storage/etcd3/metrics. Durations are of the loop's clock.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "berth/base/time.h"
#include "berth/net/http.h"
#include "berth/schema/resource.h"
#include "berth/server/request_info.h"

namespace berth::server {

/// What tells one series of requests from another.
struct RequestLabels {
  std::string
      verb; ///< GET, LIST, WATCH, POST, PUT, PATCH, APPLY, DELETE, DELETECOLLECTION, CONNECT
  std::string dry_run; ///< "" or "All"
  std::string group;
  std::string version;
  std::string resource;
  std::string subresource; ///< of what is no resource: the page
  std::string scope;       ///< resource, namespace, cluster or ""

  auto operator<=>(const RequestLabels&) const = default;
};

/// `resource` null: no resource that is served, whose names are left out, so that foreign text
/// makes no series.
RequestLabels request_labels(const net::HttpRequest& request, const RequestInfo& info,
                             const net::HttpHeaders& query, const schema::Resource* resource);

class RequestMetrics {
 public:
  RequestMetrics();
  ~RequestMetrics();
  RequestMetrics(const RequestMetrics&) = delete;
  RequestMetrics& operator=(const RequestMetrics&) = delete;

  /// A request is under way until answered() or refused() is called with its labels.
  void began(const RequestLabels& labels);
  struct Outcome {
    int code = 200;
    std::size_t bytes = 0;
    Duration took;
    bool streams = false; ///< its answer goes on: it has no duration and no size yet
  };
  /// O(log series).
  void answered(const RequestLabels& labels, const Outcome& outcome);
  void stream_began(const RequestLabels& labels);
  void stream_ended(const RequestLabels& labels);

  /// Of the moment: objects of each "pods", "jobs.batch".
  using Objects = std::map<std::string, std::size_t>;
  /// Prometheus' text format, in one order. O(series).
  std::string text(const Objects& objects) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

} // namespace berth::server
