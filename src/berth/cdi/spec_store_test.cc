#include "berth/cdi/spec_store.h"

#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/api/yaml.h"
#include "berth/testing/temp_files.h"

namespace berth::cdi {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Spec spec(std::string_view mark) {
  return {.cdi_version = "0.5.0",
          .kind = "vendor.com/gpu",
          .devices = {{.name = "0", .edits = {.env = {fmt::format("FROM={}", mark)}}}}};
}

class SpecStores : public test::TempFiles {
 protected:
  Result<Spec> read(const std::string& name) {
    std::ifstream in(path(name));
    std::stringstream text;
    text << in.rdbuf();
    BERTH_TRY(const auto documents, api::parse_yaml(text.str(), name));
    return documents.empty() ? fail(Code::NotFound, "empty")
                             : parse_spec(documents.front().value, name);
  }
  std::vector<std::string> files() {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(root())) {
      names.push_back(entry.path().filename().string());
    }
    std::ranges::sort(names);
    return names;
  }
};

TEST_F(SpecStores, ADirectoryHoldsWhatWasPutLast) {
  DirectoryStore store(root());
  for (const char* name : {"vendor.com-gpu.json", "vendor.com-gpu.yaml"}) {
    ASSERT_TRUE(store.put(name, spec("a")));
    ASSERT_TRUE(store.put(name, spec("b")));
    EXPECT_EQ(read(name), spec("b"));
  }
  EXPECT_THAT(files(), ElementsAre("vendor.com-gpu.json", "vendor.com-gpu.yaml"))
      << "nothing is left beside them";
  ASSERT_TRUE(store.remove("vendor.com-gpu.json"));
  EXPECT_TRUE(store.remove("vendor.com-gpu.json")) << "it is not there, as wanted";
  EXPECT_THAT(files(), ElementsAre("vendor.com-gpu.yaml"));
}

TEST_F(SpecStores, AMissingDirectoryIsMade) {
  DirectoryStore store(path("var/run/cdi"));
  ASSERT_TRUE(store.put("a.json", spec("a")));
  EXPECT_EQ(read("var/run/cdi/a.json"), spec("a"));
}

TEST_F(SpecStores, WhatBreaksTheRulesIsNotWritten) {
  DirectoryStore store(root());
  ASSERT_TRUE(store.put("a.json", spec("a")));
  Spec broken = spec("b");
  broken.devices.clear();
  EXPECT_EQ(store.put("a.json", broken).error().code, Code::Invalid);
  EXPECT_EQ(read("a.json"), spec("a"));
}

TEST_F(SpecStores, FilesOutsideOfTheDirectoryAreRefused) {
  DirectoryStore store(path("cdi"));
  for (const char* name : {"../a.json", "/etc/a.json", ".a.json", "a.txt", ""}) {
    EXPECT_EQ(store.put(name, spec("a")).error().code, Code::Invalid) << name;
    EXPECT_EQ(store.remove(name).error().code, Code::Invalid) << name;
  }
}

TEST_F(SpecStores, ADirectoryThatCannotBeIsNamed) {
  DirectoryStore store(write("file", "") + "/cdi");
  const auto put = store.put("a.json", spec("a"));
  ASSERT_FALSE(put);
  EXPECT_EQ(put.error().code, Code::Unavailable);
  EXPECT_THAT(put.error().message, HasSubstr("file/cdi"));
}

// A file may grow to so many bytes in this process and no further, as on a full disk.
class SmallFiles {
 public:
  explicit SmallFiles(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit small{.rlim_cur = bytes, .rlim_max = before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &small);
  }
  ~SmallFiles() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    (void)std::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_{};
  void (*handler_)(int);
};

TEST_F(SpecStores, AFullDiskLeavesTheOldSpecAndNoHalfOne) {
  DirectoryStore store(root());
  ASSERT_TRUE(store.put("a.json", spec("old")));
  {
    const SmallFiles full(16);
    const auto put = store.put("a.json", spec("new"));
    ASSERT_FALSE(put);
    EXPECT_EQ(put.error().code, Code::Unavailable);
    EXPECT_THAT(put.error().message, HasSubstr("cannot write"));
  }
  EXPECT_EQ(read("a.json"), spec("old"));
  EXPECT_THAT(files(), ElementsAre("a.json"));
}

TEST_F(SpecStores, ASimulatedMachinesSpecsAreDynamic) {
  Registry registry;
  RegistryStore store(registry);
  ASSERT_TRUE(registry.put("static", Registry::kStatic, spec("static")));
  ASSERT_TRUE(store.put("a.json", spec("a")));
  EXPECT_THAT(registry.find("vendor.com/gpu=0").device->edits.env, ElementsAre("FROM=a"));
  ASSERT_TRUE(store.remove("a.json"));
  EXPECT_THAT(registry.find("vendor.com/gpu=0").device->edits.env, ElementsAre("FROM=static"));
}

} // namespace
} // namespace berth::cdi
