#include "berth/model/pod.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/api/json.h"
#include "berth/testing/builders.h"

namespace berth::model {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::shared_ptr<const Pod> decoded(std::string_view spec) {
  const auto document =
      api::parse_json(R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"spec":)" +
                      std::string(spec) + "}");
  EXPECT_TRUE(document.has_value());
  auto pod = decode_pod(*document);
  EXPECT_TRUE(pod.has_value()) << berth::to_string(pod.error());
  return pod.value_or(std::make_shared<const Pod>());
}

TEST(Pod, FillsInKubernetesDefaults) {
  const auto pod = decoded(R"({"containers":[{"name":"c","ports":[{"containerPort":80}]}]})");
  EXPECT_EQ(pod->spec.scheduler_name, "default-scheduler");
  EXPECT_EQ(pod->spec.restart_policy, "Always");
  EXPECT_EQ(pod->spec.containers[0].ports[0].protocol, "TCP");
  EXPECT_EQ(pod->spec.containers[0].ports[0].host_port, 0);
  EXPECT_EQ(pod->priority(), 0);
  EXPECT_FALSE(pod->spec.node_affinity.has_value());
  EXPECT_EQ(pod->pod_group(), "");
  EXPECT_EQ(decoded(R"({"schedulerName":"","restartPolicy":""})")->spec.scheduler_name,
            "default-scheduler");
}

TEST(Pod, NullIsAbsent) {
  const auto pod = decoded(
      R"({"schedulerName":null,"containers":[{"name":"c","resources":null,"command":null}],"affinity":null,
          "nodeSelector":{"a":null},"tolerations":[null],"priority":null,"overhead":null})");
  EXPECT_EQ(pod->spec.scheduler_name, "default-scheduler");
  EXPECT_EQ(pod->spec.node_selector.at("a"), "");
  EXPECT_EQ(pod->spec.tolerations.size(), 1U);
  EXPECT_FALSE(pod->spec.priority.has_value());
}

TEST(Pod, ReadsContainers) {
  const auto pod = decoded(
      R"({"containers":[{"name":"c","image":"i:1","command":["a"],"args":["b","c"],"unknown":{"x":1},
           "env":[{"name":"A","value":"1"},{"name":"B","valueFrom":{"fieldRef":{}}}],
           "resources":{"requests":{"cpu":0.5,"memory":"1Gi","nvidia.com/gpu":8},"limits":{"cpu":1e0}}}],
          "initContainers":[{"name":"s","restartPolicy":"Always"}]})");
  const Container& container = pod->spec.containers[0];
  EXPECT_EQ(container.image, "i:1");
  EXPECT_THAT(container.args, ElementsAre("b", "c"));
  EXPECT_EQ(container.env[1].name, "B");
  EXPECT_EQ(container.env[1].value, "");
  EXPECT_EQ(container.resources.requests.at("cpu").to_string(), "500m");
  EXPECT_EQ(container.resources.requests.at("nvidia.com/gpu").value(), 8);
  EXPECT_EQ(container.resources.limits.at("cpu").value(), 1);
  EXPECT_EQ(pod->spec.init_containers[0].restart_policy, "Always");
}

TEST(Pod, ReadsAffinity) {
  const auto pod = decoded(
      R"({"affinity":{"nodeAffinity":{
            "requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[
              {"matchExpressions":[{"key":"gpu","operator":"Gt","values":["3"]}]},
              {"matchFields":[{"key":"metadata.name","operator":"In","values":["n"]}]}]},
            "preferredDuringSchedulingIgnoredDuringExecution":[
              {"weight":7,"preference":{"matchExpressions":[{"key":"z","operator":"Exists"}]}}]},
          "podAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[
              {"topologyKey":"zone","labelSelector":{"matchLabels":{"app":"x"}},"namespaceSelector":{}}]},
          "podAntiAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[
              {"weight":5,"podAffinityTerm":{"topologyKey":"host","namespaces":["p"]}}]}}})");
  const PodSpec& spec = pod->spec;
  EXPECT_TRUE(spec.node_affinity->required->matches({{"gpu", "4"}}, "m"));
  EXPECT_TRUE(spec.node_affinity->required->matches({}, "n"));
  EXPECT_FALSE(spec.node_affinity->required->matches({{"gpu", "3"}}, "m"));
  EXPECT_EQ(spec.node_affinity->preferred[0].weight, 7);
  EXPECT_TRUE(spec.pod_affinity->required[0].namespace_selector->empty());
  EXPECT_TRUE(spec.pod_affinity->required[0].label_selector->matches({{"app", "x"}}));
  EXPECT_FALSE(spec.pod_anti_affinity->preferred[0].term.label_selector.has_value());
  EXPECT_THAT(spec.pod_anti_affinity->preferred[0].term.namespaces, ElementsAre("p"));
}

