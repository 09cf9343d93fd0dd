// An agent's own server and those who ask it, over real loopback sockets.
#include "berth/kubelet/kubelet_server.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/api/json.h"
#include "berth/kubelet/joined_nodes.h"
#include "berth/kubelet/kubelet_paths.h"
#include "berth/kubelet/local_nodes.h"
#include "berth/kubelet/remote_log.h"
#include "berth/kubelet/remote_nodes.h"
#include "berth/net/certificates.h"
#include "berth/net/http_client.h"
#include "berth/net/upgrade.h"
#include "berth/net/websocket.h"
#include "berth/server/log_answer.h"
#include "berth/server/streams/connect.h"
#include "berth/store/memory_store.h"
#include "berth/testing/fake_streaming_server.h"
#include "berth/testing/listed_runtime.h"
#include "berth/testing/temp_files.h"

namespace berth::kubelet {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kLine = "2026-01-01T00:00:0";

class Kubelet : public test::TempFiles {
 protected:
  void SetUp() override {
    test::TempFiles::SetUp();
    log = write("0.log", std::string(kLine) + "1Z stdout F one\n" + kLine + "2Z stderr F two\n");
    runtime.add_sandbox("a");
    runtime.add("old", "a", "c").state = runtime::ContainerState::Exited;
    runtime.listing.containers.back().log_path =
        write("old.log", std::string(kLine) + "0Z stdout F before\n");
    runtime.add("new", "a", "c").log_path = log;
    runtime.url = streaming.url("/cat");
  }

  void serve(KubeletServerOptions options = {}) {
    options.port = 0;
    options.tokens.add("api", {.name = kApiServerUser, .uid = {}, .groups = {}, .extra = {}});
    options.tokens.add("alice", {.name = "alice", .uid = {}, .groups = {"people"}, .extra = {}});
    auto listening = KubeletServer::listen(node, std::move(options));
    ASSERT_TRUE(listening.has_value()) << to_string(listening.error());
    server = *std::move(listening);
    url = *net::HttpUrl::parse("http://127.0.0.1:" + std::to_string(server->port()));
    define_node();
  }

  void define_node() {
    auto object = api::Object::from_json(
        {{"apiVersion", "v1"},
         {"kind", "Node"},
         {"metadata", api::json::object{{"name", "n"}}},
         {"status", api::json::object{
                        {"addresses",
                         api::json::array{
                             api::json::object{{"type", "Hostname"}, {"address", "n"}},
                             api::json::object{{"type", "InternalIP"}, {"address", "127.0.0.1"}}}},
                        {"daemonEndpoints",
                         api::json::object{
                             {"kubeletEndpoint", api::json::object{{"Port", server->port()}}}}}}}});
    ASSERT_TRUE(object.has_value());
    ASSERT_TRUE(registry.create(*object, loop.now()).has_value());
  }

  void until(const std::function<bool()>& met) {
    while (!met()) {
      loop.run_for(Duration::millis(2));
    }
  }
  net::HttpResponse ask(const std::string& target, const std::string& token = "api",
                        const std::string& method = "GET") {
    std::optional<Result<net::HttpResponse>> got;
    client.send(
        url,
        {.method = method, .target = target, .headers = {{"Authorization", "Bearer " + token}}},
        [&](Result<net::HttpResponse> how) { got = std::move(how); });
    until([&] { return got.has_value(); });
    EXPECT_TRUE(got->has_value()) << target;
    return got->value_or(net::HttpResponse());
  }
  void append(const std::string& text) { std::ofstream(log, std::ios::app) << text; }

