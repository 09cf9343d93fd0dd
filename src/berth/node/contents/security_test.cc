#include "berth/node/contents/security.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/testing/builders.h"

namespace berth::node {
namespace {

using ::testing::ElementsAre;
using Seccomp = runtime::SecurityContext::Seccomp;

api::json::value json_of(std::string_view text) {
  return api::parse_json(text).value();
}

class Security : public ::testing::Test {
 protected:
  Result<runtime::SecurityContext> make(std::string_view pod, std::string_view container,
                                        const runtime::ImageUser& user = {}) {
    test::PodBuilder builder("p");
    builder.uid("u");
    builder.edit([&](api::json::object& document) {
      document["spec"].as_object()["securityContext"] = json_of(pod);
      auto& first = document["spec"].as_object()["containers"].as_array()[0].as_object();
      first["securityContext"] = json_of(container);
    });
    object_ = builder.object();
    const auto& spec = api::find_path(object_.json(), "spec.containers")->get_array()[0];
    needs_user_ = needs_image_user(object_.json(), spec);
    return container_security(object_.json(), spec, *builder.build(), user, "/var/lib/kubelet");
  }
  std::string error(std::string_view pod, std::string_view container,
                    const runtime::ImageUser& user = {}) {
    const auto made = make(pod, container, user);
    return made ? "none" : made.error().message;
  }

  api::Object object_;
  bool needs_user_ = false;
};

TEST_F(Security, NothingSaidIsNothingAsked) {
  EXPECT_EQ(make("{}", "{}").value(), runtime::SecurityContext());
  EXPECT_FALSE(needs_user_);
}

TEST_F(Security, TheContainersWordGoesBeforeThePods) {
  const auto made = make(R"({"runAsUser": 1, "runAsGroup": 2, "fsGroup": 3,
                             "supplementalGroups": [4, 5],
                             "seccompProfile": {"type": "RuntimeDefault"}})",
                         R"({"runAsUser": 10, "seccompProfile": {"type": "Unconfined"}})")
                        .value();
  EXPECT_EQ(made.run_as_user, 10);
  EXPECT_EQ(made.run_as_group, 2);
  EXPECT_EQ(made.seccomp, Seccomp::Unconfined);
  EXPECT_THAT(made.supplemental_groups, ElementsAre(4, 5, 3));
}

TEST_F(Security, WhatOnlyAContainerCanSayIsRead) {
  const auto made = make("{}", R"({"privileged": true, "readOnlyRootFilesystem": true,
                                   "allowPrivilegeEscalation": false,
                                   "capabilities": {"add": ["NET_ADMIN"], "drop": ["ALL"]}})")
                        .value();
  EXPECT_TRUE(made.privileged);
  EXPECT_TRUE(made.read_only_root);
  EXPECT_TRUE(made.no_new_privileges);
  EXPECT_THAT(made.add_capabilities, ElementsAre("NET_ADMIN"));
  EXPECT_THAT(made.drop_capabilities, ElementsAre("ALL"));
}

TEST_F(Security, EscalationIsForbiddenOnlyByAWord) {
  EXPECT_FALSE(make("{}", R"({"allowPrivilegeEscalation": true})")->no_new_privileges);
}

TEST_F(Security, AProfileOfTheMachineIsBelowTheKubeletsRoot) {
  const auto made =
      make(R"({"seccompProfile": {"type": "Localhost", "localhostProfile": "a/b.json"}})", "{}")
          .value();
  EXPECT_EQ(made.seccomp, Seccomp::Localhost);
  EXPECT_EQ(made.seccomp_profile, "/var/lib/kubelet/seccomp/a/b.json");
  EXPECT_EQ(error(R"({"seccompProfile": {"type": "Localhost"}})", "{}"),
            "localhostProfile must be set if seccompProfile type is Localhost.");
}

struct NonRoot {
  const char* name;
  const char* pod;
  const char* container;
  runtime::ImageUser image;
  const char* want;
};

class NonRootRule : public Security, public ::testing::WithParamInterface<NonRoot> {};