TEST(Pod, AnEmptyRequiredAffinityMatchesNothing) {
  const auto pod = decoded(
      R"({"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{}}}})");
  ASSERT_TRUE(pod->spec.node_affinity->required.has_value());
  EXPECT_FALSE(pod->spec.node_affinity->required->matches({{"a", "b"}}, "n"));
}

TEST(Pod, ReadsTheRestOfTheSpec) {
  const auto pod = decoded(
      R"({"nodeName":"n","priorityClassName":"high","priority":1000,"preemptionPolicy":"Never",
          "schedulingGates":[{"name":"g1"},{"name":"g2"}],"overhead":{"cpu":"250m"},
          "resources":{"requests":{"cpu":"4"}},"terminationGracePeriodSeconds":0,"activeDeadlineSeconds":60,
          "tolerations":[{"key":"k","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}],
          "topologySpreadConstraints":[{"maxSkew":2,"topologyKey":"zone","whenUnsatisfiable":"DoNotSchedule",
            "labelSelector":{"matchExpressions":[{"key":"a","operator":"NotIn","values":["b"]}]},"minDomains":3}],
          "volumes":[{"name":"v","emptyDir":{}},{"name":"i","image":{"reference":"model:1"}}]})");
  const PodSpec& spec = pod->spec;
  EXPECT_EQ(pod->priority(), 1000);
  EXPECT_THAT(spec.scheduling_gates, ElementsAre("g1", "g2"));
  EXPECT_EQ(spec.tolerations[0].toleration_seconds, 300);
  EXPECT_EQ(spec.topology_spread_constraints[0].max_skew, 2);
  EXPECT_EQ(spec.topology_spread_constraints[0].node_affinity_policy, "Honor");
  EXPECT_EQ(spec.topology_spread_constraints[0].min_domains, 3);
  EXPECT_THAT(spec.image_volumes, ElementsAre("model:1"));
  EXPECT_EQ(spec.termination_grace_period_seconds, 0);
  EXPECT_EQ(spec.resources->requests.at("cpu").value(), 4);
}

TEST(Pod, TheHostNetworkHoldsEveryPort) {
  const auto pod = decoded(R"({"hostNetwork":true,"containers":[{"ports":[{"containerPort":80},
                               {"containerPort":81,"hostPort":81}]}]})");
  EXPECT_EQ(pod->spec.containers[0].ports[0].host_port, 80);
  EXPECT_EQ(pod->spec.containers[0].ports[1].host_port, 81);
}

TEST(Pod, ReadsStatus) {
  const auto document = api::parse_json(
      R"({"metadata":{"name":"a","labels":{"scheduling.x-k8s.io/pod-group":"g"}},
          "status":{"phase":"Failed","nominatedNodeName":"n","startTime":"2026-01-02T03:04:05Z",
          "conditions":[{"type":"PodScheduled","status":"False","reason":"Unschedulable",
                         "lastTransitionTime":"2026-01-02T03:04:05Z"}]}})");
  const auto pod = decode_pod(*document);
  ASSERT_TRUE(pod.has_value());
  EXPECT_TRUE((*pod)->terminal());
  EXPECT_EQ((*pod)->pod_group(), "g");
  ASSERT_NE((*pod)->status.condition("PodScheduled"), nullptr);
  EXPECT_EQ((*pod)->status.condition("PodScheduled")->reason, "Unschedulable");
  EXPECT_EQ((*pod)->status.condition("Ready"), nullptr);
  EXPECT_EQ((*pod)->status.start_time, TimePoint::from_unix_seconds(1767323045));
}

