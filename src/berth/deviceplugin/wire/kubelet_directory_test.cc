// Our GPU plugin on disk, against a kubelet of anybody's: what is said over the sockets, and what
// restarts, deletions and refusals come to.
#include "berth/deviceplugin/wire/kubelet_directory.h"

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/base/log.h"
#include "berth/cdi/spec_store.h"
#include "berth/deviceplugin/plugin_set.h"
#include "berth/deviceplugin/wire/plugin_methods.h"
#include "berth/inventory/simulated_inventory.h"
#include "berth/testing/fake_device_plugin.h"
#include "berth/testing/raw_socket.h"
#include "berth/testing/stock_kubelet.h"
#include "berth/testing/temp_files.h"

namespace berth::deviceplugin {
namespace {

namespace fs = std::filesystem;
using test::FakeDevicePlugin;
using test::StockKubelet;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr const char* kGpu = "nvidia.com/gpu";

class PluginOnDisk : public test::TempFiles {
 protected:
  void SetUp() override {
    TempFiles::SetUp();
    set_log_level(LogLevel::Off);
    directory_ = path("d"); // short: a socket has 107 bytes for its path
    kubelet_ = std::make_unique<StockKubelet>(loop_, directory_);
    places_ = std::make_unique<KubeletDirectory>(
        loop_, KubeletDirectoryOptions{
                   .directory = directory_,
                   .limits = {.registration = Duration::millis(500)},
                   .patrol = {.settle = Duration::millis(1), .interval = Duration::millis(50)}});
  }
  void TearDown() override {
    plugin_.reset();
    places_.reset();
    kubelet_.reset();
    set_log_level(LogLevel::Warn);
    TempFiles::TearDown();
  }

  void start_plugin() {
    PluginOptions options;
    options.config.flags.plugin.device_list_strategies.cdi_cri = true;
    plugin_ = std::make_unique<PluginSet>(
        PluginPlace{
            .loop = &loop_, .inventory = &inventory_, .specs = &specs_, .socket = places_.get()},
        options);
  }
  ::testing::AssertionResult until(const std::function<bool()>& holds) {
    return test::run_until(loop_, holds);
  }
  ::testing::AssertionResult until_known() {
    return until([&] { return kubelet_->knows(kGpu); });
  }
  const StockKubelet::Plugin& known() const { return kubelet_->plugins.at(kGpu); }
  std::string socket() const { return directory_ + "/nvidia-gpu.sock"; }

