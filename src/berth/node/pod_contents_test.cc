// Pods on a machine with folders, images and probes: what their containers are made of, what goes
// wrong and how that shows, what is left behind.
#include <unistd.h>

#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/node/volumes/files.h"
#include "berth/node/volumes/owned_folder.h"
#include "berth/testing/furnished_machine.h"

namespace berth::node {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;
using ::testing::Pair;
using ::testing::SizeIs;

class OnAFurnishedMachine : public test::FurnishedMachine {
 protected:
  std::string file(const std::string& at) const {
    std::error_code failure;
    const auto real = fs::canonical(at, failure);
    return failure ? "absent" : read_file(real.string(), 1 << 20).value_or("unreadable");
  }
  void config_map(std::string_view name, std::string_view data) {
    create(fmt::format(R"({{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {{"name": "{}",)"
                       R"("namespace": "default"}}, "data": {}}})",
                       name, data));
  }
};

TEST_F(OnAFurnishedMachine, ASandboxIsMadeOfWhatItsPodSays) {
  auto pod = bound("p").limit("hugepages-2Mi", "4Mi").limit("memory", "1Gi");
  with(pod, R"({"ports": [{"containerPort": 53, "hostPort": 5353, "protocol": "UDP"},
                          {"containerPort": 80}]})");
  with_spec(pod, R"({"dnsPolicy": "None", "dnsConfig": {"nameservers": ["192.0.2.7"]},
      "securityContext": {"sysctls": [{"name": "net/ipv4/tcp_syncookies", "value": "0"}]}})");
  plane.create(pod);
  run(Duration::seconds(10));
  ASSERT_THAT(runtime->sandboxes, SizeIs(1)) << ::testing::PrintToString(events("p"));
  const runtime::SandboxConfig& sandbox = runtime->sandboxes[0];
  EXPECT_THAT(sandbox.dns.value().servers, ElementsAre("192.0.2.7"));
  ASSERT_THAT(sandbox.ports, SizeIs(1));
  EXPECT_EQ(sandbox.ports[0].host_port, 5353);
  EXPECT_EQ(sandbox.ports[0].container_port, 53);
  EXPECT_THAT(sandbox.sysctls, ElementsAre(Pair("net.ipv4.tcp_syncookies", "0")));
}

TEST_F(OnAFurnishedMachine, WhatWouldReachOthersIsTurnedAway) {
  auto sysctl = bound("sysctl");
  with_spec(sysctl,
            R"({"securityContext": {"sysctls": [{"name": "kernel.msgmax", "value": "9"}]}})");
  plane.create(sysctl);
  run(Duration::seconds(10));
  EXPECT_EQ(api::string_at(stored("sysctl").json(), "status.reason"), "SysctlForbidden");
  EXPECT_THAT(events("sysctl"),
              Contains("SysctlForbidden: forbidden sysctl: \"kernel.msgmax\" not allowlisted"));

  for (const char* name : {"first", "second"}) {
    auto pod = bound(name);
    with(pod, R"({"ports": [{"containerPort": 80, "hostPort": 8080}]})");
    plane.create(pod);
    run(Duration::seconds(10));
  }
  EXPECT_EQ(api::string_at(stored("first").json(), "status.phase"), "Running");
  EXPECT_EQ(api::string_at(stored("second").json(), "status.phase"), "Failed");
  EXPECT_EQ(api::string_at(stored("second").json(), "status.reason"), "NodePorts");
  plane.remove(client::kPods, {"default", "first"});
  run(Duration::minutes(1));
  auto third = bound("third");
  with(third, R"({"ports": [{"containerPort": 80, "hostPort": 8080}]})");
  plane.create(third);
  run(Duration::seconds(10));
  EXPECT_EQ(api::string_at(stored("third").json(), "status.phase"), "Running");
}

