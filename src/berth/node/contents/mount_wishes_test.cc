#include "berth/node/contents/mount_wishes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::node {
namespace {

using ::testing::HasSubstr;
using Propagation = runtime::Mount::Propagation;

Result<std::vector<MountWish>> wishes(std::string_view mounts, const Environment& env = {}) {
  return mount_wishes(api::parse_json("{\"volumeMounts\": " + std::string(mounts) + "}").value(),
                      env);
}

TEST(MountWishes, SayWhatTheContainerSays) {
  const auto made = wishes(R"j([{"name": "a", "mountPath": "/a", "readOnly": true},
                               {"name": "b", "mountPath": "b", "subPath": "x/y",
                                "mountPropagation": "Bidirectional"},
                               {"name": "c", "mountPath": "/c",
                                "mountPropagation": "HostToContainer"}])j");
  ASSERT_TRUE(made) << made.error().message;
  ASSERT_EQ(made->size(), 3u);
  EXPECT_EQ((*made)[0].volume, "a");
  EXPECT_TRUE((*made)[0].read_only);
  EXPECT_EQ((*made)[0].propagation, Propagation::Private);
  EXPECT_EQ((*made)[1].container_path, "/b");
  EXPECT_EQ((*made)[1].sub_path, "x/y");
  EXPECT_EQ((*made)[1].propagation, Propagation::Bidirectional);
  EXPECT_EQ((*made)[1].index, 1u);
  EXPECT_EQ((*made)[2].propagation, Propagation::HostToContainer);
}

TEST(MountWishes, ExpressionsAreOfTheEnvironment) {
  const auto made = wishes(R"j([{"name": "a", "mountPath": "/a",
                                "subPathExpr": "$(POD)/$$(POD)"}])j",
                           {{"POD", "p1"}});
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->front().sub_path, "p1/$(POD)");
}

TEST(MountWishes, PathsThatLeadOutAreRefused) {
  for (const char* path : {"/abs", "..", "../x", "a/../../b", "a/.."}) {
    const auto made =
        wishes(R"j([{"name": "a", "mountPath": "/a", "subPath": ")j" + std::string(path) + "\"}]");
    ASSERT_FALSE(made) << path;
    EXPECT_THAT(made.error().message, HasSubstr("must not be an absolute path or contain '..'"));
  }
  EXPECT_TRUE(wishes(R"j([{"name": "a", "mountPath": "/a", "subPath": "..a/b.."}])j"));
  // Also where the way out hides in a variable.
  EXPECT_FALSE(wishes(R"j([{"name": "a", "mountPath": "/a", "subPathExpr": "$(X)"}])j",
                      {{"X", "../../etc"}}));
}

TEST(MountWishes, AnUnknownVariableIsAnError) {
  const auto made = wishes(R"j([{"name": "a", "mountPath": "/a", "subPathExpr": "x/$(NONE)"}])j");
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().message, "missing value for \"NONE\"");
}

} // namespace
} // namespace berth::node
