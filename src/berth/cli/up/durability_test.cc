// A write that was answered is kept: the serving process is killed again and again while eight
// writers are at it, and every object that was acknowledged is there afterwards.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <iterator>
#include <set>

#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/cli/up/up_process.h"
#include "berth/net/http_client.h"

namespace berth::cli {
namespace {

constexpr int kRounds = 20;
constexpr int kWriters = 8;
constexpr int kAnswersARound = 150;
constexpr const char* kMaps = "/api/v1/namespaces/default/configmaps";

std::string text_of(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

class Durability : public testing::Test {
 protected:
  void SetUp() override {
    home.folder = std::filesystem::path(testing::TempDir()) / "durability";
    std::filesystem::remove_all(home.folder);
  }
  void TearDown() override {
    stop();
    std::filesystem::remove_all(home.folder);
  }

  /// Starts the process and waits until it answers.
  void start() {
    child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL); // never outlives the test
      const auto served = serve_cluster(
          {.home = home, .port = 0, .api_alone = true}, [] { return false; },
          [](const UpReady&) {});
      std::fputs((to_string(served.error()) + "\n").c_str(), stderr);
      ::_exit(1);
    }
    for (int tenth = 0; tenth < 600; ++tenth) {
      const auto running = running_at(home);
      if (running && running->pid == child) {
        url = *net::HttpUrl::parse(running->url);
        return;
      }
      ::poll(nullptr, 0, 50);
    }
    FAIL() << "it does not come up";
  }
  void stop() {
    if (child > 0) {
      ::kill(child, SIGKILL);
      ::waitpid(child, nullptr, 0);
      child = 0;
    }
  }

  net::HttpClientOptions options() const {
    net::HttpClientOptions with{.idle_connections = kWriters};
    with.tls = *net::TlsContext::client({.ca = text_of(home.pki() / "ca.crt"),
                                         .certificate = text_of(home.pki() / "admin.crt"),
                                         .key = text_of(home.pki() / "admin.key")});
    return with;
  }

  /// Writes until enough is answered, then kills the process under the writers' hands.
  void write_and_kill(int round) {
    net::AsioLoop loop;
    net::HttpClient client(loop, options());
    int next = 0;
    int answered = 0;
    int silent = 0;
    std::function<void()> write = [&] {
      const std::string name = fmt::format("r{}-{}", round, next++);
      client.send(
          url,
          {.method = "POST",
           .target = kMaps,
           .headers = {{"Content-Type", "application/json"}},
           .body = fmt::format(
               R"({{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{}"}}}})", name)},
          [&, name](const Result<net::HttpResponse>& answer) {
            if (answer && answer->status == 201) {
              acknowledged.insert(name);
              if (++answered == kAnswersARound) {
                ::kill(child, SIGKILL);
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
    stop();
    EXPECT_GE(answered, kAnswersARound);
  }

  std::set<std::string> stored() const {
    net::BlockingHttpClient client(options());
    const auto answer = client.send(url, {.target = kMaps});
    std::set<std::string> names;
    if (const auto list = answer ? api::parse_json(answer->body)
                                 : Result<api::json::value>(tl::unexpected(answer.error()))) {
      for (const auto& item : api::find(*list, "items")->as_array()) {
        names.emplace(api::string_at(item, "metadata.name"));
      }
    }
    return names;
  }

  Home home;
  net::HttpUrl url;
  pid_t child = 0;
  std::set<std::string> acknowledged;
};

TEST_F(Durability, WhatWasAnsweredSurvivesAKill) {
  for (int round = 0; round < kRounds; ++round) {
    start();
    const std::set<std::string> found = stored();
    EXPECT_TRUE(std::ranges::includes(found, acknowledged)) << "after round " << round;
    write_and_kill(round);
  }
  start();
  EXPECT_TRUE(std::ranges::includes(stored(), acknowledged));
  EXPECT_GE(acknowledged.size(), std::size_t{kRounds} * kAnswersARound);
}

} // namespace
} // namespace berth::cli
