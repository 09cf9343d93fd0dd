// kubectl logs, exec and the like of simulated containers.
#include <gmock/gmock.h>

#include "berth/cli/up/virtual_up_fixture.h"

namespace berth::cli::test {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr const char* kPods = "/api/v1/namespaces/default/pods/";

class PodLogs : public VirtualUp {
 protected:
  net::HttpResponse log(const std::string& pod, const std::string& query = "") {
    return ask("GET", kPods + pod + "/log" + query);
  }
  std::string refusal(const std::string& pod, const std::string& query = "") {
    const auto response = log(pod, query);
    EXPECT_GE(response.status, 400) << response.body;
    return std::string(api::string_at(api::parse_json(response.body).value_or(nullptr), "message"));
  }
};

TEST_F(PodLogs, AContainerTellsItsLife) {
  make_pod("a", R"({"berth.dev/run-for":"5s","berth.dev/exit-code":"3"})");
  run(Duration::seconds(3));
  const auto running = log("a");
  EXPECT_EQ(running.status, 200);
  EXPECT_EQ(net::header_of(running.headers, "Content-Type"), "text/plain");
  EXPECT_THAT(running.body, StartsWith("started container c of image train:1"));
  EXPECT_THAT(running.body, HasSubstr("sees 2 GPUs: /dev/nvidia"));
  EXPECT_THAT(running.body, Not(HasSubstr("ended")));
  run(Duration::seconds(10));
  EXPECT_EQ(log("a", "?tailLines=1").body, "ended after 5s with exit code 3 (Error)\n");
  EXPECT_THAT(log("a", "?timestamps=true&tailLines=1").body, StartsWith("2023-11-14T22:13:"));
}

TEST_F(PodLogs, AReaderThatFollowsHearsTheEnd) {
  make_pod("a", R"({"berth.dev/run-for":"20s"})");
  run(Duration::seconds(5));
  const auto stream = this->stream(std::string(kPods) + "a/log?follow=true&tailLines=1");
  EXPECT_EQ(stream->text, "simulated: runs for 20s\n");
  run(Duration::seconds(5));
  EXPECT_FALSE(stream->ended);
  run(Duration::seconds(30));
  EXPECT_THAT(stream->text, HasSubstr("ended after 20s with exit code 0 (Completed)\n"));
  EXPECT_TRUE(stream->ended);
  EXPECT_FALSE(log("a", "?follow=true").stream) << "nothing more will come";
}

TEST_F(PodLogs, ADeletedPodsFollowerSeesItStopped) {
  make_pod("a");
  run(Duration::seconds(5));
  const auto stream = this->stream(std::string(kPods) + "a/log?follow=true");
  ask("DELETE", std::string(kPods) + "a");
  run(Duration::minutes(1));
  EXPECT_THAT(stream->text, HasSubstr("got SIGTERM, 30s until SIGKILL\n"));
  EXPECT_THAT(stream->text, HasSubstr("with exit code 143"));
  EXPECT_TRUE(stream->ended);
  EXPECT_EQ(log("a").status, 404);
}

TEST_F(PodLogs, AReaderMayLeave) {
  make_pod("a", R"({"berth.dev/run-for":"20s"})");
  run(Duration::seconds(5));
  const auto stream = this->stream(std::string(kPods) + "a/log?follow=true");
  const std::string before = stream->text;
  stream->leave();
  run(Duration::minutes(1));
  EXPECT_EQ(stream->text, before);
}

TEST_F(PodLogs, TheAttemptBefore) {
  make_pod("a", R"({"berth.dev/run-for":"2s","berth.dev/fail-times":"1"})",
           R"([{"name":"c","image":"i"}])", "OnFailure");
  run(Duration::seconds(2));
  EXPECT_EQ(refusal("a", "?previous=true"),
            "previous terminated container \"c\" in pod \"a\" not found");
  run(Duration::minutes(1));
  EXPECT_THAT(log("a", "?previous=true").body, HasSubstr("ended after 2s with exit code 1"));
  EXPECT_THAT(log("a").body, HasSubstr("restart 1"));
}

TEST_F(PodLogs, RefusalsInKubernetesWords) {
  make_pod("two", "{}", R"([{"name":"a","image":"i"},{"name":"b","image":"i"}])");
  EXPECT_EQ(refusal("none"), "pods \"none\" not found");
  EXPECT_EQ(refusal("two"), "a container name must be specified for pod two, choose one of: [a b]");
  EXPECT_EQ(refusal("two", "?container=x"), "container x is not valid for pod two");
  EXPECT_THAT(refusal("two", "?container=a&tailLines=-1"), HasSubstr("tailLines: Invalid value"));
  make_pod("big", "{}",
           R"([{"name":"c","image":"i","resources":{"limits":{"nvidia.com/gpu":"64"}}}])");
  run(Duration::seconds(2));
  EXPECT_EQ(log("big").status, 204) << "it has no node";
}

TEST_F(PodLogs, BeforeTheStart) {
  make_pod("a");
  run(Duration::millis(300));
  EXPECT_EQ(refusal("a"), "container \"c\" in pod \"a\" is waiting to start: ContainerCreating");
}

TEST_F(PodLogs, ANodeThatIsDownDoesNotAnswer) {
  make_pod("a");
  run(Duration::seconds(5));
  const std::string node(api::string_at(get(std::string(kPods) + "a"), "spec.nodeName"));
  cluster.fleet().find(node)->power_off();
  EXPECT_THAT(refusal("a"), HasSubstr("/containerLogs/default/a/c\": dial tcp"));
  cluster.fleet().find(node)->power_on();
}

TEST_F(PodLogs, NothingRunsInsideThatOneCouldEnter) {
  make_pod("a");
  run(Duration::seconds(5));
  for (const char* what : {"exec?command=sh&container=c", "attach", "portforward?ports=80"}) {
    const auto response = ask("POST", std::string(kPods) + "a/" + what);
    EXPECT_EQ(response.status, 501) << what;
    EXPECT_THAT(response.body, HasSubstr("containers of this cluster are simulated")) << what;
  }
  EXPECT_EQ(ask("GET", std::string(kPods) + "a/exec?container=x").status, 400);
  EXPECT_EQ(ask("POST", std::string(kPods) + "b/exec").status, 404);
}

} // namespace
} // namespace berth::cli::test