struct BadCase {
  std::string name;
  std::string spec;
  std::string want;
};

class PodBad : public testing::TestWithParam<BadCase> {};

TEST_P(PodBad, NamesTheField) {
  const auto document = api::parse_json(R"({"spec":)" + GetParam().spec + "}");
  ASSERT_TRUE(document.has_value()) << berth::to_string(document.error());
  const auto pod = decode_pod(*document);
  ASSERT_FALSE(pod.has_value());
  EXPECT_EQ(pod.error().code, Code::Invalid);
  EXPECT_EQ(berth::to_string(pod.error()), GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(
    Table, PodBad,
    testing::Values(
        BadCase{"SpecList", "[]", "spec: expected a map, got a list"},
        BadCase{"Image", R"({"containers":[{},{"image":8}]})",
                "spec.containers[1].image: expected a string, got a number: 8"},
        BadCase{"Containers", R"({"containers":{"name":"x"}})",
                "spec.containers: expected a list, got a map"},
        BadCase{"ContainerText", R"({"containers":["x"]})",
                "spec.containers[0]: expected a map, got a string: \"x\""},
        BadCase{"Quantity",
                R"({"containers":[{"resources":{"requests":{"nvidia.com/gpu":"eight"}}}]})",
                "spec.containers[0].resources.requests[nvidia.com/gpu]: not a quantity such as "
                "\"500m\", \"2Gi\" or "
                "\"8\": \"eight\""},
        BadCase{"QuantityMap", R"({"containers":[{"resources":{"limits":{"cpu":{}}}}]})",
                "spec.containers[0].resources.limits.cpu: expected a quantity such as \"500m\", "
                "\"2Gi\" or 8, got a map"},
        BadCase{"Priority", R"({"priority":"high"})",
                "spec.priority: expected an integer, got a string: \"high\""},
        BadCase{"Fraction", R"({"priority":1.5})",
                "spec.priority: expected an integer, got a number: 1.5"},
        BadCase{"Huge", R"({"priority":18446744073709551615})",
                "spec.priority: number out of range: 18446744073709551615"},
        BadCase{
            "Port", R"({"containers":[{"ports":[{"containerPort":4294967296}]}]})",
            "spec.containers[0].ports[0].containerPort: number does not fit 32 bits: 4294967296"},
        BadCase{"HostNetwork", R"({"hostNetwork":"yes"})",
                "spec.hostNetwork: expected true or false, got a string: \"yes\""},
        BadCase{"Selector", R"({"nodeSelector":{"gpu":true}})",
                "spec.nodeSelector.gpu: expected a string, got a boolean: true"},
        BadCase{
            "Operator",
            R"({"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":
                   [{"matchExpressions":[{"key":"a","operator":"Is"}]}]}}}})",
            "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution."
            "nodeSelectorTerms[0]."
            "matchExpressions[0]: operator must be In, NotIn, Exists, DoesNotExist, Gt or Lt, not "
            "\"Is\""},
        BadCase{
            "LabelGt",
            R"({"topologySpreadConstraints":[{"labelSelector":{"matchExpressions":[{"key":"a","operator":"Gt","values":["1"]}]}}]})",
            "spec.topologySpreadConstraints[0].labelSelector.matchExpressions[0]: operator must be "
            "In, NotIn, "
            "Exists or DoesNotExist, not \"Gt\""}),
    [](const auto& given) { return given.param.name; });

TEST(PodView, IsDecodedOncePerVersion) {
  const api::Object object = test::pod("a").gpus(8).object();
  const auto first = pod_view(object);
  const auto second = pod_view(object);
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(first->get(), second->get());
  const api::Object changed =
      object.edit([](api::json::object& o) { api::object_at(o, "spec")["nodeName"] = "n"; });
  EXPECT_EQ((*pod_view(changed))->spec.node_name, "n");
  EXPECT_EQ((*pod_view(object))->spec.node_name, "");
}

} // namespace
} // namespace berth::model
