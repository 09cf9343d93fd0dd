// What a namespace's LimitRanges refuse.
#include "berth/store/admission_fixture.h"

namespace berth::store {
namespace {

struct Limited {
  std::string name;
  std::string limit;  ///< one entry of spec.limits
  std::string object; ///< a container's resources, or a claim's spec
  std::string want;   ///< after: WHAT "a" is forbidden:
};
class LimitRanges : public AdmissionTest, public ::testing::WithParamInterface<Limited> {};

TEST_P(LimitRanges, Refuse) {
  ASSERT_TRUE(create(parsed(fmt::format(
      R"({{"apiVersion":"v1","kind":"LimitRange","metadata":{{"name":"l"}},"spec":{{"limits":[{{{}}}]}}}})",
      GetParam().limit))));
  const bool claim = GetParam().object.starts_with("claim ");
  const auto object =
      claim ? parsed(fmt::format(
                  R"({{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{{"name":"a"}},)"
                  R"("spec":{{"accessModes":["ReadWriteOnce"],"resources":{}}}}})",
                  GetParam().object.substr(6)))
            : pod_asking(GetParam().object);
  EXPECT_EQ(complaint(object),
            fmt::format("{} \"a\" is forbidden: {}", claim ? "persistentvolumeclaims" : "pods",
                        GetParam().want));
}

INSTANTIATE_TEST_SUITE_P(
    All, LimitRanges,
    ::testing::Values(
        Limited{"ratio", R"("type":"Container","maxLimitRequestRatio":{"cpu":"2"})",
                R"({"requests":{"cpu":"500m"},"limits":{"cpu":"2"}})",
                "cpu max limit to request ratio per Container is 2, but provided ratio is "
                "4.000000"},
        Limited{"ratio_of_nothing", R"("type":"Pod","maxLimitRequestRatio":{"memory":"2"})",
                R"({"limits":{"cpu":"2"}})",
                "memory max limit to request ratio per Pod is 2, but no request is specified or "
                "request is 0"},
        Limited{"least_limit", R"("type":"Pod","min":{"cpu":"1"})",
                R"({"requests":{"memory":"1Gi"},"limits":{"memory":"1Gi"}})",
                "minimum cpu usage per Pod is 1.  No request is specified"},
        Limited{"large_request", R"("type":"Container","max":{"cpu":"1"},"default":{"cpu":"1"})",
                R"({"requests":{"cpu":"500m"},"limits":{"cpu":"3"}})",
                "maximum cpu usage per Container is 1, but limit is 3"},
        Limited{"large_claim", R"("type":"PersistentVolumeClaim","max":{"storage":"1Gi"})",
                R"(claim {"requests":{"storage":"2Gi"}})",
                "maximum storage usage per PersistentVolumeClaim is 1Gi, but request is 2Gi"},
        Limited{"small_claim", R"("type":"PersistentVolumeClaim","min":{"storage":"4Gi"})",
                R"(claim {"requests":{"storage":"2Gi"}})",
                "minimum storage usage per PersistentVolumeClaim is 4Gi, but request is 2Gi"}),
    [](const auto& one) { return one.param.name; });

} // namespace
} // namespace berth::store
