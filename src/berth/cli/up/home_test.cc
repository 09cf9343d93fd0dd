// The folder of a lasting cluster: who holds it, and what is in it.
#include "berth/cli/up/home.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "berth/cli/up/identity.h"

namespace berth::cli {
namespace {

using testing::HasSubstr;

class Homes : public testing::Test {
 protected:
  void SetUp() override {
    home.folder = std::filesystem::path(testing::TempDir()) /
                  testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(home.folder);
    ASSERT_TRUE(make_folders(home));
  }
  void TearDown() override { std::filesystem::remove_all(home.folder); }
  static unsigned mode_of(const std::filesystem::path& path) {
    struct stat facts {};
    return ::stat(path.c_str(), &facts) == 0 ? facts.st_mode & 0777U : 0U;
  }

  Home home;
  TimePoint now = TimePoint::from_unix_seconds(1'700'000'000);
};

TEST_F(Homes, OneProcessHoldsIt) {
  EXPECT_FALSE(running_at(home).has_value());
  {
    auto lock = HomeLock::take(home);
    ASSERT_TRUE(lock.has_value()) << to_string(lock.error());
    ASSERT_TRUE(lock->tell({.pid = 42, .url = "https://127.0.0.1:1"}));
    const auto second = HomeLock::take(home);
    ASSERT_FALSE(second.has_value());
    EXPECT_THAT(second.error().message, HasSubstr("https://127.0.0.1:1 (process 42)"));
    const auto running = running_at(home);
    ASSERT_TRUE(running.has_value());
    EXPECT_EQ(running->pid, 42) << "the one turned away has changed nothing";
  }
  EXPECT_FALSE(running_at(home).has_value());
  EXPECT_TRUE(HomeLock::take(home).has_value());
}

TEST_F(Homes, PrivateFilesAreTheOwnersAlone) {
  ASSERT_TRUE(write_private(home.pki() / "key", "secret"));
  ASSERT_TRUE(write_private(home.pki() / "key", "other"));
  EXPECT_EQ(mode_of(home.pki() / "key"), 0600U);
  EXPECT_EQ(mode_of(home.pki()), 0700U);
  std::ifstream in(home.pki() / "key");
  std::string text;
  in >> text;
  EXPECT_EQ(text, "other");
}

TEST_F(Homes, CertificatesAreMadeOnce) {
  const auto first = identity_of(home, "127.0.0.1", now);
  ASSERT_TRUE(first.has_value()) << to_string(first.error());
  const auto again = identity_of(home, "127.0.0.1", now);
  EXPECT_EQ(again->authority.certificate, first->authority.certificate);
  EXPECT_EQ(again->server.certificate, first->server.certificate);
  EXPECT_EQ(mode_of(home.pki() / "ca.key"), 0600U);
  const auto elsewhere = identity_of(home, "10.0.0.1", now);
  EXPECT_EQ(elsewhere->admin.certificate, first->admin.certificate);
  EXPECT_NE(elsewhere->server.certificate, first->server.certificate);
}

TEST_F(Homes, AKeyThatCannotBeReadIsNotMadeAnew) {
  const auto first = identity_of(home, "127.0.0.1", now);
  ASSERT_TRUE(first.has_value());
  std::filesystem::remove(home.pki() / "ca.key");
  std::filesystem::create_directory(home.pki() / "ca.key"); // for a root who may read every file
  const auto again = identity_of(home, "127.0.0.1", now);
  ASSERT_FALSE(again.has_value());
  EXPECT_NE(to_string(again.error()).find("ca.key: is a directory"), std::string::npos)
      << to_string(again.error());
  EXPECT_EQ(read_key_file(home, "ca.crt"), first->authority.certificate);
}

TEST(Home, IsNamedByTheEnvironment) {
  const auto with = [](std::optional<std::string> own, std::optional<std::string> user) {
    return home_of(
        [=](const char* name) { return std::string_view(name) == "BERTH_HOME" ? own : user; });
  };
  EXPECT_EQ(with("/x", "/home/u")->folder, "/x");
  EXPECT_EQ(with({}, "/home/u")->folder, "/home/u/.berth");
  EXPECT_FALSE(with({}, {}).has_value());
}

} // namespace
} // namespace berth::cli
