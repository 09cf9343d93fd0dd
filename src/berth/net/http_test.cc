// HTTP as bytes, without sockets: what is read, what is refused, what is written.
#include "berth/net/http.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::net {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

struct RequestCase {
  const char* name;
  std::string bytes;
  int refused; ///< status; 0: it is a request
  const char* method = "";
  const char* target = "";
  const char* body = "";
};

class ReadRequest : public testing::TestWithParam<RequestCase> {
 protected:
  /// Fed whole, or byte by byte: the same must come of it.
  static void check(std::size_t step) {
    const RequestCase& given = GetParam();
    RequestReader reader({.header_bytes = 256, .body_bytes = 16});
    int status = 0;
    for (std::size_t at = 0; at < given.bytes.size() && status == 0; at += step) {
      if (const auto fed = reader.feed(std::string_view(given.bytes).substr(at, step)); !fed) {
        status = fed.error().status;
      }
    }
    EXPECT_EQ(status, given.refused) << given.name << " in steps of " << step;
    if (given.refused == 0) {
      const auto request = reader.take();
      ASSERT_TRUE(request.has_value()) << given.name << " in steps of " << step;
      EXPECT_EQ(request->method, given.method);
      EXPECT_EQ(request->target, given.target);
      EXPECT_EQ(request->body, given.body);
    }
  }
};

TEST_P(ReadRequest, Whole) {
  check(std::string::npos / 2);
}
TEST_P(ReadRequest, ByteByByte) {
  check(1);
}

