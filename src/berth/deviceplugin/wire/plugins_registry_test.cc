// Plugins that make themselves known in plugins_registry.
#include "berth/deviceplugin/wire/plugins_registry.h"

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/base/log.h"
#include "berth/deviceplugin/wire/registry_scan.h"
#include "berth/testing/raw_socket.h"
#include "berth/testing/stock_plugin.h"
#include "berth/testing/temp_files.h"
#include "deviceplugin/wire/pluginregistration.pb.h"

namespace berth::deviceplugin {
namespace {

namespace fs = std::filesystem;
using pluginregistration::InfoRequest;
using pluginregistration::PluginInfo;
using pluginregistration::RegistrationStatus;
using pluginregistration::RegistrationStatusResponse;
using test::StockPlugin;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

/// A device manager that takes everything, or nothing, and watches what it took.
class Manager final : public Registration {
 public:
  void register_plugin(RegisterRequest request, Done<void> done) override {
    resources.push_back(request.resource_name);
    if (!answer) {
      done(answer);
      return;
    }
    plugin = request.endpoint;
    plugin->get_options([this, done](const Result<DevicePluginOptions>& options) {
      if (options) {
        stream = plugin->list_and_watch([this](const std::vector<Device>& list) { devices = list; },
                                        [this](const Error&) { ++ends; });
      }
      done(options.map([](const DevicePluginOptions&) {}));
    });
  }
  Result<void> answer;
  std::vector<std::string> resources;
  std::shared_ptr<DevicePlugin> plugin;
  std::unique_ptr<DeviceStream> stream;
  std::vector<Device> devices;
  int ends = 0;
};

/// A plugin whose registration socket is its own.
class Registry : public test::TempFiles {
 protected:
  void SetUp() override {
    TempFiles::SetUp();
    set_log_level(LogLevel::Off);
    auto opened = PluginsRegistry::open(
        loop_,
        {.directory = path("r"),
         .patrol = {.settle = Duration::millis(1), .interval = Duration::millis(100)},
         .info_timeout = Duration::millis(200),
         .first_backoff = Duration::millis(5)},
        manager_);
    ASSERT_TRUE(opened) << to_string(opened.error());
    registry_ = *std::move(opened);
    info_.set_type("DevicePlugin");
    info_.set_name("example.com/nic");
    info_.add_supported_versions("v1alpha");
    info_.add_supported_versions("v1beta1");
  }
  void TearDown() override {
    registry_.reset();
    manager_.stream.reset();
    set_log_level(LogLevel::Warn);
    TempFiles::TearDown();
  }

  std::unique_ptr<StockPlugin> plugin(const std::string& socket) {
    auto made = std::make_unique<StockPlugin>(loop_, path("r"), socket);
    made->add_device("a");
    made->methods.unary[method::kGetInfo] =
        rpc::unary<InfoRequest, PluginInfo>([this](const InfoRequest&, const auto& respond) {
          ++asked_;
          respond(info_);
        });
    made->methods.unary[method::kNotifyRegistrationStatus] =
        rpc::unary<RegistrationStatus, RegistrationStatusResponse>(
            [this](const RegistrationStatus& status, const auto& respond) {
              told_.push_back(status);
              respond(RegistrationStatusResponse());
            });
    return made;
  }
  ::testing::AssertionResult until(const std::function<bool()>& holds) {
    return test::run_until(loop_, holds);
  }
  std::string first_refusal() {
    EXPECT_TRUE(until([&] { return !told_.empty(); }));
    return told_.empty() || told_[0].plugin_registered() ? "registered" : told_[0].error();
  }

