#include "berth/node/contents/references.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::node {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

api::json::value json_of(std::string_view text) {
  return api::parse_json(text).value();
}

Reference config(std::string name, bool optional = false) {
  return {{SourceKind::ConfigMap, std::move(name)}, optional};
}
Reference secret(std::string name, bool optional = false) {
  return {{SourceKind::Secret, std::move(name)}, optional};
}

TEST(References, OfAnEnvironmentAreSortedAndEachOnce) {
  EXPECT_THAT(env_references(json_of(R"j({
      "envFrom": [{"configMapRef": {"name": "b", "optional": true}},
                  {"secretRef": {"name": "s"}}],
      "env": [{"name": "A", "valueFrom": {"configMapKeyRef": {"name": "a", "key": "k"}}},
              {"name": "B", "valueFrom": {"configMapKeyRef": {"name": "b", "key": "k",
                                                              "optional": true}}},
              {"name": "S", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k",
                                                           "optional": true}}},
              {"name": "F", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
              {"name": "V", "value": "x",
               "valueFrom": {"secretKeyRef": {"name": "unused", "key": "k"}}}]})j")),
              ElementsAre(config("a"), config("b", true), secret("s")));
}

TEST(References, OneThatMustBeThereMakesTheSourceNeeded) {
  EXPECT_THAT(env_references(json_of(R"j({
      "envFrom": [{"configMapRef": {"name": "c", "optional": true}}],
      "env": [{"name": "A", "valueFrom": {"configMapKeyRef": {"name": "c", "key": "k"}}}]})j")),
              ElementsAre(config("c")));
}

TEST(References, OfVolumesAreTheirSources) {
  EXPECT_THAT(volume_references(json_of(R"j({"configMap": {"name": "c", "optional": true}})j")),
              ElementsAre(config("c", true)));
  EXPECT_THAT(volume_references(json_of(R"j({"secret": {"secretName": "s"}})j")),
              ElementsAre(secret("s")));
  EXPECT_THAT(volume_references(json_of(R"j({"projected": {"sources": [
      {"secret": {"name": "p"}}, {"configMap": {"name": "q"}}, {"serviceAccountToken": {}}]}})j")),
              ElementsAre(config("q"), secret("p")));
  EXPECT_THAT(volume_references(json_of(R"j({"emptyDir": {}})j")), IsEmpty());
}

TEST(References, OfAPodAreAllOfThem) {
  EXPECT_THAT(pod_references(json_of(R"j({"spec": {
      "imagePullSecrets": [{"name": "pull"}, {}],
      "initContainers": [{"envFrom": [{"secretRef": {"name": "i"}}]}],
      "containers": [{"envFrom": [{"configMapRef": {"name": "c"}}]}],
      "volumes": [{"secret": {"secretName": "v"}}]}})j")),
              ElementsAre(config("c"), secret("i"), secret("pull", true), secret("v")));
  EXPECT_THAT(pod_references(json_of(R"j({"spec": {"volumes": 3, "containers": [7]}})j")),
              IsEmpty());
}

} // namespace
} // namespace berth::node