TEST_F(OnAFurnishedMachine, APodThatFillsItsScratchIsEvicted) {
  auto pod = bound("p");
  with(pod, R"({"volumeMounts": [{"name": "scratch", "mountPath": "/scratch"}]})");
  with_spec(pod, R"({"volumes": [{"name": "scratch", "emptyDir": {"sizeLimit": "1Mi"}}]})");
  plane.create(pod);
  run(Duration::seconds(30));
  ASSERT_EQ(api::string_at(stored("p").json(), "status.phase"), "Running");
  const std::string big =
      "kubelet/pods/" + uid("p") + "/volumes/kubernetes.io~empty-dir/scratch/big";
  write(big, std::string(2 << 20, 'x'));
  run(Duration::minutes(2));
  EXPECT_EQ(api::string_at(stored("p").json(), "status.phase"), "Failed");
  EXPECT_EQ(api::string_at(stored("p").json(), "status.reason"), "Evicted");
  const std::string message = "Usage of EmptyDir volume \"scratch\" exceeds the limit \"1Mi\". ";
  EXPECT_EQ(api::string_at(stored("p").json(), "status.message"), message);
  EXPECT_THAT(events("p"), Contains("Evicted: " + message));
}

TEST_F(OnAFurnishedMachine, AContainerIsMadeOfWhatItsPodSays) {
  config_map("c", R"({"greeting": "hello"})");
  auto pod = bound("p").cpu("500m").limit("cpu", "1").memory("1Gi").limit("memory", "1Gi");
  with(pod, R"j({"workingDir": "/work", "tty": true, "stdin": true, "stdinOnce": true,
      "command": ["run", "$(GREETING)"], "securityContext": {"runAsUser": 7},
      "env": [{"name": "GREETING", "valueFrom": {"configMapKeyRef":
                  {"name": "c", "key": "greeting"}}}],
      "volumeMounts": [{"name": "conf", "mountPath": "/etc/conf"},
                       {"name": "tmp", "mountPath": "/tmp", "subPath": "below"}]})j");
  with_spec(pod, R"({"shareProcessNamespace": true, "hostIPC": true, "hostname": "own-name",
      "volumes": [{"name": "conf", "configMap": {"name": "c"}},
                  {"name": "tmp", "emptyDir": {}}]})");
  plane.create(pod);
  run(Duration::seconds(10));
  ASSERT_EQ(container("p", "state.running.startedAt").size(), 20u)
      << ::testing::PrintToString(events("p"));

  ASSERT_THAT(runtime->sandboxes, SizeIs(1));
  const runtime::SandboxConfig& sandbox = runtime->sandboxes[0];
  EXPECT_TRUE(sandbox.host_ipc);
  EXPECT_TRUE(sandbox.share_process_namespace);
  EXPECT_EQ(sandbox.hostname, "own-name");
  EXPECT_EQ(sandbox.log_directory, path("logs/default_p_" + uid("p")));
  EXPECT_TRUE(fs::is_directory(sandbox.log_directory + "/main"));

  ASSERT_THAT(runtime->containers, SizeIs(1));
  const runtime::ContainerConfig& made = runtime->containers[0];
  EXPECT_EQ(made.image, "id-of-r.io/app:1");
  EXPECT_THAT(made.command, ElementsAre("run", "hello"));
  EXPECT_THAT(made.envs, Contains(Pair("GREETING", "hello")));
  EXPECT_EQ(made.working_dir, "/work");
  EXPECT_TRUE(made.tty && made.stdin_open && made.stdin_once);
  EXPECT_EQ(made.log_path, "main/0.log");
  EXPECT_EQ(made.resources.cpu_shares, 512);
  EXPECT_EQ(made.resources.cpu_quota_us, 100'000);
  EXPECT_EQ(made.resources.memory_limit_bytes, std::int64_t{1} << 30);
  EXPECT_EQ(made.resources.oom_score_adj, 985) << "a sixty-fourth of the memory";
  EXPECT_EQ(made.security.run_as_user, 7);
  ASSERT_THAT(made.mounts, SizeIs(3));
  EXPECT_EQ(made.mounts[0].container_path, "/etc/conf");
  EXPECT_TRUE(made.mounts[0].read_only);
  EXPECT_EQ(file(made.mounts[0].host_path + "/greeting"), "hello");
  EXPECT_TRUE(fs::is_directory(made.mounts[1].host_path));
  EXPECT_TRUE(fs::is_directory(pod_path("p", "volumes/kubernetes.io~empty-dir/tmp/below")));
  EXPECT_EQ(made.mounts[2].container_path, "/dev/termination-log");
  EXPECT_THAT(events("p"), IsSupersetOf({"Pulling: Pulling image \"r.io/app:1\"",
                                         "Started: Started container main"}));
}

