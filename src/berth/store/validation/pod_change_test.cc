// What may be written through a pod's subresources, and what is said of the rest.
#include "berth/store/admission_fixture.h"

namespace berth::store {
namespace {

using ::testing::HasSubstr;

class PodChange : public AdmissionTest {
 protected:
  /// A running pod of one container.
  api::Object running(const std::string& resources) {
    const auto made = create(pod_asking(resources)).value();
    return patch(made,
                 R"({"status":{"containerStatuses":[{"name":"c","image":"x","imageID":"","ready":)"
                 R"(true,"restartCount":0,"resources":{},"state":{"running":{}}}]}})",
                 Subresource::Status)
        .value();
  }
  /// The merge patch `change` of the pod written through the subresource.
  Result<api::Object> write(const api::Object& pod, const std::string& change,
                            Subresource subresource) {
    api::json::value document = pod.json();
    api::merge_patch(document, api::parse_json(change).value());
    return registry.update(api::Object::from_json(std::move(document)).value(), subresource, now);
  }
  std::string complaint_of(const api::Object& pod, const std::string& change,
                           Subresource subresource) {
    const auto written = write(pod, change, subresource);
    return written ? "" : written.error().message;
  }
};

std::string with_resources(const std::string& resources) {
  return R"({"spec":{"containers":[{"name":"c","image":"x","terminationMessagePath":)"
         R"("/dev/termination-log","terminationMessagePolicy":"File","imagePullPolicy":"Always",)"
         R"("resources":)" +
         resources + "}]}}";
}

struct Resize {
  std::string name;
  std::string before;
  std::string after;
  std::string want; ///< after: Pod "a" is invalid:
};
class ResizedPod : public PodChange, public ::testing::WithParamInterface<Resize> {};

TEST_P(ResizedPod, IsJudged) {
  const auto pod = running(GetParam().before);
  const std::string said = complaint_of(pod, with_resources(GetParam().after), Subresource::Resize);
  EXPECT_EQ(said, GetParam().want.empty() ? "" : "Pod \"a\" is invalid: " + GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(
    All, ResizedPod,
    ::testing::Values(
        Resize{"grows", R"({"requests":{"cpu":"1"}})", R"({"requests":{"cpu":"2"}})", ""},
        Resize{"limit_added", R"({"requests":{"cpu":"1"}})",
               R"({"requests":{"cpu":"1"},"limits":{"cpu":"2"}})", ""},
        Resize{"removed", R"({"requests":{"cpu":"1","memory":"1Gi"}})",
               R"({"requests":{"cpu":"1","memory":null}})",
               "spec.containers[0].resources.requests: Forbidden: resource requests cannot be "
               "removed"},
        Resize{"other_resource", R"({"requests":{"cpu":"1","ephemeral-storage":"1Gi"}})",
               R"({"requests":{"cpu":"1","ephemeral-storage":"2Gi"}})",
               "spec: Forbidden: only cpu and memory resources are mutable"},
        Resize{"quality", R"({"requests":{"cpu":"1"},"limits":{"cpu":"2","memory":"1Gi"}})",
               R"({"requests":{"cpu":"2","memory":"1Gi"},"limits":{"cpu":"2","memory":"1Gi"}})",
               "spec: Invalid value: \"Burstable\": Pod QOS Class may not change as a result of "
               "resizing"},
        Resize{"above_limit", R"({"requests":{"cpu":"1"},"limits":{"cpu":"2"}})",
               R"({"requests":{"cpu":"3"},"limits":{"cpu":"2"}})",
               "spec.containers[0].resources.requests: Invalid value: \"3\": must be less than or "
               "equal to cpu limit of 2"}),
    [](const auto& one) { return one.param.name; });

TEST_F(PodChange, AResizeLeavesTheRestAlone) {
  const auto pod = running(R"({"requests":{"cpu":"1"}})");
  const auto written =
      write(pod,
            R"({"metadata":{"labels":{"a":"b"}},"spec":{"hostname":"h","containers":[{"name":"c",)"
            R"("image":"other","resources":{"requests":{"cpu":"2"}}}]}})",
            Subresource::Resize);
  ASSERT_TRUE(written) << to_string(written.error());
  EXPECT_TRUE(written->meta().labels.empty());
  EXPECT_EQ(api::find_path(written->json(), "spec.hostname"), nullptr);
  EXPECT_THAT(api::to_json(written->json()), HasSubstr(R"("image":"x")"));
  EXPECT_THAT(api::to_json(written->json()), HasSubstr(R"("requests":{"cpu":"2"})"));
  EXPECT_EQ(written->meta().generation, pod.meta().generation + 1);
}

TEST_F(PodChange, AResizeNeedsTheSameContainers) {
  const auto pod = running(R"({"requests":{"cpu":"1"}})");
  EXPECT_THAT(complaint_of(pod, R"({"spec":{"containers":[{"name":"d","image":"x"}]}})",
                           Subresource::Resize),
              HasSubstr("spec.containers[0].name: Forbidden: containers may not be renamed or "
                        "reordered on resize"));
}

TEST_F(PodChange, AResizeStaysWithinTheQuota) {
  ASSERT_TRUE(create(parsed(
      R"({"apiVersion":"v1","kind":"ResourceQuota","metadata":{"name":"q"},"spec":{"hard":{"requests.cpu":"3"}}})")));
  const auto pod = running(R"({"requests":{"cpu":"2"}})");
  EXPECT_EQ(complaint_of(pod, with_resources(R"({"requests":{"cpu":"4"}})"), Subresource::Resize),
            "pods \"a\" is forbidden: exceeded quota: q, requested: requests.cpu=2, used: "
            "requests.cpu=2, limited: requests.cpu=3");
  EXPECT_EQ(complaint_of(pod, with_resources(R"({"requests":{"cpu":"3"}})"), Subresource::Resize),
            "");
}

TEST_F(PodChange, EphemeralContainersAreAddedAndStay) {
  const auto pod = running("{}");
  const auto debugged =
      write(pod, R"({"spec":{"ephemeralContainers":[{"name":"e","image":"busybox"}]}})",
            Subresource::EphemeralContainers);
  ASSERT_TRUE(debugged) << to_string(debugged.error());
  EXPECT_THAT(api::to_json(*api::find_path(debugged->json(), "spec.ephemeralContainers")),
              HasSubstr(R"("imagePullPolicy":"Always")"));
  EXPECT_EQ(complaint_of(*debugged, R"({"spec":{"ephemeralContainers":null}})",
                         Subresource::EphemeralContainers),
            "Pod \"a\" is invalid: spec.ephemeralContainers: Forbidden: existing ephemeral "
            "containers \"e\" may not be removed\n");
  EXPECT_EQ(
      complaint_of(*debugged,
                   R"({"spec":{"ephemeralContainers":[{"name":"c","image":"x",)"
                   R"("targetContainerName":"z","ports":[{"containerPort":1}]}]}})",
                   Subresource::EphemeralContainers),
      "Pod \"a\" is invalid: [spec.ephemeralContainers[0].name: Duplicate value: \"c\", "
      "spec.ephemeralContainers[0].targetContainerName: Not found: \"z\", "
      "spec.ephemeralContainers[0].ports: Forbidden: cannot be set for an Ephemeral Container, "
      "spec.ephemeralContainers: Forbidden: existing ephemeral containers \"e\" may not be "
      "removed\n]");
}

TEST_F(PodChange, AStatusMayCarryLabelsButNoOwner) {
  const auto pod = running("{}");
  const auto written = write(
      pod,
      R"({"metadata":{"labels":{"a":"b"},"ownerReferences":[{"apiVersion":"v1","kind":"Node",)"
      R"("name":"n","uid":"u"}]},"spec":{"hostname":"h"},"status":{"phase":"Running"}})",
      Subresource::Status);
  ASSERT_TRUE(written) << to_string(written.error());
  EXPECT_EQ(written->meta().labels.at("a"), "b");
  EXPECT_TRUE(written->meta().owner_references.empty());
  EXPECT_EQ(api::find_path(written->json(), "spec.hostname"), nullptr);
}

struct Status {
  std::string name;
  std::string status; ///< members of the status
  std::string want;   ///< after: Pod "a" is invalid:
};
class StatusOfPod : public PodChange, public ::testing::WithParamInterface<Status> {};

TEST_P(StatusOfPod, IsJudged) {
  const auto made =
      create(pod_with(R"("restartPolicy":"Never","containers":[{"name":"c","image":"x"}])"))
          .value();
  const auto pod =
      patch(
          made,
          R"({"status":{"containerStatuses":[{"name":"c","state":{"terminated":{"exitCode":0}}}]}})",
          Subresource::Status)
          .value();
  EXPECT_EQ(complaint_of(pod, R"({"status":{)" + GetParam().status + "}}", Subresource::Status),
            "Pod \"a\" is invalid: " + GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(
    All, StatusOfPod,
    ::testing::Values(
        Status{"quality", R"("qosClass":"Guaranteed")",
               "status.qosClass: Invalid value: \"Guaranteed\": field is immutable"},
        Status{"came_back", R"("containerStatuses":[{"name":"c","state":{"running":{}}}])",
               "status.containerStatuses[0].state: Forbidden: may not be transitioned to "
               "non-terminated state"},
        Status{"address", R"("podIPs":[{"ip":"1.2.3"}])",
               "status.podIPs[0]: Invalid value: \"1.2.3\": must be a valid IP address, (e.g. "
               "10.9.8.7 or 2001:db8::ffff)"},
        Status{"claim", R"("resourceClaimStatuses":[{"name":"r"}])",
               "status.resourceClaimStatuses[0].name: Invalid value: \"r\": must match the name "
               "of an entry in `spec.resourceClaims`"}),
    [](const auto& one) { return one.param.name; });

TEST_F(PodChange, AnUpdateIsJudgedAsAWholeToo) {
  const auto pod = create(pod_with(R"("containers":[{"name":"c","image":"x"}])")).value();
  const auto changed = patch(pod, R"({"spec":{"tolerations":[{"operator":"Equal","value":"v"}]}})");
  ASSERT_FALSE(changed);
  EXPECT_THAT(changed.error().message,
              HasSubstr("spec.tolerations[0].operator: Invalid value: \"Equal\": operator must be "
                        "Exists when `key` is empty"));
}

TEST_F(PodChange, EveryLookAtTheMetadataTellsItsCause) {
  const auto pod = create(pod_with(R"("containers":[{"name":"c","image":"x"}])")).value();
  const auto changed = patch(pod, R"({"metadata":{"labels":{"a":"b c"}}})");
  ASSERT_FALSE(changed);
  EXPECT_EQ(changed.error().causes.size(), 4U);
  const auto plain =
      create(parsed(R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"n"}})")).value();
  const auto other = patch(plain, R"({"metadata":{"labels":{"a":"b c"}}})");
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().causes.size(), 3U);
}

} // namespace
} // namespace berth::store