  net::AsioLoop loop;
  test::FakeStreamingServer streaming{loop};
  test::ListedRuntime runtime{loop};
  LocalNode node{loop, runtime};
  store::MemoryStore store;
  store::Registry registry{store, Rng(1), {}};
  net::HttpClient client{loop};
  std::unique_ptr<KubeletServer> server;
  net::HttpUrl url;
  std::string log;
};

TEST_F(Kubelet, ShowsLogs) {
  serve();
  EXPECT_EQ(ask("/containerLogs/default/a/c").body, "one\ntwo\n");
  EXPECT_EQ(ask("/containerLogs/default/a/c?tailLines=1&timestamps=true").body,
            std::string(kLine) + "2Z two\n");
  EXPECT_EQ(ask("/containerLogs/default/a/c?previous=true").body, "before\n");
  EXPECT_EQ(ask("/containerLogs/default/a/c?limitBytes=5").body, "one\nt");
  EXPECT_EQ(ask("/containerLogs/default/a/c?tailLines=x").status, 400);
  EXPECT_THAT(ask("/containerLogs/default/a/other").body,
              HasSubstr("unable to retrieve container logs for other"));
  runtime.listing.containers.back().log_path = path("none.log");
  EXPECT_EQ(ask("/containerLogs/default/a/c").status, 500);
  EXPECT_THAT(ask("/containerLogs/default/a/c").body, HasSubstr("No such file or directory"));
}

TEST_F(Kubelet, ALogIsFollowedUntilItsContainerEnds) {
  serve();
  std::string text;
  std::optional<Result<void>> ended;
  const auto call = client.stream(url,
                                  {.target = "/containerLogs/default/a/c?follow=true&tailLines=1",
                                   .headers = {{"Authorization", "Bearer api"}}},
                                  {.head = [](const net::HttpResponse&) {},
                                   .piece = [&](std::string_view piece) { text += piece; },
                                   .end = [&](Result<void> how) { ended = std::move(how); }});
  until([&] { return text == "two\n"; });
  append(std::string(kLine) + "3Z stdout F three\n" + kLine + "4Z stdout F fo");
  until([&] { return text == "two\nthree\n"; });
  append("ur\n");
  until([&] { return text == "two\nthree\nfour\n"; });
  EXPECT_FALSE(ended.has_value());
  runtime.end("new");
  append(std::string(kLine) + "5Z stdout F last words\n");
  until([&] { return ended.has_value(); });
  EXPECT_TRUE(ended->has_value());
  EXPECT_EQ(text, "two\nthree\nfour\nlast words\n");
  EXPECT_EQ(ask("/containerLogs/default/a/c?follow=true&tailLines=1").body, "last words\n")
      << "it has ended";
}

TEST_F(Kubelet, AsksWhoItIs) {
  serve();
  EXPECT_EQ(ask("/healthz", "nobody").body, "ok\n");
  EXPECT_EQ(ask("/pods", "nobody").status, 401);
  EXPECT_EQ(ask("/nothing", "nobody").status, 401);
  const auto refused = ask("/pods", "alice");
  EXPECT_EQ(refused.status, 403);
  EXPECT_THAT(refused.body, HasSubstr("Forbidden (user=alice, verb=get, resource=nodes"));
  EXPECT_EQ(ask("/nothing").status, 404);
  EXPECT_EQ(ask("/containerLogs/default/a/c", "api", "DELETE").status, 405);
}

TEST_F(Kubelet, TellsItsPodsAndMetrics) {
  KubeletServerOptions options;
  options.metrics = [] { return "metric 1\n"; };
  serve(std::move(options));
  const auto pods = api::parse_json(ask("/pods").body);
  ASSERT_TRUE(pods.has_value());
  EXPECT_EQ(api::string_at(*pods, "kind"), "PodList");
  EXPECT_EQ(api::string_at(pods->at("items").at(0), "metadata.name"), "a");
  EXPECT_EQ(ask("/metrics").body, "metric 1\n");
}

TEST_F(Kubelet, BringsClientsToTheRuntime) {
  serve();
  for (const auto& [target, want] :
       {std::pair("/exec/default/a/c?command=cat&input=1&output=1&tty=1", "exec new cat in tty"),
        std::pair("/exec/default/a/uid-a/c?command=cat&output=1", "exec new cat"),
        std::pair("/attach/default/a/c?output=1", "attach new"),
        std::pair("/portForward/default/a", "ports sandbox-a 0")}) {
    std::optional<Result<std::shared_ptr<net::WebSocket>>> opened;
    net::connect_websocket(
        loop,
        {.to = url,
         .target = target,
         .headers = {{"Authorization", "Bearer api"}},
         .protocols = {"v4.channel.k8s.io"}},
        [&](Result<std::shared_ptr<net::WebSocket>> how) { opened = std::move(how); });
    until([&] { return opened.has_value(); });
    ASSERT_TRUE(opened->has_value()) << to_string(opened->error());
    EXPECT_EQ(runtime.asked.back(), want);
    (**opened)->drop();
  }
}

TEST_F(Kubelet, SaysWhyItCannotBringThem) {
  serve();
  const auto refusal = [&](const std::string& target) {
    std::optional<Result<net::Upgraded>> got;
    const auto call = net::request_upgrade(
        loop,
        {.to = url,
         .request = {.method = "POST",
                     .target = target,
                     .headers = {{"Upgrade", "SPDY/3.1"}, {"Authorization", "Bearer api"}}}},
        [&](Result<net::Upgraded> how) { got = std::move(how); });
    until([&] { return got.has_value(); });
    return (*got)->answer.body;
  };
  EXPECT_EQ(refusal("/exec/default/a/c?command=x"),
            "you must specify at least 1 of stdin, stdout, stderr\n");
  EXPECT_THAT(refusal("/exec/default/a/other?command=x&output=1"),
              HasSubstr("container not found (\"other\")"));
  EXPECT_THAT(refusal("/exec/default/a/other-uid/c?command=x&output=1"),
              HasSubstr("container not found (\"c\")"));
  EXPECT_THAT(refusal("/portForward/default/b"), HasSubstr("pod not found (\"b_default\")"));
  EXPECT_EQ(ask("/exec/default/a/c?command=x&output=1").status, 400) << "no upgrade";
  runtime.end("new");
  EXPECT_THAT(refusal("/exec/default/a/c?command=x&output=1"), HasSubstr("is not running"));
  runtime.url = "";
  EXPECT_THAT(refusal("/portForward/default/a"), HasSubstr("no streaming server"));
}

TEST_F(Kubelet, AnApiServerReadsLogsThroughIt) {
  serve();
  RemoteNodes nodes(loop, registry, {.tls = nullptr, .bearer_token = "api"});
  EXPECT_TRUE(nodes.reachable("n"));
  EXPECT_FALSE(nodes.reachable("m"));
  const auto read = [&](server::LogRequest what) {
    std::optional<net::HttpResponse> answer;
    server::answer_with_log(
        [&](std::function<void()> on_more, LocalNode::LogOpened done) {
          nodes.open_log("n", what, std::move(on_more), std::move(done));
        },
        [&](net::HttpResponse given) { answer = std::move(given); });
    until([&] { return answer.has_value(); });
    return *answer;
  };
  const auto direct = read({.ns = "default",
                            .pod = "a",
                            .container = "c",
                            .container_id = "containerd://new",
                            .options = {.tail_lines = 1}});
  EXPECT_EQ(direct.status, 200);
  EXPECT_TRUE(direct.stream || direct.body == "two\n") << direct.body;
  const auto refused = read({.ns = "default", .pod = "a", .container = "none"});
  EXPECT_EQ(refused.status, 400);
  EXPECT_THAT(refused.body, HasSubstr("unable to retrieve container logs for none"));
  server = nullptr;
  EXPECT_THAT(read({.ns = "default", .pod = "a", .container = "c"}).body,
              HasSubstr("error dialing backend"));
}

TEST_F(Kubelet, AnApiServerFindsStreamsThere) {
  serve();
  RemoteNodes remote(loop, registry, {.tls = nullptr, .bearer_token = "api"});
  UsageMeter meter(loop, runtime, {.procfs = root(), .disk = root()});
  LocalNodes local("here", node, meter, {});
  JoinedNodes nodes({&local, &remote});
  EXPECT_TRUE(nodes.reachable("here"));
  EXPECT_TRUE(nodes.reachable("n"));
  std::optional<server::Answer<server::StreamPlace>> place;
  const server::StreamRequest what{
      .ns = "default", .pod = "a", .container = "c", .command = {"ls", "-l /"}, .out = true};
  const auto find = [&](const std::string& at) {
    place.reset();
    nodes.find_streams(
        at, what, [&](server::Answer<server::StreamPlace> found) { place = std::move(found); });
    until([&] { return place.has_value(); });
  };
  find("n");
  ASSERT_TRUE(place->has_value());
  EXPECT_EQ((*place)->url.port, server->port());
  EXPECT_EQ((*place)->target, "/exec/default/a/c?command=ls&command=-l%20%2F&output=1");
  EXPECT_THAT((*place)->headers, ElementsAre(testing::Pair("Authorization", "Bearer api")));
  find("here");
  ASSERT_TRUE(place->has_value());
  EXPECT_EQ((*place)->url.path, "/cat");
  find("elsewhere");
  EXPECT_FALSE(place->has_value());
  EXPECT_FALSE(nodes.reachable("elsewhere"));
  EXPECT_FALSE(nodes.usage("elsewhere").has_value());
}

// A second look, a second later, is waited for.
class KubeletUsage : public Kubelet {
 protected:
  void SetUp() override {
    Kubelet::SetUp();
    meter.emplace(loop, runtime, MachineSource{.procfs = root(), .disk = root()});
    runtime.listing.containers.back().started_at = loop.now() - Duration::seconds(10);
    runtime.on_usages = [this] {
      runtime.used = {.containers = {{.id = "new",
                                      .name = "c",
                                      .pod_uid = "uid-a",
                                      .usage = {.at = loop.now(),
                                                .cpu_nanos = loop.now().unix_nanos() / 2,
                                                .memory_bytes = 5 << 20}}},
                      .sandboxes = {}};
    };
    write("stat", "cpu  100 0 100 9 9 0 0 0 0 0\nbtime 1700000000\n");
    write("meminfo", "MemTotal: 1000 kB\nMemFree: 400 kB\nInactive(file): 100 kB\n");
  }
  KubeletServerOptions measuring() {
    return {.node = "n",
            .meter = &*meter,
            .gpus =
                [] {
                  server::GpuUsage gpu{.index = 0, .uuid = "GPU-1", .product = "H100"};
                  gpu.percent = 7;
                  gpu.used_bytes = 3 << 20;
                  gpu.memory_bytes = 8 << 20;
                  gpu.pod_uid = "uid-a";
                  gpu.container = "c";
                  gpu.more.celsius = 41;
                  gpu.processes = {
                      {.pid = 1, .used_bytes = 2048, .pod_uid = gpu.pod_uid, .container = "c"},
                      {.pid = 2, .used_bytes = 1, .pod_uid = gpu.pod_uid, .container = "c"}};
                  return std::vector<server::GpuUsage>{gpu};
                },
            .gpu_driver = "550.1"};
  }

