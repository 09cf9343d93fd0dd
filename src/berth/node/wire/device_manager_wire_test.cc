// The device manager on disk, against plugins of anybody's: well-behaved, slow, hanging, crashing,
// flooding, talking nonsense.
#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/base/log.h"
#include "berth/cdi/spec_store.h"
#include "berth/deviceplugin/plugin_set.h"
#include "berth/deviceplugin/wire/kubelet_directory.h"
#include "berth/deviceplugin/wire/messages.h"
#include "berth/inventory/simulated_inventory.h"
#include "berth/node/device_manager.h"
#include "berth/testing/builders.h"
#include "berth/testing/raw_socket.h"
#include "berth/testing/stock_plugin.h"
#include "berth/testing/temp_files.h"

namespace berth::node {
namespace {

namespace fs = std::filesystem;
namespace method = deviceplugin::method;
using test::StockPlugin;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Lt;
using ::testing::Pair;
using ::testing::SizeIs;
using ::testing::StartsWith;
using Kind = AllocationVerdict::Kind;

constexpr const char* kGpu = "nvidia.com/gpu";

class ManagerOnDisk : public test::TempFiles {
 protected:
  void SetUp() override {
    TempFiles::SetUp();
    set_log_level(LogLevel::Off);
    directory_ = path("d"); // short: a socket has 107 bytes for its path
    start();
    plugin_ = std::make_unique<StockPlugin>(loop_, directory_);
    plugin_->add_device("a").mutable_topology()->add_nodes();
    plugin_->add_device("b");
  }
  void TearDown() override {
    stop();
    plugin_.reset();
    set_log_level(LogLevel::Warn);
    TempFiles::TearDown();
  }

  void start() {
    stop();
    socket_ = std::make_unique<deviceplugin::KubeletDirectory>(
        loop_, deviceplugin::KubeletDirectoryOptions{
                   .directory = directory_,
                   .limits = {.dial = Duration::millis(500), .pending_registrations = 4}});
    manager_ = std::make_unique<DeviceManager>(
        loop_, disk_,
        DeviceManagerOptions{.boot_id = "boot-1",
                             .rpc_timeout = Duration::seconds(5),
                             .needs_plugin = [](std::string_view name) { return name == kGpu; },
                             .gpu_of_index = [](int) { return std::optional<std::string>(); },
                             .holder_state = [](std::string_view) { return HolderState::Live; },
                             .on_change = [this] { ++changes_; }});
    auto listening = socket_->listen(*manager_);
    ASSERT_TRUE(listening) << to_string(listening.error());
    listening_ = *std::move(listening);
  }
  void stop() {
    listening_.reset();
    manager_.reset();
    socket_.reset();
  }

  ::testing::AssertionResult until(const std::function<bool()>& holds) {
    return test::run_until(loop_, holds);
  }
  ::testing::AssertionResult until_counted(std::int64_t capacity, std::int64_t allocatable,
                                           const std::string& resource = kGpu) {
    return until([this, want = DeviceCount{capacity, allocatable}, resource] {
      const auto counts = manager_->accounting();
      const auto it = counts.find(resource);
      return it != counts.end() && it->second == want;
    });
  }
  /// The usual plugin, registered, its two devices known.
  void plug_in() {
    plugin_->serve();
    const auto registered = plugin_->ask_to_register(kGpu);
    ASSERT_TRUE(registered) << to_string(registered.error());
    ASSERT_TRUE(until_counted(2, 2));
  }
  std::string refusal(const v1beta1::RegisterRequest& request) {
    const auto registered = plugin_->ask_to_register(request);
    return registered ? "registered" : registered.error().message;
  }

