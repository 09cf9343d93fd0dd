#include "berth/node/volumes/volume_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/testing/builders.h"

namespace berth::node {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

api::json::value json_of(std::string_view text) {
  return api::parse_json(text).value();
}

class Plan : public ::testing::Test {
 protected:
  Plan() {
    object_ = test::pod("p").uid("u").object();
    pod_ = model::pod_view(object_).value();
    facts_.root = "/k";
    facts_.projected = {.sources = &sources_,
                        .downward = {.document = &object_.json(), .pod = pod_.get()},
                        .tokens = &tokens_};
  }
  Result<VolumePlan> plan(std::string_view volume) { return plan_volume(json_of(volume), facts_); }
  std::string error(std::string_view volume) {
    const auto made = plan(volume);
    return made ? "none" : made.error().message;
  }

  api::Object object_;
  std::shared_ptr<const model::Pod> pod_;
  Sources sources_;
  Tokens tokens_;
  VolumeFacts facts_;
};

TEST_F(Plan, VolumesLieWhereTheKubeletKeepsThem) {
  EXPECT_EQ(plan(R"({"name": "e", "emptyDir": {}})")->path,
            "/k/pods/u/volumes/kubernetes.io~empty-dir/e");
  EXPECT_EQ(plan(R"({"name": "d", "downwardAPI": {"items": []}})")->path,
            "/k/pods/u/volumes/kubernetes.io~downward-api/d");
  EXPECT_EQ(plan(R"({"name": "h", "hostPath": {"path": "/srv"}})")->path, "/srv");
}

TEST_F(Plan, VolumesOfFilesCannotBeWrittenTo) {
  EXPECT_TRUE(plan(R"({"name": "d", "downwardAPI": {"items": []}})")->read_only);
  EXPECT_FALSE(plan(R"({"name": "e", "emptyDir": {}})")->read_only);
}

TEST_F(Plan, AClaimIsThePathOfItsVolume) {
  facts_.claims.insert_or_assign("v", ClaimedPath{.path = "/disk", .type = "Directory"});
  const auto made = plan(R"({"name": "v", "persistentVolumeClaim": {"claimName": "c",
                             "readOnly": true}})");
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->path, "/disk");
  EXPECT_TRUE(made->read_only);
  facts_.claims.insert_or_assign("v", fail(Code::Unavailable, "PVC is not bound"));
  EXPECT_EQ(error(R"({"name": "v", "ephemeral": {}})"), "PVC is not bound");
}

TEST_F(Plan, OtherKindsAreRefusedByName) {
  EXPECT_THAT(error(R"({"name": "n", "nfs": {"server": "s", "path": "/"}})"), HasSubstr(": nfs"));
  EXPECT_THAT(error(R"({"name": "n"})"), HasSubstr(": none"));
}

TEST_F(Plan, NamesThatWouldBePathsAreRefused) {
  for (const char* name : {"", ".", "..", "a/b", "../../etc"}) {
    EXPECT_THAT(error(fmt::format(R"({{"name": "{}", "emptyDir": {{}}}})", name)),
                HasSubstr("cannot be a name of a folder"))
        << name;
  }
}

TEST(UsedVolumes, AreThoseThatContainersMount) {
  const auto pod = json_of(R"({"spec": {
      "initContainers": [{"volumeMounts": [{"name": "b", "mountPath": "/b"}]}],
      "containers": [{"volumeMounts": [{"name": "a", "mountPath": "/a"}]}],
      "volumes": [{"name": "a"}, {"name": "unused"}, {"name": "b"}]}})");
  std::vector<std::string> names;
  for (const auto* volume : used_volumes(pod)) {
    names.emplace_back(api::string_at(*volume, "name"));
  }
  EXPECT_THAT(names, ElementsAre("a", "b"));
}

TEST(Claim, IsNamedOrMadeForThePod) {
  EXPECT_EQ(claim_of(json_of(R"({"persistentVolumeClaim": {"claimName": "c"}})"), "p"), "c");
  EXPECT_EQ(claim_of(json_of(R"({"name": "v", "ephemeral": {}})"), "p"), "p-v");
  EXPECT_EQ(claim_of(json_of(R"({"name": "v", "emptyDir": {}})"), "p"), "");
}

TEST(Claim, OneThatIsMadeForThePodMustBeItsOwn) {
  const auto pod = test::pod("p").uid("u").object();
  const auto claim = [](std::string_view owner) {
    return api::Object::parse(fmt::format(R"({{"apiVersion": "v1", "kind": "PersistentVolumeClaim",
                   "metadata": {{"name": "p-v", "namespace": "default", "ownerReferences": [
                   {{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "{}",
                     "controller": true}}]}}}})",
                                          owner))
        .value();
  };
  const auto ephemeral = json_of(R"({"name": "v", "ephemeral": {}})");
  EXPECT_TRUE(check_owner(ephemeral, claim("u"), pod));
  EXPECT_FALSE(check_owner(ephemeral, claim("other"), pod));
  EXPECT_TRUE(
      check_owner(json_of(R"({"name": "v", "persistentVolumeClaim": {}})"), claim("other"), pod));
}

TEST(Claim, MustBeBoundToAPathOfTheMachine) {
  EXPECT_EQ(
      bound_volume(json_of(R"({"spec": {"volumeName": "pv"}, "status": {"phase": "Bound"}})")),
      "pv");
  const auto unbound = bound_volume(json_of(
      R"({"metadata": {"name": "c", "namespace": "n"}, "spec": {}, "status": {"phase": "Pending"}})"));
  EXPECT_EQ(unbound.error().message, "error processing PVC n/c: PVC is not bound");
  EXPECT_EQ(claimed_path(json_of(R"({"spec": {"local": {"path": "/d"}}})"))->path, "/d");
  EXPECT_EQ(
      claimed_path(json_of(R"({"spec": {"hostPath": {"path": "/h", "type": "File"}}})"))->type,
      "File");
  EXPECT_FALSE(claimed_path(json_of(R"({"metadata": {"name": "x"}, "spec": {"csi": {}}})")));
}

} // namespace
} // namespace berth::node
