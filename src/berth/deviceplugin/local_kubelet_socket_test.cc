#include "berth/deviceplugin/local_kubelet_socket.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/base/virtual_loop.h"

namespace berth::deviceplugin {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class Kubelet final : public Registration {
 public:
  void register_plugin(RegisterRequest request, Done<void> done) override {
    registered.push_back(request.resource_name);
    done({});
  }
  std::vector<std::string> registered;
};

class Socket : public ::testing::Test {
 protected:
  void run() { loop_.run_until(loop_.now() + Duration::seconds(1)); }
  Result<void> send(std::string resource) {
    std::optional<Result<void>> answer;
    socket_.register_plugin({.resource_name = std::move(resource)},
                            [&](Result<void> said) { answer = std::move(said); });
    EXPECT_FALSE(answer) << "a later task";
    run();
    return answer.value();
  }

  VirtualLoop loop_{TimePoint::from_unix_seconds(1)};
  LocalKubeletSocket socket_{loop_};
  Kubelet kubelet_;
};

TEST_F(Socket, CarriesARequestToWhoeverListens) {
  const auto listening = socket_.listen(kubelet_).value();
  EXPECT_TRUE(send("a.com/x"));
  EXPECT_THAT(kubelet_.registered, ElementsAre("a.com/x"));
}

TEST_F(Socket, RefusesWhileNobodyListens) {
  const auto refused = send("a.com/x");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::Unavailable);
  auto listening = socket_.listen(kubelet_).value();
  listening.reset();
  EXPECT_FALSE(send("a.com/x"));
  EXPECT_THAT(kubelet_.registered, IsEmpty());
}

TEST_F(Socket, ARequestThatIsUnderWayMeetsWhoListensWhenItArrives) {
  bool answered = false;
  socket_.register_plugin({.resource_name = "a.com/x"},
                          [&](const Result<void>& said) { answered = said.has_value(); });
  const auto listening = socket_.listen(kubelet_).value();
  run();
  EXPECT_TRUE(answered);
}

TEST_F(Socket, EveryListenerIsAnnounced) {
  int announced = 0;
  const auto watching = socket_.watch([&] { ++announced; });
  run();
  EXPECT_EQ(announced, 0);
  auto listening = socket_.listen(kubelet_).value();
  EXPECT_EQ(announced, 0) << "a later task";
  run();
  EXPECT_EQ(announced, 1);
  listening.reset();
  listening = socket_.listen(kubelet_).value();
  run();
  EXPECT_EQ(announced, 2);
}

TEST_F(Socket, WhoComesLateIsToldToo) {
  const auto listening = socket_.listen(kubelet_).value();
  int announced = 0;
  auto watching = socket_.watch([&] { ++announced; });
  run();
  EXPECT_EQ(announced, 1);
  watching.reset();
  const auto again = socket_.listen(kubelet_).value();
  run();
  EXPECT_EQ(announced, 1);
}

TEST_F(Socket, ALaterListenerTakesOver) {
  Kubelet second;
  auto first_listens = socket_.listen(kubelet_).value();
  const auto second_listens = socket_.listen(second).value();
  EXPECT_TRUE(send("a.com/x"));
  // The end of the first does not end the second.
  first_listens.reset();
  EXPECT_TRUE(send("a.com/y"));
  EXPECT_THAT(kubelet_.registered, IsEmpty());
  EXPECT_THAT(second.registered, ElementsAre("a.com/x", "a.com/y"));
}

} // namespace
} // namespace berth::deviceplugin