TEST_F(OnAFurnishedMachine, WhatIsMissingIsShownAndWaitedFor) {
  auto pod = bound("p");
  with(pod, R"({"envFrom": [{"configMapRef": {"name": "late"}}]})");
  plane.create(pod);
  run(Duration::seconds(5));
  EXPECT_EQ(container("p", "state.waiting.reason"), "CreateContainerConfigError");
  EXPECT_EQ(container("p", "state.waiting.message"), "configmap \"late\" not found");
  EXPECT_THAT(events("p"), Contains("Failed: Error: configmap \"late\" not found"));
  config_map("late", "{}");
  run(Duration::seconds(15));
  EXPECT_NE(container("p", "state.running.startedAt"), "absent");
}

TEST_F(OnAFurnishedMachine, AVolumeThatCannotBeIsTold) {
  auto pod = bound("p");
  with(pod, R"({"volumeMounts": [{"name": "v", "mountPath": "/v"}]})");
  with_spec(pod, R"({"volumes": [{"name": "v", "secret": {"secretName": "late"}},
                                 {"name": "unused", "secret": {"secretName": "never"}}]})");
  plane.create(pod);
  run(Duration::seconds(5));
  EXPECT_EQ(container("p", "state.waiting.reason"), "ContainerCreating");
  EXPECT_THAT(runtime->sandboxes, IsEmpty());
  EXPECT_THAT(
      events("p"),
      Contains("FailedMount: MountVolume.SetUp failed for volume \"v\" : secret \"late\" not "
               "found"));
  create(R"({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "late",
             "namespace": "default"}, "data": {"k": "djE="}})");
  run(Duration::seconds(15));
  EXPECT_NE(container("p", "state.running.startedAt"), "absent");
  EXPECT_EQ(file(pod_path("p", "volumes/kubernetes.io~secret/v/k")), "v1");
}

TEST_F(OnAFurnishedMachine, AFullDiskOrABadFolderIsTold) {
  write("blocked", "");
  auto pod = bound("p");
  with(pod, R"({"volumeMounts": [{"name": "h", "mountPath": "/h"}]})");
  with_spec(pod, fmt::format(R"({{"volumes": [{{"name": "h", "hostPath": {{"path": "{}",)"
                             R"("type": "DirectoryOrCreate"}}}}]}})",
                             path("blocked/below")));
  plane.create(pod);
  run(Duration::seconds(3));
  EXPECT_THAT(events("p"), Contains(HasSubstr("MountVolume.SetUp failed for volume \"h\" : ")));
  fs::remove(path("blocked"));
  run(Duration::seconds(5));
  EXPECT_TRUE(fs::is_directory(path("blocked/below")));
  EXPECT_NE(container("p", "state.running.startedAt"), "absent");
}

TEST_F(OnAFurnishedMachine, AMountedConfigMapFollowsItsObject) {
  config_map("c", R"({"k": "old"})");
  auto pod = bound("p");
  with(pod, R"({"volumeMounts": [{"name": "v", "mountPath": "/v"}]})");
  with_spec(pod, R"({"volumes": [{"name": "v", "configMap": {"name": "c"}}]})");
  plane.create(pod);
  run(Duration::seconds(5));
  const std::string at = pod_path("p", "volumes/kubernetes.io~configmap/v/k");
  ASSERT_EQ(file(at), "old");
  plane.patch({"", "ConfigMap"}, {"default", "c"},
              api::parse_json(R"({"data": {"k": "new"}})").value());
  run(Duration::seconds(70));
  EXPECT_EQ(file(at), "new");
  plane.remove({"", "ConfigMap"}, {"default", "c"});
  run(Duration::seconds(70));
  EXPECT_EQ(file(at), "new") << "what is gone is kept as it was";
  EXPECT_THAT(events("p"), Contains(HasSubstr("configmap \"c\" not found")));
}

