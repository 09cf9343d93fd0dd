// Answers that come piece by piece, over real loopback sockets.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/net/http_client.h"
#include "berth/net/http_server.h"

namespace berth::net {
namespace {

using testing::HasSubstr;

class HttpStreams : public testing::Test {
 protected:
  void serve(std::size_t stream_bytes = 1024) {
    HttpServerOptions options;
    options.stream_bytes = stream_bytes;
    auto listening = HttpServer::listen(
        loop, std::move(options), [this](const HttpRequest& request, const HttpRespond& respond) {
          const std::string request_path(request.path());
          if (request_path != "/stream" && request_path != "/short") {
            respond(text_response(404, "nothing here"));
            return;
          }
          HttpResponse response = json_response(200, "");
          response.stream = [this, request_path](std::shared_ptr<HttpStream> given) {
            stream = std::move(given);
            stream->on_gone([this] {
              gone = true;
              loop.stop();
            });
            stream->send("first ");
            if (request_path == "/short") {
              stream->end();
            }
          };
          respond(std::move(response));
        });
    ASSERT_TRUE(listening.has_value());
    server = *std::move(listening);
    url = *HttpUrl::parse("http://127.0.0.1:" + std::to_string(server->port()));
  }
  /// Runs until `text` is the body so far, or the answer has ended.
  void open(std::string target, std::optional<Duration> silence = {}) {
    call = client.stream(url, {.target = std::move(target)},
                         {.head = [this](const HttpResponse& head) { status = head.status; },
                          .piece =
                              [this](std::string_view piece) {
                                body += piece;
                                loop.stop();
                              },
                          .end =
                              [this](Result<void> how) {
                                ended = std::move(how);
                                loop.stop();
                              }},
                         silence);
  }

  AsioLoop loop;
  HttpClient client{loop};
  std::unique_ptr<HttpServer> server;
  HttpUrl url;
  std::shared_ptr<HttpStream> stream;
  std::unique_ptr<HttpStreamCall> call;
  int status = 0;
  std::string body;
  std::optional<Result<void>> ended;
  bool gone = false;
};

TEST_F(HttpStreams, PiecesArriveAsTheyAreSent) {
  serve();
  open("/stream");
  loop.run();
  EXPECT_EQ(status, 200);
  EXPECT_EQ(body, "first ");
  stream->send("second ");
  loop.run();
  EXPECT_EQ(body, "first second ");
  EXPECT_FALSE(ended.has_value());
  stream->send("third");
  stream->end();
  stream->send("dropped");
  while (!ended) {
    loop.run();
  }
  EXPECT_EQ(body, "first second third");
  EXPECT_TRUE(ended->has_value());
  EXPECT_FALSE(gone);
}

TEST_F(HttpStreams, OtherAnswersAreWholeToo) {
  serve();
  open("/elsewhere");
  while (!ended) {
    loop.run();
  }
  EXPECT_EQ(status, 404);
  EXPECT_EQ(body, "nothing here\n");
}

TEST_F(HttpStreams, AWriterHearsWhenNothingWaitsAnyMore) {
  serve();
  open("/stream");
  loop.run();
  bool room = false;
  stream->on_room([&] {
    room = true;
    stream->on_room(nullptr);
  });
  stream->send("second ");
  stream->send("third");
  while (!room || body != "first second third") {
    loop.run_for(Duration::millis(1));
  }
  EXPECT_EQ(stream->waiting(), 0U);
}

TEST_F(HttpStreams, AReaderThatPausesGetsTheRestLater) {
  serve();
  open("/stream");
  loop.run();
  call->pause();
  call->pause();
  stream->send("second ");
  stream->end();
  while (server->connections() > 0 && stream->waiting() > 0) {
    loop.run_for(Duration::millis(1));
  }
  const std::string held = body;
  call->resume();
  call->resume();
  while (!ended) {
    loop.run();
  }
  EXPECT_EQ(held, "first ");
  EXPECT_EQ(body, "first second ");
  EXPECT_TRUE(ended->has_value());
}

TEST_F(HttpStreams, TheServerLearnsThatItsReaderHasGone) {
  serve();
  open("/stream");
  loop.run();
  call = nullptr;
  loop.run();
  EXPECT_TRUE(gone);
  stream->send("to nobody");
  EXPECT_EQ(stream->waiting(), 0U);
}

TEST_F(HttpStreams, AServerThatDrainsEndsWithItsLastAnswer) {
  serve();
  open("/stream");
  loop.run();
  server->drain();
  EXPECT_EQ(server->connections(), 1U) << "its answer goes on";
  HttpClient other{loop};
  std::optional<Result<HttpResponse>> late;
  other.send(url, {.target = "/elsewhere"}, [&](Result<HttpResponse> answer) {
    late = std::move(answer);
    loop.stop();
  });
  while (!late) {
    loop.run();
  }
  EXPECT_FALSE(late->has_value()) << "nobody listens any more";
  stream->send("last");
  stream->end();
  while (!ended || server->connections() > 0) {
    loop.run_for(Duration::millis(1));
  }
  EXPECT_EQ(body, "first last");
  EXPECT_NE(server->port(), 0);
}

TEST_F(HttpStreams, ADrainedServerClosesWhatWaits) {
  serve();
  open("/elsewhere");
  while (!ended) {
    loop.run();
  }
  server->drain();
  while (server->connections() > 0) {
    loop.run_for(Duration::millis(1));
  }
}

TEST_F(HttpStreams, AReaderFarBehindIsCutOff) {
  serve(10);
  open("/stream");
  loop.run();
  stream->send("more than ten bytes while nothing is written");
  EXPECT_TRUE(gone);
  while (!ended) {
    loop.run();
  }
  EXPECT_FALSE(ended->has_value());
}

TEST_F(HttpStreams, SilenceIsBoundedIfAsked) {
  serve();
  open("/stream", Duration::millis(20));
  while (!ended) {
    loop.run();
  }
  EXPECT_THAT(to_string(ended->error()), HasSubstr("nothing from"));
}

TEST_F(HttpStreams, AConnectionServesOnAfterAStream) {
  serve();
  HttpResponse answer;
  client.send(url, {.target = "/short"}, [&](Result<HttpResponse> got) {
    answer = *std::move(got);
    loop.stop();
  });
  loop.run();
  EXPECT_EQ(answer.body, "first ");
  client.send(url, {.target = "/x"}, [&](Result<HttpResponse> got) {
    answer = *std::move(got);
    loop.stop();
  });
  loop.run();
  EXPECT_EQ(answer.status, 404);
}

} // namespace
} // namespace berth::net
