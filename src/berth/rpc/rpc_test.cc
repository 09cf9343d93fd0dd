// Client and server over a real unix socket.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/net/asio_loop.h"
#include "berth/rpc/channel.h"
#include "berth/rpc/server.h"
#include "berth/testing/temp_files.h"

namespace berth::rpc {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class Rpc : public test::TempFiles {
 protected:
  void SetUp() override {
    TempFiles::SetUp();
    socket = path("s");
  }
  void serve(Methods methods, ServerOptions options = {}) {
    auto listening = Server::listen(loop, socket, std::move(methods), options);
    ASSERT_TRUE(listening.has_value()) << to_string(listening.error());
    server = *std::move(listening);
  }
  static Methods echo() {
    Methods methods;
    methods.unary["/test.Echo/Say"] = [](std::string request, const Respond& respond) {
      respond(std::move(request));
    };
    methods.unary["/test.Echo/Refuse"] = [](const std::string&, const Respond& respond) {
      respond(fail(Code::NotFound, "no such thing"));
    };
    return methods;
  }
  Result<std::string> call(Channel& channel, const std::string& method, std::string request,
                           CallOptions options = {}) {
    std::optional<Result<std::string>> got;
    channel.unary(method, std::move(request), options, [&](Result<std::string> answer) {
      got = std::move(answer);
      loop.stop();
    });
    EXPECT_FALSE(got.has_value()) << "never inside the call";
    loop.run();
    return *std::move(got);
  }

  std::string socket;
  net::AsioLoop loop;
  std::unique_ptr<Server> server;
};

TEST_F(Rpc, AnswersComeBackAsTheyWereGiven) {
  serve(echo());
  Channel channel(loop, "unix://" + socket);
  EXPECT_EQ(call(channel, "/test.Echo/Say", std::string("a\0b", 3)).value(),
            std::string("a\0b", 3));
  EXPECT_EQ(call(channel, "/test.Echo/Say", "").value(), "");
  const std::string large(1'000'000, 'x');
  EXPECT_EQ(call(channel, "/test.Echo/Say", large).value(), large);
}

TEST_F(Rpc, ErrorsKeepTheirCodeAndText) {
  serve(echo());
  Channel channel(loop, socket);
  const auto refused = call(channel, "/test.Echo/Refuse", "x");
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Code::NotFound);
  EXPECT_EQ(refused.error().message, "no such thing");
  const auto unknown = call(channel, "/test.Echo/Nothing", "x");
  ASSERT_FALSE(unknown.has_value());
  EXPECT_EQ(unknown.error().code, Code::BadRequest);
}

TEST_F(Rpc, ALargeMessageIsRefusedAndTheServerGoesOn) {
  serve(echo(), {.largest_message = 1000});
  Channel channel(loop, socket);
  EXPECT_EQ(call(channel, "/test.Echo/Say", std::string(2000, 'x')).error().code,
            Code::TooManyRequests);
  EXPECT_TRUE(call(channel, "/test.Echo/Say", "small").has_value());
}

TEST_F(Rpc, NobodyListeningIsUnavailableAtOnceOrWaitedFor) {
  Channel channel(loop, socket);
  EXPECT_EQ(call(channel, "/test.Echo/Say", "x").error().code, Code::Unavailable);
  EXPECT_EQ(call(channel, "/test.Echo/Say", "x",
                 {.timeout = Duration::millis(50), .absent = CallOptions::Absent::Wait})
                .error()
                .code,
            Code::Timeout);
  std::optional<Result<std::string>> got;
  channel.unary("/test.Echo/Say", "later", {.absent = CallOptions::Absent::Wait},
                [&](Result<std::string> answer) {
                  got = std::move(answer);
                  loop.stop();
                });
  serve(echo());
  loop.run();
  EXPECT_EQ(got->value(), "later");
}

TEST_F(Rpc, AnAnswerThatNeverComesEndsWithTheTimeoutOrTheServer) {
  Methods methods;
  std::vector<Respond> kept;
  methods.unary["/test.Slow/Say"] = [&](const std::string&, const Respond& respond) {
    kept.push_back(respond);
  };
  serve(std::move(methods));
  Channel channel(loop, socket);
  EXPECT_EQ(call(channel, "/test.Slow/Say", "x", {.timeout = Duration::millis(50)}).error().code,
            Code::Timeout);
  std::optional<Result<std::string>> got;
  channel.unary("/test.Slow/Say", "x", {}, [&](Result<std::string> answer) {
    got = std::move(answer);
    loop.stop();
  });
  const std::size_t before = kept.size();
  while (kept.size() == before) {
    loop.run_for(Duration::millis(1));
  }
  server.reset();
  loop.run();
  EXPECT_EQ(got->error().code, Code::Unavailable);
  kept.back()(std::string("too late")); // and nothing comes of it
}

/// A stream that says what it is told, and tells when its client has gone.
struct Talker {
  std::shared_ptr<Sink> sink;
  std::weak_ptr<int> held;
  Methods methods() {
    Methods methods;
    methods.streams["/test.Talk/Listen"] = [this](const std::string& request,
                                                  std::shared_ptr<Sink> its_sink) {
      sink = std::move(its_sink);
      sink->send("hello " + request);
      auto kept = std::make_shared<int>(0);
      held = kept;
      return kept;
    };
    return methods;
  }
};

