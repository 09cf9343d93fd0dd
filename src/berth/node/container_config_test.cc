#include "berth/node/container_config.h"

#include <string>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/testing/builders.h"

namespace berth::node {
namespace {

namespace json = boost::json;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Key;
using ::testing::Not;
using ::testing::Pair;
using ::testing::SizeIs;

using GpuMachine = ContainerPlan::GpuMachine;

class Config : public ::testing::Test {
 protected:
  runtime::ContainerConfig make(ContainerPlan plan = {}) {
    object_ = builder_.object();
    view_ = builder_.build();
    plan.container = &view_->spec.containers.at(0);
    return make_container_config(object_, *view_, plan);
  }
  // Sets a member of the first container.
  void set(std::string_view key, json::value value) {
    builder_.edit([&](json::object& document) {
      document["spec"].as_object()["containers"].as_array()[0].as_object()[key] = std::move(value);
    });
  }
  void set_spec(std::string_view key, json::value value) {
    builder_.edit(
        [&](json::object& document) { document["spec"].as_object()[key] = std::move(value); });
  }
  static json::value parsed(std::string_view text) { return api::parse_json(text).value(); }

  test::PodBuilder builder_ = test::pod("p").image("img:1").label("app", "x");
  api::Object object_;
  std::shared_ptr<const model::Pod> view_;
};

TEST_F(Config, SaysWhatTheSpecSays) {
  set("command", parsed(R"(["run"])"));
  set("args", parsed(R"(["-v"])"));
  const auto config = make({.attempt = 3, .restart_delay = Duration::seconds(20)});
  EXPECT_EQ(config.name, "main");
  EXPECT_EQ(config.image, "img:1");
  EXPECT_EQ(config.attempt, 3u);
  EXPECT_THAT(config.command, ElementsAre("run"));
  EXPECT_THAT(config.args, ElementsAre("-v"));
  EXPECT_THAT(config.labels, IsSupersetOf({Pair("app", "x"), Pair("io.kubernetes.pod.name", "p"),
                                           Pair("io.kubernetes.pod.namespace", "default"),
                                           Pair("io.kubernetes.container.name", "main")}));
  EXPECT_THAT(
      config.annotations,
      IsSupersetOf({Pair("io.kubernetes.container.restartCount", "3"),
                    Pair("berth.dev/container-role", "app"), Pair("berth.dev/restart-delay", "20"),
                    Pair("io.kubernetes.pod.terminationGracePeriod", "30")}));
  EXPECT_THAT(config.annotations, Not(Contains(Key("berth.dev/devices"))));
}

TEST_F(Config, ReferencesInCommandAndArgumentsAreReplaced) {
  set("command", parsed(R"j(["run", "--rank=$(RANK)", "$$(RANK)", "$(NONE)"])j"));
  set("args", parsed(R"j(["$(DEVICES)", "$(RANK)"])j"));
  set("env", parsed(R"([{"name": "RANK", "value": "7"}])"));
  const auto config = make({.edits = {.envs = {{"DEVICES", "g0"}}}});
  EXPECT_THAT(config.command, ElementsAre("run", "--rank=7", "$(RANK)", "$(NONE)"));
  EXPECT_THAT(config.args, ElementsAre("g0", "7"));
}

TEST_F(Config, ThePluginsEnvironmentComesFirstAndThePodsWordWins) {
  set("env", parsed(R"([{"name": "A", "value": "pod"}, {"name": "B", "value": "2"}])"));
  const auto config = make({.edits = {.envs = {{"A", "plugin"}, {"C", "3"}}}});
  EXPECT_THAT(config.envs,
              ElementsAre(Pair("A", "plugin"), Pair("C", "3"), Pair("A", "pod"), Pair("B", "2")));
}

TEST_F(Config, NobodyButThePluginDecidesWhichGpusAreSeen) {
  set("env", parsed(R"([{"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}])"));
  EXPECT_THAT(make({.edits = {.envs = {{"NVIDIA_VISIBLE_DEVICES", "GPU-1"}}},
                    .gpu_machine = GpuMachine::Yes})
                  .envs,
              ElementsAre(Pair("NVIDIA_VISIBLE_DEVICES", "GPU-1")));
  EXPECT_THAT(make({.gpu_machine = GpuMachine::Yes}).envs,
              ElementsAre(Pair("NVIDIA_VISIBLE_DEVICES", "void")));
  EXPECT_THAT(make({.gpu_machine = GpuMachine::No}).envs,
              ElementsAre(Pair("NVIDIA_VISIBLE_DEVICES", "all")));
}

TEST_F(Config, VolumesAreMountedFromWhereTheKubeletKeepsThem) {
  set_spec("volumes", parsed(R"([{"name": "scratch", "emptyDir": {}},
                                 {"name": "host", "hostPath": {"path": "/srv"}},
                                 {"name": "conf", "configMap": {"name": "c"}},
                                 {"name": "odd", "nfs": {"server": "s", "path": "/"}}])"));
  set("volumeMounts", parsed(R"([{"name": "scratch", "mountPath": "/scratch"},
                                 {"name": "host", "mountPath": "/data", "subPath": "sub",
                                  "readOnly": true},
                                 {"name": "conf", "mountPath": "/etc/c"},
                                 {"name": "odd", "mountPath": "/odd"},
                                 {"name": "unknown", "mountPath": "/unknown"}])"));
  builder_.edit([](json::object& document) { document["metadata"].as_object()["uid"] = "u1"; });
  const auto config = make({.edits = {.mounts = {{"/plugin", "/host/plugin", true}}}});
  std::vector<std::string> mounts;
  for (const runtime::Mount& mount : config.mounts) {
    mounts.push_back(mount.host_path + " " + mount.container_path + (mount.read_only ? " ro" : ""));
  }
  EXPECT_THAT(mounts,
              ElementsAre("/var/lib/kubelet/pods/u1/volumes/kubernetes.io~empty-dir/scratch "
                          "/scratch",
                          "/srv/sub /data ro",
                          "/var/lib/kubelet/pods/u1/volumes/kubernetes.io~configmap/conf /etc/c",
                          "/host/plugin /plugin ro"));
}

TEST_F(Config, DevicesAreRememberedByTheRuntime) {
  const auto config =
      make({.edits = {.devices = {{"/dev/a", "/dev/b", "rw"}},
                      .annotations = {{"plugin", "says"}, {"berth.dev/container-role", "mine"}},
                      .cdi_devices = {"v.com/c=d"}},
            .devices = {{"nvidia.com/gpu", {"g0", "g1"}}, {"example.com/nic", {"n"}}}});
  ASSERT_THAT(config.devices, SizeIs(1));
  EXPECT_EQ(config.devices[0].container_path, "/dev/a");
  EXPECT_EQ(config.devices[0].host_path, "/dev/b");
  EXPECT_THAT(config.cdi_devices, ElementsAre("v.com/c=d"));
  EXPECT_EQ(config.annotations.at("plugin"), "says");
  EXPECT_EQ(config.annotations.at("berth.dev/container-role"), "app") << "the kubelet's own win";
  EXPECT_EQ(config.annotations.at("berth.dev/devices"), "example.com/nic=n;nvidia.com/gpu=g0,g1");
}

TEST_F(Config, ARealMachinesContentsStandInForWhatTheDocumentAloneSays) {
  set("env", parsed(R"([{"name": "A", "value": "document"}])"));
  set("workingDir", "/w");
  const ContainerContents contents{.image = "sha256:1",
                                   .env = {{"A", "contents"}, {"NVIDIA_VISIBLE_DEVICES", "all"}},
                                   .mounts = {{.container_path = "/c", .host_path = "/h"}},
                                   .resources = {.cpu_shares = 7},
                                   .security = {.run_as_user = 5},
                                   .log_path = "main/0.log"};
  const auto config = make({.edits = {.envs = {{"D", "1"}}, .mounts = {{"/plugin", "/p", true}}},
                            .gpu_machine = GpuMachine::Yes,
                            .contents = &contents});
  EXPECT_THAT(config.envs, ElementsAre(Pair("D", "1"), Pair("NVIDIA_VISIBLE_DEVICES", "void"),
                                       Pair("A", "contents")));
  EXPECT_EQ(config.image, "sha256:1");
  EXPECT_EQ(config.working_dir, "/w");
  EXPECT_EQ(config.resources.cpu_shares, 7);
  EXPECT_EQ(config.security.run_as_user, 5);
  EXPECT_EQ(config.log_path, "main/0.log");
  ASSERT_THAT(config.mounts, SizeIs(2));
  EXPECT_EQ(config.mounts[0].host_path, "/h");
  EXPECT_EQ(config.mounts[1].container_path, "/plugin");
}

TEST_F(Config, ASandboxCarriesThePodsNamesAndWishes) {
  set_spec("hostNetwork", true);
  set_spec("terminationGracePeriodSeconds", 7);
  builder_.annotation("berth.dev/run-for", "5s");
  const auto config = make_sandbox_config(*builder_.build(), 2);
  EXPECT_EQ(config.name, "p");
  EXPECT_EQ(config.ns, "default");
  EXPECT_EQ(config.attempt, 2u);
  EXPECT_TRUE(config.host_network);
  EXPECT_THAT(config.labels, Contains(Pair("io.kubernetes.pod.name", "p")));
  EXPECT_THAT(config.annotations,
              IsSupersetOf({Pair("berth.dev/run-for", "5s"),
                            Pair("io.kubernetes.pod.terminationGracePeriod", "7")}));
}

TEST(DevicesText, ReadsAsItWasWritten) {
  using Devices = std::map<std::string, std::vector<std::string>>;
  for (const Devices& devices :
       {Devices{}, Devices{{"a.com/x", {"1"}}},
        Devices{{"a.com/x", {"1", "2"}}, {"b.com/y", {"3"}}}, Devices{{"a.com/x", {}}}}) {
    EXPECT_EQ(parse_devices(format_devices(devices)), devices) << format_devices(devices);
  }
  EXPECT_THAT(parse_devices("nonsense"), IsEmpty());
  EXPECT_THAT(parse_devices(";;a=1;"), ElementsAre(Pair("a", ElementsAre("1"))));
}

TEST_F(Config, OfARealMachineToolsFindWhatAKubeletWrites) {
  set("ports", parsed(R"([{"containerPort":80}])"));
  set("lifecycle", parsed(R"({"preStop":{"exec":{"command":["sync"]}}})"));
  set("terminationMessagePolicy", "FallbackToLogsOnError");
  const ContainerContents contents;
  const auto first = make({.contents = &contents});
  EXPECT_THAT(
      first.annotations,
      IsSupersetOf(
          {Pair("io.kubernetes.container.terminationMessagePath", "/dev/termination-log"),
           Pair("io.kubernetes.container.terminationMessagePolicy", "FallbackToLogsOnError"),
           Pair("io.kubernetes.container.preStopHandler", R"({"exec":{"command":["sync"]}})"),
           Pair("io.kubernetes.container.ports", R"([{"containerPort":80}])"),
           Pair("io.kubernetes.container.restartCount", "0")}));
  const std::string hash = first.annotations.at("io.kubernetes.container.hash");
  EXPECT_THAT(hash, ::testing::MatchesRegex("[0-9a-f]{1,8}"));
  EXPECT_EQ(
      make({.attempt = 1, .contents = &contents}).annotations.at("io.kubernetes.container.hash"),
      hash);
  set("image", "img:2");
  EXPECT_NE(make({.contents = &contents}).annotations.at("io.kubernetes.container.hash"), hash);
}

} // namespace
} // namespace berth::node