TEST_P(NonRootRule, IsTheKubelets) {
  EXPECT_EQ(error(GetParam().pod, GetParam().container, GetParam().image), GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(
    Rules, NonRootRule,
    ::testing::Values(
        NonRoot{"UserZero",
                R"({"runAsNonRoot": true, "runAsUser": 0})",
                "{}",
                {},
                "container's runAsUser breaks non-root policy (pod: \"p_default(u)\", container: "
                "main)"},
        NonRoot{"UserOfThePod", R"({"runAsNonRoot": true, "runAsUser": 7})", "{}", {}, "none"},
        NonRoot{"ImageWithoutUser",
                R"({"runAsNonRoot": true})",
                "{}",
                {},
                "container has runAsNonRoot and image will run as root (pod: \"p_default(u)\", "
                "container: main)"},
        NonRoot{"ImageOfRoot",
                "{}",
                R"({"runAsNonRoot": true})",
                {.uid = 0},
                "container has runAsNonRoot and image will run as root (pod: \"p_default(u)\", "
                "container: main)"},
        NonRoot{"ImageOfAName",
                "{}",
                R"({"runAsNonRoot": true})",
                {.name = "www"},
                "container has runAsNonRoot and image has non-numeric user (www), cannot verify "
                "user is non-root (pod: \"p_default(u)\", container: main)"},
        NonRoot{"ImageOfANumber", "{}", R"({"runAsNonRoot": true})", {.uid = 33}, "none"},
        NonRoot{"TheContainerMayBeRoot",
                R"({"runAsNonRoot": true})",
                R"({"runAsNonRoot": false})",
                {},
                "none"}),
    [](const auto& each) { return std::string(each.param.name); });

TEST_F(Security, TheImagesUserMattersOnlyIfNobodyElseIsNamed) {
  EXPECT_TRUE(make(R"({"runAsNonRoot": true})", "{}", {.uid = 5}) && needs_user_);
  EXPECT_TRUE(make(R"({"runAsNonRoot": true})", R"({"runAsUser": 5})") && !needs_user_);
}

struct Common {
  std::string_view name;
  std::string_view pod;
  std::optional<std::int64_t> want;
};
class CommonUser : public ::testing::TestWithParam<Common> {};
TEST_P(CommonUser, IsThatOfEveryContainer) {
  EXPECT_EQ(common_user(json_of(GetParam().pod)), GetParam().want);
}
INSTANTIATE_TEST_SUITE_P(
    Cases, CommonUser,
    ::testing::Values(
        Common{"NobodySays", R"({"spec": {"containers": [{}]}})", std::nullopt},
        Common{"ThePodSays",
               R"({"spec": {"securityContext": {"runAsUser": 5}, "containers": [{}, {}],
                                          "initContainers": [{}]}})",
               5},
        Common{"EachSaysTheSame", R"({"spec": {"containers": [{"securityContext": {"runAsUser": 0}},
                                     {"securityContext": {"runAsUser": 0}}]}})",
               0},
        Common{"OneDiffers", R"({"spec": {"securityContext": {"runAsUser": 5}, "containers": [{},
                                {"securityContext": {"runAsUser": 6}}]}})",
               std::nullopt},
        Common{"OneIsSilent", R"({"spec": {"containers": [{"securityContext": {"runAsUser": 5}}],
                                 "initContainers": [{}]}})",
               std::nullopt}),
    [](const auto& each) { return std::string(each.param.name); });

TEST(SandboxSecurity, IsPrivilegedWithAnyOfItsContainers) {
  const auto pod = json_of(R"({"spec": {"securityContext": {"runAsUser": 5},
      "containers": [{}, {"securityContext": {"privileged": true}}]}})");
  const auto made = sandbox_security(pod, "/k").value();
  EXPECT_TRUE(made.privileged);
  EXPECT_EQ(made.run_as_user, 5);
  EXPECT_FALSE(sandbox_security(json_of(R"({"spec": {"containers": [{}]}})"), "/k")->privileged);
}

} // namespace
} // namespace berth::node
