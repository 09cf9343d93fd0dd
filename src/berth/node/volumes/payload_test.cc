#include "berth/node/volumes/payload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/node/volumes/config_map.h"
#include "berth/node/volumes/downward_api.h"
#include "berth/node/volumes/projected.h"
#include "berth/node/volumes/secret.h"
#include "berth/testing/builders.h"

namespace berth::node {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

api::json::value json_of(std::string_view text) {
  return api::parse_json(text).value();
}

class Payloads : public ::testing::Test {
 protected:
  Payloads() {
    put(SourceKind::ConfigMap, "c",
        R"({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"},
            "data": {"a": "1", "b": "2"}, "binaryData": {"bin": "AP8="}})");
    put(SourceKind::Secret, "s",
        R"({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"},
            "data": {"user": "bWU="}})");
    put(SourceKind::Secret, "broken",
        R"({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "broken", "namespace": "n"},
            "data": {"user": "!!!"}})");
  }
  void put(SourceKind kind, std::string name, std::string text) {
    sources_.put({kind, std::move(name)}, api::Object::parse(std::move(text)).value());
  }
  static std::string error(const Result<Payload>& made) {
    return made ? "none" : made.error().message;
  }
  Sources sources_;
};

TEST_F(Payloads, OfAConfigMapHaveItsTextAndItsBytes) {
  EXPECT_THAT(config_map_files(json_of(R"({"name": "c"})"), 0644, sources_).value(),
              ElementsAre(PayloadFile{"a", "1", 0644}, PayloadFile{"b", "2", 0644},
                          PayloadFile{"bin", std::string("\0\xff", 2), 0644}));
}

TEST_F(Payloads, ItemsChoosePathsAndModes) {
  EXPECT_THAT(config_map_files(json_of(R"({"name": "c", "items": [
                  {"key": "b", "path": "x/y", "mode": 256}, {"key": "a", "path": "a"}]})"),
                               0640, sources_)
                  .value(),
              ElementsAre(PayloadFile{"a", "1", 0640}, PayloadFile{"x/y", "2", 0400}));
  EXPECT_EQ(error(config_map_files(
                json_of(R"({"name": "c", "items": [{"key": "z", "path": "z"}]})"), 0644, sources_)),
            "configmap references non-existent config key: z");
  EXPECT_EQ(error(secret_files(json_of(R"({"secretName": "s",
                      "items": [{"key": "z", "path": "z"}]})"),
                               0644, sources_)),
            "secret references non-existent secret key: z");
  EXPECT_THAT(config_map_files(json_of(R"({"name": "c", "optional": true,
                                           "items": [{"key": "z", "path": "z"}]})"),
                               0644, sources_)
                  .value(),
              IsEmpty());
}

TEST_F(Payloads, WhatIsNotThereIsAnErrorUnlessOptional) {
  EXPECT_EQ(error(config_map_files(json_of(R"({"name": "x"})"), 0644, sources_)),
            "configmap \"x\" not found");
  EXPECT_EQ(error(secret_files(json_of(R"({"secretName": "x"})"), 0644, sources_)),
            "secret \"x\" not found");
  EXPECT_THAT(
      secret_files(json_of(R"({"secretName": "x", "optional": true})"), 0644, sources_).value(),
      IsEmpty());
  EXPECT_THAT(error(secret_files(json_of(R"({"secretName": "broken"})"), 0644, sources_)),
              ::testing::HasSubstr("Secret n/broken has a value that is no base64"));
}

TEST(DefaultMode, Is0644) {
  EXPECT_EQ(default_mode(json_of("{}")), 0644u);
  EXPECT_EQ(default_mode(json_of(R"({"defaultMode": 256})")), 0400u);
}

class Downward : public Payloads {
 protected:
  Downward() {
    builder_.label("b", "2").label("a", "say \"hi\"\n").annotation("n", "x").cpu("1500m");
    object_ = builder_.object();
    pod_ = builder_.build();
    facts_ = {.document = &object_.json(), .pod = pod_.get(), .address = {"10.1.1.1", "10.0.0.1"}};
  }
  test::PodBuilder builder_{"p"};
  api::Object object_;
  std::shared_ptr<const model::Pod> pod_;
  DownwardFacts facts_;
};

