// A write that was answered is kept: the serving process is killed again and again while eight
// writers are at it, and every object that was acknowledged is there afterwards. A full disk
// refuses writes, keeps what it had, and takes writes again once there is room.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/cli/up/served_fixture.h"
#include "berth/store/snapshot.h"

namespace berth::cli {
namespace {

constexpr int kWriters = 8;
constexpr int kAnswersARound = 150;
constexpr const char* kMaps = "/api/v1/namespaces/default/configmaps";

/// BERTH_KILLS of them, a few unless it says otherwise.
int rounds() {
  const char* told = std::getenv("BERTH_KILLS");
  return told == nullptr ? 5 : std::max(1, std::atoi(told));
}

net::HttpRequest creating(const std::string& name, const std::string& value = "") {
  return {
      .method = "POST",
      .target = kMaps,
      .headers = {{"Content-Type", "application/json"}},
      .body = fmt::format(
          R"({{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{}"}},"data":{{"a":"{}"}}}})",
          name, value)};
}

class Durability : public testing::Test {
 protected:
  void SetUp() override {
    home.folder = std::filesystem::path(testing::TempDir()) / "durability";
    std::filesystem::remove_all(home.folder);
  }
  void TearDown() override {
    served.reset();
    std::filesystem::remove_all(home.folder);
  }

  void start() {
    served.emplace(UpOptions{.home = home, .api_alone = true});
    ASSERT_TRUE(served->start()) << "it does not come up";
  }

  /// Writes until enough is answered, then kills the process under the writers' hands.
  void write_and_kill(int round) {
    net::AsioLoop loop;
    net::HttpClient client(loop, served->client_options(kWriters));
    int next = 0;
    int answered = 0;
    int silent = 0;
    std::function<void()> write = [&] {
      const std::string name = fmt::format("r{}-{}", round, next++);
      client.send(served->url(), creating(name),
                  [&, name](const Result<net::HttpResponse>& answer) {
                    if (answer && answer->status == 201) {
                      acknowledged.insert(name);
                      if (++answered == kAnswersARound) {
                        served->kill();
                      }
                      write();
                    } else if (++silent == kWriters) {
                      loop.stop();
                    }
                  });
    };
    for (int i = 0; i < kWriters; ++i) {
      write();
    }
    loop.run();
    EXPECT_GE(answered, kAnswersARound);
  }

  net::HttpResponse ask(const net::HttpRequest& request) const {
    net::BlockingHttpClient client(served->client_options(1));
    auto answer = client.send(served->url(), request);
    EXPECT_TRUE(answer.has_value()) << (answer ? "" : to_string(answer.error()));
    return answer.value_or(net::HttpResponse{.status = 0});
  }

  std::set<std::string> stored() const {
    std::set<std::string> names;
    if (const auto list = api::parse_json(ask({.target = kMaps}).body)) {
      for (const auto& item : api::find(*list, "items")->as_array()) {
        names.emplace(api::string_at(item, "metadata.name"));
      }
    }
    return names;
  }

  Home home;
  std::optional<test::ServedProcess> served;
  std::set<std::string> acknowledged;
};

TEST_F(Durability, WhatWasAnsweredSurvivesAKill) {
  const int kills = rounds();
  for (int round = 0; round < kills; ++round) {
    start();
    EXPECT_TRUE(std::ranges::includes(stored(), acknowledged)) << "after round " << round;
    write_and_kill(round);
  }
  start();
  EXPECT_TRUE(std::ranges::includes(stored(), acknowledged));
  EXPECT_GE(acknowledged.size(), static_cast<std::size_t>(kills) * kAnswersARound);
}

TEST_F(Durability, ASnapshotOfARunningClusterHasWhatWasAnswered) {
  start();
  for (const char* name : {"a", "b"}) {
    ASSERT_EQ(ask(creating(name)).status, 201);
    acknowledged.insert(name);
  }
  const std::string file = (home.folder / "saved").string();
  const auto saved = store::save_snapshot(home.database().string(), {}, file);
  ASSERT_TRUE(saved.has_value()) << to_string(saved.error());
  ASSERT_EQ(ask(creating("later")).status, 201);
  EXPECT_FALSE(store::restore_snapshot(file, home.database().string()).has_value());
  served.reset();
  const auto restored = store::restore_snapshot(file, home.database().string());
  ASSERT_TRUE(restored.has_value()) << to_string(restored.error());
  start();
  const std::set<std::string> found = stored();
  EXPECT_TRUE(std::ranges::includes(found, acknowledged));
  EXPECT_FALSE(found.contains("later"));
  // A watch from before starts over.
  const auto watch = ask({.target = fmt::format("{}?watch=1&timeoutSeconds=1&resourceVersion={}",
                                                kMaps, saved->revision)});
  EXPECT_THAT(watch.body, testing::HasSubstr("\"code\":410"));
}

/// The most bytes that a file of a process may have: a full disk, as far as it can tell.
void limit_files(pid_t process, rlim_t bytes) {
  const rlimit limit{.rlim_cur = bytes, .rlim_max = RLIM_INFINITY};
  ASSERT_EQ(::prlimit(process, RLIMIT_FSIZE, &limit, nullptr), 0);
}

TEST_F(Durability, AFullDiskRefusesWritesAndKeepsWhatItHad) {
  std::signal(SIGXFSZ, SIG_IGN); // the process inherits it: a write beyond the limit fails
  start();
  const std::string large(200'000, 'x');
  std::set<std::string> refused;
  limit_files(served->pid(), rlim_t{4} * 1024 * 1024);
  for (int i = 0; i < 60; ++i) {
    const std::string name = fmt::format("m{}", i);
    const net::HttpResponse answer = ask(creating(name, large));
    (answer.status == 201 ? acknowledged : refused).insert(name);
    if (answer.status != 201) {
      EXPECT_EQ(answer.status, 500);
      EXPECT_THAT(answer.body, testing::HasSubstr("make room on the disk"));
    }
  }
  ASSERT_FALSE(acknowledged.empty());
  ASSERT_FALSE(refused.empty());
  EXPECT_EQ(stored().size(), acknowledged.size() + (stored().contains("kube-root-ca.crt") ? 1 : 0));

  limit_files(served->pid(), RLIM_INFINITY);
  net::HttpResponse answer;
  for (int i = 0; i < 100 && answer.status != 201; ++i) { // room is looked for once a second
    answer = ask(creating(fmt::format("after{}", i)));
    if (answer.status == 201) {
      acknowledged.insert(fmt::format("after{}", i));
    } else {
      ::poll(nullptr, 0, 50);
    }
  }
  EXPECT_EQ(answer.status, 201);
  served.reset();
  start();
  const std::set<std::string> found = stored();
  EXPECT_TRUE(std::ranges::includes(found, acknowledged));
  for (const std::string& name : refused) {
    EXPECT_FALSE(found.contains(name)) << name;
  }
}

} // namespace
} // namespace berth::cli
