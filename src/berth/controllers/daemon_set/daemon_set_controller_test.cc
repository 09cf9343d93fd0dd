// DaemonSets over the embedded registry, with a scheduler that binds where node affinity says and a
// kubelet that runs what it is given.
#include "berth/controllers/daemon_set/daemon_set_controller.h"

#include <algorithm>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/api/json.h"
#include "berth/controllers/daemon_set/daemon_pod.h"
#include "berth/controllers/gc/garbage_collector.h"
#include "berth/controllers/revision/revision.h"
#include "berth/testing/control_plane.h"

namespace berth::controllers {
namespace {

namespace json = api::json;
using test::FakeKubelet;
using testing::ElementsAre;
using testing::UnorderedElementsAre;

const api::Key kAgent{"default", "agent"};

class DaemonSets : public testing::Test {
 protected:
  DaemonSets()
      : binder(plane.client, plane.loop, {.kind = client::kPods},
               [this](const api::Object&, const api::Object& pod) { bind(pod); }),
        daemons(plane.client, plane.loop, Rng(1)), garbage(plane.client, plane.loop),
        kubelet(plane, "nowhere", [](const api::Object&) {
          return FakeKubelet::Life{.runs = Duration::max(), .ends = "Failed"};
        }) {
    for (const char* name : {"n1", "n2", "n3"}) {
      node(name);
    }
  }

  void node(const std::string& name, const std::string& spec = "{}") {
    plane.create(*api::parse_json(R"({"apiVersion":"v1","kind":"Node","metadata":{"name":")" +
                                  name + R"(","labels":{"host":")" + name + R"("}},"spec":)" +
                                  spec + "}"));
  }
  void bind(const api::Object& pod) {
    if (pod && api::string_at(pod.json(), "spec.nodeName").empty() &&
        !pod.meta().deletion_timestamp) {
      plane.client.bind(
          {.pod = pod.key(), .uid = pod.meta().uid, .node = target_node(pod), .annotations = {}},
          [](const Result<api::Object>&) {});
    }
  }
  void create(const std::string& strategy = "{}", const std::string& pod = "") {
    plane.create(*api::parse_json(
        R"({"apiVersion":"apps/v1","kind":"DaemonSet","metadata":{"name":"agent","namespace":)"
        R"("default"},"spec":{"updateStrategy":)" +
        strategy +
        R"(,"selector":{"matchLabels":{"app":"agent"}},"template":{"metadata":{"labels":)"
        R"({"app":"agent"}},"spec":{"containers":[{"name":"c","image":"one"}])" +
        pod + "}}}}"));
  }
  void roll_to(const std::string& image) {
    plane.patch(
        kDaemonSets, kAgent,
        *api::parse_json(R"({"spec":{"template":{"spec":{"containers":[{"name":"c","image":")" +
                         image + R"("}]}}}})"));
  }
  void pass(Duration time = Duration::minutes(2)) { plane.run_for(time); }
  std::vector<std::string> where() const {
    std::vector<std::string> nodes;
    for (const api::Object& pod : plane.all(client::kPods)) {
      nodes.emplace_back(api::string_at(pod.json(), "spec.nodeName"));
    }
    return nodes;
  }
  std::vector<std::string> images() const {
    std::vector<std::string> found;
    for (const api::Object& pod : plane.all(client::kPods)) {
      const auto& containers = api::find_path(pod.json(), "spec.containers")->as_array();
      found.emplace_back(api::string_at(containers[0], "image"));
    }
    return found;
  }
  std::string status(std::string_view field) const {
    const json::value* found =
        api::find_path(plane.find(kDaemonSets, kAgent).json(), "status." + std::string(field));
    return found == nullptr ? "" : api::to_json(*found);
  }

  test::ControlPlane plane;
  client::Informer binder;
  DaemonSetController daemons;
  GarbageCollector garbage;
  FakeKubelet kubelet;
};

TEST_F(DaemonSets, RunOnEveryNode) {
  create();
  pass();
  EXPECT_THAT(where(), UnorderedElementsAre("n1", "n2", "n3"));
  EXPECT_EQ(status("desiredNumberScheduled"), "3");
  EXPECT_EQ(status("numberAvailable"), "3");
  EXPECT_EQ(status("updatedNumberScheduled"), "3");
  EXPECT_EQ(status("numberUnavailable"), "");
  EXPECT_EQ(status("observedGeneration"), "1");
  EXPECT_TRUE(daemons.idle());
}

TEST_F(DaemonSets, FollowNodesThatComeAndTaints) {
  create();
  pass();
  node("n4");
  node("n5", R"({"taints":[{"key":"gpu","effect":"NoSchedule"}]})");
  node("n6", R"({"unschedulable":true,"taints":[{"key":"node.kubernetes.io/unschedulable",)"
             R"("effect":"NoSchedule"}]})");
  pass();
  EXPECT_THAT(where(), UnorderedElementsAre("n1", "n2", "n3", "n4", "n6"));
  plane.patch(client::kNodes, {"", "n1"},
              *api::parse_json(R"({"spec":{"taints":[{"key":"x","effect":"NoExecute"}]}})"));
  pass();
  EXPECT_THAT(where(), UnorderedElementsAre("n2", "n3", "n4", "n6"));
}

TEST_F(DaemonSets, GoWhereTheTemplateSays) {
  create("{}", R"(,"nodeSelector":{"host":"n2"})");
  pass();
  EXPECT_THAT(where(), ElementsAre("n2"));
  plane.patch(client::kNodes, {"", "n1"},
              *api::parse_json(R"({"metadata":{"labels":{"host":"n2"}}})"));
  plane.patch(client::kNodes, {"", "n2"},
              *api::parse_json(R"({"metadata":{"labels":{"host":"x"}}})"));
  pass();
  EXPECT_THAT(where(), ElementsAre("n1"));
}

