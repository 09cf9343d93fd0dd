#include "berth/node/plugin_endpoints.h"

#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/base/log.h"
#include "berth/base/virtual_loop.h"
#include "berth/testing/fake_device_plugin.h"

namespace berth::node {
namespace {

using test::FakeDevicePlugin;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

class Endpoints : public ::testing::Test {
 protected:
  Endpoints() { set_log_level(LogLevel::Off); }
  ~Endpoints() override { set_log_level(LogLevel::Warn); }

  std::shared_ptr<FakeDevicePlugin> plugin(std::vector<deviceplugin::Device> devices) {
    return std::make_shared<FakeDevicePlugin>(loop_, std::move(devices));
  }
  void run(Duration span = Duration::millis(1)) { loop_.run_until(loop_.now() + span); }
  Result<void> add(deviceplugin::RegisterRequest request) {
    std::optional<Result<void>> answer;
    endpoints_.register_plugin(std::move(request), [&](Result<void> said) { answer = said; });
    EXPECT_FALSE(answer) << "a later task";
    run();
    return answer.value_or(fail(Code::Internal, "no answer"));
  }
  Result<void> add(std::string resource, std::shared_ptr<FakeDevicePlugin> to) {
    return add({.resource_name = std::move(resource), .endpoint = std::move(to)});
  }