TEST_F(OnAFurnishedMachine, AMountedTokenIsRenewedAndOutlastsAServerThatIsAway) {
  auto pod = bound("p");
  with(pod, R"({"volumeMounts": [{"name": "id", "mountPath": "/id"}],
                "securityContext": {"runAsUser": )" +
                std::to_string(::getuid()) + "}}");
  with_spec(pod, R"({"serviceAccountName": "bot", "volumes": [{"name": "id", "projected": {
      "sources": [{"serviceAccountToken": {"path": "token", "audience": "vault",
                                           "expirationSeconds": 3600}}]}}]})");
  plane.create(pod);
  run(Duration::seconds(10));
  ASSERT_EQ(api::string_at(stored("p").json(), "status.phase"), "Running");
  ASSERT_THAT(tokens.asked, SizeIs(1));
  const client::TokenRequest& asked = tokens.asked.front();
  EXPECT_EQ(asked.service_account, (api::Key{"default", "bot"}));
  EXPECT_EQ(asked.audience, "vault");
  EXPECT_EQ(asked.pod_name, "p");
  EXPECT_EQ(asked.pod_uid, uid("p"));
  const std::string file = pod_path("p", "volumes/kubernetes.io~projected/id/token");
  const auto shown = [&] { return read_file(std::filesystem::canonical(file), 100).value(); };
  EXPECT_EQ(shown(), "token-1");
  EXPECT_EQ(static_cast<unsigned>(std::filesystem::status(file).permissions()), 0600u)
      << "all of its containers run as one user, to whom it is";
  run(Duration::minutes(46));
  EXPECT_THAT(tokens.asked, SizeIs(1)) << "it is read again each minute, and is good";
  run(Duration::minutes(4));
  EXPECT_EQ(shown(), "token-2");
  tokens.away = true;
  run(Duration::minutes(55));
  EXPECT_EQ(shown(), "token-2") << "still good";
  EXPECT_THAT(tokens.asked, SizeIs(testing::Gt(3)));
  tokens.away = false;
  run(Duration::minutes(1));
  EXPECT_NE(shown(), "token-2");
}

TEST_F(OnAFurnishedMachine, NothingIsLeftOfAPodThatIsGone) {
  auto pod = bound("p");
  with(pod, R"({"volumeMounts": [{"name": "v", "mountPath": "/v", "subPath": "s"}]})");
  with_spec(pod, R"({"volumes": [{"name": "v", "emptyDir": {}}]})");
  plane.create(pod);
  run(Duration::seconds(5));
  ASSERT_TRUE(fs::exists(pod_path("p", "volumes")));
  const std::string folder = path("kubelet/pods/" + uid("p"));
  plane.remove(client::kPods, {"default", "p"});
  run(Duration::seconds(60));
  ASSERT_FALSE(stored("p"));
  EXPECT_FALSE(fs::exists(folder));
  EXPECT_TRUE(fs::is_empty(path("logs")));
}

TEST_F(OnAFurnishedMachine, FoldersOfPodsThatNobodyKnowsAreRemoved) {
  plane.create(bound("p"));
  run(Duration::seconds(5));
  ASSERT_TRUE(make_owned_folder(path("kubelet/pods/forgotten"), "berth"));
  fs::create_directories(path("kubelet/pods/stranger/volumes/x"));
  ASSERT_TRUE(make_owned_folder(path("kubelet/pods/of-another-agent"), "another"));
  agent.reset();
  start_agent();
  run(Duration::seconds(5));
  EXPECT_FALSE(fs::exists(path("kubelet/pods/forgotten")));
  EXPECT_TRUE(fs::exists(path("kubelet/pods/stranger"))) << "a kubelet's, perhaps";
  EXPECT_TRUE(fs::exists(path("kubelet/pods/of-another-agent")));
  EXPECT_TRUE(fs::exists(pod_path("p", "containers/main/0")));
}

TEST_F(OnAFurnishedMachine, APodWhoseFolderCannotBeMadeIsToldAndWaits) {
  write("kubelet", "a file in the way");
  plane.create(bound("p"));
  run(Duration::seconds(2));
  EXPECT_THAT(events("p"), Contains(HasSubstr("FailedMount: the pod's folder cannot be made: ")));
  EXPECT_THAT(runtime->sandboxes, IsEmpty());
  fs::remove(path("kubelet"));
  run(Duration::seconds(5));
  EXPECT_NE(container("p", "state.running.startedAt"), "absent");
}