TEST_F(Rpc, AStreamTellsInOrderUntilItsEnd) {
  Talker talker;
  serve(talker.methods());
  Channel channel(loop, socket);
  std::vector<std::string> heard;
  std::optional<Result<void>> ended;
  const auto stream = channel.stream(
      "/test.Talk/Listen", "you",
      [&](std::string message) {
        heard.push_back(std::move(message));
        if (heard.size() == 1) {
          talker.sink->send("b");
          talker.sink->send("c");
          talker.sink->finish({});
          talker.sink->send("d");
        }
      },
      [&](Result<void> end) {
        ended = std::move(end);
        loop.stop();
      });
  loop.run();
  EXPECT_THAT(heard, ElementsAre("hello you", "b", "c"));
  EXPECT_TRUE(ended->has_value());
  EXPECT_TRUE(talker.held.expired());
}

TEST_F(Rpc, AStreamEndsWithTheErrorThatTheServerGave) {
  Talker talker;
  serve(talker.methods());
  Channel channel(loop, socket);
  std::optional<Result<void>> ended;
  const auto stream = channel.stream(
      "/test.Talk/Listen", "you",
      [&](const std::string&) { talker.sink->finish(fail(Code::Conflict, "enough")); },
      [&](Result<void> end) {
        ended = std::move(end);
        loop.stop();
      });
  loop.run();
  EXPECT_EQ(ended->error().message, "enough");
}

TEST_F(Rpc, WhoDropsAStreamHearsNothingMoreAndTheServerIsTold) {
  Talker talker;
  serve(talker.methods());
  Channel channel(loop, socket);
  int heard = 0;
  std::unique_ptr<Stream> stream;
  stream = channel.stream(
      "/test.Talk/Listen", "you",
      [&](const std::string&) {
        ++heard;
        talker.sink->send("more");
        stream.reset();
      },
      [&](const Result<void>&) { ADD_FAILURE() << "ended"; });
  while (heard == 0 || !talker.held.expired()) {
    loop.run_for(Duration::millis(1));
  }
  EXPECT_EQ(heard, 1);
}

TEST_F(Rpc, AStreamOfAServerThatGoesIsUnavailable) {
  Talker talker;
  serve(talker.methods());
  Channel channel(loop, socket);
  std::optional<Result<void>> ended;
  const auto stream = channel.stream(
      "/test.Talk/Listen", "you", [&](const std::string&) { server.reset(); },
      [&](Result<void> end) {
        ended = std::move(end);
        loop.stop();
      });
  loop.run();
  EXPECT_EQ(ended->error().code, Code::Unavailable);
}

TEST_F(Rpc, AChannelThatGoesTakesItsCallsWithIt) {
  Talker talker;
  Methods methods = talker.methods();
  bool asked = false;
  methods.unary["/test.Slow/Say"] = [&](const std::string&, const Respond&) { asked = true; };
  serve(std::move(methods));
  auto channel = std::make_unique<Channel>(loop, socket);
  channel->unary("/test.Slow/Say", "x", {},
                 [](const Result<std::string>&) { ADD_FAILURE() << "answered"; });
  const auto stream = channel->stream(
      "/test.Talk/Listen", "you", [](const std::string&) {},
      [](const Result<void>&) { ADD_FAILURE() << "ended"; });
  while (!asked || talker.held.expired()) {
    loop.run_for(Duration::millis(1));
  }
  channel.reset();
  while (!talker.held.expired()) {
    loop.run_for(Duration::millis(1));
  }
}

TEST_F(Rpc, AServerInThePlaceOfADeadOneIsFoundBySameChannel) {
  serve(echo());
  Channel channel(loop, socket);
  ASSERT_TRUE(call(channel, "/test.Echo/Say", "x").has_value());
  server.reset();
  serve(echo());
  // What is sent before the old connection is known to be dead goes down with it.
  const CallOptions patient{.timeout = Duration::seconds(10), .absent = CallOptions::Absent::Wait};
  Result<std::string> answer = fail(Code::Unavailable, "not asked yet");
  for (int i = 0; i < 10 && !answer && answer.error().code == Code::Unavailable; ++i) {
    answer = call(channel, "/test.Echo/Say", "again", patient);
  }
  EXPECT_EQ(answer.value(), "again");
}

TEST_F(Rpc, ASocketHasToBePossible) {
  const auto at = [&](const std::string& path) {
    const auto server_there = Server::listen(loop, path, echo());
    return server_there ? std::string() : server_there.error().message;
  };
  EXPECT_THAT(at(path(std::string(120, 'x'))), HasSubstr("at most 107"));
  EXPECT_THAT(at(path("missing/x.sock")), HasSubstr("no directory"));
  const std::string file = write("plain", "text");
  EXPECT_THAT(at(file), HasSubstr("something else has that name"));
}

} // namespace
} // namespace berth::rpc