  net::AsioLoop loop_;
  std::string directory_;
  inventory::SimulatedInventory inventory_{loop_, *hardware::Catalogue::builtin().find("dgx-h100"),
                                           "n1"};
  cdi::Registry cdi_;
  cdi::RegistryStore specs_{cdi_};
  std::unique_ptr<StockKubelet> kubelet_;
  std::unique_ptr<KubeletDirectory> places_;
  std::unique_ptr<PluginSet> plugin_;
};

TEST_F(PluginOnDisk, RegistersAndListsItsDevices) {
  kubelet_->start();
  start_plugin();
  ASSERT_TRUE(until_known());
  ASSERT_THAT(kubelet_->requests, SizeIs(1));
  EXPECT_EQ(kubelet_->requests[0].version(), "v1beta1");
  EXPECT_EQ(kubelet_->requests[0].endpoint(), "nvidia-gpu.sock");
  EXPECT_EQ(kubelet_->requests[0].resource_name(), kGpu);
  EXPECT_TRUE(known().options.get_preferred_allocation_available());
  EXPECT_FALSE(known().options.pre_start_required());
  ASSERT_EQ(known().devices.devices_size(), 8);
  for (int gpu = 0; gpu < 8; ++gpu) {
    const v1beta1::Device& device = known().devices.devices(gpu);
    EXPECT_EQ(device.id(), inventory_.gpus()[static_cast<std::size_t>(gpu)].uuid);
    EXPECT_EQ(device.health(), "Healthy");
    ASSERT_EQ(device.topology().nodes_size(), 1);
    EXPECT_EQ(device.topology().nodes(0).id(), gpu < 4 ? 0 : 1);
  }
}

TEST_F(PluginOnDisk, TellsAtOnceThatAGpuHasFailed) {
  kubelet_->start();
  start_plugin();
  ASSERT_TRUE(until_known());
  ASSERT_TRUE(inventory_.xid(3, 79));
  EXPECT_TRUE(until([&] { return known().devices.devices(3).health() == "Unhealthy"; }));
  EXPECT_EQ(known().devices.devices(2).health(), "Healthy");
}

TEST_F(PluginOnDisk, AnswersAKubeletsCalls) {
  kubelet_->start();
  start_plugin();
  ASSERT_TRUE(until_known());
  const std::string first = known().devices.devices(0).id();
  const std::string second = known().devices.devices(1).id();

  v1beta1::AllocateRequest request;
  request.add_container_requests()->add_devices_ids(first);
  request.add_container_requests()->add_devices_ids(second);
  const auto response = kubelet_->call<v1beta1::AllocateResponse>(kGpu, method::kAllocate, request);
  ASSERT_TRUE(response) << to_string(response.error());
  ASSERT_EQ(response->container_responses_size(), 2);
  EXPECT_EQ(response->container_responses(1).envs().at("NVIDIA_VISIBLE_DEVICES"), second);
  EXPECT_EQ(response->container_responses(0).cdi_devices(0).name(),
            "k8s.device-plugin.nvidia.com/gpu=" + first);

  v1beta1::PreferredAllocationRequest question;
  for (int container = 0; container < 2; ++container) {
    v1beta1::ContainerPreferredAllocationRequest& each = *question.add_container_requests();
    each.set_allocation_size(2);
    each.add_must_include_deviceids(second);
    for (const v1beta1::Device& device : known().devices.devices()) {
      each.add_available_deviceids(device.id());
    }
  }
  const auto preferred = kubelet_->call<v1beta1::PreferredAllocationResponse>(
      kGpu, method::kGetPreferredAllocation, question);
  ASSERT_TRUE(preferred) << to_string(preferred.error());
  ASSERT_EQ(preferred->container_responses_size(), 2);
  EXPECT_THAT(preferred->container_responses(1).deviceids(), SizeIs(2));
  EXPECT_THAT(preferred->container_responses(1).deviceids(), ::testing::Contains(second));

  v1beta1::PreStartContainerRequest start;
  start.add_devices_ids(first);
  EXPECT_TRUE(
      kubelet_->call<v1beta1::PreStartContainerResponse>(kGpu, method::kPreStartContainer, start));
}

TEST_F(PluginOnDisk, RefusesWhatIsNotItsDeviceInNvidiasWords) {
  kubelet_->start();
  start_plugin();
  ASSERT_TRUE(until_known());
  v1beta1::AllocateRequest request;
  request.add_container_requests()->add_devices_ids("GPU-none");
  const auto response = kubelet_->call<v1beta1::AllocateResponse>(kGpu, method::kAllocate, request);
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().message,
            "invalid allocation request for \"nvidia.com/gpu\": invalid request: unknown device: "
            "GPU-none");
}

TEST_F(PluginOnDisk, SurvivesAHostileKubelet) {
  kubelet_->start();
  start_plugin();
  ASSERT_TRUE(until_known());
  rpc::Channel channel(loop_, socket());
  const auto say = [&](const char* method, std::string bytes) {
    return test::answer_of<std::string>(loop_, [&](auto done) {
      channel.unary(method, std::move(bytes), {.timeout = Duration::seconds(30)}, std::move(done));
    });
  };
  EXPECT_EQ(say(method::kAllocate, "\xff\xff\xff").error().code, Code::Invalid);
  EXPECT_EQ(say(method::kAllocate, std::string(5'000'000, 'x')).error().code,
            Code::TooManyRequests);
  EXPECT_EQ(say("/v1beta1.DevicePlugin/Nothing", "").error().code, Code::BadRequest);
  v1beta1::PreferredAllocationRequest question;
  question.add_container_requests()->set_allocation_size(-3);
  EXPECT_EQ(say(method::kGetPreferredAllocation, question.SerializeAsString()).error().code,
            Code::Invalid);

  // Listeners are counted, and the kubelet keeps its place among them.
  std::vector<std::unique_ptr<rpc::Stream>> streams;
  std::vector<Error> refused;
  int heard = 0;
  for (int i = 0; i < kMostListeners + 4; ++i) {
    streams.push_back(channel.stream(
        method::kListAndWatch, "", [&](const std::string&) { ++heard; },
        [&](const Result<void>& end) { refused.push_back(end.error()); }));
  }
  EXPECT_TRUE(until([&] { return heard == kMostListeners - 1 && refused.size() == 5; }));
  EXPECT_EQ(refused[0].code, Code::TooManyRequests);
  EXPECT_TRUE(kubelet_->knows(kGpu));
  streams.clear();
  v1beta1::AllocateRequest request;
  request.add_container_requests()->add_devices_ids(known().devices.devices(0).id());
  EXPECT_TRUE(kubelet_->call<v1beta1::AllocateResponse>(kGpu, method::kAllocate, request));
}

TEST_F(PluginOnDisk, WaitsForAKubeletThatIsNotThereYet) {
  start_plugin();
  EXPECT_FALSE(fs::exists(directory_));
  ASSERT_TRUE(until([&, looks = 0]() mutable { return ++looks > 5; }));
  kubelet_->start();
  EXPECT_TRUE(until_known());
}

TEST_F(PluginOnDisk, RegistersAnewWithAKubeletThatRestarts) {
  kubelet_->start();
  start_plugin();
  ASSERT_TRUE(until_known());
  for (int restart = 0; restart < 3; ++restart) {
    kubelet_->requests.clear();
    kubelet_->start();
    EXPECT_FALSE(fs::exists(socket())) << "swept by the kubelet";
    ASSERT_TRUE(until_known());
    EXPECT_TRUE(fs::exists(socket()));
    EXPECT_THAT(kubelet_->requests, SizeIs(1));
  }
}

TEST_F(PluginOnDisk, FindsAKubeletAfterALongAbsence) {
  kubelet_->start();
  start_plugin();
  ASSERT_TRUE(until_known());
  kubelet_->stop();
  ASSERT_TRUE(until([&] { return !fs::exists(directory_ + "/kubelet.sock"); }));
  fs::remove_all(directory_); // even the directory
  ASSERT_TRUE(until([&, looks = 0]() mutable { return ++looks > 100; }));
  kubelet_->start();
  EXPECT_TRUE(until_known());
}

TEST_F(PluginOnDisk, ServesAgainWhenItsOwnSocketIsDeleted) {
  kubelet_->start();
  start_plugin();
  ASSERT_TRUE(until_known());
  fs::remove(socket());
  EXPECT_TRUE(until([&] { return kubelet_->requests.size() == 2 && kubelet_->knows(kGpu); }));
  EXPECT_TRUE(fs::exists(socket()));
}

TEST_F(PluginOnDisk, IsAskedForAgainByAKubeletThatStoppedListening) {
  kubelet_->start();
  start_plugin();
  ASSERT_TRUE(until_known());
  kubelet_->plugins.clear(); // the kubelet forgot it, and kubelet.sock stays as it was
  EXPECT_TRUE(until_known());
}

TEST_F(PluginOnDisk, TriesAgainAfterARefusal) {
  int asked = 0;
  kubelet_->judge = [&](const v1beta1::RegisterRequest&) -> Result<void> {
    return ++asked == 1 ? fail(Code::Invalid, "not today") : Result<void>();
  };
  kubelet_->start();
  start_plugin();
  EXPECT_TRUE(until_known());
  EXPECT_EQ(asked, 2);
}

TEST_F(PluginOnDisk, ADeadKubeletsSocketIsNoKubelet) {
  fs::create_directories(directory_);
  test::leave_dead_socket(directory_ + "/kubelet.sock");
  start_plugin();
  // It is tried, and when a kubelet is there, that one is found.
  ASSERT_TRUE(until([&] { return fs::exists(socket()); }));
  kubelet_->start();
  EXPECT_TRUE(until_known());
}

TEST_F(PluginOnDisk, AHangingOrBabblingKubeletIsGivenUpAndTheNextOneTaken) {
  fs::create_directories(directory_);
  {
    test::RawSocket silent(directory_ + "/kubelet.sock");
    start_plugin();
    ASSERT_TRUE(until([&] { return silent.answer(""); }));
  }
  fs::remove(directory_ + "/kubelet.sock");
  {
    test::RawSocket babbling(directory_ + "/kubelet.sock");
    ASSERT_TRUE(until([&] { return babbling.answer("HTTP/1.1 400 Bad Request\r\n\r\n"); }));
    babbling.hang_up();
  }
  kubelet_->start();
  EXPECT_TRUE(until_known());
}

TEST_F(PluginOnDisk, ThePluginsEndIsItsSocketsEnd) {
  kubelet_->start();
  start_plugin();
  ASSERT_TRUE(until_known());
  plugin_.reset();
  EXPECT_TRUE(until([&] { return known().ended && !fs::exists(socket()); }));
  start_plugin();
  EXPECT_TRUE(until_known());
}

TEST_F(PluginOnDisk, EveryResourceHasASocketAndNoTwoTheSame) {
  kubelet_->start();
  const auto add = [&](const std::string& resource) {
    return test::answer_of<void>(loop_, [&](auto done) {
      places_->register_plugin(
          {.resource_name = resource,
           .endpoint = std::make_shared<FakeDevicePlugin>(loop_, std::vector<Device>{{.id = "a"}})},
          std::move(done));
    });
  };
  EXPECT_TRUE(add("nvidia.com/mig-1g.10gb"));
  EXPECT_TRUE(add("nvidia.com/gpu"));
  EXPECT_TRUE(fs::exists(directory_ + "/nvidia-mig-1g.10gb.sock"));
  EXPECT_EQ(add("example.com/gpu").error().message,
            "resource example.com/gpu: nvidia-gpu.sock is the socket of nvidia.com/gpu already");
}

TEST_F(PluginOnDisk, WithoutAKubeletARegistrationSaysSo) {
  const auto refused = test::answer_of<void>(loop_, [&](auto done) {
    places_->register_plugin(
        {.resource_name = kGpu,
         .endpoint = std::make_shared<FakeDevicePlugin>(loop_, std::vector<Device>())},
        std::move(done));
  });
  EXPECT_EQ(refused.error().code, Code::Unavailable);
  EXPECT_THAT(refused.error().message, HasSubstr("kubelet.sock: no kubelet listens"));
}

} // namespace
} // namespace berth::deviceplugin
