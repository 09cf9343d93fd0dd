// The agent's side of CRI against a runtime that remembers what it was asked for, over a socket.
#include "berth/runtime/cri/cri_runtime.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/testing/fake_cri.h"
#include "berth/testing/temp_files.h"

namespace berth::runtime::cri {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class Cri : public test::TempFiles {
 protected:
  void SetUp() override {
    TempFiles::SetUp();
    fake = std::make_unique<test::FakeCri>(loop, path("s"));
    runtime = make("node-1");
  }
  std::unique_ptr<CriRuntime> make(const std::string& owner) {
    return std::make_unique<CriRuntime>(loop, CriOptions{.endpoint = "unix://" + path("s"),
                                                         .owner = owner,
                                                         .cdi_directories = {path("cdi")},
                                                         .relist_every = Duration::millis(5)});
  }
  /// The answer to what `ask` asks for.
  template <class T> Result<T> wait(const std::function<void(Done<T>)>& ask) {
    std::optional<Result<T>> got;
    ask([&](Result<T> answer) {
      got = std::move(answer);
      loop.stop();
    });
    loop.run();
    return *std::move(got);
  }
  Result<RuntimeInfo> probe() {
    return wait<RuntimeInfo>([&](auto done) { runtime->probe(std::move(done)); });
  }
  static SandboxConfig sandbox(const std::string& uid) {
    return {.name = "p",
            .ns = "default",
            .uid = uid,
            .hostname = "p",
            .log_directory = "/logs/p",
            .labels = {{std::string(kPodUidLabel), uid}}};
  }
  Result<SandboxStatus> run(SandboxConfig config) {
    return wait<SandboxStatus>(
        [&](auto done) { runtime->run_pod_sandbox(std::move(config), std::move(done)); });
  }
  Result<std::string> create(const std::string& sandbox_id, ContainerConfig config) {
    return wait<std::string>([&](auto done) {
      runtime->create_container(sandbox_id, std::move(config), std::move(done));
    });
  }
  Result<void> start(const std::string& id) {
    return wait<void>([&](auto done) { runtime->start_container(id, std::move(done)); });
  }
  static ContainerConfig container(const std::string& uid) {
    return {.name = "c",
            .image = "here:1",
            .labels = {{std::string(kPodUidLabel), uid}},
            .log_path = "c/0.log"};
  }
  std::string started_container(const std::string& uid) {
    const std::string id = create(run(sandbox(uid))->id, container(uid)).value();
    EXPECT_TRUE(start(id).has_value());
    return id;
  }

