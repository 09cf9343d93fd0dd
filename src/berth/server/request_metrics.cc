#include "berth/server/request_metrics.h"

#include <algorithm>
#include <array>

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

namespace berth::server {
namespace {

using prometheus::Histogram;
using Buckets = Histogram::BucketBoundaries;
template <class T> using Family = prometheus::Family<T>;

const Buckets& duration_buckets() {
  static const Buckets kBuckets = {0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2,
                                   3,     4,     5,    6,   8,   10,  15,  20,  30,  45,   60};
  return kBuckets;
}

const Buckets& size_buckets() {
  static const Buckets kBuckets = {1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9};
  return kBuckets;
}

constexpr std::array<std::string_view, 8> kPages = {
    "/livez", "/readyz", "/healthz", "/metrics", "/version", "/openapi/v2", "/api", "/apis"};

std::string page_of(std::string_view path) {
  if (path.starts_with("/openapi/v3")) {
    return "/openapi/v3";
  }
  const auto* const page = std::ranges::find_if(kPages, [&](std::string_view known) {
    return path == known || (path.starts_with(known) && path.substr(known.size()).starts_with("/"));
  });
  return page == kPages.end() ? "" : std::string(*page);
}

std::string verb_of(const net::HttpRequest& request, const RequestInfo& info) {
  if (!info.is_resource) {
    return request.method == "HEAD" ? "GET" : request.method;
  }
  if (info.subresource == "exec" || info.subresource == "attach" ||
      info.subresource == "portforward" || info.subresource == "log" ||
      info.subresource == "proxy") {
    return "CONNECT";
  }
  if (info.verb == "create") {
    return "POST";
  }
  if (info.verb == "update") {
    return "PUT";
  }
  if (info.verb == "patch" && net::header_of(request.headers, "Content-Type").find("apply-patch") !=
                                  std::string_view::npos) {
    return "APPLY";
  }
  std::string verb = info.verb;
  std::ranges::transform(verb, verb.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return verb;
}

bool is_mutating(const RequestLabels& labels) {
  return labels.verb != "GET" && labels.verb != "LIST" && labels.verb != "WATCH" &&
         labels.verb != "HEAD";
}

bool is_known_method(std::string_view verb) {
  static constexpr std::array<std::string_view, 12> kVerbs = {
      "GET",     "LIST", "WATCH",   "POST", "PUT", "PATCH", "DELETE", "DELETECOLLECTION",
      "CONNECT", "HEAD", "OPTIONS", "APPLY"};
  return std::ranges::find(kVerbs, verb) != kVerbs.end();
}

prometheus::Labels common(const RequestLabels& labels) {
  return {{"component", "apiserver"},          {"group", labels.group},
          {"resource", labels.resource},       {"scope", labels.scope},
          {"subresource", labels.subresource}, {"verb", labels.verb},
          {"version", labels.version}};
}

prometheus::Labels with_dry_run(const RequestLabels& labels) {
  prometheus::Labels out = common(labels);
  out.emplace("dry_run", labels.dry_run);
  return out;
}

/// What is counted of equal requests, looked up once.
struct Series {
  Histogram* durations = nullptr;
  Histogram* sizes = nullptr;
  prometheus::Gauge* streams = nullptr;
  std::map<int, prometheus::Counter*> by_code;
};

} // namespace

RequestLabels request_labels(const net::HttpRequest& request, const RequestInfo& info,
                             const net::HttpHeaders& query, const schema::Resource* resource) {
  RequestLabels labels{.verb = verb_of(request, info)};
  if (!is_known_method(labels.verb)) {
    labels.verb = "OTHER";
  }
  if (!info.is_resource) {
    labels.subresource = page_of(info.path);
    return labels;
  }
  labels.scope = !info.name.empty() || info.verb == "create" ? "resource"
                 : !info.ns.empty()                          ? "namespace"
                                                             : "cluster";
  if (parameter(query, "dryRun") == "All") {
    labels.dry_run = "All";
  }
  if (resource != nullptr) {
    labels.group = resource->group;
    labels.version = resource->version;
    labels.resource = resource->plural;
    if (resource->subresource(info.subresource) != nullptr) {
      labels.subresource = info.subresource;
    }
  }
  return labels;
}

struct RequestMetrics::State {
  prometheus::Registry registry;
  Family<prometheus::Counter>& requests =
      prometheus::BuildCounter()
          .Name("apiserver_request_total")
          .Help("Counter of apiserver requests broken out for each verb, dry run value, group, "
                "version, resource, scope, component, and HTTP response code.")
          .Register(registry);
  Family<Histogram>& durations =
      prometheus::BuildHistogram()
          .Name("apiserver_request_duration_seconds")
          .Help("Response latency distribution in seconds for each verb, dry run value, group, "
                "version, resource, subresource, scope and component. Watches have none.")
          .Register(registry);
  Family<Histogram>& sizes =
      prometheus::BuildHistogram()
          .Name("apiserver_response_sizes")
          .Help("Response size distribution in bytes for each group, version, verb, resource, "
                "subresource, scope and component.")
          .Register(registry);
  Family<prometheus::Gauge>& streams =
      prometheus::BuildGauge()
          .Name("apiserver_longrunning_requests")
          .Help("Gauge of all active long-running apiserver requests broken out by verb, group, "
                "version, resource, scope and component.")
          .Register(registry);
  Family<prometheus::Gauge>& inflight =
      prometheus::BuildGauge()
          .Name("apiserver_current_inflight_requests")
          .Help("Number of requests under way, by kind; long-running ones are not among them.")
          .Register(registry);
  Family<prometheus::Gauge>& objects = prometheus::BuildGauge()
                                           .Name("apiserver_storage_objects")
                                           .Help("Number of stored objects, split by kind.")
                                           .Register(registry);
  prometheus::Gauge& reading = inflight.Add({{"request_kind", "readOnly"}});
  prometheus::Gauge& writing = inflight.Add({{"request_kind", "mutating"}});
  std::map<RequestLabels, Series> series;

