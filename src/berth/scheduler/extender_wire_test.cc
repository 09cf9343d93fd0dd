// The JSON of extenders: extenderv1's Go field names, both ways.
#include "berth/scheduler/extender_wire.h"

#include <boost/json/parse.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/testing/scheduling_world.h"

namespace berth::scheduler {
namespace {

using sched::ExtenderQuestion;
using sched::ExtenderVerb;
using testing::ElementsAre;
using testing::HasSubstr;

api::Object object(const std::string& kind, const std::string& name) {
  return *api::Object::from_json(boost::json::parse(R"({"apiVersion":"v1","kind":")" + kind +
                                                    R"(","metadata":{"name":")" + name +
                                                    R"(","uid":"u-)" + name + R"("},"spec":{}})"));
}

ExtenderObjects objects() {
  return {.pod = object("Pod", "p"),
          .node = [](std::string_view name) { return object("Node", std::string(name)); },
          .victim = [](std::string_view uid) { return object("Pod", std::string(uid).substr(2)); }};
}

boost::json::value body(const sched::Extender& extender, const ExtenderQuestion& question) {
  return boost::json::parse(question_body(extender, question, objects()));
}

TEST(ExtenderWire, UrlsAreJoinedWithOneSlash) {
  EXPECT_EQ(extender_url({.url_prefix = "http://h/x"}, "filter"), "http://h/x/filter");
  EXPECT_EQ(extender_url({.url_prefix = "http://h/x//"}, "filter"), "http://h/x/filter");
}

TEST(ExtenderWire, NodesGoWholeOrByName) {
  const ExtenderQuestion question{
      .verb = ExtenderVerb::Filter, .extender = 0, .nodes = {"a", "b"}, .victims = {}};
  const auto whole = body({}, question);
  EXPECT_EQ(whole.at_pointer("/Pod/metadata/name").as_string(), "p");
  EXPECT_TRUE(whole.at("NodeNames").is_null());
  EXPECT_EQ(whole.at_pointer("/Nodes/items/1/metadata/name").as_string(), "b");
  const auto names = body({.node_cache_capable = true}, question);
  EXPECT_TRUE(names.at("Nodes").is_null());
  EXPECT_EQ(names.at_pointer("/NodeNames/0").as_string(), "a");
}

TEST(ExtenderWire, VictimsGoWholeOrByUid) {
  test::SchedulingWorld world;
  ExtenderQuestion question{
      .verb = ExtenderVerb::Preempt, .extender = 0, .nodes = {}, .victims = {}};
  question.victims["a"] = {.pods = {world.describe(test::pod("v").uid("u-v"))},
                           .budget_violations = 2};
  const auto whole = body({}, question);
  EXPECT_EQ(whole.at_pointer("/NodeNameToVictims/a/Pods/0/metadata/name").as_string(), "v");
  EXPECT_EQ(whole.at_pointer("/NodeNameToVictims/a/NumPDBViolations").as_int64(), 2);
  const auto uids = body({.node_cache_capable = true}, question);
  EXPECT_EQ(uids.at_pointer("/NodeNameToMetaVictims/a/Pods/0/UID").as_string(), "u-v");
}

TEST(ExtenderWire, FilterAnswersAreRead) {
  const ExtenderQuestion question{
      .verb = ExtenderVerb::Filter, .extender = 0, .nodes = {"a", "b", "c"}, .victims = {}};
  const auto names = read_answer({.node_cache_capable = true}, question,
                                 R"({"NodeNames":["a"],"FailedNodes":{"b":"full"},
                                     "FailedAndUnresolvableNodes":{"c":"never"},"Error":""})");
  ASSERT_TRUE(names.has_value()) << to_string(names.error());
  EXPECT_THAT(names->nodes, ElementsAre("a"));
  EXPECT_EQ(names->failed.at("b"), "full");
  EXPECT_EQ(names->unresolvable.at("c"), "never");
  const auto whole = read_answer(
      {}, question, R"({"Nodes":{"items":[{"metadata":{"name":"c"}}]},"NodeNames":null})");
  EXPECT_THAT(whole->nodes, ElementsAre("c"));
}

struct BadAnswer {
  ExtenderVerb verb;
  const char* body;
  const char* why;
};

TEST(ExtenderWire, BadAnswersAreErrors) {
  for (const BadAnswer& bad : std::vector<BadAnswer>{
           {ExtenderVerb::Filter, "", "json"},
           {ExtenderVerb::Filter, "<html>", "json"},
           {ExtenderVerb::Filter, "[]", "no JSON object"},
           {ExtenderVerb::Filter, R"({"Error":"out of memory"})", "out of memory"},
           {ExtenderVerb::Filter, R"({"NodeNames":["z"]})",
            "claims a filtered node \"z\" which is not found in the input node list"},
           {ExtenderVerb::Filter, R"({"NodeNames":[7]})", "claims a filtered node \"\""},
           {ExtenderVerb::Prioritize, "{}", "no JSON array"},
           {ExtenderVerb::Preempt, "3", "no JSON object"}}) {
    const auto answer =
        read_answer({.url_prefix = "x", .node_cache_capable = true},
                    {.verb = bad.verb, .extender = 0, .nodes = {"a"}, .victims = {}}, bad.body);
    ASSERT_FALSE(answer.has_value()) << bad.body;
    EXPECT_THAT(answer.error().message, HasSubstr(bad.why)) << bad.body;
  }
}

TEST(ExtenderWire, ScoresAndVictimsAreRead) {
  const auto scores =
      read_answer({}, {.verb = ExtenderVerb::Prioritize, .extender = 0, .nodes = {}, .victims = {}},
                  R"([{"Host":"a","Score":7},{"Host":"b"},{}])");
  EXPECT_EQ(scores->scores.at("a"), 7);
  EXPECT_EQ(scores->scores.at("b"), 0);
  const auto victims =
      read_answer({}, {.verb = ExtenderVerb::Preempt, .extender = 0, .nodes = {}, .victims = {}},
                  R"({"NodeNameToMetaVictims":{"a":{"Pods":[{"UID":"u"}],"NumPDBViolations":1}}})");
  EXPECT_THAT(victims->victims.at("a").uids, ElementsAre("u"));
  EXPECT_EQ(victims->victims.at("a").budget_violations, 1);
}

TEST(ExtenderWire, BindingsNamePodAndNode) {
  const auto sent = boost::json::parse(
      binding_body({.pod = {"ns", "p"}, .uid = "u", .node = "n", .annotations = {}}));
  EXPECT_EQ(sent.at("PodName").as_string(), "p");
  EXPECT_EQ(sent.at("PodNamespace").as_string(), "ns");
  EXPECT_EQ(sent.at("PodUID").as_string(), "u");
  EXPECT_EQ(sent.at("Node").as_string(), "n");
  EXPECT_TRUE(read_binding_answer("{}").has_value());
  EXPECT_EQ(read_binding_answer(R"({"Error":"no"})").error().message, "no");
}

} // namespace
} // namespace berth::scheduler