  static std::shared_ptr<const model::Pod> pod(std::string_view name, int gpus = 1) {
    return test::pod(std::string(name))
        .gpus(gpus)
        .edit([&](auto& document) {
          api::object_at(document, "metadata")["uid"] = "uid-" + std::string(name);
        })
        .build();
  }
  AllocationVerdict allocate(const std::shared_ptr<const model::Pod>& of) {
    std::optional<AllocationVerdict> verdict;
    manager_->allocate(of, AllocationScope::Whole,
                       [&](AllocationVerdict said) { verdict = std::move(said); });
    EXPECT_TRUE(until([&] { return verdict.has_value(); }));
    return verdict.value_or(AllocationVerdict());
  }
  AllocationVerdict prepare(const std::shared_ptr<const model::Pod>& of) {
    std::optional<AllocationVerdict> verdict;
    manager_->prepare_container(of, "main",
                                [&](AllocationVerdict said) { verdict = std::move(said); });
    EXPECT_TRUE(until([&] { return verdict.has_value(); }));
    return verdict.value_or(AllocationVerdict());
  }
  std::map<std::string, std::string> env(std::string_view name) const {
    return manager_->edits_of("uid-" + std::string(name), "main").envs;
  }

  net::AsioLoop loop_;
  std::string directory_;
  MemoryCheckpointStore disk_;
  int changes_ = 0;
  std::unique_ptr<deviceplugin::KubeletDirectory> socket_;
  std::unique_ptr<DeviceManager> manager_;
  std::unique_ptr<deviceplugin::KubeletSocket::Handle> listening_;
  std::unique_ptr<StockPlugin> plugin_;
};

TEST_F(ManagerOnDisk, TakesAStockPluginIn) {
  plug_in();
  EXPECT_EQ(fs::status(directory_).permissions(), static_cast<fs::perms>(0750));
  const auto a = pod("a", 2);
  ASSERT_EQ(allocate(a).kind, Kind::Granted);
  EXPECT_THAT(env("a"), ElementsAre(Pair("DEVICES", "a,b")));
  ASSERT_THAT(plugin_->allocations, SizeIs(1));
  EXPECT_THAT(plugin_->allocations[0].container_requests(0).devices_ids(), ElementsAre("a", "b"));
  // Node 0 is a node; none is none.
  const Holding* holding = manager_->ledger().find("uid-a", "main", kGpu);
  EXPECT_THAT(holding->devices, ElementsAre(Pair(-1, ElementsAre("b")), Pair(0, ElementsAre("a"))));
}

TEST_F(ManagerOnDisk, FollowsHealthAndTheListOfDevices) {
  plug_in();
  plugin_->devices.mutable_devices(0)->set_health("Unhealthy");
  plugin_->send_devices();
  EXPECT_TRUE(until_counted(2, 1));
  plugin_->devices.mutable_devices(0)->set_health("Healthy");
  plugin_->add_device("c");
  plugin_->send_devices();
  EXPECT_TRUE(until_counted(3, 3));
  plugin_->devices.clear_devices();
  plugin_->send_devices();
  EXPECT_TRUE(until_counted(0, 0));
}

TEST_F(ManagerOnDisk, AsksThePluginForItsOptionsWhateverTheRequestSays) {
  v1beta1::RegisterRequest request = plugin_->request(kGpu);
  request.mutable_options()->set_pre_start_required(true);
  plugin_->serve();
  ASSERT_TRUE(plugin_->ask_to_register(request));
  ASSERT_TRUE(until_counted(2, 2));
  const auto a = pod("a");
  ASSERT_EQ(allocate(a).kind, Kind::Granted);
  EXPECT_EQ(prepare(a).kind, Kind::Granted);
  EXPECT_THAT(plugin_->started, IsEmpty());

  plugin_->options.set_pre_start_required(true);
  ASSERT_TRUE(plugin_->ask_to_register(kGpu));
  ASSERT_TRUE(until([&] { return manager_->live(kGpu); }));
  EXPECT_EQ(prepare(a).kind, Kind::Granted);
  ASSERT_THAT(plugin_->started, SizeIs(1));
  EXPECT_THAT(plugin_->started[0].devices_ids(), ElementsAre("a"));
}

TEST_F(ManagerOnDisk, BeginsBySweepingSocketsAndNothingElse) {
  plug_in();
  stop();
  EXPECT_FALSE(fs::exists(directory_ + "/kubelet.sock"));
  write("d/kubelet_internal_checkpoint", "{}");
  ASSERT_TRUE(fs::exists(plugin_->path()));
  start();
  EXPECT_FALSE(fs::exists(plugin_->path()));
  EXPECT_TRUE(fs::exists(directory_ + "/kubelet_internal_checkpoint"));
  // What was registered is expected back.
  EXPECT_TRUE(until_counted(0, 0));
  plug_in();
}

TEST_F(ManagerOnDisk, ListensAgainWhenItsSocketIsDeleted) {
  plug_in();
  fs::remove(directory_ + "/kubelet.sock");
  ASSERT_TRUE(until([&] { return fs::exists(directory_ + "/kubelet.sock"); }));
  ASSERT_TRUE(fs::exists(plugin_->path())) << "nothing is swept";
  EXPECT_TRUE(manager_->live(kGpu));
  plug_in();
}

TEST_F(ManagerOnDisk, RefusalsHaveTheKubeletsWords) {
  plugin_->serve();
  v1beta1::RegisterRequest request = plugin_->request("gpu");
  request.set_version("v1alpha");
  request.set_endpoint("../evil.sock");
  EXPECT_EQ(refusal(request), "requested API version \"v1alpha\" is not supported by kubelet. "
                              "Supported version is \"v1beta1\"");
  request.set_version("v1beta1");
  EXPECT_EQ(refusal(request), "the ResourceName \"gpu\" is invalid");
  request.set_resource_name(kGpu);
  EXPECT_THAT(refusal(request),
              StartsWith("failed to dial device plugin: endpoint \"../evil.sock\" "
                         "leaves the directory"));
  request.set_endpoint("nobody.sock");
  EXPECT_THAT(refusal(request), StartsWith("failed to dial device plugin: "));
  EXPECT_EQ(refusal(v1beta1::RegisterRequest()),
            "requested API version \"\" is not supported by kubelet. Supported version is "
            "\"v1beta1\"");
  EXPECT_THAT(manager_->accounting(), IsEmpty());
}

TEST_F(ManagerOnDisk, APluginWithoutOptionsIsRefused) {
  plugin_->methods.unary[method::kGetOptions] = [](const std::string&,
                                                   const rpc::Respond& respond) {
    respond(fail(Code::Internal, "no options today"));
  };
  plugin_->serve();
  EXPECT_EQ(refusal(plugin_->request(kGpu)),
            "failed to get device plugin options: no options today");
  plugin_->methods.unary[method::kGetOptions] =
      [](const std::string&, const rpc::Respond& respond) { respond(std::string("\xff\xff")); };
  plugin_->serve();
  EXPECT_THAT(refusal(plugin_->request(kGpu)),
              StartsWith("failed to get device plugin options: malformed message"));
}

TEST_F(ManagerOnDisk, APluginThatAnswersNoCallIsGivenUp) {
  std::vector<rpc::Respond> kept;
  plugin_->methods.unary[method::kGetOptions] =
      [&](const std::string&, const rpc::Respond& respond) { kept.push_back(respond); };
  plugin_->serve();
  EXPECT_THAT(refusal(plugin_->request(kGpu)),
              AllOf(StartsWith("failed to get device plugin options: "), HasSubstr("no answer")));
}

TEST_F(ManagerOnDisk, APeerThatSpeaksNoGrpcIsGivenUp) {
  test::RawSocket silent(directory_ + "/silent.sock");
  v1beta1::RegisterRequest request = plugin_->request(kGpu);
  request.set_endpoint("silent.sock");
  EXPECT_THAT(refusal(request), StartsWith("failed to dial device plugin: "));

  test::RawSocket babbling(directory_ + "/babble.sock");
  request.set_endpoint("babble.sock");
  std::optional<std::string> answer;
  rpc::Channel kubelet(loop_, directory_ + "/kubelet.sock");
  rpc::call<v1beta1::Empty>(
      kubelet, method::kRegister, request, {},
      [&](const Result<v1beta1::Empty>& said) { answer = said ? "" : said.error().message; });
  EXPECT_TRUE(until([&] {
    babbling.answer("220 smtp.example.com ESMTP\r\n");
    return answer.has_value();
  }));
  EXPECT_THAT(answer.value_or(""), StartsWith("failed to dial device plugin: "));
  plug_in(); // and others are served
}

TEST_F(ManagerOnDisk, RegistrationsThatHangAreCounted) {
  const std::string socket = directory_ + "/silent.sock";
  test::RawSocket silent(socket);
  v1beta1::RegisterRequest request = plugin_->request(kGpu);
  request.set_endpoint("silent.sock");
  rpc::Channel kubelet(loop_, directory_ + "/kubelet.sock");
  std::vector<std::string> answers;
  for (int i = 0; i < 7; ++i) {
    rpc::call<v1beta1::Empty>(
        kubelet, method::kRegister, request, {},
        [&](const Result<v1beta1::Empty>& said) { answers.push_back(said.error().message); });
  }
  EXPECT_TRUE(until([&] { return answers.size() == 3; }));
  EXPECT_THAT(answers, Each(std::string("4 registrations are under way already")));
  EXPECT_TRUE(until([&] { return answers.size() == 7; }));
  plug_in();
}

TEST_F(ManagerOnDisk, MessagesThatAreNoneAreRefused) {
  rpc::Channel kubelet(loop_, directory_ + "/kubelet.sock");
  const auto say = [&](const char* name, std::string bytes) {
    return test::answer_of<std::string>(loop_, [&](auto done) {
      kubelet.unary(name, std::move(bytes), {.timeout = Duration::seconds(30)}, std::move(done));
    });
  };
  EXPECT_EQ(say(method::kRegister, "\xff\xff\xff\xff").error().code, Code::Invalid);
  EXPECT_EQ(say(method::kRegister, std::string(5'000'000, 'x')).error().code,
            Code::TooManyRequests);
  EXPECT_EQ(say("/v1alpha1.Registration/Register", "").error().code, Code::BadRequest);
  plug_in();
}

TEST_F(ManagerOnDisk, TheLastToRegisterHasTheResource) {
  plug_in();
  StockPlugin other(loop_, directory_, "other.sock");
  other.add_device("x");
  other.serve();
  ASSERT_TRUE(other.ask_to_register(kGpu));
  ASSERT_TRUE(until_counted(1, 1));
  // What the first still has to say, and its end, is of another life.
  plugin_->die();
  ASSERT_EQ(allocate(pod("a")).kind, Kind::Granted);
  EXPECT_THAT(env("a"), ElementsAre(Pair("DEVICES", "x")));
  EXPECT_TRUE(until_counted(1, 1));
}

TEST_F(ManagerOnDisk, APluginThatCrashesLeavesItsCapacityAndComesBack) {
  plug_in();
  plugin_->die();
  EXPECT_TRUE(until_counted(2, 0));
  const AllocationVerdict verdict = allocate(pod("a"));
  EXPECT_EQ(verdict.kind, Kind::Wait);
  EXPECT_THAT(verdict.message, HasSubstr("no healthy devices present"));
  plug_in();
  const AllocationVerdict again = allocate(pod("a"));
  EXPECT_EQ(again.kind, Kind::Granted) << again.message;
}

TEST_F(ManagerOnDisk, APluginThatEndsItsStreamIsStopped) {
  plug_in();
  plugin_->sink->finish({});
  EXPECT_TRUE(until_counted(2, 0));
}

TEST_F(ManagerOnDisk, ASlowPluginIsWaitedFor) {
  const auto at_once = plugin_->methods.unary[method::kAllocate];
  plugin_->methods.unary[method::kAllocate] = [&, at_once](std::string request,
                                                           const rpc::Respond& respond) {
    loop_.after(Duration::millis(50), [=] { at_once(request, respond); });
  };
  plug_in();
  EXPECT_EQ(allocate(pod("a")).kind, Kind::Granted);
}

TEST_F(ManagerOnDisk, APluginThatHangsInAllocateIsGivenUpForNow) {
  std::vector<rpc::Respond> kept;
  plugin_->methods.unary[method::kAllocate] = [&](const std::string&, const rpc::Respond& respond) {
    kept.push_back(respond);
  };
  plug_in();
  const AllocationVerdict verdict = allocate(pod("a"));
  EXPECT_EQ(verdict.kind, Kind::Wait);
  EXPECT_EQ(verdict.message, "the device plugin does not answer");
  EXPECT_TRUE(manager_->ledger().empty());
}

TEST_F(ManagerOnDisk, APluginThatCrashesInAllocateIsWaitedFor) {
  plugin_->methods.unary[method::kAllocate] = [&](const std::string&, const rpc::Respond&) {
    loop_.post([&] { plugin_->die(); });
  };
  plug_in();
  EXPECT_EQ(allocate(pod("a")).kind, Kind::Wait);
  EXPECT_TRUE(until_counted(2, 0));
  EXPECT_TRUE(manager_->ledger().empty());
}

TEST_F(ManagerOnDisk, AnswersForTheWrongNumberOfContainersAreRefused) {
  int responses = 0;
  plugin_->methods.unary[method::kAllocate] = [&](const std::string&, const rpc::Respond& respond) {
    v1beta1::AllocateResponse message;
    for (int i = 0; i < responses; ++i) {
      message.add_container_responses();
    }
    respond(message.SerializeAsString());
  };
  plug_in();
  AllocationVerdict verdict = allocate(pod("a"));
  EXPECT_EQ(verdict.kind, Kind::Rejected);
  EXPECT_EQ(verdict.message, "no containers return in allocation response []");
  responses = 2;
  verdict = allocate(pod("b"));
  EXPECT_EQ(verdict.kind, Kind::Rejected);
  EXPECT_EQ(verdict.message, "the device plugin answered for 2 containers; 1 were asked about");
  EXPECT_TRUE(manager_->ledger().empty());
}

TEST_F(ManagerOnDisk, APluginsRefusalIsThePodsEnd) {
  plugin_->methods.unary[method::kAllocate] = [](const std::string&, const rpc::Respond& respond) {
    respond(fail(Code::Internal, "invalid request: unknown device: a"));
  };
  plug_in();
  const AllocationVerdict verdict = allocate(pod("a"));
  EXPECT_EQ(verdict.kind, Kind::Rejected);
  EXPECT_EQ(verdict.message, "invalid request: unknown device: a");
}

TEST_F(ManagerOnDisk, APreferenceThatFailsOrLiesIsPassedOver) {
  plugin_->options.set_get_preferred_allocation_available(true);
  std::vector<std::string> answers{"\xff\xff", ""};
  v1beta1::PreferredAllocationResponse lie;
  lie.add_container_responses()->add_deviceids("not-there");
  answers.push_back(lie.SerializeAsString());
  std::size_t asked = 0;
  plugin_->methods.unary[method::kGetPreferredAllocation] =
      [&](const std::string&, const rpc::Respond& respond) { respond(answers[asked++]); };
  plug_in();
  for (std::size_t i = 0; i < answers.size(); ++i) {
    EXPECT_EQ(allocate(pod("a")).kind, Kind::Granted) << i;
    manager_->release("uid-a");
  }
  EXPECT_EQ(asked, answers.size());
}

TEST_F(ManagerOnDisk, OddListsAreMadeTheBestOf) {
  plug_in();
  plugin_->add_device("");
  plugin_->add_device("a", "Unhealthy"); // again: its last word holds
  plugin_->add_device("c", "Perhaps");
  plugin_->send_devices();
  EXPECT_TRUE(until_counted(3, 1));
}

TEST_F(ManagerOnDisk, AListThatIsNoneEndsTheStream) {
  plug_in();
  plugin_->sink->send("\xff\xff\xff");
  EXPECT_TRUE(until_counted(2, 0));
  plug_in();
  for (std::size_t i = 0; i < deviceplugin::kMostDevices; ++i) {
    plugin_->add_device(fmt::format("x{}", i));
  }
  plugin_->send_devices();
  EXPECT_TRUE(until_counted(2, 0));
  EXPECT_EQ(manager_->ledger().all().size(), 0U);
}

TEST_F(ManagerOnDisk, AListThatIsTooLargeEndsTheStream) {
  plug_in();
  plugin_->devices.mutable_devices(0)->set_health(std::string(17 * 1024 * 1024, 'x'));
  plugin_->send_devices();
  EXPECT_TRUE(until_counted(2, 0));
}

TEST_F(ManagerOnDisk, AFloodOfListsEndsWithTheLastAndCostsLittle) {
  plug_in();
  const int before = changes_;
  constexpr int kLists = 5000;
  for (int i = 0; i < kLists; ++i) {
    plugin_->devices.mutable_devices(0)->set_health(i % 2 == 0 ? "Unhealthy" : "Healthy");
    plugin_->send_devices();
  }
  plugin_->add_device("last");
  plugin_->send_devices();
  EXPECT_TRUE(until_counted(3, 3));
  EXPECT_THAT(changes_ - before, Lt(kLists / 10));
}

TEST_F(ManagerOnDisk, ManyResourcesOfManyPluginsStandBesideEachOther) {
  std::vector<std::unique_ptr<StockPlugin>> plugins;
  for (int i = 0; i < 20; ++i) {
    plugins.push_back(std::make_unique<StockPlugin>(loop_, directory_, fmt::format("p{}.sock", i)));
    plugins.back()->add_device("only");
    plugins.back()->serve();
    ASSERT_TRUE(plugins.back()->ask_to_register(fmt::format("example.com/r{}", i)));
  }
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(until_counted(1, 1, fmt::format("example.com/r{}", i)));
  }
}

TEST_F(ManagerOnDisk, AKubeletMayGoWhilePluginsAreDialledAndAsked) {
  std::vector<rpc::Respond> kept;
  plugin_->methods.unary[method::kAllocate] = [&](const std::string&, const rpc::Respond& respond) {
    kept.push_back(respond);
  };
  plug_in();
  manager_->allocate(pod("a"), AllocationScope::Whole,
                     [](const AllocationVerdict&) { ADD_FAILURE() << "nobody is there to hear"; });
  test::RawSocket silent(directory_ + "/silent.sock");
  v1beta1::RegisterRequest request = plugin_->request("example.com/other");
  request.set_endpoint("silent.sock");
  rpc::Channel kubelet(loop_, directory_ + "/kubelet.sock");
  std::optional<Code> answer;
  rpc::call<v1beta1::Empty>(
      kubelet, method::kRegister, request, {},
      [&](const Result<v1beta1::Empty>& said) { answer = said.error().code; });
  ASSERT_TRUE(until([&] { return !kept.empty() && silent.answer(""); }));
  stop();
  EXPECT_TRUE(until([&] { return answer.has_value(); }));
  EXPECT_EQ(answer, Code::Unavailable);
}

TEST_F(ManagerOnDisk, OurOwnPluginIsOneOfThem) {
  inventory::SimulatedInventory inventory(loop_, *hardware::Catalogue::builtin().find("dgx-h100"),
                                          "n1");
  cdi::Registry cdi;
  deviceplugin::KubeletDirectory place(
      loop_, {.directory = directory_, .patrol = {.settle = Duration::millis(1)}});
  cdi::RegistryStore specs(cdi);
  deviceplugin::PluginOptions options;
  options.config.flags.plugin.device_list_strategies.cdi_cri = true;
  const deviceplugin::PluginSet ours(
      {.loop = &loop_, .inventory = &inventory, .specs = &specs, .socket = &place}, options);
  ASSERT_TRUE(until_counted(8, 8));
  ASSERT_EQ(allocate(pod("a", 4)).kind, Kind::Granted);
  EXPECT_THAT(manager_->ledger().find("uid-a", "main", kGpu)->ids(), SizeIs(4));
  EXPECT_THAT(manager_->edits_of("uid-a", "main").cdi_devices, SizeIs(4));
  start(); // the kubelet restarts
  ASSERT_TRUE(until_counted(8, 8));
  EXPECT_THAT(manager_->ledger().find("uid-a", "main", kGpu)->ids(), SizeIs(4));
}

} // namespace
} // namespace berth::node