  net::AsioLoop loop_;
  Manager manager_;
  PluginInfo info_;
  int asked_ = 0;
  std::vector<RegistrationStatus> told_;
  std::unique_ptr<PluginsRegistry> registry_;
};

TEST_F(Registry, TakesInADevicePluginAndTellsIt) {
  EXPECT_EQ(fs::status(path("r")).permissions(), static_cast<fs::perms>(0750));
  const auto nic = plugin("nic.sock");
  nic->serve();
  ASSERT_TRUE(until([&] { return !told_.empty() && !manager_.devices.empty(); }));
  EXPECT_THAT(manager_.resources, ElementsAre("example.com/nic"));
  EXPECT_TRUE(told_[0].plugin_registered());
  EXPECT_EQ(told_[0].error(), "");
  EXPECT_EQ(manager_.devices[0].id, "a");
}

TEST_F(Registry, FindsWhatIsInFolders) {
  ASSERT_TRUE(until([&, turns = 0]() mutable { return ++turns > 10; }));
  fs::create_directories(path("r/example.com/deep"));
  const auto nic = plugin("example.com/deep/nic.sock");
  nic->serve();
  EXPECT_TRUE(until([&] { return !told_.empty(); }));
}

TEST_F(Registry, TheServiceMayBeAtAnotherSocket) {
  StockPlugin service(loop_, root(), "service.sock");
  service.add_device("elsewhere");
  service.serve();
  info_.set_endpoint(service.path());
  const auto nic = plugin("nic-reg.sock");
  nic->serve();
  ASSERT_TRUE(until([&] { return !manager_.devices.empty(); }));
  EXPECT_EQ(manager_.devices[0].id, "elsewhere");
}

TEST_F(Registry, OtherTypesAreToldThatNobodyIsThereForThem) {
  info_.set_type("CSIPlugin");
  const auto csi = plugin("csi.sock");
  csi->serve();
  EXPECT_EQ(first_refusal(), "RegisterPlugin error -- no handler registered for plugin type: "
                             "CSIPlugin at socket " +
                                 csi->path());
  EXPECT_THAT(manager_.resources, SizeIs(0));
}

TEST_F(Registry, VersionsThatNobodySpeaksAreRefused) {
  info_.clear_supported_versions();
  info_.add_supported_versions("v1");
  info_.add_supported_versions("v2");
  const auto nic = plugin("nic.sock");
  nic->serve();
  EXPECT_THAT(first_refusal(), HasSubstr("manager version, v1beta1, is not among plugin supported "
                                         "versions [v1 v2]"));
}

TEST_F(Registry, AnEndpointIsAPath) {
  info_.set_endpoint("nic.sock");
  const auto nic = plugin("nic.sock");
  nic->serve();
  EXPECT_THAT(first_refusal(), HasSubstr("is a path, not \"nic.sock\""));
}

TEST_F(Registry, ARefusalOfTheManagersIsPassedOnAndTriedAgain) {
  manager_.answer = fail(Code::Invalid, "the ResourceName \"x\" is invalid");
  const auto nic = plugin("nic.sock");
  nic->serve();
  EXPECT_THAT(first_refusal(), HasSubstr("the ResourceName \"x\" is invalid"));
  manager_.answer = {};
  EXPECT_TRUE(until([&] { return told_.back().plugin_registered(); }));
}

TEST_F(Registry, ASocketMadeAnewIsAnotherPlugin) {
  auto first = plugin("nic.sock");
  first->serve();
  ASSERT_TRUE(until([&] { return !told_.empty() && !manager_.devices.empty(); }));
  // Made anew while the old process still runs: its connection is closed all the same.
  fs::rename(first->path(), path("old"));
  auto second = plugin("nic.sock");
  second->devices.mutable_devices(0)->set_id("b");
  second->serve();
  ASSERT_TRUE(until([&] { return told_.size() == 2 && manager_.devices[0].id == "b"; }));
  EXPECT_THAT(manager_.resources, ElementsAre("example.com/nic", "example.com/nic"));
}

TEST_F(Registry, WhoTakesItsSocketAwayIsLetGo) {
  const auto nic = plugin("nic.sock");
  nic->serve();
  ASSERT_TRUE(until([&] { return !manager_.devices.empty(); }));
  fs::remove(nic->path()); // the process runs on
  EXPECT_TRUE(until([&] { return manager_.ends == 1; }));
}

TEST_F(Registry, WhoIsSilentIsAskedAgain) {
  auto nic = plugin("nic.sock");
  std::vector<rpc::Respond> kept;
  const auto honest = nic->methods.unary[method::kGetInfo];
  nic->methods.unary[method::kGetInfo] = [&](std::string request, const rpc::Respond& respond) {
    if (kept.size() < 2) {
      kept.push_back(respond);
    } else {
      honest(std::move(request), respond);
    }
  };
  nic->serve();
  EXPECT_TRUE(until([&] { return !told_.empty(); }));
  EXPECT_THAT(kept, SizeIs(2));
}

TEST_F(Registry, NonsenseAndSilenceHarmNobodyElse) {
  test::RawSocket babbling(path("r/babble.sock"));
  test::RawSocket silent(path("r/silent.sock"));
  test::leave_dead_socket(path("r/dead.sock"));
  ASSERT_TRUE(until([&] { return babbling.answer("\x01\x02\x03nonsense"); }));
  const auto nic = plugin("nic.sock");
  nic->serve();
  EXPECT_TRUE(until([&] { return !told_.empty(); }));
}

class Scan : public test::TempFiles {};

TEST_F(Scan, PassesOverHiddenNamesLinksAndWhatIsNoSocket) {
  fs::create_directories(path("a/.b"));
  test::leave_dead_socket(path("one.sock"));
  test::leave_dead_socket(path("a/two.sock"));
  test::leave_dead_socket(path(".hidden.sock"));
  test::leave_dead_socket(path("a/.b/three.sock"));
  fs::create_symlink(path("one.sock"), path("link.sock"));
  fs::create_directory_symlink(path("a"), path("loop"));
  write("file.sock", "");
  const RegistryScan found = scan_registry(root());
  EXPECT_THAT(found.folders, ElementsAre(path("a")));
  std::vector<std::string> sockets;
  for (const auto& [socket, identity] : found.sockets) {
    sockets.push_back(socket);
  }
  EXPECT_THAT(sockets, ElementsAre(path("a/two.sock"), path("one.sock")));
  EXPECT_THAT(scan_registry(path("missing")).sockets, SizeIs(0));
}

TEST_F(Scan, GoesNoDeeperThanEightFolders) {
  std::string folder = root();
  for (int depth = 0; depth < 10; ++depth) {
    folder += "/d";
    fs::create_directory(folder);
    test::leave_dead_socket(folder + "/s");
  }
  EXPECT_THAT(scan_registry(root()).sockets, SizeIs(8));
}

} // namespace
} // namespace berth::deviceplugin