  Series& of(const RequestLabels& labels) { return series[labels]; }
};

RequestMetrics::RequestMetrics() : state_(std::make_unique<State>()) {}
RequestMetrics::~RequestMetrics() = default;

void RequestMetrics::began(const RequestLabels& labels) {
  (is_mutating(labels) ? state_->writing : state_->reading).Increment();
}

void RequestMetrics::answered(const RequestLabels& labels, const Outcome& outcome) {
  (is_mutating(labels) ? state_->writing : state_->reading).Decrement();
  Series& series = state_->of(labels);
  prometheus::Counter*& counter = series.by_code[outcome.code];
  if (counter == nullptr) {
    prometheus::Labels all = with_dry_run(labels);
    all.emplace("code", std::to_string(outcome.code));
    counter = &state_->requests.Add(all);
  }
  counter->Increment();
  if (outcome.streams) {
    return;
  }
  if (series.durations == nullptr) {
    series.durations = &state_->durations.Add(with_dry_run(labels), duration_buckets());
    series.sizes = &state_->sizes.Add(common(labels), size_buckets());
  }
  series.durations->Observe(static_cast<double>(outcome.took.count_nanos()) / 1e9);
  series.sizes->Observe(static_cast<double>(outcome.bytes));
}

void RequestMetrics::stream_began(const RequestLabels& labels) {
  Series& series = state_->of(labels);
  if (series.streams == nullptr) {
    series.streams = &state_->streams.Add(common(labels));
  }
  series.streams->Increment();
}

void RequestMetrics::stream_ended(const RequestLabels& labels) {
  if (prometheus::Gauge* streams = state_->of(labels).streams) {
    streams->Decrement();
  }
}

std::string RequestMetrics::text(const Objects& objects) const {
  for (const auto& [resource, count] : objects) {
    state_->objects.Add({{"resource", resource}}).Set(static_cast<double>(count));
  }
  auto families = state_->registry.Collect();
  for (prometheus::MetricFamily& family : families) {
    std::ranges::sort(family.metric, {},
                      [](const prometheus::ClientMetric& metric) { return metric.label; });
  }
  return prometheus::TextSerializer().Serialize(families);
}

} // namespace berth::server
