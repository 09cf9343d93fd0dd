#include "berth/store/validation/spec_text.h"

#include "berth/store/admission_fixture.h"
#include "berth/store/validation/line_diff.h"

namespace berth::store {
namespace {

using ::testing::EndsWith;

class SpecText : public AdmissionTest {};

TEST_F(SpecText, ARefusedChangeShowsWhatDiffers) {
  const auto pod = create(pod_with(R"("containers":[{"name":"c","image":"x"}])")).value();
  EXPECT_THAT(patch(pod, R"({"spec":{"nodeSelector":{"a":"b"}}})").error().message,
              EndsWith("negative)\n"
                       "@@ -39,7 +39,9 @@\n"
                       "  \"TerminationGracePeriodSeconds\": 30,\n"
                       "  \"ActiveDeadlineSeconds\": null,\n"
                       "  \"DNSPolicy\": \"ClusterFirst\",\n"
                       "- \"NodeSelector\": null,\n"
                       "+ \"NodeSelector\": {\n"
                       "+  \"a\": \"b\"\n"
                       "+ },\n"
                       "  \"ServiceAccountName\": \"\",\n"
                       "  \"AutomountServiceAccountToken\": null,\n"
                       "  \"NodeName\": \"\",\n"));
}

TEST_F(SpecText, ShowsWhatIsNested) {
  const auto lines = spec_text(
      api::parse_json(
          R"({"volumes":[{"name":"v","configMap":{"name":"m"}}],"affinity":{"podAffinity":{)"
          R"("requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"t",)"
          R"("labelSelector":{"matchLabels":{"a":"b"}}}]}}})")
          .value());
  ASSERT_TRUE(lines);
  const auto from = std::ranges::find(*lines, "   \"ConfigMap\": {");
  ASSERT_NE(from, lines->end());
  EXPECT_EQ(std::vector<std::string>(from, from + 6),
            (std::vector<std::string>{"   \"ConfigMap\": {", "    \"Name\": \"m\",",
                                      "    \"Items\": null,", "    \"DefaultMode\": null,",
                                      "    \"Optional\": null", "   },"}));
  const auto selector = std::ranges::find(*lines, "     \"LabelSelector\": {");
  ASSERT_NE(selector, lines->end());
  EXPECT_EQ(*(selector + 1), "      \"matchLabels\": {");
}

TEST_F(SpecText, RarerPartsHaveNoText) {
  EXPECT_FALSE(spec_text(api::parse_json(R"({"volumes":[{"name":"v","rbd":{}}]})").value()));
  EXPECT_FALSE(spec_text(api::parse_json("3").value()));
}

TEST(LineDiff, JoinsChangesThatLieClose) {
  const std::vector<std::string> before = {"1", "2", "3", "4", "5", "6", "7", "8", "9", "10"};
  std::vector<std::string> now = before;
  EXPECT_EQ(line_diff(before, now), "");
  now[0] = "a";
  now[9] = "b";
  EXPECT_EQ(line_diff(before, now), "@@ -1,4 +1,4 @@\n-1\n+a\n 2\n 3\n 4\n"
                                    "@@ -7,4 +7,4 @@\n 7\n 8\n 9\n-10\n+b\n");
  now = before;
  now.erase(now.begin() + 4);
  EXPECT_EQ(line_diff(before, now), "@@ -2,7 +2,6 @@\n 2\n 3\n 4\n-5\n 6\n 7\n 8\n");
}

} // namespace
} // namespace berth::store
