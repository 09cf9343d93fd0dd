// Server and client over real loopback sockets.
#include "berth/net/http_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/net/http_client.h"
#include "berth/net/transport.h"

namespace berth::net {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class Http : public testing::Test {
 protected:
  void serve(HttpHandler handler, HttpServerOptions options = {}) {
    auto listening = HttpServer::listen(loop, std::move(options), std::move(handler));
    ASSERT_TRUE(listening.has_value()) << to_string(listening.error());
    server = *std::move(listening);
    url = *HttpUrl::parse("http://127.0.0.1:" + std::to_string(server->port()));
  }
  void serve_pages(HttpServerOptions options = {}) {
    HttpRouter router;
    router.on("GET", "/page", [](const HttpRequest& request, const HttpRespond& respond) {
      respond(text_response(200, "page " + request.query("q").value_or("-")));
    });
    router.on("POST", "/echo", [this](const HttpRequest& request, const HttpRespond& respond) {
      ++echoes;
      respond({.status = 200, .headers = {}, .body = request.body});
    });
    serve(router, std::move(options));
  }
  Result<HttpResponse> call(HttpRequest request, std::optional<Duration> timeout = {}) {
    std::optional<Result<HttpResponse>> got;
    client.send(
        url, std::move(request),
        [&](Result<HttpResponse> answer) {
          got = std::move(answer);
          loop.stop();
        },
        timeout);
    EXPECT_FALSE(got.has_value()) << "never inside the call";
    loop.run();
    return *std::move(got);
  }
  /// Sends bytes as they are; what came back until the server closed.
  std::string raw(std::string bytes) {
    std::string back;
    const auto connection = make_connection(loop);
    std::function<void()> read = [&] {
      connection->read([&](Result<std::string_view> got) {
        if (!got || got->empty()) {
          loop.stop();
          return;
        }
        back += *got;
        read();
      });
    };
    connection->connect("127.0.0.1", url.port, [&](Result<void> connected) {
      ASSERT_TRUE(connected.has_value());
      connection->write(std::move(bytes), [&](Result<void>) { read(); });
    });
    loop.run();
    connection->close();
    return back;
  }

  AsioLoop loop;
  std::unique_ptr<HttpServer> server;
  HttpClient client{loop};
  HttpUrl url;
  int echoes = 0;
};

TEST_F(Http, AnswersPages) {
  serve_pages();
  const auto page = call({.target = "/page?q=a%20b"});
  ASSERT_TRUE(page.has_value()) << to_string(page.error());
  EXPECT_EQ(page->status, 200);
  EXPECT_EQ(page->body, "page a b\n");
  EXPECT_EQ(call({.target = "/none"})->status, 404);
  const auto wrong = call({.method = "DELETE", .target = "/page"});
  EXPECT_EQ(wrong->status, 405);
  EXPECT_EQ(header_of(wrong->headers, "Allow"), "GET");
  EXPECT_EQ(call({.method = "HEAD", .target = "/page"})->body, "");
}

TEST_F(Http, KeepsConnectionsAndLargeBodies) {
  serve_pages();
  const std::string body(2'000'000, 'x');
  for (int i = 0; i < 3; ++i) {
    const auto echo = call({.method = "POST", .target = "/echo", .body = body});
    ASSERT_TRUE(echo.has_value()) << to_string(echo.error());
    EXPECT_TRUE(echo->body == body);
  }
  EXPECT_EQ(echoes, 3);
}

/// A letter a piece.
class Letters final : public HttpPieces {
 public:
  static constexpr std::size_t kEach = 100'000;
  std::size_t size() const override { return 26 * kEach; }
  std::string next() override {
    return letter_ > 'z' ? std::string() : std::string(kEach, letter_++);
  }

