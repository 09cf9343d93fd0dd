// Pods on a runtime without CNI: what they get, and what becomes of the configuration that a
// loopback of their own takes. The runtime sees a configuration as soon as it is there, and cannot
// stop a sandbox without one, as containerd.
#include "berth/runtime/cri/sandbox_network.h"

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/net/asio_loop.h"
#include "berth/testing/fake_cri.h"
#include "berth/testing/temp_files.h"

namespace berth::runtime::cri {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Without = CriOptions::WithoutNetwork;
using Has = RuntimeInfo::Network;

struct Case {
  std::string_view name;
  Without without;
  Has has;
  std::optional<PodNetwork> want;
};

class PodNetworkTable : public testing::TestWithParam<Case> {};
TEST_P(PodNetworkTable, IsWhatWasAskedFor) {
  EXPECT_EQ(pod_network(GetParam().without, GetParam().has), GetParam().want);
}
INSTANTIATE_TEST_SUITE_P(
    Cases, PodNetworkTable,
    testing::Values(
        Case{"ShareNothing", Without::Share, Has::None, PodNetwork::Machine},
        Case{"ShareAnAgents", Without::Share, Has::Loopback, PodNetwork::Machine},
        Case{"ShareConfigured", Without::Share, Has::Configured, PodNetwork::Configured},
        Case{"RefuseNothing", Without::Refuse, Has::None, PodNetwork::Nothing},
        Case{"RefuseAnAgents", Without::Refuse, Has::Loopback, PodNetwork::Nothing},
        Case{"RefuseConfigured", Without::Refuse, Has::Configured, PodNetwork::Configured},
        Case{"LoopbackNothing", Without::Loopback, Has::None, std::nullopt},
        Case{"LoopbackAnAgents", Without::Loopback, Has::Loopback, PodNetwork::Loopback},
        Case{"LoopbackConfigured", Without::Loopback, Has::Configured, PodNetwork::Configured}),
    [](const auto& each) { return std::string(each.param.name); });

class OfSandboxes : public test::TempFiles {
 protected:
  void SetUp() override {
    TempFiles::SetUp();
    fs::create_directory(path("conf"));
    fake = std::make_unique<test::FakeCri>(loop, path("s"));
    fake->cni_directory = path("conf");
    fake->pod_address = "127.0.0.1";
    fake->info_config =
        R"({"cni": {"confDir": ")" + path("conf") + R"(", "binDir": ")" + path("bin") + R"("}})";
  }
  std::unique_ptr<CriRuntime> agent(Without without, const std::string& owner = "n1") {
    return std::make_unique<CriRuntime>(loop, CriOptions{.endpoint = path("s"),
                                                         .owner = owner,
                                                         .without_network = without,
                                                         .program = "/bin/sh",
                                                         .network_wait = Duration::millis(1)});
  }
  template <class T> Result<T> wait(const std::function<void(Done<T>)>& ask) {
    std::optional<Result<T>> got;
    ask([&](Result<T> answer) {
      got = std::move(answer);
      loop.stop();
    });
    loop.run();
    return *std::move(got);
  }
  Result<PodNetwork> settle(CriRuntime& of) {
    return wait<PodNetwork>([&](auto done) { of.settle_network(std::move(done)); });
  }
  Result<SandboxStatus> run(CriRuntime& in, const std::string& uid) {
    return wait<SandboxStatus>([&](auto done) {
      in.run_pod_sandbox({.name = "p", .ns = "default", .uid = uid}, std::move(done));
    });
  }
  void end(CriRuntime& in, const std::string& id) {
    EXPECT_TRUE(
        wait<void>([&](auto done) { in.stop_pod_sandbox(id, std::move(done)); }).has_value());
    EXPECT_TRUE(
        wait<void>([&](auto done) { in.remove_pod_sandbox(id, std::move(done)); }).has_value());
  }
  /// What is done beside the answers has been done: a question sees the answers before it.
  void settle_down(CriRuntime& of) {
    for (int i = 0; i < 3; ++i) {
      EXPECT_TRUE(wait<Listing>([&](auto done) { of.list(std::move(done)); }).has_value());
    }
  }
  std::vector<std::string> in(const std::string& folder) const {
    std::vector<std::string> names;
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(path(folder), none)) {
      names.push_back(entry.path().filename());
    }
    std::ranges::sort(names);
    return names;
  }

