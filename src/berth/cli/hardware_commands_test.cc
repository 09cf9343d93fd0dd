// berth hardware, its sub-commands and berth labels, with a mock of the driver's library.
#include <cstdlib>
#include <filesystem>
#include <utility>

#include <unistd.h>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/api/json.h"
#include "berth/cli/platform_files.h"
#include "berth/hardware/formats/nccl_xml.h"
#include "berth/hardware/formats/platform_yaml.h"
#include "berth/hardware/formats/topo_matrix.h"
#include "berth/testing/berth_run.h"
#include "berth/testing/nvml_profile.h"
#include "berth/testing/temp_files.h"

namespace berth::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

const hardware::Platform& builtin(std::string_view name) {
  return *hardware::Catalogue::builtin().find(name);
}

class HardwareCommands : public test::TempFiles {
 protected:
  void TearDown() override {
    unsetenv("BERTH_NVML");
    unsetenv("BERTH_NVML_MOCK");
    test::TempFiles::TearDown();
  }

  /// From now on this machine is a node of the platform.
  void be(std::string_view platform, const std::string& more = "") {
    const std::string file =
        write("profile", berth::testing::nvml_profile(builtin(platform), "n1") + more);
    setenv("BERTH_NVML", BERTH_NVML_MOCK, 1);
    setenv("BERTH_NVML_MOCK", file.c_str(), 1);
  }
};

TEST_F(HardwareCommands, ShowPrintsWhatOtherToolsRead) {
  const hardware::Platform& p = builtin("hgx-a100-4");
  EXPECT_EQ(test::berth({"hardware", "show", "hgx-a100-4", "--format", "topo"}).out,
            hardware::to_text(hardware::topo_matrix(p), hardware::TopoStyle::Plain));
  EXPECT_EQ(test::berth({"hardware", "show", "hgx-a100-4", "--format", "nccl-xml"}).out,
            hardware::nccl_xml(p));
  EXPECT_EQ(test::berth({"hardware", "show", "hgx-a100-4", "--format", "yaml"}).out,
            hardware::platform_yaml(p));
  EXPECT_THAT(test::berth({"hardware", "show", "hgx-a100-4", "--format", "picture"}).out,
              HasSubstr("└─ socket 1"));
}

TEST_F(HardwareCommands, ShowUnderlinesAsNvidiaSmiDoesWhereColourIsAskedFor) {
  const hardware::TopoMatrix matrix = hardware::topo_matrix(builtin("hgx-a100-4"));
  for (const auto& [color, style] : {std::pair("always", hardware::TopoStyle::Underlined),
                                     std::pair("never", hardware::TopoStyle::Plain)}) {
    EXPECT_EQ(
        test::berth({"hardware", "show", "hgx-a100-4", "--format", "topo", "--color", color}).out,
        hardware::to_text(matrix, style));
  }
}

TEST_F(HardwareCommands, LabelsSayWhatToTryInstead) {
  const test::Outcome unknown = test::berth({"labels", "--platform", "nope"});
  EXPECT_EQ(unknown.code, 1);
  EXPECT_THAT(unknown.err, HasSubstr("; try berth hardware list\n"));
  EXPECT_THAT(test::berth({"labels", "--platform", write("e.yaml", "")}).err,
              Not(HasSubstr("try berth")));
  const test::Outcome before =
      test::berth({"labels", "--platform", "dgx-h100", "--timestamp", "-5"});
  EXPECT_EQ(before.code, 2);
  EXPECT_THAT(before.err, HasSubstr("--timestamp: want seconds since 1970, got \"-5\""));
}

TEST_F(HardwareCommands, AFileStandsWhereAPlatformDoes) {
  const std::string file = write("mine.yaml", hardware::platform_yaml(builtin("t4-pcie-1")));
  EXPECT_EQ(test::berth({"hardware", "show", file}).out,
            test::berth({"hardware", "show", "t4-pcie-1"}).out);
  const test::Outcome broken =
      test::berth({"hardware", "show", write("broken.yaml", "name: broken\n")});
  EXPECT_EQ(broken.code, 1);
  EXPECT_THAT(broken.err, HasSubstr("broken.yaml:1:1: required field is missing: title"));
  const test::Outcome none = test::berth({"hardware", "show", path("none.yaml")});
  EXPECT_EQ(none.code, 1);
  EXPECT_THAT(none.err, HasSubstr("none.yaml"));
}

