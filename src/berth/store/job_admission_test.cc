#include "berth/store/job_admission.h"

#include "berth/store/admission_fixture.h"

namespace berth::store {
namespace {

using ::testing::HasSubstr;

class JobAdmission : public AdmissionTest {
 protected:
  static api::Object job(std::string_view more = "",
                         std::string_view pod = R"(,"restartPolicy":"Never")") {
    return parsed(fmt::format(
        R"({{"apiVersion":"batch/v1","kind":"Job","metadata":{{"name":"j"}},"spec":{{"template":{{"spec":{{"containers":[{{"name":"c","image":"x","resources":{{"limits":{{"nvidia.com/gpu":1}}}}}}]{}}}}}{}}}}})",
        pod, more));
  }
};

TEST_F(JobAdmission, IsCompletedWithItsOwnSelector) {
  const auto made = create(job());
  ASSERT_TRUE(made) << made.error().message;
  const std::string uid = made->meta().uid;
  const auto at = [&](std::string_view path) {
    return api::to_json(*api::find_path(made->json(), path));
  };
  const std::string labels = fmt::format(
      R"({{"batch.kubernetes.io/controller-uid":"{}","batch.kubernetes.io/job-name":"j","controller-uid":"{}","job-name":"j"}})",
      uid, uid);
  EXPECT_EQ(at("spec.selector"),
            fmt::format(R"({{"matchLabels":{{"batch.kubernetes.io/controller-uid":"{}"}}}})", uid));
  EXPECT_EQ(at("spec.template.metadata.labels"), labels);
  EXPECT_EQ(at("metadata.labels"), labels);
  EXPECT_EQ(at("spec.parallelism"), "1");
  EXPECT_EQ(at("spec.completions"), "1");
  EXPECT_EQ(at("spec.backoffLimit"), "6");
  EXPECT_EQ(at("spec.completionMode"), "\"NonIndexed\"");
  EXPECT_EQ(at("spec.suspend"), "false");
  EXPECT_EQ(at("status"), "{}");
  // A template is no pod: no tolerations, no priority, no requests from limits.
  EXPECT_EQ(api::find_path(made->json(), "spec.template.spec.tolerations"), nullptr);
  EXPECT_THAT(at("spec.template.spec.containers"),
              HasSubstr(R"("resources":{"limits":{"nvidia.com/gpu":"1"}})"));
}

TEST_F(JobAdmission, CompletionsStayOpenWhenOnlyParallelismIsGiven) {
  const auto made = create(job(R"(,"parallelism":3)"));
  ASSERT_TRUE(made);
  EXPECT_EQ(api::find_path(made->json(), "spec.completions"), nullptr);
}

TEST_F(JobAdmission, OwnLabelsStay) {
  const auto labelled = job().edit([](api::json::object& document) {
    document["metadata"].as_object()["labels"] = {{"team", "a"}};
  });
  EXPECT_EQ(made(labelled, "metadata.labels"), R"({"team":"a"})");
}

struct InvalidJob {
  std::string name;
  std::string more;
  std::string pod;
  std::string want;
};
class BadJob : public JobAdmission, public ::testing::WithParamInterface<InvalidJob> {};

TEST_P(BadJob, IsRefused) {
  EXPECT_EQ(complaint(job(GetParam().more, GetParam().pod)),
            "Job.batch \"j\" is invalid: " + GetParam().want);
}

const std::string kNever = R"(,"restartPolicy":"Never")";
INSTANTIATE_TEST_SUITE_P(
    Faults, BadJob,
    ::testing::Values(
        InvalidJob{"negative", R"(,"parallelism":-1)", kNever,
                   "spec.parallelism: Invalid value: -1: must be greater than or equal to 0"},
        InvalidJob{"no_restart_policy", "", "",
                   "spec.template.spec.restartPolicy: Required value: valid values: \"OnFailure\", "
                   "\"Never\""},
        InvalidJob{"always", "", R"(,"restartPolicy":"Always")",
                   "spec.template.spec.restartPolicy: Required value: valid values: \"OnFailure\", "
                   "\"Never\""},
        InvalidJob{"odd_restart_policy", "", R"(,"restartPolicy":"No")",
                   "[spec.template.spec.restartPolicy: Unsupported value: \"No\": supported "
                   "values: \"Always\", \"OnFailure\", \"Never\", "
                   "spec.template.spec.restartPolicy: Unsupported value: \"No\": supported "
                   "values: \"OnFailure\", \"Never\"]"},
        InvalidJob{"indexed_open", R"(,"completionMode":"Indexed","parallelism":2)", kNever,
                   "spec.completions: Required value: when completion mode is Indexed"},
        InvalidJob{"mode", R"(,"completionMode":"Counted")", kNever,
                   "spec.completionMode: Unsupported value: \"Counted\": supported values: "
                   "\"NonIndexed\", \"Indexed\""},
        InvalidJob{"template", "", R"(,"restartPolicy":"Never","nodeName":"x y")",
                   "spec.template.spec.nodeName: Invalid value: \"x y\": a lowercase RFC 1123 "
                   "subdomain must consist "
                   "of lower case alphanumeric characters, '-' or '.', and must start and end with "
                   "an alphanumeric "
                   "character (e.g. 'example.com', regex used for validation is "
                   "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"}),
    [](const auto& one) { return one.param.name; });

TEST_F(JobAdmission, AForeignSelectorIsRefused) {
  EXPECT_THAT(complaint(job(R"(,"selector":{"matchLabels":{"a":"b"}})")),
              HasSubstr("`selector` not auto-generated"));
  EXPECT_THAT(complaint(job(R"(,"manualSelector":true,"selector":{"matchLabels":{"a":"b"}})")),
              HasSubstr("`selector` does not match template `labels`"));
}

TEST_F(JobAdmission, SomeFieldsNeverChange) {
  const auto made = create(job()).value();
  EXPECT_EQ(patch(made, R"({"spec":{"completions":9}})").error().message,
            "Job.batch \"j\" is invalid: spec.completions: Invalid value: 9: field is immutable");
  EXPECT_FALSE(patch(made, R"({"spec":{"completionMode":"Indexed"}})"));
  EXPECT_FALSE(patch(made, R"({"spec":{"selector":{"matchLabels":{"a":"b"}}}})"));
  EXPECT_FALSE(patch(made, R"({"spec":{"template":{"spec":{"nodeSelector":{"a":"b"}}}}})"));
  EXPECT_TRUE(patch(made, R"({"spec":{"parallelism":4,"suspend":true}})"));
  // Suspended and not yet started: where its pods go may change, what they are may not.
  EXPECT_TRUE(patch(made, R"({"spec":{"template":{"spec":{"nodeSelector":{"a":"b"}}}}})"));
  EXPECT_FALSE(patch(made, R"({"spec":{"template":{"spec":{"restartPolicy":"OnFailure"}}}})"));
}

TEST_F(JobAdmission, AnIndexedJobIsElastic) {
  const auto made =
      create(job(R"(,"completionMode":"Indexed","completions":2,"parallelism":2)")).value();
  EXPECT_TRUE(patch(made, R"({"spec":{"completions":4,"parallelism":4}})"));
  EXPECT_FALSE(patch(made, R"({"spec":{"completions":6}})"));
}

TEST_F(JobAdmission, OddTypesAreRefusedAndNeverCrash) {
  for (
      const std::string_view text :
      {R"({"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"j"}})",
       R"({"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"j"},"spec":[]})",
       R"({"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"j"},"spec":{"template":3}})",
       R"({"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"j"},"spec":{"parallelism":"x","template":{}}})",
       R"({"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"j"},"spec":{"selector":1,"template":{"metadata":{"labels":7}}}})"}) {
    EXPECT_NE(complaint(parsed(std::string(text))), "") << text;
  }
}

} // namespace
} // namespace berth::store