// A pod that its node turns away at once (its device is gone, say) is not made again without end.
TEST_F(DaemonSets, FailingOnesAreMadeAgainMoreAndMoreSlowly) {
  create("{}", R"(,"nodeSelector":{"host":"n2"})");
  std::set<std::string> made;
  for (int second = 0; second < 600; ++second) {
    for (const api::Object& pod : plane.all(client::kPods)) {
      made.insert(pod.meta().uid);
      if (api::string_at(pod.json(), "status.phase") != "Failed") {
        plane.patch_status(
            client::kPods, pod.key(),
            json::object{{"phase", "Failed"}, {"reason", "UnexpectedAdmissionError"}});
      }
    }
    pass(Duration::seconds(1));
  }
  EXPECT_GE(made.size(), 8U) << "it is tried again";
  EXPECT_LE(made.size(), 12U) << "after 1, 2, 4 ... seconds";
}

TEST_F(DaemonSets, PodsCarryWhatDaemonsCarry) {
  create();
  pass();
  const api::Object pod = plane.all(client::kPods).front();
  EXPECT_EQ(pod.meta().labels.at("pod-template-generation"), "1");
  const api::Object revision = plane.all(kRevisions).front();
  EXPECT_EQ(revision.meta().name, "agent-" + pod.meta().labels.at("controller-revision-hash"));
  EXPECT_EQ(revision_number(revision), 1);
  EXPECT_EQ(pod.meta().controller()->name, "agent");
  const std::string tolerations = api::to_json(*api::find_path(pod.json(), "spec.tolerations"));
  for (const char* taint : {"not-ready", "unreachable", "disk-pressure", "memory-pressure",
                            "pid-pressure", "unschedulable"}) {
    EXPECT_THAT(tolerations, testing::HasSubstr(std::string("node.kubernetes.io/") + taint));
  }
  EXPECT_THAT(tolerations, testing::Not(testing::HasSubstr("network-unavailable")));
}

TEST_F(DaemonSets, ANewTemplateRollsFromNodeToNode) {
  create();
  pass();
  roll_to("two");
  pass(Duration::minutes(5));
  EXPECT_THAT(images(), testing::Each("two"));
  EXPECT_EQ(images().size(), 3U);
  EXPECT_EQ(status("updatedNumberScheduled"), "3");
  EXPECT_EQ(plane.all(kRevisions).size(), 2U);
  EXPECT_EQ(plane.find(kDaemonSets, kAgent)
                .meta()
                .annotations.at("deprecated.daemonset.template.generation"),
            "2");
  roll_to("one");
  pass(Duration::minutes(5));
  EXPECT_THAT(images(), testing::Each("one"));
  ASSERT_EQ(plane.all(kRevisions).size(), 2U) << "the first revision has come back";
  std::vector<std::int64_t> numbers;
  for (const api::Object& revision : plane.all(kRevisions)) {
    numbers.push_back(revision_number(revision));
  }
  EXPECT_THAT(numbers, UnorderedElementsAre(2, 3));
}

TEST_F(DaemonSets, SurgingOnesNeverMissANode) {
  create(R"({"rollingUpdate":{"maxSurge":1,"maxUnavailable":0}})");
  pass();
  roll_to("two");
  pass(Duration::minutes(5));
  EXPECT_THAT(images(), testing::Each("two"));
  EXPECT_THAT(where(), UnorderedElementsAre("n1", "n2", "n3"));
}

TEST_F(DaemonSets, OnDeleteWaitsForTheDeletion) {
  create(R"({"type":"OnDelete"})");
  pass();
  roll_to("two");
  pass();
  EXPECT_THAT(images(), testing::Each("one"));
  EXPECT_EQ(status("updatedNumberScheduled"), "");
  plane.remove(client::kPods, plane.all(client::kPods).front().key());
  pass();
  EXPECT_THAT(images(), UnorderedElementsAre("one", "one", "two"));
}

TEST_F(DaemonSets, HistoryIsAsLongAsItMayBe) {
  create();
  plane.patch(kDaemonSets, kAgent, *api::parse_json(R"({"spec":{"revisionHistoryLimit":1}})"));
  for (const char* image : {"two", "three", "four"}) {
    pass(Duration::minutes(5));
    roll_to(image);
  }
  pass(Duration::minutes(5));
  EXPECT_EQ(plane.all(kRevisions).size(), 2U) << "the present one and one of before";
}

TEST_F(DaemonSets, OrphansAreAdoptedAndStrangersReleased) {
  create();
  pass();
  const api::Key key = plane.all(client::kPods).front().key();
  plane.patch(client::kPods, key, *api::parse_json(R"({"metadata":{"labels":{"app":"x"}}})"));
  pass();
  EXPECT_EQ(plane.find(client::kPods, key).meta().controller(), nullptr);
  EXPECT_EQ(plane.all(client::kPods).size(), 4U);
  plane.patch(client::kPods, key, *api::parse_json(R"({"metadata":{"labels":{"app":"agent"}}})"));
  pass();
  EXPECT_EQ(plane.all(client::kPods).size(), 3U) << "adopted again, and one too many";
}

TEST_F(DaemonSets, TakeTheirPodsAndRevisionsAlong) {
  create();
  pass();
  plane.remove(kDaemonSets, kAgent);
  pass();
  EXPECT_EQ(plane.all(client::kPods).size(), 0U);
  EXPECT_EQ(plane.all(kRevisions).size(), 0U);
}

} // namespace
} // namespace berth::controllers