TEST_F(HardwareCommands, ImportMakesAPlatformOfEitherDump) {
  const hardware::Platform& p = builtin("dgx-h100");
  for (const std::string& text :
       {hardware::to_text(hardware::topo_matrix(p), hardware::TopoStyle::Underlined),
        hardware::nccl_xml(p)}) {
    const std::string dump = write("My Node_1.txt", text);
    const test::Outcome o = test::berth({"hardware", "import", dump});
    ASSERT_EQ(o.code, 0) << o.err;
    EXPECT_THAT(o.out, HasSubstr("\nname: my-node-1\n"));
    EXPECT_THAT(o.err, HasSubstr("as in dgx-h100"));
    EXPECT_TRUE(hardware::Catalogue::parse_platform(o.out, "out")) << o.out;
  }
}

TEST_F(HardwareCommands, WhatImportWritesIsWhatNodesTake) {
  const std::string dump =
      write("topo.txt", hardware::to_text(hardware::topo_matrix(builtin("l40s-pcie-8")),
                                          hardware::TopoStyle::Plain));
  const std::string file = path("mine.yaml");
  const test::Outcome o = test::berth(
      {"hardware", "import", dump, "--name", "mine", "--like", "l40s-pcie-8", "-o", file});
  ASSERT_EQ(o.code, 0) << o.err;
  EXPECT_EQ(o.out, "");
  EXPECT_THAT(o.err, HasSubstr("up --nodes " + file + ":4"));
  hardware::Catalogue catalogue = hardware::Catalogue::builtin();
  const auto group = read_node_group(file + ":3", catalogue);
  ASSERT_TRUE(group) << to_string(group.error());
  EXPECT_EQ(group->platform, "mine");
  EXPECT_EQ(group->count, 3);
  EXPECT_EQ(catalogue.find("mine")->gpus.size(), 8U);
  EXPECT_TRUE(read_node_group(file, catalogue)) << "the same file again";
  EXPECT_TRUE(read_node_group("dgx-h100:2", catalogue)) << "and names as ever";
  EXPECT_FALSE(read_node_group(file + ":none", catalogue));
}

TEST_F(HardwareCommands, AnotherPlatformOfAKnownNameIsRefused) {
  hardware::Platform other = builtin("t4-pcie-1");
  other.memory_gib = 1;
  const std::string file = write("t4.yaml", hardware::platform_yaml(other));
  hardware::Catalogue catalogue = hardware::Catalogue::builtin();
  const auto group = read_node_group(file, catalogue);
  ASSERT_FALSE(group);
  EXPECT_THAT(group.error().message, HasSubstr("give yours another: t4-pcie-1"));
}

TEST_F(HardwareCommands, ImportSaysWhatIsWrong) {
  const test::Outcome text = test::berth({"hardware", "import", write("a.txt", "hello\n")});
  EXPECT_EQ(text.code, 1);
  EXPECT_THAT(text.err, HasSubstr("a.txt: no matrix of nvidia-smi topo -m"));
  const test::Outcome xml =
      test::berth({"hardware", "import", write("a.xml", "<system version=\"1\">\n")});
  EXPECT_EQ(xml.code, 1);
  EXPECT_THAT(xml.err, HasSubstr("not well-formed XML"));
  EXPECT_EQ(test::berth({"hardware", "import", path("none")}).code, 1);
  const std::string good = write("b.xml", hardware::nccl_xml(builtin("t4-pcie-1")));
  EXPECT_THAT(test::berth({"hardware", "import", good, "--name", "Not Good"}).err,
              HasSubstr("not a platform name"));
  EXPECT_THAT(test::berth({"hardware", "import", good, "--like", "dgx-h10"}).err,
              HasSubstr("did you mean dgx-h100?"));
  EXPECT_THAT(test::berth({"hardware", "import", good, "-o", path("no/such/folder.yaml")}).err,
              HasSubstr("folder.yaml: the file cannot be written: cannot create"));
  EXPECT_THAT(test::berth({"hardware", "import", good, "-o", "/dev/full"}).err,
              HasSubstr("/dev/full: the file cannot be written: No space left on device"));
  EXPECT_THAT(test::berth({"hardware", "import", root()}).err, HasSubstr("is a directory"));
}