TEST_F(Downward, FilesAreThePodsFieldsAndResources) {
  const auto source = json_of(R"({"items": [
      {"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}},
      {"path": "name", "fieldRef": {"fieldPath": "metadata.name"}, "mode": 256},
      {"path": "cpu", "resourceFieldRef": {"containerName": "main", "resource": "requests.cpu",
                                           "divisor": "1m"}}]})");
  EXPECT_THAT(downward_files(source, 0644, facts_).value(),
              ElementsAre(PayloadFile{"cpu", "1500", 0644},
                          PayloadFile{"labels", "a=\"say \\\"hi\\\"\\n\"\nb=\"2\"", 0644},
                          PayloadFile{"name", "p", 0400}));
  EXPECT_EQ(error(downward_files(json_of(R"({"items": [{"path": "x", "resourceFieldRef":
                      {"containerName": "none", "resource": "limits.cpu"}}]})"),
                                 0644, facts_)),
            "container none not found");
  EXPECT_FALSE(downward_files(json_of(R"({"items": [{"path": "x"}]})"), 0644, facts_));
}

TEST_F(Downward, ProjectedVolumesMergeTheirSources) {
  const Tokens tokens{{TokenWish{.audience = "vault", .expiration_seconds = 600}, "token!"}};
  const ProjectedFacts facts{.sources = &sources_, .downward = facts_, .tokens = &tokens};
  const auto volume = json_of(R"({"projected": {"defaultMode": 288, "sources": [
      {"configMap": {"name": "c", "items": [{"key": "a", "path": "same"}]}},
      {"secret": {"name": "s", "items": [{"key": "user", "path": "same"}]}},
      {"downwardAPI": {"items": [{"path": "ip", "fieldRef": {"fieldPath": "status.podIP"}}]}},
      {"serviceAccountToken": {"path": "token", "audience": "vault",
                               "expirationSeconds": 600}}]}})");
  EXPECT_THAT(token_wishes(volume), ElementsAre(TokenWish{"vault", 600}));
  EXPECT_THAT(projected_files(*api::find(volume, "projected"), facts).value(),
              ElementsAre(PayloadFile{"ip", "10.1.1.1", 0440}, PayloadFile{"same", "me", 0440},
                          PayloadFile{"token", "token!", 0440}));
}

TEST_F(Downward, ATokenIsToBeReadByWhomItIsFor) {
  const Tokens tokens{{TokenWish{}, "token!"}};
  const auto source = json_of(R"({"sources": [{"serviceAccountToken": {"path": "token"}}]})");
  ProjectedFacts facts{.sources = &sources_, .downward = facts_, .tokens = &tokens};
  EXPECT_THAT(projected_files(source, facts).value(),
              ElementsAre(PayloadFile{"token", "token!", 0644}));
  facts.fs_group = 7;
  EXPECT_THAT(projected_files(source, facts).value(),
              ElementsAre(PayloadFile{"token", "token!", 0600}));
  facts.fs_user = 5;
  EXPECT_THAT(projected_files(source, facts).value(),
              ElementsAre(PayloadFile{"token", "token!", 0600, 5}));
}

TEST_F(Downward, ATokenThatTheServerRefusesIsAnError) {
  const Tokens tokens{{TokenWish{}, fail(Code::NotFound, "the server could not find it")}};
  const ProjectedFacts facts{.sources = &sources_, .downward = facts_, .tokens = &tokens};
  const auto source = json_of(R"({"sources": [{"serviceAccountToken": {"path": "token"}}]})");
  EXPECT_EQ(error(projected_files(source, facts)),
            "failed to fetch token: the server could not find it");
  EXPECT_FALSE(projected_files(json_of(R"({"sources": [{"clusterTrustBundle": {}}]})"), facts));
}

} // namespace
} // namespace berth::node
