// berth device-plugin as a user runs it.
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/api/json.h"
#include "berth/base/log.h"
#include "berth/cdi/spec.h"
#include "berth/testing/berth_run.h"
#include "berth/testing/stock_kubelet.h"
#include "berth/testing/temp_files.h"

namespace berth::cli {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class DevicePluginCommand : public test::TempFiles {};

TEST_F(DevicePluginCommand, GivesAKubeletItsGpusUntilItIsToldToStop) {
  std::string resource;
  int devices = 0;
  // A kubelet of another process: a thread with a loop of its own.
  fs::create_directories(path("k"));
  std::thread kubelet([&] {
    net::AsioLoop loop;
    test::StockKubelet stock(loop, path("k/device-plugins"));
    stock.start();
    EXPECT_TRUE(test::run_until(loop, [&] { return stock.knows("nvidia.com/gpu"); }));
    if (stock.knows("nvidia.com/gpu")) {
      resource = stock.requests[0].resource_name();
      devices = stock.plugins["nvidia.com/gpu"].devices.devices_size();
    }
    // Its registration shows that the command is past its beginning, where signals are taken over.
    std::raise(SIGTERM);
  });
  const test::Outcome o =
      test::berth({"device-plugin", "--platform", "dgx-h100", "--kubelet-dir", path("k"),
                   "--cdi-dir", path("cdi"), "--device-list-strategy", "cdi-cri"});
  kubelet.join();
  EXPECT_EQ(o.code, 0) << o.err;
  EXPECT_THAT(o.err, HasSubstr("8 GPUs as nvidia.com/gpu"));
  EXPECT_EQ(resource, "nvidia.com/gpu");
  EXPECT_EQ(devices, 8);

  std::ifstream file(path("cdi/k8s.device-plugin.nvidia.com-gpu.json"));
  const std::string text(std::istreambuf_iterator<char>(file), {});
  const auto document = api::parse_json(text);
  ASSERT_TRUE(document) << text;
  const auto spec = cdi::parse_spec(*document, "spec");
  ASSERT_TRUE(spec) << to_string(spec.error());
  EXPECT_THAT(spec->devices, SizeIs(8));
}

TEST_F(DevicePluginCommand, WithoutADriverSaysHowToSimulateOne) {
  ::setenv("BERTH_NVML", path("no-driver.so").c_str(), 1);
  const test::Outcome o =
      test::berth({"device-plugin", "--kubelet-dir", root(), "--cdi-dir", path("cdi")});
  ::unsetenv("BERTH_NVML");
  EXPECT_EQ(o.code, 1);
  EXPECT_THAT(o.err, HasSubstr("try berth device-plugin --platform dgx-h100"));
  EXPECT_FALSE(fs::exists(path("cdi")));
}

TEST_F(DevicePluginCommand, SaysWhatIsWrong) {
  const auto run = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"device-plugin", "--platform", "dgx-h100"});
    return test::berth(words);
  };
  test::Outcome o = run({"--kubelet-dir", path("none")});
  EXPECT_EQ(o.code, 1);
  EXPECT_THAT(o.err, HasSubstr("--kubelet-dir: no directory " + path("none")));
  o = run({"--kubelet-dir", root(), "--mig-strategy", "some"});
  EXPECT_EQ(o.code, 2);
  EXPECT_THAT(o.err, HasSubstr("--mig-strategy"));
  o = run({"--kubelet-dir", root(), "--config", write("c.yaml", "version: v1\nflag: {}\n")});
  EXPECT_EQ(o.code, 2);
  EXPECT_THAT(o.err, HasSubstr("c.yaml:2"));
  const std::string file = write("file", "");
  o = run({"--kubelet-dir", root(), "--device-list-strategy", "cdi-cri", "--cdi-dir", file});
  EXPECT_EQ(o.code, 1);
  EXPECT_THAT(o.err, HasSubstr("--cdi-dir: no CDI spec can be written to " + file));
  EXPECT_THAT(o.err, ::testing::Not(HasSubstr("GPUs as")));
  o = run({"--kubelet-dir", root(), "--config", root()});
  EXPECT_EQ(o.code, 2);
  EXPECT_THAT(o.err, HasSubstr("is a directory"));
  o = test::berth({"device-plugin", "--platform", "dgx-h1000", "--kubelet-dir", root()});
  EXPECT_EQ(o.code, 1);
  EXPECT_THAT(o.err, HasSubstr("dgx-h100"));
}

} // namespace
} // namespace berth::cli