TEST_F(HardwareCommands, ImportReplacesAFileAsAWholeEvenBehindALink) {
  const std::string dump = write("b.xml", hardware::nccl_xml(builtin("t4-pcie-1")));
  const std::string old = write("old.yaml", "what was there, and longer than nothing");
  std::filesystem::create_symlink(old, path("link.yaml"));
  ASSERT_EQ(test::berth({"hardware", "import", dump, "-o", path("link.yaml")}).code, 0);
  EXPECT_TRUE(std::filesystem::is_symlink(path("link.yaml")));
  EXPECT_TRUE(read_platform_file(old));
}

TEST_F(HardwareCommands, ImportNamesThePlatformAfterTheWholeFile) {
  const std::string topo =
      hardware::to_text(hardware::topo_matrix(builtin("t4-pcie-1")), hardware::TopoStyle::Plain);
  for (const auto& [file, name] : {std::pair("l40s__590.48.01.txt", "l40s-590-48-01"),
                                   std::pair("driver-590.48", "driver-590-48"),
                                   std::pair("topo", "topo"), std::pair(".txt", "imported")}) {
    const test::Outcome o = test::berth({"hardware", "import", write(file, topo)});
    EXPECT_THAT(o.out, HasSubstr(std::string("\nname: ") + name + "\n"));
  }
}

TEST_F(HardwareCommands, AFileOfAnotherKindIsNoUnknownName) {
  const std::string file = write("x.json", "{}");
  EXPECT_THAT(test::berth({"hardware", "show", file}).err,
              HasSubstr("x.json is no platform file: these are YAML"));
  hardware::Catalogue catalogue = hardware::Catalogue::builtin();
  const auto group = read_node_group(file + ":4", catalogue);
  ASSERT_FALSE(group);
  EXPECT_THAT(group.error().message, HasSubstr("x.json is no platform file"));
  std::filesystem::create_directories(path("d.yaml"));
  EXPECT_THAT(test::berth({"hardware", "show", path("d.yaml")}).err,
              HasSubstr("d.yaml: is a directory"));
}

TEST_F(HardwareCommands, AMachineWithoutADriverSaysHowToSimulateOne) {
  setenv("BERTH_NVML", "/nowhere/libnvidia-ml.so.1", 1);
  const test::Outcome o = test::berth({"hardware"});
  EXPECT_EQ(o.code, 0);
  EXPECT_EQ(o.out, "no NVIDIA GPU found on this machine\n");
  EXPECT_THAT(o.err, HasSubstr("tried /nowhere/libnvidia-ml.so.1"));
  EXPECT_THAT(o.err, HasSubstr("--nodes dgx-h100:4"));
}

TEST_F(HardwareCommands, ADriverThatDoesNotAnswerIsAFailure) {
  be("t4-pcie-1", "init=18\n");
  const test::Outcome o = test::berth({"hardware"});
  EXPECT_EQ(o.code, 1);
  EXPECT_THAT(o.err, HasSubstr("of different driver versions"));
}

TEST_F(HardwareCommands, TheGpusOfThisMachineAreShown) {
  be("dgx-h100", "3.lost=1\n5.reset=1\n6.mig=1\n");
  const test::Outcome o = test::berth({"hardware"});
  EXPECT_EQ(o.code, 0) << o.err;
  EXPECT_THAT(o.out, HasSubstr("driver 580.95.05, CUDA up to 13.0\n"));
  EXPECT_THAT(o.out, HasSubstr("00000000:1b:00.0"));
  EXPECT_THAT(o.out, HasSubstr("lost"));
  EXPECT_THAT(o.out, HasSubstr("needs a reset"));
  EXPECT_THAT(o.out, HasSubstr("on, no devices"));
  EXPECT_THAT(o.out, Not(HasSubstr("GPU-")));
  EXPECT_THAT(o.err, HasSubstr("GPU 3 does not answer"));
  EXPECT_THAT(test::berth({"hardware", "--format", "wide"}).out, HasSubstr("GPU-"));
}

TEST_F(HardwareCommands, WhoComputesOnTheGpusIsShown) {
  be("dgx-h100", fmt::format("3.processes=2\n3.first_pid={}\n", getpid()));
  const test::Outcome o = test::berth({"hardware", "--format", "processes"});
  ASSERT_EQ(o.code, 0) << o.err;
  EXPECT_THAT(o.out, HasSubstr(fmt::format("  3  {}  cli_test", getpid())));
  EXPECT_THAT(o.out, HasSubstr("1 MiB"));
}