  net::AsioLoop loop;
  std::unique_ptr<test::FakeCri> fake;
};

TEST_F(OfSandboxes, ALoopbackIsConfiguredWhereTheRuntimeLooks) {
  const auto runtime = agent(Without::Loopback);
  EXPECT_EQ(settle(*runtime).value(), PodNetwork::Loopback);
  EXPECT_THAT(in("conf"), ElementsAre("zz-berth-loopback-n1.conflist"));
  EXPECT_THAT(in("bin"), ElementsAre("berth-loopback", "loopback"));
  const auto made = run(*runtime, "u1");
  ASSERT_TRUE(made.has_value()) << made.error().message;
  EXPECT_TRUE(only_loopback(*made));
  EXPECT_EQ(
      fake->sandboxes.at(made->id).config.linux().security_context().namespace_options().network(),
      test::cri::POD);
}

TEST_F(OfSandboxes, ANamespaceIsTakenFromWhatTheRuntimeTells) {
  const auto runtime = agent(Without::Loopback);
  fake->sandbox_info = R"({"pid": 7, "runtimeSpec": {"linux": {"namespaces": [
      {"type": "pid"}, {"type": "network", "path": "/var/run/netns/cni-1"}]}}})";
  EXPECT_EQ(run(*runtime, "u1")->network_namespace, "/var/run/netns/cni-1");
  fake->sandbox_info = R"({"pid": 7, "runtimeSpec": {}})";
  EXPECT_EQ(run(*runtime, "u2")->network_namespace, "/proc/7/ns/net");
  fake->sandbox_info = "unlike JSON";
  EXPECT_EQ(run(*runtime, "u3")->network_namespace, "");
  fake->pod_address = "10.0.0.7";
  const auto others = std::ranges::count(fake->calls, "PodSandboxStatus");
  EXPECT_EQ(run(*runtime, "u4")->network_namespace, "");
  EXPECT_EQ(std::ranges::count(fake->calls, "PodSandboxStatus"), others + 1)
      << "nobody needs that of others";
}

TEST_F(OfSandboxes, AnyOtherConfigurationWins) {
  const auto runtime = agent(Without::Loopback);
  ASSERT_TRUE(settle(*runtime).has_value());
  write("conf/10-real.conflist", R"({"name": "real"})");
  EXPECT_EQ(settle(*runtime).value(), PodNetwork::Configured);
  fs::remove(path("conf/10-real.conflist"));
  EXPECT_EQ(settle(*runtime).value(), PodNetwork::Loopback);
}

TEST_F(OfSandboxes, AConfigurationThatWentIsNoticedByTheFirstPodWithoutOne) {
  for (const auto& [without, want] :
       {std::pair{Without::Loopback, test::cri::POD}, std::pair{Without::Share, test::cri::NODE}}) {
    write("conf/10-real.conflist", R"({"name": "real"})");
    const auto runtime = agent(without);
    ASSERT_EQ(settle(*runtime).value(), PodNetwork::Configured);
    fs::remove(path("conf/10-real.conflist"));
    fs::remove(path("conf/zz-berth-loopback-n1.conflist"));
    const std::string uid = want == test::cri::POD ? "u" : "v";
    EXPECT_THAT(run(*runtime, uid).error().message, HasSubstr("cni plugin not initialized"));
    const auto made = run(*runtime, uid);
    ASSERT_TRUE(made.has_value()) << made.error().message;
    EXPECT_EQ(fake->sandboxes.at(made->id)
                  .config.linux()
                  .security_context()
                  .namespace_options()
                  .network(),
              want);
  }
}