  VirtualLoop loop_{TimePoint::from_unix_seconds(1000)};
  int changes_ = 0;
  PluginEndpoints endpoints_{loop_, Duration::minutes(5), [this] { ++changes_; }};
};

TEST_F(Endpoints, ARegisteredPluginIsLiveOnceItHasListed) {
  const auto gpus = plugin({{.id = "a"}, {.id = "b"}});
  gpus->lists_at_once = false;
  gpus->options.pre_start_required = true;
  ASSERT_TRUE(add("n.com/gpu", gpus));
  EXPECT_EQ(endpoints_.live("n.com/gpu"), nullptr);
  EXPECT_FALSE(endpoints_.complete());
  EXPECT_TRUE(endpoints_.knows("n.com/gpu"));
  gpus->set_devices({{.id = "a"}});
  run();
  ASSERT_NE(endpoints_.live("n.com/gpu"), nullptr);
  EXPECT_TRUE(endpoints_.live("n.com/gpu")->options.pre_start_required);
  EXPECT_TRUE(endpoints_.complete());
  EXPECT_EQ(changes_, 1);
  EXPECT_THAT(endpoints_.accounting(), ElementsAre(Pair("n.com/gpu", DeviceCount{1, 1})));
}

TEST_F(Endpoints, RefusalsHaveTheKubeletsText) {
  auto refused = add({.version = "v1alpha", .resource_name = "bad", .endpoint = nullptr});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "requested API version \"v1alpha\" is not supported by "
                                     "kubelet. Supported version is \"v1beta1\"");
  refused = add({.resource_name = "bad", .endpoint = nullptr});
  EXPECT_EQ(refused.error().message, "the ResourceName \"bad\" is invalid");
  refused = add({.resource_name = "n.com/gpu", .endpoint = nullptr});
  EXPECT_EQ(refused.error().message, "failed to dial device plugin: no such endpoint");
  const auto dead = plugin({});
  dead->die();
  refused = add("n.com/gpu", dead);
  EXPECT_EQ(refused.error().message, "failed to dial device plugin: connection refused");
  const auto sullen = plugin({});
  sullen->options_answer = fail(Code::Internal, "not today");
  refused = add("n.com/gpu", sullen);
  EXPECT_EQ(refused.error().message, "failed to get device plugin options: not today");
  EXPECT_FALSE(endpoints_.knows("n.com/gpu"));
}

TEST_F(Endpoints, APluginThatGoesLeavesItsCapacityForTheGraceAndThenNothing) {
  const auto gpus = plugin({{.id = "a"}});
  ASSERT_TRUE(add("n.com/gpu", gpus));
  gpus->die();
  run();
  EXPECT_EQ(endpoints_.live("n.com/gpu"), nullptr);
  EXPECT_THAT(endpoints_.accounting(), ElementsAre(Pair("n.com/gpu", DeviceCount{1, 0})));
  run(Duration::minutes(5));
  EXPECT_EQ(endpoints_.pool("n.com/gpu"), nullptr);
  EXPECT_TRUE(endpoints_.knows("n.com/gpu"));
  EXPECT_THAT(endpoints_.departed(), ElementsAre("n.com/gpu"));
  EXPECT_THAT(endpoints_.accounting(), IsEmpty());
  EXPECT_TRUE(endpoints_.complete()) << "nobody waits for what is gone for good";
  ASSERT_TRUE(add("n.com/gpu", plugin({{.id = "a"}})));
  EXPECT_THAT(endpoints_.departed(), IsEmpty());
  EXPECT_THAT(endpoints_.accounting(), ElementsAre(Pair("n.com/gpu", DeviceCount{1, 1})));
}

TEST_F(Endpoints, OneThatComesBackInTimeKeepsItsPlace) {
  const auto gpus = plugin({{.id = "a"}});
  ASSERT_TRUE(add("n.com/gpu", gpus));
  gpus->die();
  run(Duration::minutes(4));
  ASSERT_TRUE(add("n.com/gpu", plugin({{.id = "a"}, {.id = "b"}})));
  run(Duration::minutes(10));
  EXPECT_THAT(endpoints_.accounting(), ElementsAre(Pair("n.com/gpu", DeviceCount{2, 2})));
}

TEST_F(Endpoints, TheEndOfAnOldLifeDoesNotTouchANewOne) {
  const auto first = plugin({{.id = "a"}});
  const auto second = plugin({{.id = "b"}});
  ASSERT_TRUE(add("n.com/gpu", first));
  ASSERT_TRUE(add("n.com/gpu", second));
  first->die();
  first->set_devices({{.id = "ghost"}});
  run(Duration::minutes(10));
  ASSERT_NE(endpoints_.live("n.com/gpu"), nullptr);
  EXPECT_EQ(endpoints_.live("n.com/gpu")->plugin, second);
  EXPECT_THAT(endpoints_.pool("n.com/gpu")->healthy(), ElementsAre("b"));
}

TEST_F(Endpoints, ARegistrationThatIsOvertakenLoses) {
  const auto slow = plugin({{.id = "a"}});
  const auto fast = plugin({{.id = "b"}});
  // Both ask in one moment; the options of the first come first, the last still wins.
  endpoints_.register_plugin({.resource_name = "n.com/gpu", .endpoint = slow}, [](const auto&) {});
  endpoints_.register_plugin({.resource_name = "n.com/gpu", .endpoint = fast}, [](const auto&) {});
  run();
  EXPECT_EQ(endpoints_.live("n.com/gpu")->plugin, fast);
}

TEST_F(Endpoints, WhatWasThereBeforeARestartIsExpected) {
  endpoints_.restore("n.com/gpu");
  endpoints_.restore_departed("n.com/old");
  EXPECT_TRUE(endpoints_.knows("n.com/gpu"));
  EXPECT_TRUE(endpoints_.knows("n.com/old"));
  EXPECT_FALSE(endpoints_.complete());
  EXPECT_THAT(endpoints_.resources(), ElementsAre("n.com/gpu"));
  EXPECT_THAT(endpoints_.accounting(), ElementsAre(Pair("n.com/gpu", DeviceCount{0, 0})));
  endpoints_.expect("n.com/told");
  endpoints_.expect("n.com/old");
  EXPECT_THAT(endpoints_.resources(), ElementsAre("n.com/gpu", "n.com/told"));
  ASSERT_TRUE(add("n.com/gpu", plugin({{.id = "a"}})));
  EXPECT_TRUE(endpoints_.complete()) << "nobody waits for what is merely told of";
  run(Duration::minutes(5));
  EXPECT_THAT(endpoints_.departed(), ElementsAre("n.com/old", "n.com/told"));
  const int before = changes_;
  endpoints_.forget_departed("n.com/old");
  EXPECT_FALSE(endpoints_.knows("n.com/old"));
  EXPECT_EQ(changes_, before + 1);
  endpoints_.forget_departed("n.com/old");
  EXPECT_EQ(changes_, before + 1) << "there was nothing left";
}

struct Name {
  const char* name;
  bool extended;
};

void PrintTo(const Name& name, std::ostream* out) {
  *out << name.name;
}

class Names : public ::testing::TestWithParam<Name> {};

TEST_P(Names, AreExtendedResourcesOrNot) {
  EXPECT_EQ(is_extended_resource(GetParam().name), GetParam().extended) << GetParam().name;
}

INSTANTIATE_TEST_SUITE_P(
    Names, Names,
    ::testing::Values(
        Name{"nvidia.com/gpu", true}, Name{"nvidia.com/mig-1g.10gb", true}, Name{"a/b", true},
        Name{"example.com/A_b.C-d", true}, Name{"cpu", false}, Name{"", false}, Name{"/gpu", false},
        Name{"nvidia.com/", false}, Name{"kubernetes.io/x", false},
        Name{"sub.kubernetes.io/x", false}, Name{"notkubernetes.io/x", false},
        Name{"requests.a.com/x", false}, Name{"a.com/b/c", false}, Name{"a.com/b c", false},
        Name{"A.com/b", false}, Name{"a.com/-b", false}, Name{"a.com/b.", false},
        Name{"-a.com/b", false}, Name{"a..com/b", false}, Name{"a.com./b", false},
        Name{"a.com/abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijk", true},
        Name{"a.com/abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijkl", false}));

} // namespace
} // namespace berth::node
