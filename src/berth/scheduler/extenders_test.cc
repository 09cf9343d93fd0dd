// A whole scheduler with extenders: what they are sent, and what comes of their answers. The
// extender is a function of this process; cli/extender_test.cc has one behind a socket.
#include <deque>

#include <boost/json/parse.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/api/json.h"
#include "berth/scheduler/scheduler.h"
#include "berth/testing/builders.h"
#include "berth/testing/control_plane.h"

namespace berth::scheduler {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using Done = std::function<void(Result<net::HttpResponse>)>;

class Extenders : public testing::Test {
 protected:
  void start(std::vector<sched::Extender> extenders) {
    for (sched::Extender& extender : extenders) {
      extender.url_prefix = "http://gpu.example/";
      extender.node_cache_capable = true;
    }
    auto started = Scheduler::start(plane.client, plane.loop, Rng(5),
                                    {.profiles = {berth_profile()},
                                     .queue = {},
                                     .explain = {},
                                     .extenders = std::move(extenders),
                                     .poster = [this](const HttpPost& post, const Done& done) {
                                       posts.push_back(post.url);
                                       if (holds) {
                                         held.push_back(done);
                                       } else {
                                         done(answer(post));
                                       }
                                     }});
    ASSERT_TRUE(started.has_value()) << to_string(started.error());
    scheduler = *std::move(started);
  }
  void cpu_node(const std::string& name) {
    plane.create(test::node(name).cpu("16").memory("64Gi").pods(110));
  }
  void wait(std::int64_t ms) { plane.run_for(Duration::millis(ms)); }
  std::string node_of(const std::string& name) const {
    return std::string(
        api::string_at(plane.find(client::kPods, {"default", name}).json(), "spec.nodeName"));
  }
  std::string message_of(const std::string& name) const {
    const auto pod = model::pod_view(plane.find(client::kPods, {"default", name}));
    const auto* condition = (*pod)->status.condition("PodScheduled");
    return condition == nullptr ? "" : condition->reason + ": " + condition->message;
  }
  static net::HttpResponse json(std::string text) {
    return net::json_response(200, std::move(text));
  }

