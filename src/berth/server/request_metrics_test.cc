#include "berth/server/request_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/schema/catalogue.h"

namespace berth::server {
namespace {

using testing::HasSubstr;
using testing::Not;

RequestLabels labels_of(const std::string& method, const std::string& target,
                        net::HttpHeaders headers = {}) {
  const net::HttpRequest request{
      .method = method, .target = target, .headers = std::move(headers), .body = {}, .peer = {}};
  const auto query = request.parameters();
  const RequestInfo info = request_info(request, query);
  const schema::Resource* resource = nullptr;
  for (const schema::Resource& one : schema::Catalogue::builtin().resources()) {
    if (one.group == info.group && one.version == info.version && one.plural == info.resource) {
      resource = &one;
    }
  }
  return request_labels(request, info, query, resource);
}

TEST(RequestMetrics, LabelsAsKubernetesHasThem) {
  const auto list = labels_of("GET", "/apis/batch/v1/namespaces/a/jobs");
  EXPECT_EQ(list, (RequestLabels{.verb = "LIST",
                                 .dry_run = "",
                                 .group = "batch",
                                 .version = "v1",
                                 .resource = "jobs",
                                 .subresource = "",
                                 .scope = "namespace"}));
  EXPECT_EQ(labels_of("GET", "/api/v1/pods?watch=1").verb, "WATCH");
  EXPECT_EQ(labels_of("GET", "/api/v1/pods?watch=1").scope, "cluster");
  EXPECT_EQ(
      labels_of("PATCH", "/api/v1/nodes/n", {{"Content-Type", "application/apply-patch+yaml"}})
          .verb,
      "APPLY");
  EXPECT_EQ(labels_of("POST", "/api/v1/namespaces/a/pods?dryRun=All").dry_run, "All");
  EXPECT_EQ(labels_of("DELETE", "/api/v1/namespaces/a/pods").verb, "DELETECOLLECTION");
  EXPECT_EQ(labels_of("GET", "/api/v1/namespaces/a/pods/p/log").verb, "CONNECT");
  EXPECT_EQ(labels_of("GET", "/livez/ping").subresource, "/livez");
}

TEST(RequestMetrics, ForeignTextMakesNoSeries) {
  EXPECT_EQ(labels_of("GET", "/what/ever"), labels_of("GET", "/else"));
  EXPECT_EQ(labels_of("GET", "/apis/a.b/v9/xs"), labels_of("GET", "/apis/c.d/v1/ys"));
  EXPECT_EQ(labels_of("BREW", "/coffee").verb, "OTHER");
  EXPECT_EQ(labels_of("GET", "/api/v1/namespaces/a/pods/p/nothing").subresource, "");
}

TEST(RequestMetrics, CountsRequestsAndStreams) {
  RequestMetrics metrics;
  const auto get = labels_of("GET", "/api/v1/namespaces/a/pods/p");
  const auto watch = labels_of("GET", "/api/v1/pods?watch=1");
  metrics.began(get);
  EXPECT_THAT(metrics.text({}),
              HasSubstr("apiserver_current_inflight_requests{request_kind=\"readOnly\"} 1"));
  metrics.answered(get, {.code = 404, .bytes = 10, .took = Duration::millis(30)});
  metrics.began(watch);
  metrics.answered(watch, {.code = 200, .streams = true});
  metrics.stream_began(watch);
  const std::string text = metrics.text({{"pods", 3}});
  EXPECT_THAT(text, HasSubstr("apiserver_current_inflight_requests{request_kind=\"readOnly\"} 0"));
  EXPECT_THAT(text, HasSubstr("# TYPE apiserver_request_total counter"));
  EXPECT_THAT(text, HasSubstr("code=\"404\""));
  EXPECT_THAT(text, HasSubstr("apiserver_storage_objects{resource=\"pods\"} 3"));
  EXPECT_THAT(text, HasSubstr("apiserver_longrunning_requests"));
  EXPECT_THAT(text, HasSubstr("le=\"0.05\"} 1"));
  EXPECT_THAT(text, Not(HasSubstr("verb=\"WATCH\",version=\"v1\",le=")));
  metrics.stream_ended(watch);
  EXPECT_EQ(metrics.text({}), metrics.text({})) << "in one order";
}

} // namespace
} // namespace berth::server