  net::AsioLoop loop;
  std::unique_ptr<test::FakeCri> fake;
  std::unique_ptr<CriRuntime> runtime;
};

TEST_F(Cri, SaysWhoIsThereAndWhatItCan) {
  const auto info = probe();
  ASSERT_TRUE(info.has_value());
  EXPECT_EQ(info->name, "containerd");
  EXPECT_TRUE(info->ready);
  EXPECT_EQ(info->network, RuntimeInfo::Network::Configured);
  EXPECT_FALSE(info->knows_cdi);
  fake->info_config = R"({"enableCDI": true})";
  EXPECT_TRUE(probe()->knows_cdi);
  fake->version = "0.2.0";
  EXPECT_THAT(probe().error().message, HasSubstr("speaks version \"0.2.0\", want \"0.1.0\""));
  fake->stop_serving();
  EXPECT_EQ(probe().error().code, Code::Unavailable);
}

TEST_F(Cri, ARunningContainerIsMovedToOtherCpusAndKeepsItsLimits) {
  const std::string id = started_container("u1");
  const auto move = [&](const std::string& which) {
    return wait<void>([&](auto done) { runtime->set_cpus(which, "0-1", std::move(done)); });
  };
  ASSERT_TRUE(move(id).has_value());
  ASSERT_THAT(fake->containers.at(id).updates, SizeIs(1));
  EXPECT_EQ(fake->containers.at(id).updates[0].cpuset_cpus(), "0-1");
  EXPECT_EQ(fake->containers.at(id).updates[0].cpu_quota(), 0) << "0 leaves it as it is";
  EXPECT_EQ(move("nobody").error().code, Code::NotFound);
}

TEST_F(Cri, ASandboxHasItsResolverPortsAndSysctls) {
  SandboxConfig config = sandbox("u1");
  config.dns = DnsConfig{{"192.0.2.1"}, {"example.org"}, {"ndots:5"}};
  config.ports = {{.protocol = PortMapping::Protocol::Udp,
                   .container_port = 53,
                   .host_port = 5353,
                   .host_ip = "192.0.2.9"}};
  config.sysctls = {{"net.ipv4.tcp_syncookies", "1"}};
  const auto made = run(config);
  ASSERT_TRUE(made.has_value());
  const test::cri::PodSandboxConfig& asked = fake->sandboxes.at(made->id).config;
  EXPECT_THAT(asked.dns_config().servers(), ElementsAre("192.0.2.1"));
  EXPECT_THAT(asked.dns_config().searches(), ElementsAre("example.org"));
  EXPECT_THAT(asked.dns_config().options(), ElementsAre("ndots:5"));
  ASSERT_EQ(asked.port_mappings_size(), 1);
  EXPECT_EQ(asked.port_mappings(0).protocol(), test::cri::UDP);
  EXPECT_EQ(asked.port_mappings(0).host_port(), 5353);
  EXPECT_EQ(asked.linux().sysctls().at("net.ipv4.tcp_syncookies"), "1");
  EXPECT_FALSE(fake->sandboxes.at(run(sandbox("u2"))->id).config.has_dns_config());
  ContainerConfig with = container("u1");
  with.resources.hugepages = {{"2MB", 4 << 20}};
  const std::string id = create(made->id, with).value();
  const auto& limits = fake->containers.at(id).config.linux().resources().hugepage_limits();
  ASSERT_EQ(limits.size(), 1);
  EXPECT_EQ(limits[0].page_size(), "2MB");
  EXPECT_EQ(limits[0].limit(), 4U << 20U);
}

TEST_F(Cri, WithoutANetworkPodsShareTheMachinesOrWait) {
  fake->network_ready = false;
  const auto network = [&](CriRuntime& of, bool host) {
    SandboxConfig config = sandbox(host ? "h" : "p");
    config.host_network = host;
    config.attempt = static_cast<std::uint32_t>(fake->sandboxes.size());
    const auto made =
        wait<SandboxStatus>([&](auto done) { of.run_pod_sandbox(config, std::move(done)); });
    return fake->sandboxes.at(made->id)
        .config.linux()
        .security_context()
        .namespace_options()
        .network();
  };
  EXPECT_EQ(network(*runtime, false), test::cri::NODE);
  CriRuntime strict(loop, CriOptions{.endpoint = path("s"),
                                     .owner = "node-1",
                                     .without_network = CriOptions::WithoutNetwork::Refuse});
  EXPECT_EQ(network(strict, true), test::cri::NODE);
  const std::size_t before = fake->sandboxes.size();
  const auto refused = wait<SandboxStatus>(
      [&](auto done) { strict.run_pod_sandbox(sandbox("q"), std::move(done)); });
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error().message, HasSubstr("network is not ready"));
  EXPECT_THAT(fake->sandboxes, SizeIs(before)) << "the runtime was not asked";
  fake->network_ready = true;
  EXPECT_EQ(network(strict, false), test::cri::POD) << "there is one now";
}

