// What is refused of workloads, of budgets and of CronJobs, in Kubernetes' words.
#include "berth/store/workload_validation.h"

#include "berth/store/admission_fixture.h"

namespace berth::store {
namespace {

using ::testing::HasSubstr;

class Workloads : public AdmissionTest {
 protected:
  static api::Object workload(std::string_view kind, std::string_view more = "",
                              std::string_view pod = "") {
    return parsed(fmt::format(
        R"({{"apiVersion":"apps/v1","kind":"{}","metadata":{{"name":"w"}},"spec":{{"selector":)"
        R"({{"matchLabels":{{"app":"w"}}}},"template":{{"metadata":{{"labels":{{"app":"w"}}}},)"
        R"("spec":{{"containers":[{{"name":"c","image":"x"}}]{}}}}}{}}}}})",
        kind, pod, more));
  }
  static api::Object budget(std::string_view spec) {
    return parsed(fmt::format(
        R"({{"apiVersion":"policy/v1","kind":"PodDisruptionBudget","metadata":{{"name":"b"}},)"
        R"("spec":{{{}}}}})",
        spec));
  }
  static api::Object cron(std::string_view schedule, std::string_view more = "",
                          std::string_view restart = "Never", std::string_view name = "c") {
    return parsed(fmt::format(
        R"({{"apiVersion":"batch/v1","kind":"CronJob","metadata":{{"name":"{}"}},"spec":)"
        R"({{"schedule":"{}"{},"jobTemplate":{{"spec":{{"template":{{"spec":{{"restartPolicy":)"
        R"("{}","containers":[{{"name":"c","image":"x"}}]}}}}}}}}}}}})",
        name, schedule, more, restart));
  }
};

TEST_F(Workloads, AreAcceptedAsPeopleWriteThem) {
  for (const char* kind : {"Deployment", "ReplicaSet", "DaemonSet", "StatefulSet"}) {
    EXPECT_EQ(complaint(workload(kind)), "") << kind;
  }
  EXPECT_EQ(complaint(cron("*/5 * * * *", R"(,"timeZone":"Europe/Berlin")")), "");
  EXPECT_EQ(complaint(budget(R"("minAvailable":"50%")")), "");
}

TEST_F(Workloads, RestartAlways) {
  EXPECT_EQ(complaint(workload("DaemonSet", "", R"(,"restartPolicy":"Never")")),
            "DaemonSet.apps \"w\" is invalid: spec.template.spec.restartPolicy: Unsupported "
            "value: \"Never\": supported values: \"Always\"");
  EXPECT_THAT(complaint(workload("Deployment", "", R"(,"activeDeadlineSeconds":5)")),
              HasSubstr("Forbidden: activeDeadlineSeconds in ReplicaSet is not Supported"));
}

TEST_F(Workloads, StrategiesThatCannotMove) {
  EXPECT_THAT(complaint(workload("Deployment", R"(,"strategy":{"rollingUpdate":)"
                                               R"({"maxSurge":0,"maxUnavailable":"0%"}})")),
              HasSubstr("spec.strategy.rollingUpdate.maxUnavailable: Invalid value: \"0%\": may "
                        "not be 0 when `maxSurge` is 0"));
  EXPECT_THAT(complaint(workload("DaemonSet", R"(,"updateStrategy":{"rollingUpdate":)"
                                              R"({"maxSurge":1,"maxUnavailable":1}})")),
              HasSubstr("spec.updateStrategy.rollingUpdate.maxSurge: Invalid value: 1: may not be "
                        "set when maxUnavailable is non-zero"));
  EXPECT_THAT(complaint(workload("StatefulSet", R"(,"podManagementPolicy":"Any")")),
              HasSubstr("must be 'OrderedReady' or 'Parallel'"));
}

TEST_F(Workloads, SelectorsStayAsTheyAre) {
  const auto made = create(workload("DaemonSet"));
  ASSERT_TRUE(made);
  const auto changed = patch(*made, R"({"spec":{"selector":{"matchLabels":{"app":"w","b":"c"}},)"
                                    R"("template":{"metadata":{"labels":{"b":"c"}}}}})");
  ASSERT_FALSE(changed);
  EXPECT_THAT(changed.error().message, HasSubstr("spec.selector: Invalid value: "));
  EXPECT_THAT(changed.error().message, HasSubstr("field is immutable"));
}

TEST_F(Workloads, OfAStatefulSetLittleMayChange) {
  const auto made = create(workload("StatefulSet", R"(,"serviceName":"a")"));
  ASSERT_TRUE(made);
  EXPECT_TRUE(patch(*made, R"({"spec":{"replicas":3,"minReadySeconds":5}})"));
  const auto refused = patch(*made, R"({"spec":{"serviceName":"b"}})");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message,
            "StatefulSet.apps \"w\" is invalid: spec: Forbidden: updates to statefulset spec for "
            "fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', "
            "'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and "
            "'minReadySeconds' are forbidden");
}

TEST_F(Workloads, ADaemonSetCountsItsTemplates) {
  const auto made = create(workload("DaemonSet"));
  ASSERT_TRUE(made);
  const auto generation = [](const api::Object& set) {
    return set.meta().annotations.at("deprecated.daemonset.template.generation");
  };
  EXPECT_EQ(generation(*made), "1");
  EXPECT_EQ(generation(*patch(*made, R"({"spec":{"minReadySeconds":5}})")), "1");
  EXPECT_EQ(generation(*patch(*made, R"({"spec":{"template":{"spec":{"hostNetwork":true}}}})")),
            "2");
}

TEST_F(Workloads, BudgetsAreOneOrTheOther) {
  EXPECT_THAT(complaint(budget(R"("minAvailable":1,"maxUnavailable":1)")),
              HasSubstr("minAvailable and maxUnavailable cannot be both set"));
  EXPECT_THAT(complaint(budget(R"("minAvailable":"101%")")),
              HasSubstr("spec.minAvailable: Invalid value: \"101%\": must not be greater than "
                        "100%"));
  EXPECT_THAT(complaint(budget(R"("maxUnavailable":-1)")),
              HasSubstr("spec.maxUnavailable: Invalid value: -1: must be greater than or equal to "
                        "0"));
  EXPECT_THAT(complaint(budget(R"("minAvailable":"some")")),
              HasSubstr("a valid percent string must be a numeric string followed by an ending "
                        "'%'"));
  EXPECT_THAT(complaint(budget(R"("minAvailable":1,"unhealthyPodEvictionPolicy":"Never")")),
              HasSubstr("Unsupported value: \"Never\": supported values: \"AlwaysAllow\", "
                        "\"IfHealthyBudget\""));
}

TEST_F(Workloads, CronJobsSayWhenAndWhere) {
  EXPECT_THAT(complaint(cron("61 * * * *")),
              HasSubstr("spec.schedule: Invalid value: \"61 * * * *\": end of range (61) above "
                        "maximum (59): 61"));
  EXPECT_THAT(complaint(cron("TZ=UTC 1 * * * *")),
              HasSubstr("cannot use TZ or CRON_TZ in schedule, use timeZone field instead"));
  EXPECT_THAT(complaint(cron("@hourly", R"(,"timeZone":"Mars/Olympus")")),
              HasSubstr("spec.timeZone: Invalid value: \"Mars/Olympus\": unknown time zone "
                        "Mars/Olympus"));
  EXPECT_THAT(complaint(cron("@hourly", R"(,"concurrencyPolicy":"Maybe")")),
              HasSubstr("supported values: \"Allow\", \"Forbid\", \"Replace\""));
  EXPECT_THAT(complaint(cron("@hourly", "", "Always")),
              HasSubstr("spec.jobTemplate.spec.template.spec.restartPolicy: Required value: valid "
                        "values: \"OnFailure\", \"Never\""));
  EXPECT_THAT(complaint(cron("@hourly", "", "Never", std::string(53, 'a'))),
              HasSubstr("must be no more than 52 characters"));
}

} // namespace
} // namespace berth::store
