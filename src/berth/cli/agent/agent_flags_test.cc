#include "berth/cli/agent/agent_flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/testing/temp_files.h"

namespace berth::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using WithoutNetwork = runtime::cri::CriOptions::WithoutNetwork;

using Flags = std::map<std::string, std::vector<std::string>, std::less<>>;
Result<MachineChoice> read(Flags flags) {
  return machine_choice(Values{.flags = std::move(flags), .arguments = {}});
}

TEST(AgentFlags, DefaultsAreTheKubelets) {
  const auto choice = read({});
  ASSERT_TRUE(choice.has_value());
  const node::RealMachineOptions& machine = choice->machine;
  EXPECT_EQ(machine.root, "/var/lib/kubelet");
  EXPECT_EQ(machine.max_pods, 110);
  EXPECT_THAT(machine.dns.cluster_servers, IsEmpty());
  EXPECT_EQ(machine.dns.cluster_domain, "cluster.local");
  EXPECT_EQ(machine.dns.resolv_conf, "/etc/resolv.conf");
  EXPECT_EQ(machine.cri.without_network, WithoutNetwork::Share);
  EXPECT_FALSE(machine.numa.active());
}

TEST(AgentFlags, GiveGpusAsHamisVgpus) {
  EXPECT_FALSE(read({})->machine.hami);
  EXPECT_EQ(read({{"--gpu-sharing", {"hami"}}})->machine.hami, node::HamiSettings());
  EXPECT_EQ(
      read({{"--gpu-sharing", {"hami"}},
            {"--device-split-count", {"4"}},
            {"--device-memory-scaling", {"1.5"}},
            {"--device-cores-scaling", {"2"}}})
          ->machine.hami,
      (node::HamiSettings{.split_count = 4, .memory_permille = 1500, .cores_permille = 2000}));
  const auto none = read({{"--device-split-count", {"4"}}});
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().message, HasSubstr("--device-split-count is of --gpu-sharing hami"));
  const auto zero = read({{"--gpu-sharing", {"hami"}}, {"--device-split-count", {"0"}}});
  ASSERT_FALSE(zero);
  EXPECT_THAT(zero.error().message, HasSubstr("deviceSplitCount must be a number from 1 to 1000"));
}

TEST(AgentFlags, SayHowLongPodsAreHeldForDevices) {
  EXPECT_EQ(read({})->machine.device_wait, Duration::minutes(5));
  EXPECT_EQ(read({})->machine.patience, node::Patience::Wait);
  EXPECT_EQ(read({{"--device-wait", {"90s"}}})->machine.device_wait, Duration::seconds(90));
  EXPECT_EQ(read({{"--device-wait", {"0"}}})->machine.patience, node::Patience::None);
  EXPECT_THAT(read({{"--device-wait", {"soon"}}}).error().message, HasSubstr("--device-wait: "));
  EXPECT_THAT(read({{"--device-wait", {"-1s"}}}).error().message, HasSubstr("--device-wait: "));
}

class AgentFiles : public test::TempFiles {};

TEST_F(AgentFiles, SayWhatANetworkIs) {
  const std::string resolv_conf = write("resolv.conf", "nameserver 10.0.0.1\n");
  const auto choice = read({{"--cluster-dns", {"10.96.0.10,10.96.0.11"}},
                            {"--cluster-domain", {"example.org"}},
                            {"--resolv-conf", {resolv_conf}},
                            {"--allowed-unsafe-sysctls", {"net.core.*,kernel.msgmax"}},
                            {"--network-without-cni", {"none"}}});
  ASSERT_TRUE(choice.has_value());
  const node::RealMachineOptions& machine = choice->machine;
  EXPECT_THAT(machine.dns.cluster_servers, ElementsAre("10.96.0.10", "10.96.0.11"));
  EXPECT_EQ(machine.dns.cluster_domain, "example.org");
  EXPECT_EQ(machine.dns.resolv_conf, resolv_conf);
  EXPECT_THAT(machine.unsafe_sysctls, ElementsAre("net.core.*", "kernel.msgmax"));
  EXPECT_EQ(machine.cri.without_network, WithoutNetwork::Refuse);
}