TEST_F(Cri, TellsWhatItsOwnContainersUse) {
  const std::string id = started_container("u1");
  test::cri::ContainerStats& stats = *fake->stats.add_stats();
  stats.mutable_attributes()->set_id(id);
  stats.mutable_attributes()->mutable_metadata()->set_name("c");
  *stats.mutable_attributes()->mutable_labels() = fake->containers.at(id).config.labels();
  stats.mutable_cpu()->set_timestamp(7);
  stats.mutable_cpu()->mutable_usage_core_nano_seconds()->set_value(123);
  stats.mutable_memory()->mutable_working_set_bytes()->set_value(~std::uint64_t{0});
  stats.mutable_writable_layer()->mutable_used_bytes()->set_value(4096);
  fake->stats.add_stats()->mutable_attributes()->set_id("of a kubelet");
  const auto ask = [&] {
    return wait<Usages>([&](auto done) { runtime->usages(std::move(done)); });
  };
  const auto alone = ask();
  ASSERT_TRUE(alone.has_value()) << alone.error().message;
  ASSERT_THAT(alone->containers, SizeIs(1));
  const ContainerUsage& used = alone->containers[0];
  EXPECT_EQ(used.id, id);
  EXPECT_EQ(used.pod_uid, "u1");
  EXPECT_EQ(used.usage.at, TimePoint::from_unix_nanos(7));
  EXPECT_EQ(used.usage.cpu_nanos, 123);
  EXPECT_EQ(used.usage.memory_bytes, std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(used.usage.memory_rss_bytes, std::nullopt);
  EXPECT_EQ(used.written_bytes, 4096);
  EXPECT_THAT(alone->sandboxes, IsEmpty()) << "this runtime tells nothing of them";

  test::cri::PodSandboxStats& whole = *fake->sandbox_stats.emplace().add_stats();
  whole.mutable_attributes()->set_id("s");
  whole.mutable_attributes()->mutable_metadata()->set_uid("u1");
  (*whole.mutable_attributes()->mutable_labels())["berth.dev/agent"] = "node-1";
  whole.mutable_linux()->mutable_process()->mutable_process_count()->set_value(3);
  auto& network = *whole.mutable_linux()->mutable_network()->mutable_default_interface();
  network.set_name("eth0");
  network.mutable_rx_bytes()->set_value(11);
  const auto both = ask();
  ASSERT_THAT(both->sandboxes, SizeIs(1));
  EXPECT_EQ(both->sandboxes[0].processes, 3);
  EXPECT_EQ(both->sandboxes[0].usage.cpu_nanos, std::nullopt);
  ASSERT_THAT(both->sandboxes[0].interfaces, SizeIs(1));
  EXPECT_EQ(both->sandboxes[0].interfaces[0].received_bytes, 11);
  fake->failures["ListContainerStats"] = 1;
  EXPECT_THAT(ask().error().message, HasSubstr("ListContainerStats fails"));
}

TEST_F(Cri, APodGoesFromSandboxToRemoval) {
  const auto made = run(sandbox("u1"));
  ASSERT_TRUE(made.has_value());
  EXPECT_EQ(made->uid, "u1");
  EXPECT_EQ(made->ip, "10.1.2.3");
  const std::string id = create(made->id, container("u1")).value();
  ASSERT_TRUE(start(id).has_value());
  const auto status =
      wait<ContainerStatus>([&](auto done) { runtime->container_status(id, std::move(done)); });
  EXPECT_EQ(status->state, ContainerState::Running);
  EXPECT_EQ(status->runtime, "containerd");
  EXPECT_EQ(status->sandbox_id, made->id);
  EXPECT_EQ(status->log_path, "/logs/p/c/0.log");
  ASSERT_TRUE(wait<void>([&](auto done) {
                runtime->stop_container(id, Duration::millis(1500), std::move(done));
              }).has_value());
  EXPECT_EQ(fake->containers.at(id).stop_timeout, 2) << "CRI counts seconds: rounded up";
  ASSERT_TRUE(wait<void>([&](auto done) {
                runtime->stop_pod_sandbox(made->id, std::move(done));
              }).has_value());
  ASSERT_TRUE(wait<void>([&](auto done) {
                runtime->remove_pod_sandbox(made->id, std::move(done));
              }).has_value());
  EXPECT_THAT(fake->containers, IsEmpty());
}

TEST_F(Cri, AnAttemptThatExistsIsSaidToExist) {
  ASSERT_TRUE(run(sandbox("u1")).has_value());
  EXPECT_EQ(run(sandbox("u1")).error().code, Code::AlreadyExists);
}

TEST_F(Cri, OthersPodsAreNeitherSeenNorTold) {
  started_container("u1");
  runtime = make("node-2");
  std::vector<std::string> told;
  const auto stream =
      runtime->events([&](const ContainerEvent& event) { told.push_back(event.status.pod_uid); });
  started_container("u2");
  const auto listing = wait<Listing>([&](auto done) { runtime->list(std::move(done)); });
  ASSERT_TRUE(listing.has_value());
  ASSERT_THAT(listing->sandboxes, SizeIs(1));
  EXPECT_EQ(listing->sandboxes.front().uid, "u2");
  ASSERT_THAT(listing->containers, SizeIs(1));
  while (told.size() < 2) {
    loop.run_for(Duration::millis(1));
  }
  EXPECT_THAT(told, testing::Each("u2"));
}

TEST_F(Cri, EventsTellWhatHappened) {
  using Type = ContainerEvent::Type;
  std::vector<Type> types;
  std::optional<int> exit_code;
  const auto stream = runtime->events([&](const ContainerEvent& event) {
    types.push_back(event.type);
    if (event.type == Type::Stopped) {
      exit_code = event.status.exit_code;
    }
  });
  const auto until = [&](Type type) {
    while (types.empty() || types.back() != type) {
      loop.run_for(Duration::millis(1));
    }
  };
  const std::string id = started_container("u1");
  until(Type::Started);
  fake->end(id, 7);
  until(Type::Stopped);
  EXPECT_EQ(exit_code, 7);
  fake->containers.erase(id);
  until(Type::Deleted);
  EXPECT_THAT(types, ElementsAre(Type::Created, Type::Started, Type::Stopped, Type::Deleted));
}

TEST_F(Cri, WhatEndedWhileTheRuntimeWasAwayIsHeardAfterwards) {
  const std::string id = started_container("u1");
  bool stopped = false;
  const auto stream = runtime->events([&](const ContainerEvent& event) {
    stopped = stopped || event.type == ContainerEvent::Type::Stopped;
  });
  fake->stop_serving();
  fake->end(id, 1);
  loop.run_for(Duration::millis(20));
  EXPECT_FALSE(stopped);
  fake->serve();
  while (!stopped) {
    loop.run_for(Duration::millis(1));
  }
}

TEST_F(Cri, StoppingGoesOnUntilItIsDone) {
  const std::string id = started_container("u1");
  fake->failures["StopContainer"] = 1;
  ASSERT_TRUE(wait<void>([&](auto done) {
                runtime->stop_container(id, Duration::seconds(1), std::move(done));
              }).has_value());
  EXPECT_EQ(std::ranges::count(fake->calls, "StopContainer"), 2);
  EXPECT_TRUE(wait<void>([&](auto done) {
                runtime->stop_container("unknown", Duration::seconds(1), std::move(done));
              }).has_value())
      << "what is not there needs no stopping";
}

TEST_F(Cri, AnotherLifeOfTheAgentGoesOnInTheSandbox) {
  SandboxConfig config = sandbox("u1");
  config.host_pid = true;
  const std::string id = run(config)->id;
  runtime = make("node-1");
  const std::string made = create(id, container("u1")).value();
  const auto& seen = fake->containers.at(made);
  EXPECT_EQ(seen.sandbox_config.log_directory(), "/logs/p");
  EXPECT_EQ(seen.sandbox_config.metadata().uid(), "u1");
  EXPECT_EQ(seen.config.linux().security_context().namespace_options().pid(), test::cri::NODE);
}

TEST_F(Cri, WithoutANetworkForPodsTheyShareTheMachines) {
  fake->network_ready = false;
  const auto made = run(sandbox("u1"));
  ASSERT_TRUE(made.has_value());
  EXPECT_EQ(made->ip, "");
  const auto& config = fake->sandboxes.at(made->id).config;
  EXPECT_EQ(config.linux().security_context().namespace_options().network(), test::cri::NODE);
  EXPECT_EQ(config.hostname(), "") << "in the machine's network namespace its name stays";
  // Once there is one, the next pod has it.
  fake->network_ready = true;
  const auto next = run(sandbox("u2"));
  EXPECT_EQ(
      fake->sandboxes.at(next->id).config.linux().security_context().namespace_options().network(),
      test::cri::POD);
}

TEST_F(Cri, CdiDevicesAreSaidInTheWordsOfARuntimeThatDoesNotKnowThem) {
  std::filesystem::create_directory(path("cdi"));
  write("cdi/vendor.yaml", R"(
cdiVersion: "0.5.0"
kind: vendor.com/gpu
containerEdits:
  env: [ALL=1]
  deviceNodes: [{path: /dev/ctl}]
  hooks: [{hookName: createContainer, path: /usr/bin/hook}] # no words for it: left out, and logged
devices:
- name: a
  containerEdits: {env: [A=x], deviceNodes: [{path: /dev/a, hostPath: /dev/host-a, permissions: rw}]}
)");
  ContainerConfig config = container("u1");
  config.cdi_devices = {"vendor.com/gpu=a"};
  const std::string sandbox_id = run(sandbox("u1"))->id;
  const auto& seen = fake->containers.at(create(sandbox_id, config).value()).config;
  ASSERT_EQ(seen.devices_size(), 2);
  EXPECT_EQ(seen.devices(1).host_path(), "/dev/host-a");
  EXPECT_EQ(seen.cdi_devices_size(), 0);
  config.cdi_devices = {"vendor.com/gpu=b"};
  EXPECT_THAT(create(sandbox_id, config).error().message,
              HasSubstr("unresolvable CDI devices vendor.com/gpu=b"));
  // A runtime that knows CDI is told the names.
  fake->info_config = R"({"enableCDI": true})";
  ASSERT_TRUE(probe().has_value());
  const auto& named = fake->containers.at(create(sandbox_id, config).value()).config;
  ASSERT_EQ(named.cdi_devices_size(), 1);
  EXPECT_EQ(named.cdi_devices(0).name(), "vendor.com/gpu=b");
}

TEST_F(Cri, ImagesAreFoundAndPulled) {
  Images& images = *runtime->images();
  const auto find = [&](const std::string& name) {
    return wait<std::optional<std::string>>([&](auto done) { images.find(name, std::move(done)); });
  };
  EXPECT_EQ(find("here:1").value(), "sha256:here");
  EXPECT_EQ(find("there:1").value(), std::nullopt);
  EXPECT_EQ(wait<std::string>([&](auto done) {
              images.pull("there:1", {.username = "me", .password = "secret"}, std::move(done));
            }).value(),
            "sha256:there:1 by me");
  EXPECT_NE(find("there:1").value(), std::nullopt);
}

TEST_F(Cri, ImagesSayWhomTheyRunAs) {
  const auto user = [&] {
    return wait<ImageUser>(
               [&](auto done) { runtime->images()->user_of("here:1", std::move(done)); })
        .value();
  };
  EXPECT_EQ(user().uid, std::nullopt);
  fake->image_uid = 33;
  fake->image_user = "www-data";
  EXPECT_EQ(user().uid, 33);
  EXPECT_EQ(user().name, "www-data");
}

TEST_F(Cri, CommandsRunInContainers) {
  const std::string id = started_container("u1");
  const auto result = wait<ExecResult>([&](auto done) {
    runtime->exec_sync(id, {"echo", "a"}, Duration::seconds(1), std::move(done));
  });
  EXPECT_EQ(result->exit_code, 3);
  EXPECT_EQ(result->out, "echo\na\n");
  EXPECT_EQ(wait<std::string>([&](auto done) {
              runtime->exec_url(id, {"sh"}, {.in = true, .tty = true}, std::move(done));
            }).value(),
            "http://127.0.0.1:1/exec/" + id);
}

} // namespace
} // namespace berth::runtime::cri
