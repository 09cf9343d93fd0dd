#include "berth/store/pod_defaults.h"

#include "berth/store/admission_fixture.h"

namespace berth::store {
namespace {

class PodDefaults : public AdmissionTest {};

TEST_F(PodDefaults, ABarePodIsCompleted) {
  EXPECT_EQ(
      made(pod_with(R"("containers":[{"name":"c","image":"x"}])"), "spec"),
      R"({"containers":[{"name":"c","image":"x","resources":{},"terminationMessagePath":"/dev/termination-log",)"
      R"("terminationMessagePolicy":"File","imagePullPolicy":"Always"}],"restartPolicy":"Always",)"
      R"("terminationGracePeriodSeconds":30,"dnsPolicy":"ClusterFirst","securityContext":{},)"
      R"("schedulerName":"default-scheduler","enableServiceLinks":true,"priority":0,)"
      R"("preemptionPolicy":"PreemptLowerPriority","tolerations":[{"key":"node.kubernetes.io/not-ready",)"
      R"("operator":"Exists","effect":"NoExecute","tolerationSeconds":300},{"key":"node.kubernetes.io/unreachable",)"
      R"("operator":"Exists","effect":"NoExecute","tolerationSeconds":300}]})");
}

TEST_F(PodDefaults, WhatIsGivenStays) {
  const auto pod =
      create(pod_with(R"("containers":[{"name":"c","image":"x","imagePullPolicy":"Never"}],)"
                      R"("restartPolicy":"Never","terminationGracePeriodSeconds":0,)"
                      R"("schedulerName":"berth")"));
  ASSERT_TRUE(pod);
  EXPECT_EQ(api::string_at(pod->json(), "spec.restartPolicy"), "Never");
  EXPECT_EQ(api::string_at(pod->json(), "spec.schedulerName"), "berth");
  EXPECT_EQ(api::find_path(pod->json(), "spec.terminationGracePeriodSeconds")->as_int64(), 0);
}

struct PullCase {
  std::string image;
  std::string policy;
};
class PullPolicy : public AdmissionTest, public ::testing::WithParamInterface<PullCase> {};

TEST_P(PullPolicy, FollowsTheTag) {
  const auto pod = create(
      pod_with(fmt::format(R"("containers":[{{"name":"c","image":"{}"}}])", GetParam().image)));
  ASSERT_TRUE(pod);
  const auto& container = api::find_path(pod->json(), "spec.containers")->as_array().at(0);
  EXPECT_EQ(api::string_at(container, "imagePullPolicy"), GetParam().policy);
}

INSTANTIATE_TEST_SUITE_P(Images, PullPolicy,
                         ::testing::Values(PullCase{"x", "Always"}, PullCase{"x:latest", "Always"},
                                           PullCase{"x:1", "IfNotPresent"},
                                           PullCase{"host:5000/x", "Always"},
                                           PullCase{"host:5000/x:2", "IfNotPresent"},
                                           PullCase{"x@sha256:00", "IfNotPresent"}));

struct ResourceCase {
  std::string name;
  std::string given;
  std::string want;
};
class Resources : public AdmissionTest, public ::testing::WithParamInterface<ResourceCase> {};

TEST_P(Resources, BecomeCanonicalAndRequested) {
  const auto pod = create(pod_asking(GetParam().given));
  ASSERT_TRUE(pod) << pod.error().message;
  const auto& container = api::find_path(pod->json(), "spec.containers")->as_array().at(0);
  EXPECT_EQ(api::to_json(*api::find(container, "resources")), GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(
    Given, Resources,
    ::testing::Values(
        ResourceCase{"none", "{}", "{}"},
        ResourceCase{"gpu_number", R"({"limits":{"nvidia.com/gpu":8}})",
                     R"({"limits":{"nvidia.com/gpu":"8"},"requests":{"nvidia.com/gpu":"8"}})"},
        ResourceCase{
            "canonical", R"({"limits":{"cpu":1.5,"memory":"0.5Gi"}})",
            R"({"limits":{"cpu":"1500m","memory":"512Mi"},"requests":{"cpu":"1500m","memory":"512Mi"}})"},
        ResourceCase{
            "partial", R"({"limits":{"cpu":"2","memory":"1Gi"},"requests":{"cpu":"1"}})",
            R"({"limits":{"cpu":"2","memory":"1Gi"},"requests":{"cpu":"1","memory":"1Gi"}})"},
        ResourceCase{"requests_only", R"({"requests":{"cpu":"100m"}})",
                     R"({"requests":{"cpu":"100m"}})"}),
    [](const auto& given) { return given.param.name; });

struct ToleratedCase {
  std::string name;
  std::string given;
  int added;
};
class Tolerations : public AdmissionTest, public ::testing::WithParamInterface<ToleratedCase> {};

TEST_P(Tolerations, AreAddedUnlessThePodSaysOtherwise) {
  const auto pod = create(pod_with(fmt::format(
      R"("containers":[{{"name":"c","image":"x"}}],"tolerations":[{}])", GetParam().given)));
  ASSERT_TRUE(pod) << pod.error().message;
  EXPECT_EQ(api::find_path(pod->json(), "spec.tolerations")->as_array().size(),
            1u + GetParam().added);
}

INSTANTIATE_TEST_SUITE_P(
    Given, Tolerations,
    ::testing::Values(
        ToleratedCase{"other_key", R"({"key":"gpu","operator":"Exists"})", 2},
        ToleratedCase{"everything", R"({"operator":"Exists"})", 0},
        ToleratedCase{"everything_but_not_no_execute",
                      R"({"operator":"Exists","effect":"NoSchedule"})", 2},
        ToleratedCase{
            "not_ready",
            R"({"key":"node.kubernetes.io/not-ready","operator":"Exists","effect":"NoExecute","tolerationSeconds":5})",
            1},
        ToleratedCase{"not_ready_any_effect",
                      R"({"key":"node.kubernetes.io/not-ready","operator":"Exists"})", 1}),
    [](const auto& given) { return given.param.name; });

TEST_F(PodDefaults, TheFirstStatusSaysPendingAndTheQualityOfService) {
  EXPECT_EQ(made(pod_asking("{}", "a"), "status"),
            R"({"phase":"Pending","qosClass":"BestEffort"})");
  EXPECT_EQ(made(pod_asking(R"({"requests":{"cpu":"1"}})", "b"), "status"),
            R"({"phase":"Pending","qosClass":"Burstable"})");
  EXPECT_EQ(made(pod_asking(R"({"limits":{"cpu":"1","memory":"1Gi"}})", "c"), "status"),
            R"({"phase":"Pending","qosClass":"Guaranteed"})");
}

TEST_F(PodDefaults, AGatedPodSaysSo) {
  EXPECT_EQ(
      made(pod_with(
               R"("containers":[{"name":"c","image":"x"}],"schedulingGates":[{"name":"x.io/g"}])"),
           "status.conditions"),
      R"([{"type":"PodScheduled","status":"False","lastProbeTime":null,)"
      R"("lastTransitionTime":"2023-11-14T22:13:20Z","reason":"SchedulingGated",)"
      R"("message":"Scheduling is blocked due to non-empty scheduling gates"}])");
}

TEST_F(PodDefaults, SmallThingsInside) {
  const auto pod = create(pod_with(
      R"("hostNetwork":true,"containers":[{"name":"c","image":"x:1","ports":[{"containerPort":80}],)"
      R"("livenessProbe":{"httpGet":{"port":80}},"lifecycle":{"preStop":{"httpGet":{"port":1}}},)"
      R"("env":[{"name":"N","valueFrom":{"fieldRef":{"fieldPath":"metadata.name"}}}]}],)"
      R"("volumes":[{"name":"e"},{"name":"s","secret":{"secretName":"k"}},{"name":"h","hostPath":{"path":"/x"}}])"));
  ASSERT_TRUE(pod) << pod.error().message;
  const auto& container = api::find_path(pod->json(), "spec.containers")->as_array().at(0);
  EXPECT_EQ(api::to_json(*api::find(container, "ports")),
            R"([{"containerPort":80,"hostPort":80,"protocol":"TCP"}])");
  EXPECT_EQ(
      api::to_json(*api::find(container, "livenessProbe")),
      R"({"httpGet":{"port":80,"path":"/","scheme":"HTTP"},"timeoutSeconds":1,"periodSeconds":10,)"
      R"("successThreshold":1,"failureThreshold":3})");
  EXPECT_EQ(api::string_at(container, "lifecycle.preStop.httpGet.scheme"), "HTTP");
  EXPECT_EQ(
      api::to_json(*api::find(container, "env")),
      R"([{"name":"N","valueFrom":{"fieldRef":{"fieldPath":"metadata.name","apiVersion":"v1"}}}])");
  EXPECT_EQ(
      api::to_json(*api::find_path(pod->json(), "spec.volumes")),
      R"([{"name":"e","emptyDir":{}},{"name":"s","secret":{"secretName":"k","defaultMode":420}},)"
      R"({"name":"h","hostPath":{"path":"/x","type":""}}])");
}

TEST_F(PodDefaults, WronglyTypedFieldsAreRefusedAndNeverCrash) {
  for (const std::string_view spec :
       {R"("containers":"x")", R"("containers":[1,"x",null])",
        R"("containers":[{"name":"c","image":"x","ports":7}])",
        R"("containers":[{"name":"c","image":"x","resources":[]}])",
        R"("containers":[],"tolerations":{})",
        R"("containers":[{"name":"c","image":"x","resources":{"limits":{"cpu":{}}}}])"}) {
    EXPECT_FALSE(create(pod_with(spec))) << spec;
  }
  EXPECT_FALSE(
      create(parsed(R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"spec":[]})")));
  EXPECT_FALSE(create(parsed(R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"}})")));
}

} // namespace
} // namespace berth::store
