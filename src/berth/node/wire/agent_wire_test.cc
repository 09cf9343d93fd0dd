// A whole agent on the real clock, with a device plugin and a monitoring agent behind sockets.
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/base/log.h"
#include "berth/client/local_client.h"
#include "berth/deviceplugin/wire/kubelet_directory.h"
#include "berth/node/agent.h"
#include "berth/node/wire/pod_resources_server.h"
#include "berth/runtime/simulated_runtime.h"
#include "berth/store/memory_store.h"
#include "berth/store/registry.h"
#include "berth/testing/builders.h"
#include "berth/testing/stock_plugin.h"
#include "berth/testing/temp_files.h"
#include "node/wire/pod_resources.pb.h"

namespace berth::node {
namespace {

namespace json = boost::json;
using test::StockPlugin;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr const char* kGpu = "nvidia.com/gpu";

class AgentOnDisk : public test::TempFiles {
 protected:
  void SetUp() override {
    TempFiles::SetUp();
    set_log_level(LogLevel::Off);
    socket_ = std::make_unique<deviceplugin::KubeletDirectory>(
        loop_, deviceplugin::KubeletDirectoryOptions{.directory = path("d")});
    runtime_.power_on();
    start_agent();
    plugin_ = std::make_unique<StockPlugin>(loop_, path("d"));
    plugin_->add_device("a").mutable_topology()->add_nodes();
    plugin_->add_device("b");
  }
  void TearDown() override {
    server_.reset();
    agent_.reset();
    plugin_.reset();
    socket_.reset();
    set_log_level(LogLevel::Warn);
    TempFiles::TearDown();
  }

  void start_agent(Patience patience = Patience::Wait) {
    server_.reset();
    agent_.reset();
    agent_ = std::make_unique<Agent>(
        AgentPlace{.loop = &loop_,
                   .client = &client_,
                   .runtime = &runtime_,
                   .socket = socket_.get(),
                   .checkpoint = &disk_},
        AgentOptions{.node_document =
                         json::object{{"apiVersion", "v1"},
                                      {"kind", "Node"},
                                      {"metadata", json::object{{"name", "n1"}}},
                                      {"status", json::object{{"capacity", room()},
                                                              {"allocatable", room()}}}},
                     .patience = patience});
    auto server = PodResourcesServer::listen(loop_, path("pod-resources/kubelet.sock"),
                                             [this] { return agent_->pod_resources(); });
    ASSERT_TRUE(server) << to_string(server.error());
    server_ = *std::move(server);
  }
  static json::object room() { return {{"cpu", "8"}, {"memory", "32Gi"}, {"pods", "110"}}; }

  ::testing::AssertionResult until(const std::function<bool()>& holds) {
    return test::run_until(loop_, holds);
  }
  void plug_in() {
    ASSERT_TRUE(until([&] { return std::filesystem::exists(path("d/kubelet.sock")); }));
    plugin_->serve();
    ASSERT_TRUE(plugin_->ask_to_register(kGpu));
    ASSERT_TRUE(until([&] { return agent_->pod_resources().devices.size() == 2; }));
  }
  void create(const std::string& name, int gpus) {
    test::PodBuilder builder(name);
    builder.image("registry.example/train:1").on_node("n1").gpus(gpus);
    const auto created = registry_.create(
        api::Object::from_json(json::value(builder.document())).value(), loop_.now());
    ASSERT_TRUE(created) << to_string(created.error());
  }
  std::string status(const std::string& name, std::string_view field) {
    const auto found = store_.get(client::kPods, {"default", name});
    return found ? std::string(api::string_at(found->json(), "status." + std::string(field))) : "";
  }
  template <class Response, class Request>
  Result<Response> ask(const char* method, const Request& request = {}) {
    rpc::Channel channel(loop_, path("pod-resources/kubelet.sock"));
    return test::answer_of<Response>(loop_, [&](auto done) {
      rpc::call<Response>(channel, method, request, {.timeout = Duration::seconds(30)},
                          std::move(done));
    });
  }

