#include "berth/runtime/cni/loopback_files.h"

#include <filesystem>
#include <fstream>
#include <iterator>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/api/json.h"
#include "berth/testing/temp_files.h"

namespace berth::runtime::cni {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

class Files : public test::TempFiles {
 protected:
  Directories where() const { return {.conf = path("net.d"), .bin = path("bin")}; }
  LoopbackFiles of(const std::string& owner, const std::string& program = "/bin/sh") const {
    return {owner, program};
  }
  std::string text(const std::string& name) const {
    std::ifstream in(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  std::vector<std::string> names(const std::string& folder) const {
    std::vector<std::string> found;
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(path(folder), none)) {
      found.push_back(entry.path().filename());
    }
    std::ranges::sort(found);
    return found;
  }
};

TEST_F(Files, AreAConfigurationAndItsPlugins) {
  const LoopbackFiles files = of("n1", "/opt/my tools/it's/berth");
  EXPECT_FALSE(files.installed(where()));
  ASSERT_TRUE(files.install(where()).has_value());
  EXPECT_TRUE(files.installed(where()));
  const auto conf = api::parse_json(text("net.d/zz-berth-loopback-n1.conflist"));
  ASSERT_TRUE(conf.has_value());
  EXPECT_EQ(api::to_json(*conf), R"({"cniVersion":"0.4.0","name":"berth-loopback",)"
                                 R"("plugins":[{"type":"berth-loopback"}]})");
  for (const std::string plugin : {"bin/berth-loopback", "bin/loopback"}) {
    EXPECT_THAT(text(plugin), AllOf(StartsWith("#!/bin/sh\n"),
                                    EndsWith("exec '/opt/my tools/it'\\''s/berth' cni-plugin\n")));
    EXPECT_EQ(static_cast<unsigned>(fs::status(path(plugin)).permissions()), 0755u);
  }
  ASSERT_TRUE(files.remove(where()).has_value());
  EXPECT_THAT(names("net.d"), IsEmpty());
  EXPECT_THAT(names("bin"), IsEmpty());
  EXPECT_TRUE(files.remove(where()).has_value()) << "what is not there need not go";
}

TEST_F(Files, OfOthersAreLeftAsTheyAre) {
  fs::create_directories(path("bin"));
  fs::create_directories(path("net.d"));
  write("bin/loopback", "an ELF file");
  write("net.d/10-real.conflist", "{}");
  write("net.d/zz-berth-loopback-n1.conflist", R"({"name": "a person's"})");
  const auto refused = of("n1").install(where());
  EXPECT_EQ(refused.error().code, Code::AlreadyExists);
  ASSERT_TRUE(of("n2").install(where()).has_value());
  EXPECT_EQ(text("bin/loopback"), "an ELF file");
  ASSERT_TRUE(of("n2").remove(where()).has_value());
  ASSERT_TRUE(of("n1").remove(where()).has_value());
  EXPECT_THAT(names("bin"), ElementsAre("loopback"));
  EXPECT_THAT(names("net.d"), ElementsAre("10-real.conflist", "zz-berth-loopback-n1.conflist"));
}

TEST_F(Files, OfSeveralAgentsAreEachTheirOwn) {
  ASSERT_TRUE(of("n1").install(where()).has_value());
  const std::string script = text("bin/berth-loopback");
  ASSERT_TRUE(of("n2", "/bin/cat").install(where()).has_value());
  EXPECT_EQ(text("bin/berth-loopback"), script) << "it works: they need not take turns at it";
  ASSERT_TRUE(of("n1").remove(where()).has_value());
  EXPECT_TRUE(loopback_in_force(where()));
  EXPECT_THAT(names("bin"), ElementsAre("berth-loopback", "loopback")) << "n2 needs them";
  ASSERT_TRUE(of("n2").remove(where()).has_value());
  EXPECT_FALSE(loopback_in_force(where()));
  EXPECT_THAT(names("bin"), IsEmpty());
}

TEST_F(Files, AreMendedWhenTheirProgramIsGone) {
  ASSERT_TRUE(of("n1", path("no-more/berth")).install(where()).has_value());
  ASSERT_TRUE(of("n1", "/bin/sh").install(where()).has_value());
  EXPECT_THAT(text("bin/berth-loopback"), HasSubstr("exec '/bin/sh' cni-plugin"));
  EXPECT_THAT(text("bin/loopback"), HasSubstr("exec '/bin/sh' cni-plugin"));
}

TEST_F(Files, AreInForceIfNoOtherConfigurationComesFirst) {
  EXPECT_FALSE(loopback_in_force(where()));
  ASSERT_TRUE(of("n1").install(where()).has_value());
  EXPECT_TRUE(loopback_in_force(where()));
  write("net.d/README", "no configuration");
  EXPECT_TRUE(loopback_in_force(where()));
  write("net.d/10-real.conf", "{}");
  EXPECT_FALSE(loopback_in_force(where()));
  EXPECT_THAT(configurations(where()),
              ElementsAre(path("net.d/10-real.conf"), path("net.d/zz-berth-loopback-n1.conflist")));
}

TEST_F(Files, AnErrorSaysWhereAndWhatToTry) {
  write("bin", "a file");
  EXPECT_THAT(of("n1").install(where()).error().message,
              AllOf(StartsWith("cannot make folder " + path("bin")), HasSubstr("--cni-bin-dir"),
                    HasSubstr("--network-without-cni host")));
}

} // namespace
} // namespace berth::runtime::cni
