#include "berth/cdi/spec_files.h"

#include <sys/stat.h>

#include <filesystem>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/testing/temp_files.h"

namespace berth::cdi {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class SpecFiles : public test::TempFiles {
 protected:
  std::string spec(const std::string& name, const std::string& mark) {
    std::filesystem::create_directories(std::filesystem::path(path(name)).parent_path());
    return write(name, "cdiVersion: 0.5.0\nkind: vendor.com/gpu\ndevices:\n- name: \"0\"\n"
                       "  containerEdits:\n    env: [FROM=" +
                           mark + "]\n");
  }
  std::string from(const Registry& registry) {
    const Resolved found = registry.find("vendor.com/gpu=0");
    return found.device ? found.device->edits.env.front() : "nothing";
  }
};

TEST_F(SpecFiles, AreReadInYamlAndJson) {
  EXPECT_EQ(read_spec_file(spec("a.yaml", "x"))->devices.front().name, "0");
  EXPECT_EQ(read_spec_file(write("a.json", R"({"cdiVersion": "0.5.0", "kind": "v.com/gpu",
                "devices": [{"name": "0", "containerEdits": {"env": ["A=b"]}}]})"))
                ->kind,
            "v.com/gpu");
}

// As sigs.k8s.io/yaml makes strings of what YAML takes for something else.
TEST_F(SpecFiles, UnquotedNamesInYamlAreText) {
  const auto name = [&](const std::string& file, const std::string& scalar) {
    const auto read = read_spec_file(
        write(file, "{\"cdiVersion\": \"0.5.0\", \"kind\": \"v.com/gpu\", \"devices\": "
                    "[{\"name\": " +
                        scalar + ", \"containerEdits\": {\"env\": [\"A=b\"]}}]}"));
    return read ? read->devices.front().name : to_string(read.error());
  };
  for (const auto& [scalar, want] :
       {std::pair("0", "0"), std::pair("007", "7"), std::pair("yes", "true"),
        std::pair("false", "false"), std::pair("1.5", "1.5"), std::pair("0.25", "0.25"),
        std::pair("18446744073709551615", "18446744073709551615")}) {
    EXPECT_EQ(name("a.yaml", scalar), want) << scalar;
  }
  EXPECT_THAT(name("a.json", "0"), HasSubstr("devices[0].name: must be a string"));
  EXPECT_THAT(name("a.yaml", "[0]"), HasSubstr("devices[0].name: must be a string"));
}

TEST_F(SpecFiles, SayWhereTheyAreWrong) {
  const auto error = [&](const std::string& text) {
    const auto read = read_spec_file(write("b.yaml", text));
    return read ? std::string() : to_string(read.error());
  };
  EXPECT_THAT(error("cdiVersion: 0.5.0\nkind: vendor.com/gpu\ndevices:\n- name: \"0\"\n"
                    "  containerEdits:\n    env: [FROM]\n"),
              HasSubstr("b.yaml:6:11: devices[0].containerEdits.env[0]: invalid environment "
                        "variable"));
  EXPECT_THAT(error("cdiVersion: 0.5.0\nkind: vendor.com/gpu\ndevice: []\n"),
              HasSubstr("b.yaml:3:9: device: unknown field"));
  EXPECT_THAT(error("cdiVersion: 0.5.0\nkind: gpu\ndevices: []\n"),
              HasSubstr("b.yaml:2:7: kind: "));
  EXPECT_THAT(error("a: ["), HasSubstr("b.yaml:"));
  EXPECT_THAT(error(""), HasSubstr("want one CDI spec, this file has 0"));
}

TEST_F(SpecFiles, SayWhyTheyCannotBeRead) {
  const auto error = [](const std::string& file) {
    const auto read = read_spec_file(file);
    return read ? std::string() : to_string(read.error());
  };
  EXPECT_EQ(error(path("none.yaml")), path("none.yaml") + ": no such file or directory");
  EXPECT_EQ(error(root()), root() + ": is a directory");
  EXPECT_EQ(error("/dev/zero"), "/dev/zero: larger than 16 MiB");
}

TEST_F(SpecFiles, OfALaterDirectoryWin) {
  spec("etc/a.yaml", "etc");
  spec("run/a.yaml", "run");
  const std::vector<std::string> both{path("etc"), path("run")};
  EXPECT_EQ(from(read_spec_directories(both).registry), "FROM=run");
  const std::vector<std::string> absent{path("etc"), path("none")};
  EXPECT_EQ(from(read_spec_directories(absent).registry), "FROM=etc");
}

TEST_F(SpecFiles, ABrokenOneLeavesTheRest) {
  spec("etc/a.yaml", "a");
  write("etc/b.yaml", "kind: 3\n");
  write("etc/c.txt", "kind: 3\n");
  const std::vector<std::string> directories{path("etc")};
  const SpecDirectories found = read_spec_directories(directories);
  EXPECT_EQ(from(found.registry), "FROM=a");
  ASSERT_EQ(found.broken.size(), 1U);
  EXPECT_THAT(to_string(found.broken[0]), HasSubstr("b.yaml"));
}

TEST_F(SpecFiles, WhatIsNoFileAmongThemIsNotWaitedFor) {
  spec("etc/a.yaml", "a");
  std::filesystem::create_directories(path("etc/folder.yaml"));
  ASSERT_EQ(::mkfifo(path("etc/pipe.yaml").c_str(), 0600), 0);
  const std::vector<std::string> directories{path("etc")};
  const SpecDirectories found = read_spec_directories(directories);
  EXPECT_EQ(from(found.registry), "FROM=a");
  ASSERT_EQ(found.broken.size(), 1U);
  EXPECT_EQ(to_string(found.broken[0]), path("etc/pipe.yaml") + ": not a regular file");
}

TEST_F(SpecFiles, APathThatIsNoDirectoryIsTold) {
  const std::vector<std::string> directories{write("file", ""), path("none")};
  const SpecDirectories found = read_spec_directories(directories);
  ASSERT_EQ(found.broken.size(), 1U);
  EXPECT_EQ(to_string(found.broken[0]), path("file") + ": not a directory");
}

} // namespace
} // namespace berth::cdi