  net::AsioLoop loop_;
  store::MemoryStore store_;
  store::Registry registry_{store_, Rng(1)};
  client::LocalClient client_{registry_, loop_};
  cdi::Registry cdi_;
  runtime::SimulatedRuntime runtime_{loop_, cdi_, {.machine = "n1"}};
  std::unique_ptr<deviceplugin::KubeletDirectory> socket_; ///< in a folder that SetUp() makes
  MemoryCheckpointStore disk_;
  std::unique_ptr<Agent> agent_;
  std::unique_ptr<PodResourcesServer> server_;
  std::unique_ptr<StockPlugin> plugin_;
};

TEST_F(AgentOnDisk, RunsAPodOnTheDevicesOfAStockPlugin) {
  plug_in();
  create("train", 1);
  ASSERT_TRUE(until([&] { return status("train", "phase") == "Running"; }));
  ASSERT_THAT(plugin_->allocations, SizeIs(1));
  EXPECT_THAT(plugin_->allocations[0].container_requests(0).devices_ids(), ElementsAre("a"));

  const auto list = ask<v1::ListPodResourcesResponse>("/v1.PodResourcesLister/List",
                                                      v1::ListPodResourcesRequest());
  ASSERT_TRUE(list) << to_string(list.error());
  ASSERT_EQ(list->pod_resources_size(), 1);
  EXPECT_EQ(list->pod_resources(0).name(), "train");
  EXPECT_EQ(list->pod_resources(0).namespace_(), "default");
  const v1::ContainerDevices& devices = list->pod_resources(0).containers(0).devices(0);
  EXPECT_EQ(devices.resource_name(), kGpu);
  EXPECT_THAT(devices.device_ids(), ElementsAre("a"));
  ASSERT_EQ(devices.topology().nodes_size(), 1);
  EXPECT_EQ(devices.topology().nodes(0).id(), 0);

  v1::GetPodResourcesRequest request;
  request.set_pod_name("train");
  request.set_pod_namespace("default");
  const auto got = ask<v1::GetPodResourcesResponse>("/v1.PodResourcesLister/Get", request);
  ASSERT_TRUE(got);
  EXPECT_EQ(got->pod_resources().SerializeAsString(), list->pod_resources(0).SerializeAsString());
  request.set_pod_name("other");
  EXPECT_EQ(ask<v1::GetPodResourcesResponse>("/v1.PodResourcesLister/Get", request).error().message,
            "pod other in namespace default not found");

  const auto there = ask<v1::AllocatableResourcesResponse>(
      "/v1.PodResourcesLister/GetAllocatableResources", v1::AllocatableResourcesRequest());
  ASSERT_TRUE(there);
  ASSERT_EQ(there->devices_size(), 2);
  EXPECT_THAT(there->devices(0).device_ids(), ElementsAre("a"));
  EXPECT_FALSE(there->devices(1).has_topology());
  EXPECT_EQ(server_->counts().total, 4U);
  EXPECT_EQ(server_->counts().get.requests, 2U);
  EXPECT_EQ(server_->counts().get.errors, 1U);
}

TEST_F(AgentOnDisk, AMonitorThatAsksTooOftenIsRefused) {
  rpc::Channel channel(loop_, path("pod-resources/kubelet.sock"));
  int answered = 0;
  std::vector<Error> refused;
  constexpr int kQuestions = 500;
  for (int i = 0; i < kQuestions; ++i) {
    channel.unary("/v1.PodResourcesLister/List", "", {}, [&](const Result<std::string>& said) {
      if (said) {
        ++answered;
      } else {
        refused.push_back(said.error());
      }
    });
  }
  ASSERT_TRUE(until([&] { return answered + static_cast<int>(refused.size()) == kQuestions; }));
  EXPECT_GE(answered, 10);
  ASSERT_FALSE(refused.empty());
  EXPECT_EQ(refused[0].code, Code::TooManyRequests);
  EXPECT_EQ(refused[0].message, "rejected by rate limit");
}

TEST_F(AgentOnDisk, APodWaitsForThePluginOfARestartedAgent) {
  plug_in();
  create("first", 1);
  ASSERT_TRUE(until([&] { return status("first", "phase") == "Running"; }));
  start_agent();
  create("second", 1);
  ASSERT_TRUE(until([&] { return status("second", "phase") == "Pending"; }));
  plug_in();
  EXPECT_TRUE(until([&] { return status("second", "phase") == "Running"; }));
  EXPECT_EQ(status("first", "phase"), "Running");
  EXPECT_THAT(plugin_->allocations.back().container_requests(0).devices_ids(), ElementsAre("b"));
}

TEST_F(AgentOnDisk, AnAgentWithoutPatienceRejectsAsTheKubeletDoes) {
  plug_in();
  start_agent(Patience::None);
  create("early", 1);
  ASSERT_TRUE(until([&] { return status("early", "phase") == "Failed"; }));
  EXPECT_EQ(status("early", "reason"), "UnexpectedAdmissionError");
  EXPECT_THAT(status("early", "message"),
              HasSubstr("Allocate failed due to no healthy devices present; cannot allocate "
                        "unhealthy devices nvidia.com/gpu, which is unexpected"));
}

} // namespace
} // namespace berth::node