TEST_F(HardwareCommands, TheGpusAreToldToPrograms) {
  be("dgx-h100", "2.lost=1\n");
  const test::Outcome o = test::berth({"hardware", "--format", "json"});
  ASSERT_EQ(o.code, 0) << o.err;
  const auto told = api::parse_json(o.out);
  ASSERT_TRUE(told) << o.out;
  EXPECT_EQ(api::string_at(*told, "driver"), "580.95.05");
  const api::json::value* gpus = api::find(*told, "gpus");
  ASSERT_TRUE(gpus != nullptr && gpus->is_array());
  ASSERT_EQ(gpus->as_array().size(), 8U);
  EXPECT_EQ(api::string_at(gpus->as_array()[3], "uuid"), hardware::gpu_uuid("n1", 3));
  EXPECT_THAT(api::to_json(gpus->as_array()[3]), HasSubstr(R"("healthy":true)"));
  EXPECT_THAT(api::to_json(gpus->as_array()[2]), HasSubstr(R"("healthy":false,"reason":"lost")"));
}

TEST_F(HardwareCommands, ThisMachineIsImportedFromItsOwnMatrix) {
  be("hgx-a100-4");
  const test::Outcome matrix = test::berth({"hardware", "--format", "topo"});
  ASSERT_EQ(matrix.code, 0);
  EXPECT_THAT(matrix.out, StartsWith("\tGPU0\tGPU1\tGPU2\tGPU3\tCPU Affinity"));
  const test::Outcome o = test::berth({"hardware", "import", write("own.txt", matrix.out)});
  EXPECT_EQ(o.code, 0) << o.err;
  EXPECT_THAT(o.out, HasSubstr("between: [0, 1], links: 4"));
}

TEST_F(HardwareCommands, LabelsOfSimulatedAndRealMachines) {
  const test::Outcome o = test::berth({"labels", "--platform", "dgx-h100"});
  ASSERT_EQ(o.code, 0) << o.err;
  EXPECT_THAT(o.out, HasSubstr("nvidia.com/gpu.count=8\n"));
  EXPECT_THAT(o.out, HasSubstr("nvidia.com/gpu.product=NVIDIA-H100-80GB-HBM3\n"));
  EXPECT_THAT(o.out, Not(HasSubstr("timestamp")));
  EXPECT_THAT(test::berth({"labels", "--platform", "t4-pcie-1", "-o", "yaml"}).out,
              HasSubstr("nvidia.com/gpu.memory: \"15360\"\n"));
  EXPECT_THAT(test::berth({"labels", "--platform", "t4-pcie-1", "-o", "json"}).out,
              HasSubstr("\"nvidia.com/gpu.count\": \"1\""));
  EXPECT_THAT(test::berth({"labels", "--platform", "t4-pcie-1", "--sharing", "time-slicing",
                           "--replicas", "4", "--timestamp", "1700000000"})
                  .out,
              HasSubstr("nvidia.com/gfd.timestamp=1700000000\n"));
  be("l40s-pcie-8");
  EXPECT_THAT(test::berth({"labels"}).out, HasSubstr("nvidia.com/gpu.product=NVIDIA-L40S\n"));
}

TEST_F(HardwareCommands, LabelsSayWhatIsWrong) {
  EXPECT_EQ(test::berth({"labels", "--platform", "t4-pcie-1", "--replicas", "many"}).code, 2);
  EXPECT_EQ(test::berth({"labels", "--platform", "t4-pcie-1", "--replicas", "2"}).code, 1);
  EXPECT_EQ(test::berth({"labels", "--platform", "t4"}).code, 1);
  setenv("BERTH_NVML", "/nowhere/libnvidia-ml.so.1", 1);
  const test::Outcome o = test::berth({"labels"});
  EXPECT_EQ(o.code, 1);
  EXPECT_THAT(o.err, HasSubstr("try berth labels --platform dgx-h100"));
}

TEST_F(HardwareCommands, AWrongSubCommandIsNoArgument) {
  const test::Outcome o = test::berth({"hardware", "shwo"});
  EXPECT_EQ(o.code, 2);
  EXPECT_THAT(o.err, HasSubstr("did you mean \"hardware show\"?"));
}

} // namespace
} // namespace berth::cli