INSTANTIATE_TEST_SUITE_P(
    Bytes, ReadRequest,
    testing::Values(
        RequestCase{"plain", "GET /a?b=c HTTP/1.1\r\nHost: x\r\n\r\n", 0, "GET", "/a?b=c", ""},
        RequestCase{"body", "POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc", 0, "POST", "/",
                    "abc"},
        RequestCase{
            "chunked",
            "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n",
            0, "POST", "/", "abc"},
        RequestCase{"no request line", "hello\r\n\r\n", 400},
        RequestCase{"control byte in the target", "GET /\x01 HTTP/1.1\r\n\r\n", 400},
        RequestCase{"header without a colon", "GET / HTTP/1.1\r\nHost x\r\n\r\n", 400},
        RequestCase{"two lengths",
                    "POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", 400},
        RequestCase{"length and chunks",
                    "POST / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
                    400},
        RequestCase{"negative length", "POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 400},
        RequestCase{"bad chunk", "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
                    400},
        RequestCase{"other version", "GET / HTTP/3.0\r\n\r\n", 505},
        RequestCase{"too much header", "GET / HTTP/1.1\r\nX: " + std::string(300, 'x') + "\r\n\r\n",
                    431},
        RequestCase{"too much body", "POST / HTTP/1.1\r\nContent-Length: 17\r\n\r\n", 413}),
    [](const auto& tested) {
      std::string name = tested.param.name;
      std::ranges::replace(name, ' ', '_');
      return name;
    });

TEST(RequestReader, ReadsRequestsSentAhead) {
  RequestReader reader({});
  ASSERT_TRUE(reader.feed("GET /1 HTTP/1.1\r\n\r\nGET /2 HTTP/1.1\r\n\r\n"));
  EXPECT_EQ(reader.take()->target, "/1");
  ASSERT_TRUE(reader.feed(""));
  EXPECT_EQ(reader.take()->target, "/2");
  EXPECT_FALSE(reader.take().has_value());
  EXPECT_FALSE(reader.in_request());
}

TEST(RequestReader, AsksForTheBodyOnce) {
  RequestReader reader({});
  ASSERT_TRUE(reader.feed("PUT / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n"));
  EXPECT_TRUE(reader.wants_continue());
  EXPECT_FALSE(reader.wants_continue());
  ASSERT_TRUE(reader.feed("ok"));
  EXPECT_EQ(reader.take()->body, "ok");
}

TEST(RequestReader, AnyBytesAreAnsweredAndNeverCrash) {
  std::uint64_t seed = 1;
  for (int i = 0; i < 2000; ++i) {
    RequestReader reader({.header_bytes = 512, .body_bytes = 64});
    std::string bytes = i % 2 == 0 ? "POST /x HTTP/1.1\r\nContent-Length: 8\r\n\r\n12345678" : "";
    for (int n = 0; n < 40; ++n) {
      seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
      const auto at = static_cast<std::size_t>(seed >> 33) % (bytes.size() + 1);
      bytes.insert(at, 1, static_cast<char>(seed >> 56));
    }
    const auto fed = reader.feed(bytes);
    if (!fed) {
      EXPECT_GE(fed.error().status, 400);
    }
  }
}

TEST(Response, IsReadBackAsWritten) {
  HttpResponse response = json_response(201, R"({"a":1})");
  response.headers.emplace_back("X-Bad", "one\r\nX-Injected: two");
  const std::string bytes = to_bytes(response);
  EXPECT_THAT(bytes, StartsWith("HTTP/1.1 201 Created\r\n"));
  ResponseReader reader({}, ResponseReader::To::Get);
  ASSERT_TRUE(reader.feed(bytes));
  ASSERT_TRUE(reader.done());
  const HttpResponse back = reader.take();
  EXPECT_EQ(back.status, 201);
  EXPECT_EQ(back.body, response.body);
  EXPECT_EQ(header_of(back.headers, "content-type"), "application/json");
  EXPECT_EQ(header_of(back.headers, "X-Injected"), "");
  EXPECT_TRUE(back.keep_alive);
}

TEST(Response, EndsWithTheConnectionIfItHasNoLength) {
  ResponseReader reader({}, ResponseReader::To::Get);
  ASSERT_TRUE(reader.feed("HTTP/1.1 200 OK\r\n\r\nabc"));
  EXPECT_FALSE(reader.done());
  ASSERT_TRUE(reader.end());
  EXPECT_EQ(reader.take().body, "abc");
}

TEST(Response, CutShortIsAnError) {
  for (const char* bytes :
       {"", "HTTP/1.1 200", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc"}) {
    ResponseReader reader({}, ResponseReader::To::Get);
    ASSERT_TRUE(reader.feed(bytes));
    EXPECT_FALSE(reader.end()) << bytes;
  }
}

TEST(Response, ToHeadHasNoBody) {
  ResponseReader reader({}, ResponseReader::To::Head);
  ASSERT_TRUE(reader.feed("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"));
  EXPECT_TRUE(reader.done());
}

TEST(Request, QueriesAreDecoded) {
  const HttpRequest request{.target = "/debug/decisions?pod=ml%2Ftrain-0&flag&x=1"};
  EXPECT_EQ(request.path(), "/debug/decisions");
  EXPECT_EQ(request.query("pod"), "ml/train-0");
  EXPECT_EQ(request.query("flag"), "");
  EXPECT_EQ(request.query("none"), std::nullopt);
}

TEST(HttpUrl, ReadsHostPortAndPath) {
  const struct {
    const char* text;
    const char* host;
    int port;
    const char* path;
    const char* authority;
  } cases[] = {{"http://h:8080/a/b/", "h", 8080, "/a/b", "h:8080"},
               {"h:81", "h", 81, "", "h:81"},
               {"http://10.0.0.1", "10.0.0.1", 80, "", "10.0.0.1:80"},
               {"http://[::1]:9/x", "::1", 9, "/x", "[::1]:9"}};
  for (const auto& c : cases) {
    const auto url = HttpUrl::parse(c.text);
    ASSERT_TRUE(url.has_value()) << c.text << ": " << to_string(url.error());
    EXPECT_EQ(url->host, c.host);
    EXPECT_EQ(url->port, c.port);
    EXPECT_EQ(url->path, c.path);
    EXPECT_EQ(url->authority(), c.authority);
  }
}

TEST(HttpUrl, SaysWhatIsWrong) {
  const struct {
    const char* text;
    const char* why;
  } cases[] = {{"", "names no host"},
               {"http://", "names no host"},
               {"ftp://h", "neither http nor https"},
               {"ftp://h", "scheme"},
               {"http://h:99999", "port"},
               {"http://h:0", "port"},
               {"http://u@h", "user names"},
               {"http://h/?q", "queries"},
               {"http://h h", "does not parse"}};
  for (const auto& c : cases) {
    const auto url = HttpUrl::parse(c.text);
    ASSERT_FALSE(url.has_value()) << c.text;
    EXPECT_THAT(url.error().message, HasSubstr(c.why)) << c.text;
  }
}

} // namespace
} // namespace berth::net
