// berth cdi generate, list, validate and apply, with a mock of the driver's library.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/api/json.h"
#include "berth/cdi/spec_files.h"
#include "berth/testing/berth_run.h"
#include "berth/testing/nvml_profile.h"
#include "berth/testing/temp_files.h"

namespace berth::cli {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

class CdiCommands : public test::TempFiles {
 protected:
  void TearDown() override {
    unsetenv("BERTH_NVML");
    unsetenv("BERTH_NVML_MOCK");
    test::TempFiles::TearDown();
  }
  /// From now on this machine is a node of the platform.
  void be(std::string_view platform, const std::string& more = "") {
    const std::string file = write(
        "profile",
        berth::testing::nvml_profile(*hardware::Catalogue::builtin().find(platform), "n1") + more);
    setenv("BERTH_NVML", BERTH_NVML_MOCK, 1);
    setenv("BERTH_NVML_MOCK", file.c_str(), 1);
  }
  /// Writes the spec of a simulated machine to a directory of its own.
  std::string generated(const std::string& directory) {
    const test::Outcome o = test::berth({"cdi", "generate", "--platform", "hgx-a100-4", "--output",
                                         path(directory + "/nvidia.yaml")});
    EXPECT_EQ(o.code, 0) << o.err;
    return path(directory);
  }
  std::vector<std::string> names(const std::string& text) {
    const auto spec = cdi::read_spec_file(write("spec.yaml", text));
    EXPECT_TRUE(spec) << to_string(spec.error());
    std::vector<std::string> out;
    for (const cdi::Device& device : spec ? spec->devices : std::vector<cdi::Device>()) {
      out.push_back(device.name);
    }
    return out;
  }
};

TEST_F(CdiCommands, GenerateNamesDevicesByIndexAndUuid) {
  const test::Outcome o = test::berth({"cdi", "generate", "--platform", "t4-pcie-1"});
  ASSERT_EQ(o.code, 0) << o.err;
  EXPECT_THAT(o.out, StartsWith("cdiVersion: "));
  EXPECT_THAT(o.out, HasSubstr("kind: nvidia.com/gpu\n"));
  EXPECT_THAT(names(o.out), ::testing::ElementsAre("0", StartsWith("GPU-"), "all"));
}

TEST_F(CdiCommands, GenerateNamesMigDevicesOfACutGpu) {
  const test::Outcome o =
      test::berth({"cdi", "generate", "--platform", "hgx-a100-4", "--mig", "1:3g.40gb=2",
                   "--device-name-strategy", "index", "--device-name-strategy", "type-index"});
  ASSERT_EQ(o.code, 0) << o.err;
  EXPECT_THAT(names(o.out), Contains("1:1"));
  EXPECT_THAT(names(o.out), Contains("mig1:0"));
  EXPECT_THAT(names(o.out), Contains("gpu0"));
  EXPECT_THAT(names(o.out), Not(Contains("1")));
  EXPECT_THAT(o.out, HasSubstr("/dev/nvidia-caps/nvidia-cap"));
}

TEST_F(CdiCommands, GenerateWritesWhatValidateTakes) {
  for (const char* name : {"a.yaml", "b.json"}) {
    const std::string file = path(name);
    const test::Outcome o = test::berth({"cdi", "generate", "--platform", "dgx-h100", "--vendor",
                                         "example.com", "--class", "accelerator", "-o", file});
    ASSERT_EQ(o.code, 0) << o.err;
    EXPECT_EQ(o.out, "");
    const test::Outcome valid = test::berth({"cdi", "validate", file});
    EXPECT_EQ(valid.code, 0) << valid.err;
    EXPECT_EQ(valid.out,
              file + ": valid, example.com/accelerator of version 0.5.0 with 17 devices\n");
  }
  std::ifstream json(path("b.json"));
  EXPECT_EQ(json.get(), '{');
}

TEST_F(CdiCommands, GenerateDescribesThisMachine) {
  be("l40s-pcie-8");
  const test::Outcome o = test::berth({"cdi", "generate", "--format", "json"});
  ASSERT_EQ(o.code, 0) << o.err;
  EXPECT_THAT(o.out, HasSubstr(hardware::gpu_uuid("n1", 7)));
  EXPECT_THAT(o.err, HasSubstr("CDI specs have device nodes alone"))
      << "no driver is installed here";
}

TEST_F(CdiCommands, GenerateRefusesAMigDeviceThatCannotBeOpened) {
  be("dgx-h100", "0.mig=1\n0.mig.0.uuid=MIG-a\n0.mig.0.gslices=1\n0.mig.0.cslices=1\n");
  const test::Outcome o = test::berth({"cdi", "generate"});
  EXPECT_EQ(o.code, 1);
  EXPECT_THAT(o.err, HasSubstr("no capability files of MIG device MIG-a"));
}

TEST_F(CdiCommands, GenerateSaysWhatIsWrong) {
  setenv("BERTH_NVML", "/nowhere/libnvidia-ml.so.1", 1);
  const test::Outcome none = test::berth({"cdi", "generate"});
  EXPECT_EQ(none.code, 1);
  EXPECT_THAT(none.err, HasSubstr("try berth cdi generate --platform dgx-h100"));
  const auto fails = [](std::vector<std::string> words, int code) {
    words.insert(words.begin(), {"cdi", "generate"});
    const test::Outcome o = test::berth(words);
    EXPECT_EQ(o.code, code) << o.err;
    EXPECT_THAT(o.out, IsEmpty());
    return o.err;
  };
  EXPECT_THAT(fails({"--platform", "dgx-h10"}, 1), HasSubstr("dgx-h100"));
  EXPECT_THAT(fails({"--mig", "0:1g.10gb=7"}, 2), HasSubstr("add --platform"));
  EXPECT_THAT(fails({"--platform", "dgx-h100", "--mig", "1g.10gb=7"}, 2),
              HasSubstr("--mig: want GPU:PROFILE=COUNT"));
  EXPECT_THAT(fails({"--platform", "dgx-h100", "--mig", "8:1g.10gb=7"}, 2),
              HasSubstr("the machine has 8 GPUs"));
  EXPECT_THAT(fails({"--platform", "dgx-h100", "--mig", "0:7g.80gb=2"}, 2),
              HasSubstr("do not fit"));
  EXPECT_THAT(fails({"--platform", "dgx-h100", "--vendor", "-x"}, 2), HasSubstr("invalid kind"));
  EXPECT_THAT(fails({"--platform", "dgx-h100", "-o", path("a.txt")}, 2), HasSubstr("*.yaml"));
  EXPECT_THAT(fails({"--platform", "dgx-h100", "-o", path("a.json"), "--format", "yaml"}, 2),
              HasSubstr("does not go with"));
  EXPECT_THAT(fails({"--platform", "dgx-h100", "-o", write("file", "") + "/a.json"}, 1),
              HasSubstr("cannot create"));
}

TEST_F(CdiCommands, ListNamesWhatRuntimesFind) {
  const test::Outcome o = test::berth({"cdi", "list", "--spec-dir", generated("etc")});
  EXPECT_EQ(o.code, 0);
  EXPECT_THAT(o.out, StartsWith("nvidia.com/gpu=0\nnvidia.com/gpu=1\n"));
  EXPECT_THAT(o.out, HasSubstr("nvidia.com/gpu=all\n"));
  EXPECT_EQ(o.err, "");
}

TEST_F(CdiCommands, ListNamesConflictsAndBrokenFiles) {
  const std::string directory = generated("etc");
  write("etc/again.yaml", "cdiVersion: 0.5.0\nkind: nvidia.com/gpu\ndevices:\n- name: \"0\"\n"
                          "  containerEdits: {env: [A=b]}\n");
  write("etc/broken.yaml", "kind: [3]\n");
  const test::Outcome o = test::berth({"cdi", "list", "--spec-dir", directory});
  EXPECT_EQ(o.code, 0);
  EXPECT_THAT(o.out, Not(HasSubstr("nvidia.com/gpu=0\n")));
  EXPECT_THAT(o.out, HasSubstr("nvidia.com/gpu=1\n"));
  EXPECT_THAT(o.err, HasSubstr("nvidia.com/gpu=0 is defined more than once: "));
  EXPECT_THAT(o.err, HasSubstr("again.yaml"));
  EXPECT_THAT(o.err, HasSubstr("broken.yaml:1:7: kind: "));
}

TEST_F(CdiCommands, ListOfNothingSaysWhatToDo) {
  const test::Outcome o = test::berth({"cdi", "list", "--spec-dir", path("none")});
  EXPECT_EQ(o.code, 0);
  EXPECT_EQ(o.out, "");
  EXPECT_THAT(o.err, HasSubstr("berth cdi generate --output"));
}

TEST_F(CdiCommands, ValidateNamesFileLineAndField) {
  const std::string good = generated("etc") + "/nvidia.yaml";
  const std::string bad =
      write("bad.yaml", "cdiVersion: 0.5.0\nkind: nvidia.com/gpu\ndevices:\n- name: \"0\"\n"
                        "  containerEdits:\n    deviceNodes:\n    - paht: /dev/nvidia0\n");
  const test::Outcome o = test::berth({"cdi", "validate", bad, good});
  EXPECT_EQ(o.code, 1);
  EXPECT_THAT(o.err, HasSubstr("bad.yaml:7:13: devices[0].containerEdits.deviceNodes[0].paht: "
                               "unknown field"));
  EXPECT_THAT(o.out, HasSubstr("nvidia.yaml: valid"));
  EXPECT_EQ(test::berth({"cdi", "validate"}).code, 2);
  EXPECT_EQ(test::berth({"cdi", "validate", path("none")}).code, 1);
}

TEST_F(CdiCommands, ApplyPrintsTheContainerWithItsDevices) {
  const std::string config =
      write("config.json", R"({"ociVersion": "1.1.0", "process": {"env": ["PATH=/bin"]}})");
  const test::Outcome o = test::berth(
      {"cdi", "apply", "--spec", config, "--spec-dir", generated("etc"), "nvidia.com/gpu=1"});
  ASSERT_EQ(o.code, 0) << o.err;
  const auto document = api::parse_json(o.out);
  ASSERT_TRUE(document);
  EXPECT_THAT(o.out, HasSubstr("\"/dev/nvidia1\""));
  EXPECT_THAT(o.out, HasSubstr("\"PATH=/bin\""));
  EXPECT_THAT(o.out, HasSubstr("\"NVIDIA_VISIBLE_DEVICES=void\""));
  EXPECT_THAT(o.out, Not(HasSubstr("\"/dev/nvidia0\"")));
}

TEST_F(CdiCommands, ApplyRefusesWhatDoesNotResolve) {
  const std::string config = write("config.json", "{}");
  const test::Outcome o =
      test::berth({"cdi", "apply", "--spec", config, "--spec-dir", generated("etc"),
                   "nvidia.com/gpu=9", "nvidia.com/gpu=0", "other.com/x=1"});
  EXPECT_EQ(o.code, 1);
  EXPECT_EQ(o.out, "");
  EXPECT_THAT(o.err, HasSubstr("unresolvable CDI devices nvidia.com/gpu=9, other.com/x=1"));
}

TEST_F(CdiCommands, ApplyLooksNumbersUpThatASpecLeavesOut) {
  std::filesystem::create_directories(path("etc"));
  write("etc/a.yaml", "cdiVersion: 0.5.0\nkind: v.com/null\ndevices:\n- name: \"0\"\n"
                      "  containerEdits:\n    deviceNodes: [{path: /dev/null}]\n"
                      "- name: \"1\"\n"
                      "  containerEdits:\n    deviceNodes: [{path: /dev/none-such}]\n");
  const std::string config = write("config.json", "{}");
  const test::Outcome o =
      test::berth({"cdi", "apply", "--spec", config, "--spec-dir", path("etc"), "v.com/null=0"});
  ASSERT_EQ(o.code, 0) << o.err;
  EXPECT_THAT(o.out, HasSubstr("\"major\": 1"));
  EXPECT_THAT(o.out, HasSubstr("\"minor\": 3"));
  const test::Outcome absent =
      test::berth({"cdi", "apply", "--spec", config, "--spec-dir", path("etc"), "v.com/null=1"});
  EXPECT_EQ(absent.code, 1);
  EXPECT_THAT(absent.err, HasSubstr("failed to stat CDI host device \"/dev/none-such\""));
}

TEST_F(CdiCommands, ApplyNeedsAnOciSpec) {
  EXPECT_EQ(test::berth({"cdi", "apply", "nvidia.com/gpu=0"}).code, 2);
  EXPECT_EQ(test::berth({"cdi", "apply", "--spec", path("none"), "nvidia.com/gpu=0"}).code, 1);
  const test::Outcome o =
      test::berth({"cdi", "apply", "--spec", write("list.json", "[]"), "nvidia.com/gpu=0"});
  EXPECT_EQ(o.code, 1);
  EXPECT_THAT(o.err, HasSubstr("list.json:1:1: an OCI spec is an object"));
}

TEST_F(CdiCommands, ValidateReadsStandardInput) {
  std::istringstream input("cdiVersion: 0.5.0\nkind: v.com/gpu\ndevices:\n- name: \"0\"\n"
                           "  containerEdits: {env: [A=b]}\n");
  std::streambuf* const before = std::cin.rdbuf(input.rdbuf());
  const test::Outcome o = test::berth({"cdi", "validate", "-"});
  std::cin.rdbuf(before);
  std::cin.clear();
  EXPECT_EQ(o.code, 0) << o.err;
  EXPECT_THAT(o.out, StartsWith("-: valid, v.com/gpu"));
  EXPECT_EQ(test::berth({"cdi", "validate", root()}).err,
            "error: " + root() + ": is a directory\n");
}

// What a runtime could not read either must not be made into something that it can.
TEST_F(CdiCommands, ApplyRefusesAConfigWithWrongTypes) {
  const std::string directory = generated("etc");
  const auto error = [&](const std::string& config) {
    const test::Outcome o = test::berth({"cdi", "apply", "--spec", write("config.json", config),
                                         "--spec-dir", directory, "nvidia.com/gpu=0"});
    EXPECT_EQ(o.code, 1) << config;
    EXPECT_EQ(o.out, "");
    return o.err;
  };
  EXPECT_EQ(error(R"({"process": "x"})"),
            "error: " + path("config.json") + ": process: want an object, got a string\n");
  EXPECT_THAT(error(R"({"linux": {"resources": 5}})"),
              HasSubstr("config.json: linux.resources: want an object, got a number"));
}

TEST_F(CdiCommands, ApplySaysWhyAConfigCannotBeRead) {
  const auto error = [](const std::string& config) {
    const test::Outcome o = test::berth({"cdi", "apply", "--spec", config, "nvidia.com/gpu=0"});
    EXPECT_EQ(o.code, 1);
    return o.err;
  };
  EXPECT_EQ(error(path("none")), "error: " + path("none") + ": no such file or directory\n");
  EXPECT_EQ(error(root()), "error: " + root() + ": is a directory\n");
  EXPECT_EQ(error("/dev/zero"), "error: /dev/zero: larger than 64 MiB\n");
}

TEST_F(CdiCommands, ListOfWhatIsNoDirectorySaysSo) {
  const test::Outcome o = test::berth({"cdi", "list", "--spec-dir", write("file", "")});
  EXPECT_EQ(o.code, 0);
  EXPECT_THAT(o.err, HasSubstr("left out: " + path("file") + ": not a directory"));
}

TEST_F(CdiCommands, GenerateTakesTheCutsOfAGpuTogether) {
  const test::Outcome o =
      test::berth({"cdi", "generate", "--platform", "dgx-h100", "--mig", "0:1g.10gb=1", "--mig",
                   "1:7g.80gb=1", "--mig", "0:2g.20gb=1", "--device-name-strategy", "index"});
  ASSERT_EQ(o.code, 0) << o.err;
  EXPECT_THAT(names(o.out), ::testing::AllOf(Contains("0:0"), Contains("0:1"), Contains("1:0")));
  const test::Outcome full = test::berth({"cdi", "generate", "--platform", "dgx-h100", "--mig",
                                          "0:7g.80gb=1", "--mig", "0:1g.10gb=1"});
  EXPECT_EQ(full.code, 2);
  EXPECT_THAT(full.err, HasSubstr("--mig 0:7g.80gb=1,1g.10gb=1: "));
}

} // namespace
} // namespace berth::cli