TEST_F(OnAFurnishedMachine, LastWordsGoIntoTheStatus) {
  auto pod = bound("p").restart_policy("Never");
  pod.annotation("berth.dev/run-for", "5s").annotation("berth.dev/exit-code", "3");
  plane.create(pod);
  run(Duration::seconds(3));
  ASSERT_TRUE(write_file(pod_path("p", "containers/main/0"), "goodbye", 0666));
  run(Duration::seconds(10));
  EXPECT_EQ(container("p", "state.terminated.exitCode"), "3");
  EXPECT_EQ(container("p", "state.terminated.message"), "goodbye");
}

TEST_F(OnAFurnishedMachine, APullThatFailsIsBackedOffAndRecovers) {
  runtime->store.broken = true;
  plane.create(bound("p"));
  run(Duration::seconds(3));
  EXPECT_EQ(container("p", "state.waiting.reason"), "ErrImagePull");
  EXPECT_EQ(container("p", "state.waiting.message"), "no route to the registry");
  run(Duration::seconds(4));
  EXPECT_EQ(container("p", "state.waiting.reason"), "ImagePullBackOff");
  runtime->store.broken = false;
  run(Duration::seconds(15));
  EXPECT_NE(container("p", "state.running.startedAt"), "absent");
  EXPECT_THAT(events("p"),
              IsSupersetOf({"Failed: Failed to pull image \"r.io/app:1\": no route to the registry",
                            "BackOff: Back-off pulling image \"r.io/app:1\""}));
}

TEST_F(OnAFurnishedMachine, PullSecretsAreShown) {
  create(R"({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "pull",
             "namespace": "default"}, "type": "kubernetes.io/dockerconfigjson",
             "data": {".dockerconfigjson":
             "eyJhdXRocyI6eyJyLmlvIjp7InVzZXJuYW1lIjoibWUiLCJwYXNzd29yZCI6InAifX19"}})");
  auto pod = bound("p");
  with_spec(pod, R"({"imagePullSecrets": [{"name": "pull"}, {"name": "none"}]})");
  plane.create(pod);
  run(Duration::seconds(5));
  EXPECT_THAT(runtime->store.logins, ElementsAre("me"));
  EXPECT_THAT(events("p"),
              Contains(HasSubstr("Unable to retrieve some image pull secrets (none)")));
}

TEST_F(OnAFurnishedMachine, APodThatIsDeletedDuringAPullGoesAtOnce) {
  runtime->store.broken = true;
  plane.create(bound("p"));
  run(Duration::millis(1200));
  plane.remove(client::kPods, {"default", "p"});
  run(Duration::seconds(5));
  EXPECT_FALSE(stored("p"));
  EXPECT_THAT(runtime->containers, IsEmpty());
}

TEST_F(OnAFurnishedMachine, AnImageOfRootIsRefusedWhereRootIsNot) {
  auto pod = bound("p");
  with_spec(pod, R"({"securityContext": {"runAsNonRoot": true}})");
  plane.create(pod);
  run(Duration::seconds(5));
  EXPECT_EQ(container("p", "state.waiting.reason"), "CreateContainerConfigError");
  EXPECT_THAT(container("p", "state.waiting.message"),
              HasSubstr("container has runAsNonRoot and image will run as root"));
  runtime->store.user.uid = 1000;
  run(Duration::seconds(15));
  EXPECT_NE(container("p", "state.running.startedAt"), "absent");
}

TEST_F(OnAFurnishedMachine, AContainerMadeByAnEarlierAgentGoesOn) {
  config_map("c", R"({"k": "old"})");
  auto pod = bound("p");
  with(pod, R"({"volumeMounts": [{"name": "v", "mountPath": "/v"}]})");
  with_spec(pod, R"({"volumes": [{"name": "v", "configMap": {"name": "c"}}]})");
  plane.create(pod);
  run(Duration::seconds(5));
  agent.reset();
  plane.patch({"", "ConfigMap"}, {"default", "c"},
              api::parse_json(R"({"data": {"k": "new"}})").value());
  start_agent();
  run(Duration::seconds(5));
  EXPECT_EQ(file(pod_path("p", "volumes/kubernetes.io~configmap/v/k")), "new");
  EXPECT_THAT(runtime->containers, SizeIs(1)) << "it was not started again";
}

} // namespace
} // namespace berth::node