TEST(AgentFlags, SayWhereALoopbackIsConfigured) {
  const auto choice = read({{"--network-without-cni", {"loopback"}},
                            {"--cni-conf-dir", {"/a"}},
                            {"--cni-bin-dir", {"/b"}}});
  ASSERT_TRUE(choice.has_value());
  EXPECT_EQ(choice->machine.cri.without_network, WithoutNetwork::Loopback);
  EXPECT_EQ(choice->machine.cri.cni, (runtime::cni::Directories{"/a", "/b"}));
  EXPECT_THAT(choice->machine.cri.program, testing::EndsWith("/cli_test"))
      << "the runtime is to start this very program";
}

TEST(AgentFlags, AreRefusedByName) {
  EXPECT_THAT(read({{"--max-pods", {"none"}}}).error().message, HasSubstr("--max-pods: want"));
  EXPECT_THAT(read({{"--node-labels", {"=x"}}}).error().message, HasSubstr("--node-labels: want"));
  EXPECT_THAT(read({{"--reserved-cpus", {"x"}}}).error().message, HasSubstr("--reserved-cpus:"));
}

TEST(AgentFlags, WhereARuntimeListensIsASocketOrAHost) {
  for (const std::string good :
       {"unix:///run/crio/crio.sock", "/run/crio/crio.sock", "tcp://127.0.0.1:9000"}) {
    EXPECT_EQ(read({{"--container-runtime-endpoint", {good}}})->machine.cri.endpoint, good);
    EXPECT_EQ(read({{"--image-service-endpoint", {good}}})->machine.cri.image_endpoint, good);
  }
  for (const std::string bad : {"http://x", "unix://", ""}) {
    const auto choice = read({{"--container-runtime-endpoint", {bad}}});
    ASSERT_FALSE(choice) << bad;
    EXPECT_EQ(choice.error().code, Code::BadRequest);
    EXPECT_THAT(choice.error().message, HasSubstr("--container-runtime-endpoint: want unix://"));
  }
}

TEST(AgentFlags, NameServersAreAddresses) {
  EXPECT_TRUE(read({{"--cluster-dns", {"10.96.0.10,fd00::a"}}}));
  for (const std::string bad : {"kube-dns", "10.96.0", "10.96.0.10,x"}) {
    const auto choice = read({{"--cluster-dns", {bad}}});
    ASSERT_FALSE(choice) << bad;
    EXPECT_EQ(choice.error().code, Code::BadRequest);
    EXPECT_THAT(choice.error().message, HasSubstr("--cluster-dns: want IP"));
  }
}

// Found out here, and not when the runtime answers at last.
TEST_F(AgentFiles, AreReadAtOnce) {
  const auto error = [](Flags flags) {
    const auto choice = read(std::move(flags));
    EXPECT_FALSE(choice);
    EXPECT_EQ(choice.error().code, Code::BadRequest) << "wrong flags, as berth device-plugin says";
    return choice.error().message;
  };
  EXPECT_EQ(error({{"--resolv-conf", {path("none")}}}),
            "--resolv-conf: " + path("none") + ": no such file or directory");
  EXPECT_TRUE(read({{"--resolv-conf", {""}}}));
  EXPECT_EQ(error({{"--device-plugin-config", {root()}}}),
            "--device-plugin-config: " + root() + ": is a directory");
  const std::string file = write("config.yaml", "version: v1\nflag: {}\n");
  EXPECT_THAT(error({{"--device-plugin-config", {file}}}),
              HasSubstr("--device-plugin-config: " + file + ":2:7: flag: "));
  EXPECT_THAT(error({{"--device-plugin-config", {file}}, {"--device-plugin", {"external"}}}),
              HasSubstr("--device-plugin-config is of --device-plugin own alone"));
}

} // namespace
} // namespace berth::cli
