#include "berth/cli/run/remarks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> remarks(const std::string& text) {
  const auto manifests = api::read_manifests(text, "f.yaml");
  if (!manifests) {
    return {to_string(manifests.error())};
  }
  std::vector<std::string> out;
  for (const report::Note& note : remarks_on(*manifests)) {
    EXPECT_TRUE(note.warning);
    out.push_back(to_string(note));
  }
  return out;
}

std::string pod(const std::string& annotation) {
  return "apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\n  annotations:\n    " + annotation +
         "\nspec: {}\n";
}

TEST(Remarks, AnnotationsThatAreUnderstoodNeedNone) {
  for (const char* good :
       {"berth.dev/run-for: 45m", "berth.dev/run-for: forever", "berth.dev/run-for.main: 1h30m",
        "berth.dev/exit-code: '255'", "berth.dev/fail-times: '3'", "berth.dev/stop-takes: forever",
        "berth.dev/gpu-indices: '0,1'", "example.com/run-for: banana"}) {
    EXPECT_THAT(remarks(pod(good)), IsEmpty()) << good;
  }
}

TEST(Remarks, AnnotationsThatAreNotAreNamed) {
  EXPECT_THAT(remarks(pod("berth.dev/run-for: banana")),
              ElementsAre("f.yaml:6:24: metadata.annotations[berth.dev/run-for]: want a duration "
                          "such as \"45m\", or forever, got \"banana\"; it is passed over"));
  EXPECT_THAT(remarks(pod("berth.dev/exit-code.c: '256'")),
              ElementsAre("f.yaml:6:28: metadata.annotations[berth.dev/exit-code.c]: want a number "
                          "from 0 to 255, got \"256\"; it is passed over"));
  EXPECT_THAT(remarks(pod("berth.dev/fail-times: often")),
              ElementsAre("f.yaml:6:27: metadata.annotations[berth.dev/fail-times]: want a number, "
                          "got \"often\"; it is passed over"));
  EXPECT_THAT(
      remarks(pod("berth.dev/runfor: 45m")),
      ElementsAre("f.yaml:6:23: metadata.annotations[berth.dev/runfor]: no such annotation; "
                  "there are berth.dev/run-for, berth.dev/exit-code, berth.dev/fail-times "
                  "and berth.dev/stop-takes"));
}

TEST(Remarks, TheTemplateOfAJobIsLookedAt) {
  EXPECT_THAT(
      remarks("apiVersion: batch/v1\nkind: Job\nmetadata: {name: j, namespace: ml}\nspec:\n"
              "  template:\n    metadata: {annotations: {berth.dev/run-for: soon}}\n"
              "    spec: {resourceClaims: [{name: gpu}]}\n"),
      ElementsAre("f.yaml:6:49: spec.template.metadata.annotations[berth.dev/run-for]: want "
                  "a duration such as \"45m\", or forever, got \"soon\"; it is passed over",
                  "f.yaml:1: Job ml/j asks for devices through resourceClaims: nothing here "
                  "allocates them, it is placed as if it asked for none"));
}

TEST(Remarks, OneForManyObjects) {
  std::string text;
  for (const char* name : {"generateName: a-", "name: b", "name: c"}) {
    text += std::string("---\napiVersion: v1\nkind: Pod\nmetadata: {") + name +
            ", namespace: ml, labels: {kueue.x-k8s.io/queue-name: q}}\nspec: {}\n";
  }
  EXPECT_THAT(remarks(text),
              ElementsAre("f.yaml:2: 3 objects, first Pod ml/a-*, name a queue of "
                          "Kueue: no Kueue runs here, they start without admission"));
}

TEST(Remarks, AFloodOfAnnotationsIsCutShort) {
  std::string text;
  for (int i = 0; i < 25; ++i) {
    text += "---\n" + pod("berth.dev/x: why");
  }
  const auto all = remarks(text);
  ASSERT_EQ(all.size(), 21U);
  EXPECT_EQ(all.back(), "5 more annotations are passed over");
}

TEST(Remarks, KindsThatNothingActsOnAreSomebodyElsesToName) {
  EXPECT_THAT(remarks("apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata: {name: a, "
                      "labels: {kueue.x-k8s.io/queue-name: q}, annotations: {berth.dev/x: why}}\n"),
              IsEmpty());
}

} // namespace
} // namespace berth::cli
