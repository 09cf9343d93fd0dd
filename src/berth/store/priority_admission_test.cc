#include "berth/store/priority_admission.h"

#include "berth/store/admission_fixture.h"

namespace berth::store {
namespace {

using ::testing::HasSubstr;

class Priority : public AdmissionTest {
 protected:
  static api::Object a_class(std::string_view name, std::int64_t value,
                             std::string_view more = "") {
    return parsed(fmt::format(
        R"({{"apiVersion":"scheduling.k8s.io/v1","kind":"PriorityClass","metadata":{{"name":"{}"}},"value":{}{}}})",
        name, value, more));
  }
  static api::Object pod_of(std::string_view more, std::string_view name = "a") {
    return pod_with(fmt::format(R"("containers":[{{"name":"c","image":"x"}}]{})", more), name);
  }
  std::string priority_of(const api::Object& pod) {
    const auto result = create(pod);
    if (!result) {
      return result.error().message;
    }
    return fmt::format("{} {} {}", api::string_at(result->json(), "spec.priorityClassName"),
                       api::find_path(result->json(), "spec.priority")->as_int64(),
                       api::string_at(result->json(), "spec.preemptionPolicy"));
  }
};

TEST_F(Priority, ComesFromTheClass) {
  ASSERT_TRUE(create(a_class("high", 1000)));
  ASSERT_TRUE(create(a_class("polite", 500, R"(,"preemptionPolicy":"Never")")));
  EXPECT_EQ(priority_of(pod_of(R"(,"priorityClassName":"high")", "a")),
            "high 1000 PreemptLowerPriority");
  EXPECT_EQ(priority_of(pod_of(R"(,"priorityClassName":"polite")", "b")), "polite 500 Never");
  EXPECT_EQ(priority_of(pod_of("", "c")), " 0 PreemptLowerPriority");
  EXPECT_EQ(priority_of(pod_of(R"(,"priorityClassName":"none")", "d")),
            "pods \"d\" is forbidden: no PriorityClass with name none was found");
}

TEST_F(Priority, TheSystemClassesNeedNoObject) {
  EXPECT_EQ(priority_of(pod_of(R"(,"priorityClassName":"system-cluster-critical")", "a")),
            "system-cluster-critical 2000000000 PreemptLowerPriority");
  EXPECT_EQ(priority_of(pod_of(R"(,"priorityClassName":"system-node-critical")", "b")),
            "system-node-critical 2000001000 PreemptLowerPriority");
}

TEST_F(Priority, OneClassMayBeTheDefault) {
  ASSERT_TRUE(create(a_class("usual", 7, R"(,"globalDefault":true)")));
  EXPECT_EQ(priority_of(pod_of("")), "usual 7 PreemptLowerPriority");
  EXPECT_EQ(complaint(a_class("other", 8, R"(,"globalDefault":true)")),
            "priorityclasses.scheduling.k8s.io \"other\" is forbidden: PriorityClass usual is "
            "already marked as "
            "default. Only one default can exist");
}

TEST_F(Priority, NobodyPicksTheirOwn) {
  EXPECT_EQ(priority_of(pod_of(R"(,"priority":5)")),
            "pods \"a\" is forbidden: the integer value of priority (5) must not be provided in "
            "pod spec; priority "
            "admission controller computed 0 from the given PriorityClass name");
  EXPECT_EQ(priority_of(pod_of(R"(,"preemptionPolicy":"Never")")),
            "pods \"a\" is forbidden: the string value of PreemptionPolicy (Never) must not be "
            "provided in pod spec; "
            "priority admission controller computed PreemptLowerPriority from the given "
            "PriorityClass name");
  EXPECT_EQ(priority_of(pod_of(R"(,"priority":0)", "ok")), " 0 PreemptLowerPriority");
}

TEST_F(Priority, APodKeepsThePriorityItWasCreatedWith) {
  const auto high = create(a_class("high", 1000)).value();
  const auto pod = create(pod_of(R"(,"priorityClassName":"high")")).value();
  ASSERT_TRUE(registry.remove(kPriorityClasses, high.key(), {}, now));
  const auto labelled = patch(pod, R"({"metadata":{"labels":{"x":"y"}}})");
  ASSERT_TRUE(labelled) << labelled.error().message;
  EXPECT_EQ(api::find_path(labelled->json(), "spec.priority")->as_int64(), 1000);
}

TEST_F(Priority, ClassesHaveBounds) {
  EXPECT_EQ(complaint(a_class("big", 1'000'000'001)),
            "PriorityClass.scheduling.k8s.io \"big\" is invalid: value: Forbidden: maximum allowed "
            "value of a user "
            "defined priority is 1000000000");
  EXPECT_EQ(complaint(a_class("most", 1'000'000'000)), "");
  EXPECT_THAT(
      complaint(a_class("system-mine", 1)),
      HasSubstr(
          "metadata.name: Forbidden: priority class names with 'system-' prefix are reserved"));
}

TEST_F(Priority, ClassesDoNotChange) {
  const auto high = create(a_class("high", 1000)).value();
  EXPECT_EQ(patch(high, R"({"value":9})").error().message,
            "PriorityClass.scheduling.k8s.io \"high\" is invalid: value: Forbidden: may not be "
            "changed in an update.");
  EXPECT_THAT(patch(high, R"({"preemptionPolicy":"Never"})").error().message,
              HasSubstr("field is immutable"));
  EXPECT_TRUE(patch(high, R"({"description":"x"})"));
  EXPECT_TRUE(patch(high, R"({"globalDefault":true})"));
}

} // namespace
} // namespace berth::store