 private:
  char letter_ = 'a';
};

TEST_F(Http, SendsABodyPieceByPiece) {
  serve([](const HttpRequest&, const HttpRespond& respond) {
    respond({.pieces = std::make_shared<Letters>()});
  });
  for (int i = 0; i < 2; ++i) { // on one connection
    const auto letters = call({});
    ASSERT_TRUE(letters.has_value()) << to_string(letters.error());
    ASSERT_EQ(letters->body.size(), 26 * Letters::kEach);
    EXPECT_EQ(letters->body[Letters::kEach], 'b');
    EXPECT_EQ(letters->body.back(), 'z');
  }
  const auto head = call({.method = "HEAD"});
  EXPECT_EQ(header_of(head->headers, "Content-Length"), "2600000");
  EXPECT_EQ(head->body, "");
}

TEST_F(Http, SendsAgainOnlyWhereAKeptConnectionWasClosed) {
  serve_pages();
  ASSERT_TRUE(call({.target = "/page"}).has_value());
  const std::uint16_t port = server->port();
  server = nullptr; // closes the kept connection
  serve_pages({.port = port});
  const auto again = call({.method = "POST", .target = "/echo", .body = "x"});
  ASSERT_TRUE(again.has_value()) << to_string(again.error());
  EXPECT_EQ(echoes, 1);
}

TEST_F(Http, RefusesWhatIsTooLargeOrNoHttp) {
  serve_pages({.limits = {.header_bytes = 512, .body_bytes = 100}});
  EXPECT_EQ(call({.method = "POST", .target = "/echo", .body = std::string(101, 'x')})->status,
            413);
  EXPECT_EQ(call({.target = "/page", .headers = {{"X", std::string(600, 'x')}}})->status, 431);
  EXPECT_THAT(raw("hello\r\n\r\n"), StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(raw("GET / HTTP/1.1\r\nBroken\r\n\r\n"), StartsWith("HTTP/1.1 400 "));
  EXPECT_EQ(call({.target = "/page"})->status, 200) << "others are served on";
}

TEST_F(Http, AnswersRequestsSentAheadInOrder) {
  serve_pages();
  const std::string back = raw("GET /page?q=1 HTTP/1.1\r\n\r\nGET /page?q=2 HTTP/1.1\r\n"
                               "Connection: close\r\n\r\n");
  EXPECT_LT(back.find("page 1"), back.find("page 2"));
  EXPECT_NE(back.find("page 2"), std::string::npos);
}

TEST_F(Http, GivesUpOnSlowRequests) {
  serve_pages({.request_timeout = Duration::millis(30)});
  EXPECT_THAT(raw("GET /pa"), StartsWith("HTTP/1.1 408 "));
}

TEST_F(Http, AnswersLaterAndOnce) {
  serve([this](const HttpRequest&, const HttpRespond& respond) {
    loop.after(Duration::millis(5), [respond] {
      respond(text_response(200, "first"));
      respond(text_response(500, "second"));
    });
  });
  EXPECT_EQ(call({})->body, "first\n");
  EXPECT_EQ(call({})->body, "first\n");
}

TEST_F(Http, TheClientGivesUpInTime) {
  serve([](const HttpRequest&, const HttpRespond&) {}); // never answers
  const auto late = call({}, Duration::millis(20));
  ASSERT_FALSE(late.has_value());
  EXPECT_EQ(late.error().code, Code::Timeout);
  EXPECT_THAT(late.error().message, HasSubstr("127.0.0.1:"));
}

TEST_F(Http, NobodyThereIsUnavailable) {
  serve_pages();
  server = nullptr;
  const auto gone = call({.target = "/page"});
  ASSERT_FALSE(gone.has_value());
  EXPECT_EQ(gone.error().code, Code::Unavailable);
  EXPECT_THAT(gone.error().message, HasSubstr("cannot connect to 127.0.0.1:"));
}

TEST_F(Http, TheSamePortTwiceIsAnErrorThatNamesIt) {
  serve_pages();
  const auto second = HttpServer::listen(loop, {.port = server->port()},
                                         [](const HttpRequest&, const HttpRespond&) {});
  ASSERT_FALSE(second.has_value());
  EXPECT_THAT(second.error().message, HasSubstr(std::to_string(server->port())));
  EXPECT_FALSE(HttpServer::listen(loop, {.address = "nowhere"}, {}).has_value());
}

TEST_F(Http, TheClientRefusesEndlessAnswers) {
  HttpClient small(loop, {.limits = {.header_bytes = 1024, .body_bytes = 10}});
  serve_pages();
  std::optional<Result<HttpResponse>> got;
  small.send(url, {.method = "POST", .target = "/echo", .body = std::string(11, 'x')},
             [&](Result<HttpResponse> answer) {
               got = std::move(answer);
               loop.stop();
             });
  loop.run();
  ASSERT_FALSE(got->has_value());
  EXPECT_THAT(got->error().message, HasSubstr("body limit"));
}

TEST(BlockingHttp, NeedsNoLoopOfItsOwner) {
  // A port that nobody listens on: taken, read off, given back.
  AsioLoop loop;
  const std::uint16_t port = (*HttpServer::listen(loop, {}, {}))->port();
  BlockingHttpClient client;
  const auto answer =
      client.send(*HttpUrl::parse("127.0.0.1:" + std::to_string(port)), {}, Duration::seconds(5));
  ASSERT_FALSE(answer.has_value());
  EXPECT_EQ(answer.error().code, Code::Unavailable);
}

} // namespace
} // namespace berth::net
