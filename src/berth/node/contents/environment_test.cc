#include "berth/node/contents/environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/testing/builders.h"

namespace berth::node {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

api::json::value json_of(std::string_view text) {
  return api::parse_json(text).value();
}

api::Object object_of(std::string_view text) {
  return api::Object::from_json(json_of(text)).value();
}

class FullEnvironment : public ::testing::Test {
 protected:
  FullEnvironment() {
    put(SourceKind::ConfigMap, "c", R"j({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "c", "namespace": "default"},
        "data": {"K": "v", "Z": "z", "bad=name": "x"}, "binaryData": {"BIN": "AAA="}})j");
    put(SourceKind::Secret, "s", R"j({"apiVersion": "v1", "kind": "Secret",
        "metadata": {"name": "s", "namespace": "default"}, "data": {"K": "aGVsbG8="}})j");
    pod_.image("i").cpu("250m").limit("memory", "1Gi");
  }
  void put(SourceKind kind, std::string name, std::string_view document) {
    sources_.put({kind, std::move(name)}, object_of(document));
  }
  Result<Environment> make(std::string_view container) {
    auto spec = json_of(container);
    spec.as_object()["name"] = "main";
    const api::Object object = pod_.object();
    view_ = pod_.build();
    return full_environment(object.json(), spec, *view_,
                            {.sources = &sources_,
                             .address = {"10.1.1.1", "10.0.0.1"},
                             .allocatable = {{"cpu", api::Quantity::parse("8").value()}},
                             .services = {{"K_SERVICE_HOST", "10.96.0.9"}, {"A", "service"}}});
  }
  std::string error(std::string_view container) {
    const auto made = make(container);
    return made ? "none" : made.error().message;
  }

  test::PodBuilder pod_{"p"};
  Sources sources_;
  std::shared_ptr<const model::Pod> view_;
};

TEST_F(FullEnvironment, IsInTheKubeletsOrder) {
  const auto env = make(R"j({
      "envFrom": [{"prefix": "P_", "configMapRef": {"name": "c"}}, {"secretRef": {"name": "s"}}],
      "env": [{"name": "A", "value": "$(K):$(P_Z):$(K_SERVICE_HOST)"},
              {"name": "P_K", "value": "own"},
              {"name": "M", "valueFrom": {"configMapKeyRef": {"name": "c", "key": "Z"}}},
              {"name": "S", "valueFrom": {"secretKeyRef": {"name": "s", "key": "K"}}},
              {"name": "N", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
              {"name": "EMPTY"}]})j");
  ASSERT_TRUE(env) << env.error().message;
  EXPECT_THAT(*env,
              ElementsAre(Pair("P_K", "own"), Pair("P_Z", "z"), Pair("K", "hello"),
                          Pair("A", "hello:z:10.96.0.9"), Pair("M", "z"), Pair("S", "hello"),
                          Pair("N", "p"), Pair("EMPTY", ""), Pair("K_SERVICE_HOST", "10.96.0.9")))
      << "names that cannot be are left out, and a service hides nothing of the pod's";
}

TEST_F(FullEnvironment, ResourcesAreRoundedUpToTheirDivisor) {
  const auto env = make(R"j({"env": [
      {"name": "CPU", "valueFrom": {"resourceFieldRef": {"resource": "requests.cpu"}}},
      {"name": "MILLI", "valueFrom": {"resourceFieldRef": {"resource": "requests.cpu",
                                                           "divisor": "1m"}}},
      {"name": "LIMIT", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}},
      {"name": "MEM", "valueFrom": {"resourceFieldRef": {"resource": "limits.memory",
                                                         "divisor": "1Mi"}}},
      {"name": "ZERO", "valueFrom": {"resourceFieldRef": {"resource": "limits.memory",
                                                          "divisor": "0"}}}]})j");
  ASSERT_TRUE(env) << env.error().message;
  EXPECT_THAT(std::vector(env->begin(), env->begin() + 5),
              ElementsAre(Pair("CPU", "1"), Pair("MILLI", "250"), Pair("LIMIT", "8"),
                          Pair("MEM", "1024"), Pair("ZERO", "1073741824")));
}

TEST_F(FullEnvironment, WhatIsOptionalMayBeAbsent) {
  const auto env = make(R"j({
      "envFrom": [{"secretRef": {"name": "none", "optional": true}}],
      "env": [{"name": "A1", "valueFrom": {"configMapKeyRef": {"name": "none", "key": "k",
                                                               "optional": true}}},
              {"name": "B", "valueFrom": {"configMapKeyRef": {"name": "c", "key": "none",
                                                              "optional": true}}}]})j");
  ASSERT_TRUE(env) << env.error().message;
  EXPECT_THAT(*env, ElementsAre(Pair("A", "service"), Pair("K_SERVICE_HOST", "10.96.0.9")));
}

TEST_F(FullEnvironment, WhatIsMissingIsSaidInTheKubeletsWords) {
  EXPECT_EQ(error(R"j({"envFrom": [{"configMapRef": {"name": "x"}}]})j"),
            "configmap \"x\" not found");
  EXPECT_EQ(error(R"j({"env": [{"name": "A", "valueFrom": {"secretKeyRef":
                     {"name": "x", "key": "k"}}}]})j"),
            "secret \"x\" not found");
  EXPECT_EQ(error(R"j({"env": [{"name": "A", "valueFrom": {"configMapKeyRef":
                     {"name": "c", "key": "k"}}}]})j"),
            "couldn't find key k in ConfigMap default/c");
  EXPECT_EQ(error(R"j({"env": [{"name": "A", "valueFrom": {"secretKeyRef":
                     {"name": "s", "key": "k"}}}]})j"),
            "couldn't find key k in Secret default/s");
}

TEST_F(FullEnvironment, BytesThatOnlyAVolumeCanShowAreNoVariable) {
  EXPECT_EQ(error(R"j({"env": [{"name": "A", "valueFrom": {"configMapKeyRef":
                     {"name": "c", "key": "BIN"}}}]})j"),
            "couldn't find key BIN in ConfigMap default/c");
}

TEST_F(FullEnvironment, AnErrorOfTheServerIsNoAbsence) {
  sources_.put({SourceKind::Secret, "forbidden"}, fail(Code::Forbidden, "secrets is forbidden"));
  EXPECT_EQ(error(R"j({"envFrom": [{"secretRef": {"name": "forbidden", "optional": true}}]})j"),
            "secrets is forbidden");
}

TEST_F(FullEnvironment, NonsenseIsAnError) {
  EXPECT_THAT(error(R"j({"env": [{"name": "A", "valueFrom": {"resourceFieldRef":
                       {"resource": "limits.gpu"}}}]})j"),
              ::testing::HasSubstr("unsupported container resource"));
  EXPECT_THAT(error(R"j({"env": [{"name": "A", "valueFrom": {"magic": {}}}]})j"),
              ::testing::HasSubstr("not known"));
  EXPECT_THAT(error(R"j({"env": [{"name": "A", "valueFrom": {"resourceFieldRef":
                       {"resource": "limits.cpu", "containerName": "other"}}}]})j"),
              ::testing::HasSubstr("container other not found"));
}

} // namespace
} // namespace berth::node