TEST_F(OfSandboxes, WhoSharesDoesNotTakeAnAgentsLoopbackForANetwork) {
  const auto alone = agent(Without::Loopback, "n1");
  ASSERT_TRUE(settle(*alone).has_value());
  const auto sharing = agent(Without::Share, "n2");
  EXPECT_EQ(settle(*sharing).value(), PodNetwork::Machine);
  EXPECT_EQ(settle(*agent(Without::Refuse, "n3")).value(), PodNetwork::Nothing);
  settle_down(*sharing);
  EXPECT_THAT(in("conf"), ElementsAre("zz-berth-loopback-n1.conflist")) << "it is another agent's";
}

TEST_F(OfSandboxes, WhatIsNotWantedAnyMoreGoesOnceNoSandboxNeedsIt) {
  auto runtime = agent(Without::Loopback);
  const std::string first = run(*runtime, "u1")->id;
  const std::string last = run(*runtime, "u2")->id;
  runtime = agent(Without::Share);
  EXPECT_EQ(settle(*runtime).value(), PodNetwork::Machine);
  const std::string sharing = run(*runtime, "u3")->id;
  settle_down(*runtime);
  EXPECT_THAT(in("conf"), ElementsAre("zz-berth-loopback-n1.conflist"));
  ASSERT_TRUE(
      wait<void>([&](auto done) { runtime->stop_pod_sandbox(last, std::move(done)); }).has_value());
  end(*runtime, first);
  settle_down(*runtime);
  EXPECT_THAT(in("conf"), ElementsAre("zz-berth-loopback-n1.conflist"))
      << "one that is stopped is not removed";
  end(*runtime, last);
  settle_down(*runtime);
  EXPECT_THAT(in("conf"), IsEmpty());
  EXPECT_THAT(in("bin"), IsEmpty());
  end(*runtime, sharing);
}

TEST_F(OfSandboxes, WhatIsNotWantedAnyMoreGoesAtOnceWhereAnotherConfigurationIsUsed) {
  auto runtime = agent(Without::Loopback);
  const std::string id = run(*runtime, "u1")->id;
  write("conf/10-real.conflist", R"({"name": "real"})");
  runtime = agent(Without::Share);
  EXPECT_EQ(settle(*runtime).value(), PodNetwork::Configured);
  settle_down(*runtime);
  EXPECT_THAT(in("conf"), ElementsAre("10-real.conflist"));
  end(*runtime, id);
}

TEST_F(OfSandboxes, ASandboxIsStoppedAlthoughSomebodyRemovedTheConfiguration) {
  const auto runtime = agent(Without::Loopback);
  const std::string id = run(*runtime, "u1")->id;
  fs::remove(path("conf/zz-berth-loopback-n1.conflist"));
  end(*runtime, id);
  EXPECT_THAT(fake->sandboxes, IsEmpty());
  EXPECT_THAT(in("conf"), ElementsAre("zz-berth-loopback-n1.conflist"));
}

TEST_F(OfSandboxes, ARuntimeThatLooksElsewhereIsToldOf) {
  const auto runtime = agent(Without::Loopback);
  write("conf/00-broken.json", "{");
  fake->cni_directory = path("elsewhere");
  const auto broken = settle(*runtime);
  EXPECT_THAT(broken.error().message, AllOf(HasSubstr("zz-berth-loopback-n1.conflist is there"),
                                            HasSubstr("repair or remove what comes before it: " +
                                                      path("conf/00-broken.json"))));
}

TEST_F(OfSandboxes, AFolderThatCannotBeWrittenIsNamed) {
  write("file", "");
  fake->info_config = R"({"cni": {"confDir": ")" + path("file/conf") + R"("}})";
  auto runtime =
      std::make_unique<CriRuntime>(loop, CriOptions{.endpoint = path("s"),
                                                    .owner = "n1",
                                                    .without_network = Without::Loopback,
                                                    .cni = {.conf = "", .bin = path("bin")}});
  const auto refused = run(*runtime, "u1");
  EXPECT_THAT(refused.error().message,
              AllOf(HasSubstr("network is not ready: cannot make folder " + path("file/conf")),
                    HasSubstr("--cni-conf-dir")));
  EXPECT_THAT(in("bin"), ElementsAre("berth-loopback", "loopback"))
      << "the flag is stronger than what the runtime says";
}

} // namespace
} // namespace berth::runtime::cri