  test::ControlPlane plane;
  std::function<Result<net::HttpResponse>(const HttpPost&)> answer;
  std::vector<std::string> posts;
  bool holds = false;
  std::deque<Done> held;
  std::unique_ptr<Scheduler> scheduler;
};

TEST_F(Extenders, FilterAndPrioritizeChooseTheNode) {
  for (const char* name : {"n1", "n2", "n3"}) {
    cpu_node(name);
  }
  answer = [](const HttpPost& post) {
    return json(post.url.ends_with("filter")
                    ? R"({"NodeNames":["n2","n3"],"FailedNodes":{"n1":"no licence"}})"
                    : R"([{"Host":"n3","Score":10}])");
  };
  start({{.filter_verb = "filter", .prioritize_verb = "prioritize", .weight = 5}});
  plane.create(test::pod("p").cpu("1"));
  wait(10);
  EXPECT_EQ(node_of("p"), "n3");
  EXPECT_THAT(posts, ElementsAre("http://gpu.example/filter", "http://gpu.example/prioritize"));
  EXPECT_TRUE(scheduler->idle());
}

TEST_F(Extenders, ARefusedPodWaitsAndAnyEventMayHelp) {
  cpu_node("n1");
  bool licence = false;
  answer = [&](const HttpPost&) {
    return json(licence ? R"({"NodeNames":["n1","n2"]})"
                        : R"({"NodeNames":[],"FailedNodes":{"n1":"no licence"}})");
  };
  start({{.filter_verb = "filter"}});
  plane.create(test::pod("p").cpu("1"));
  wait(10);
  EXPECT_THAT(message_of("p"), HasSubstr("Unschedulable: 0/1 nodes are available: 1 no licence."));
  licence = true;
  cpu_node("n2");
  wait(2000);
  EXPECT_THAT(node_of("p"), testing::AnyOf("n1", "n2"));
}

TEST_F(Extenders, FailuresAreToldInGosWordsAndRetried) {
  cpu_node("n1");
  int calls = 0;
  answer = [&](const HttpPost&) -> Result<net::HttpResponse> {
    ++calls;
    if (calls == 1) {
      return fail(Code::Timeout, "no answer from gpu.example:80 within 5s");
    }
    return calls == 2 ? net::text_response(503, "busy") : json(R"({"NodeNames":["n1"]})");
  };
  start({{.filter_verb = "filter"}});
  plane.create(test::pod("p").cpu("1"));
  wait(10);
  EXPECT_EQ(message_of("p"), "SchedulerError: Post \"http://gpu.example/filter\": no answer from "
                             "gpu.example:80 within 5s");
  wait(1500);
  EXPECT_EQ(message_of("p"), "SchedulerError: failed filter with extender at URL "
                             "http://gpu.example/filter, code 503");
  wait(5000);
  EXPECT_EQ(node_of("p"), "n1");
}

TEST_F(Extenders, NobodyElseIsDecidedWhileOneIsAskedAbout) {
  cpu_node("n1");
  holds = true;
  start({{.filter_verb = "filter"}});
  plane.create(test::pod("p").cpu("1"));
  plane.create(test::pod("q").cpu("1"));
  wait(1000);
  EXPECT_EQ(held.size(), 1U);
  EXPECT_FALSE(scheduler->idle());
  holds = false;
  answer = [](const HttpPost&) { return json(R"({"NodeNames":["n1"]})"); };
  held.front()(json(R"({"NodeNames":["n1"]})"));
  wait(10);
  EXPECT_EQ(node_of("p"), "n1");
  EXPECT_EQ(node_of("q"), "n1");
}

TEST_F(Extenders, APodDeletedWhileAskedAboutIsForgotten) {
  cpu_node("n1");
  holds = true;
  start({{.filter_verb = "filter"}});
  plane.create(test::pod("p").cpu("1"));
  wait(10);
  plane.remove(client::kPods, {"default", "p"});
  wait(10);
  held.front()(json(R"({"NodeNames":["n1"]})"));
  wait(10);
  EXPECT_TRUE(scheduler->idle());
  EXPECT_EQ(scheduler->depth(), sched::Queue::Depth());
}

TEST_F(Extenders, AnAnswerAfterTheSchedulerStoppedIsDropped) {
  cpu_node("n1");
  holds = true;
  start({{.filter_verb = "filter"}});
  plane.create(test::pod("p").cpu("1"));
  wait(10);
  scheduler = nullptr;
  held.front()(json(R"({"NodeNames":["n1"]})"));
  wait(10);
  EXPECT_EQ(node_of("p"), "");
}

TEST_F(Extenders, OneMayBind) {
  cpu_node("n1");
  answer = [this](const HttpPost& post) {
    const auto args = boost::json::parse(post.body);
    plane.client.bind({.pod = {"default", std::string(args.at("PodName").as_string())},
                       .uid = std::string(args.at("PodUID").as_string()),
                       .node = std::string(args.at("Node").as_string()),
                       .annotations = {}},
                      [](Result<api::Object>) {});
    return json("{}");
  };
  start({{.bind_verb = "bind", .managed_resources = {{.name = "example.com/gpu"}}}});
  plane.create(test::node("g1").cpu("16").pods(110).resource("example.com/gpu", "2"));
  plane.create(test::pod("plain").cpu("1"));
  plane.create(test::pod("special").cpu("1").extended("example.com/gpu", "1"));
  wait(100);
  EXPECT_THAT(posts, ElementsAre("http://gpu.example/bind")) << "the other is bound as ever";
  EXPECT_NE(node_of("plain"), "");
  EXPECT_EQ(node_of("special"), "g1");
}

TEST_F(Extenders, ABindingThatFailsIsTriedAgain) {
  cpu_node("n1");
  answer = [](const HttpPost&) { return json(R"({"Error":"quota"})"); };
  start({{.bind_verb = "bind"}});
  plane.create(test::pod("p").cpu("1"));
  wait(10);
  EXPECT_EQ(message_of("p"), "SchedulerError: binding rejected: quota");
  EXPECT_EQ(scheduler->state().pod_count(), 0U) << "its room is free again";
  wait(3000);
  EXPECT_GT(posts.size(), 1U);
}

TEST(ExtenderOptions, ASchedulerWithExtendersNeedsAWayToReachThem) {
  test::ControlPlane plane;
  const auto started =
      Scheduler::start(plane.client, plane.loop, Rng(1),
                       {.profiles = {berth_profile()},
                        .queue = {},
                        .explain = {},
                        .extenders = {{.url_prefix = "http://x", .filter_verb = "f"}}});
  ASSERT_FALSE(started.has_value());
}

} // namespace
} // namespace berth::scheduler