  std::optional<UsageMeter> meter;
};

TEST_F(KubeletUsage, IsToldInTheKubeletsWords) {
  serve(measuring());
  const auto summary = api::parse_json(ask("/stats/summary").body).value();
  EXPECT_EQ(api::string_at(summary, "node.nodeName"), "n");
  EXPECT_EQ(api::find_path(summary, "node.memory.workingSetBytes")->to_number<int>(), 500 * 1024);
  const auto resources = ask("/metrics/resource").body;
  EXPECT_THAT(resources, HasSubstr("container_memory_working_set_bytes{container=\"c\","
                                   "namespace=\"default\",pod=\"a\"} 5242880 "));
  EXPECT_THAT(ask("/metrics/gpus").body,
              HasSubstr("DCGM_FI_DEV_GPU_UTIL{gpu=\"0\",UUID=\"GPU-1\""));
  EXPECT_THAT(ask("/metrics/gpus").body,
              HasSubstr("DCGM_FI_DRIVER_VERSION=\"550.1\",container=\"c\",namespace=\"default\","
                        "pod=\"a\"} 7\n"));
  const std::string page = ask("/metrics/gpus").body;
  const std::size_t memory = page.find("\nberth_gpu_container_memory_used_bytes{");
  ASSERT_NE(memory, std::string::npos) << page;
  EXPECT_THAT(page.substr(memory), HasSubstr("pod=\"a\"} 2049\n")) << "both processes together";
  EXPECT_EQ(ask("/stats/summary", "alice").status, 403);
}

TEST_F(KubeletUsage, WithoutAMeterNothingIsMeasured) {
  serve();
  EXPECT_EQ(ask("/stats/summary").status, 404);
  EXPECT_EQ(ask("/metrics/resource").status, 404);
  EXPECT_EQ(ask("/stats/gpus").body, "{\"gpus\":[]}\n");
}

TEST_F(KubeletUsage, ReachesAnApiServerInAnotherProcess) {
  serve(measuring());
  RemoteNodes remote(loop, registry, {.tls = nullptr, .bearer_token = "api"});
  LocalNodes local("here", node, *meter, {});
  JoinedNodes nodes({&local, &remote});
  const auto measure = [&] {
    bool done = false;
    nodes.measure({"n", "here", "elsewhere"}, [&] { done = true; });
    until([&] { return done; });
  };
  EXPECT_FALSE(nodes.usage("n").has_value()) << "nobody has asked";
  measure();
  for (const char* name : {"n", "here"}) {
    const auto usage = nodes.usage(name);
    ASSERT_TRUE(usage.has_value()) << name;
    EXPECT_EQ(usage->memory_bytes, 500 * 1024);
    ASSERT_EQ(usage->pods.size(), 1U);
    EXPECT_EQ(usage->pods[0].uid, "uid-a");
    EXPECT_EQ(usage->pods[0].containers[0].memory_bytes, 5 << 20);
    EXPECT_NEAR(static_cast<double>(usage->pods[0].containers[0].cpu_nanocores), 5e8, 2000);
  }
  const auto gpus = nodes.usage("n")->gpus;
  ASSERT_EQ(gpus.size(), 1U);
  EXPECT_EQ(gpus[0].percent, 7);
  EXPECT_EQ(gpus[0].more.celsius, 41);
  EXPECT_EQ(gpus[0].more.milliwatts, std::nullopt);
  EXPECT_EQ(gpus[0].container, "c");
  server = nullptr;
  measure();
  EXPECT_FALSE(nodes.usage("n").has_value()) << "its agent is gone";
  EXPECT_TRUE(nodes.usage("here").has_value());
}

TEST_F(KubeletUsage, ARuntimeThatIsAwayIsSaid) {
  serve(measuring());
  runtime.usage_error = Error{.code = Code::Unavailable, .message = "containerd is away"};
  const auto answer = ask("/stats/summary");
  EXPECT_EQ(answer.status, 500);
  EXPECT_EQ(answer.body, "containerd is away\n");
}

TEST_F(Kubelet, AClientCertificateIsEnough) {
  const auto now = loop.now();
  const auto until_then = now + Duration::hours(1);
  const auto ca = *net::make_authority(
      {.common_name = "ca", .not_before = now - Duration::hours(1), .not_after = until_then});
  const auto served = *net::issue(ca, {.common_name = "n",
                                       .names = {"IP:127.0.0.1"},
                                       .not_before = now - Duration::hours(1),
                                       .not_after = until_then});
  const auto shown = [&](const std::string& name, std::vector<std::string> groups) {
    const auto pair = *net::issue(ca, {.common_name = name,
                                       .organizations = std::move(groups),
                                       .not_before = now - Duration::hours(1),
                                       .not_after = until_then});
    return *net::TlsContext::client(
        {.ca = ca.certificate, .certificate = pair.certificate, .key = pair.key});
  };
  KubeletServerOptions options;
  options.tls = *net::TlsContext::server(
      {.certificate = served.certificate, .key = served.key, .client_ca = ca.certificate});
  serve(std::move(options));
  const auto status = [&](std::shared_ptr<const net::TlsContext> tls) {
    net::HttpClient asking(loop, {.tls = std::move(tls)});
    std::optional<Result<net::HttpResponse>> got;
    asking.send({.tls = true, .host = "127.0.0.1", .port = server->port()}, {.target = "/pods"},
                [&](Result<net::HttpResponse> how) { got = std::move(how); });
    until([&] { return got.has_value(); });
    return *got ? (*got)->status : 0;
  };
  EXPECT_EQ(status(shown("root", {"system:masters"})), 200);
  EXPECT_EQ(status(shown(kApiServerUser, {})), 200);
  EXPECT_EQ(status(shown("alice", {"people"})), 403);
  EXPECT_EQ(status(*net::TlsContext::client({.ca = ca.certificate})), 401);
}

TEST(KubeletPaths, SayWhatIsMeant) {
  const auto said = [](const char* path) {
    const auto parsed = kubelet_path(path);
    return parsed ? parsed->ns + " " + parsed->pod + " " + parsed->uid + " " + parsed->container
                  : "nothing";
  };
  EXPECT_EQ(said("/containerLogs/ns/p/c"), "ns p  c");
  EXPECT_EQ(said("/exec/ns/p/u/c"), "ns p u c");
  EXPECT_EQ(said("/exec/ns/p/c"), "ns p  c");
  EXPECT_EQ(said("/portForward/ns/p"), "ns p  ");
  EXPECT_EQ(said("/portForward/ns/p/u"), "ns p u ");
  EXPECT_EQ(said("/containerLogs/ns/p%2Fq/c"), "ns p/q  c");
  for (const char* path : {"", "/", "//", "/exec", "/exec/ns/p", "/exec//p/c", "/exec/ns/p/u/c/x",
                           "/run/ns/p/c", "/containerLogs/ns/p/u/c", "/stats", "/metrics/none",
                           "/exec/ns/%/c", "/exec/ns/%zz/c", "/pods/x", "exec/ns/p/c"}) {
    EXPECT_EQ(said(path), "nothing") << path;
  }
}

TEST(RemoteLog, AsksForWhatWasAsked) {
  EXPECT_EQ(log_target({.ns = "ns",
                        .pod = "p",
                        .container = "c",
                        .options = {.follow = true,
                                    .previous = true,
                                    .timestamps = true,
                                    .since = TimePoint::from_unix_seconds(1'700'000'000),
                                    .tail_lines = 3,
                                    .limit_bytes = 4}}),
            "/containerLogs/ns/p/c?follow=true&previous=true&timestamps=true"
            "&sinceTime=2023-11-14T22:13:20Z&tailLines=3&limitBytes=4");
}

} // namespace
} // namespace berth::kubelet
