#include "berth/cli/up/cluster_status.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

ClusterStatus counted() {
  ClusterStatus status{.url = "https://127.0.0.1:6443",
                       .pid = 12,
                       .uptime = Duration::minutes(3),
                       .kubeconfig = "k",
                       .data = "d",
                       .log = "l",
                       .store_bytes = 3 << 20,
                       .answers = true,
                       .problem = {},
                       .pods = {},
                       .pending = {}};
  count_nodes(api::parse_json(R"({"items":[
      {"status":{"conditions":[{"type":"Ready","status":"True"}]}},
      {"status":{"conditions":[{"type":"Ready","status":"Unknown"}]}}, {}]})")
                  .value(),
              status);
  count_gpus(api::parse_json(R"({"items":[{"node":"n","pod":{"name":"p"}},
      {"node":"n","reason":"Xid 79"},{"node":"n"}]})")
                 .value(),
             status);
  count_pods(api::parse_json(R"({"items":[{"status":{"phase":"Running"}},
      {"status":{"phase":"Pending","conditions":[{"type":"PodScheduled","status":"False",
        "reason":"Unschedulable","message":"0/2 nodes are available"}]}},
      {"status":{"phase":"Pending","conditions":[{"type":"PodScheduled","status":"True"}]}},
      {"status":{"phase":"Pending"}}]})")
                 .value(),
             status);
  return status;
}

TEST(ClusterStatus, AsText) {
  const std::string text = to_text(counted());
  EXPECT_THAT(text, HasSubstr("API         https://127.0.0.1:6443   process 12   up 3m"));
  EXPECT_THAT(text, HasSubstr("3.0 MiB"));
  EXPECT_THAT(text, HasSubstr("nodes       3, 1 ready\n"));
  EXPECT_THAT(text, HasSubstr("GPUs        3: 1 free, 1 taken, 1 unhealthy\n"));
  EXPECT_THAT(text, HasSubstr("pods        4: 3 Pending, 1 Running\n"));
  EXPECT_THAT(text, HasSubstr("1 Pending: 0/2 nodes are available\n"));
  EXPECT_THAT(text, HasSubstr("1 Pending: starting\n"));
}

TEST(ClusterStatus, AsJson) {
  const api::json::value document = to_document(counted());
  EXPECT_EQ(api::to_json(*api::find(document, "gpus")), R"({"count":3,"taken":1,"unhealthy":1})");
  EXPECT_EQ(api::to_json(*api::find_path(document, "pods")), R"({"Pending":3,"Running":1})");
}

TEST(ClusterStatus, AnApiThatDoesNotAnswer) {
  ClusterStatus status = counted();
  status.answers = false;
  status.problem = "connection refused";
  EXPECT_THAT(to_text(status), HasSubstr("the API does not answer: connection refused"));
  EXPECT_THAT(to_text(status), Not(HasSubstr("GPUs")));
}

TEST(ClusterStatus, ListsThatAreNoneCountNothing) {
  ClusterStatus status;
  for (const char* text : {"null", "{}", R"({"items":3})", R"({"items":[1,null,"x",[]]})"}) {
    const auto list = api::parse_json(text).value();
    count_nodes(list, status);
    count_gpus(list, status);
    count_pods(list, status);
  }
  EXPECT_EQ(status.nodes_ready, 0);
}

} // namespace
} // namespace berth::cli
