// WebSockets and other ways out of HTTP, over real loopback sockets.
#include "berth/net/websocket.h"

#include <algorithm>
#include <cctype>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/net/http_client.h"
#include "berth/net/http_server.h"
#include "berth/net/transport.h"
#include "berth/net/tunnel.h"
#include "berth/net/upgrade.h"

namespace berth::net {
namespace {

using testing::HasSubstr;

class LeavingHttp : public testing::Test {
 protected:
  void SetUp() override {
    auto listening = HttpServer::listen(
        loop, {}, [this](const HttpRequest& request, const HttpRespond& respond) {
          if (request.path() == "/refused") {
            respond(text_response(403, "not you"));
            return;
          }
          HttpResponse answer;
          answer.take_over = [this, request](HandedOver given) {
            if (request.path() == "/upper") {
              upper(given);
            } else {
              accept_websocket(
                  std::move(given), request, "two",
                  [this](Result<std::shared_ptr<WebSocket>> opened) {
                    accepted = std::move(opened);
                    loop.stop();
                  },
                  limits);
            }
          };
          respond(std::move(answer));
        });
    ASSERT_TRUE(listening.has_value());
    server = *std::move(listening);
    url = *HttpUrl::parse("http://127.0.0.1:" + std::to_string(server->port()));
  }

  /// Says what it hears in capitals.
  static void upper(const HandedOver& given) {
    const auto connection = given.connection;
    connection->write(switching_head({{"Upgrade", "upper"}}) + "HELLO ",
                      [connection](Result<void>) { upper_on(connection); });
  }
  static void upper_on(const std::shared_ptr<Connection>& connection) {
    connection->read([connection](Result<std::string_view> bytes) {
      if (!bytes || bytes->empty()) {
        connection->close();
        return;
      }
      std::string text(*bytes);
      std::ranges::transform(text, text.begin(),
                             [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
      connection->write(text, [connection](Result<void>) { upper_on(connection); });
    });
  }

  void until(const std::function<bool()>& met) {
    while (!met()) {
      loop.run_for(Duration::millis(2));
    }
  }

  std::shared_ptr<WebSocket> open(const std::string& path = "/") {
    std::optional<Result<std::shared_ptr<WebSocket>>> opened;
    connect_websocket(loop, {.to = url, .target = path, .headers = {}, .protocols = {"one", "two"}},
                      [&](Result<std::shared_ptr<WebSocket>> how) { opened = std::move(how); });
    until([&] { return opened.has_value(); });
    error = *opened ? "" : to_string(opened->error());
    return *opened ? **opened : nullptr;
  }
  Result<WebSocketMessage> next(const std::shared_ptr<WebSocket>& socket) {
    std::optional<Result<WebSocketMessage>> got;
    socket->read([&](Result<WebSocketMessage> message) { got = std::move(message); });
    until([&] { return got.has_value(); });
    return *std::move(got);
  }
  std::shared_ptr<WebSocket> server_side() {
    until([&] { return accepted.has_value(); });
    EXPECT_TRUE(accepted->has_value());
    return **accepted;
  }
  Result<Upgraded> upgrade(const std::string& path) {
    std::optional<Result<Upgraded>> got;
    const auto call = request_upgrade(
        loop, {.to = url, .request = {.target = path, .headers = {{"Upgrade", "upper"}}}},
        [&](Result<Upgraded> how) { got = std::move(how); });
    until([&] { return got.has_value(); });
    return *std::move(got);
  }
  std::string read_some(const std::shared_ptr<Connection>& connection) {
    std::optional<std::string> got;
    connection->read([&](Result<std::string_view> bytes) {
      got = bytes ? std::string(*bytes) : to_string(bytes.error());
    });
    until([&] { return got.has_value(); });
    return *got;
  }

  AsioLoop loop;
  WebSocketLimits limits;
  std::unique_ptr<HttpServer> server;
  HttpUrl url;
  std::optional<Result<std::shared_ptr<WebSocket>>> accepted;
  std::string error;
};

TEST_F(LeavingHttp, MessagesGoBothWaysWhole) {
  const auto client = open();
  ASSERT_NE(client, nullptr) << error;
  const auto peer = server_side();
  EXPECT_EQ(client->protocol(), "two");
  EXPECT_EQ(peer->protocol(), "two");
  EXPECT_EQ(server->connections(), 0U) << "it is no longer the HTTP server's";
  const std::string bytes("\0\xFF\x01 binary", 10);
  client->send({.bytes = bytes});
  client->send({.kind = WebSocketMessage::Kind::Text, .bytes = "text"});
  client->send({.bytes = ""});
  EXPECT_EQ(next(peer)->bytes, bytes);
  const auto text = next(peer);
  EXPECT_EQ(text->bytes, "text");
  EXPECT_EQ(text->kind, WebSocketMessage::Kind::Text);
  EXPECT_EQ(next(peer)->bytes, "");
  peer->send({.bytes = std::string(300'000, 'x')});
  EXPECT_EQ(next(client)->bytes.size(), 300'000U);
}

TEST_F(LeavingHttp, ASenderKnowsWhatWaitsForASlowReader) {
  const auto client = open();
  const auto peer = server_side();
  int taken = 0;
  const std::string piece(std::size_t{1024} * 1024, 'x');
  for (int i = 0; i < 32; ++i) {
    client->send({.bytes = piece}, [&] { ++taken; });
  }
  EXPECT_EQ(client->waiting(), 32 * piece.size());
  std::size_t got = 0;
  for (int i = 0; i < 32; ++i) {
    EXPECT_GE(client->waiting() + got + 16 * piece.size(), 32 * piece.size())
        << "what nobody reads does not vanish in the network";
    got += next(peer)->bytes.size();
  }
  until([&] { return taken == 32; });
  EXPECT_EQ(client->waiting(), 0U);
}

TEST_F(LeavingHttp, TheOtherSideHearsWhyItIsClosed) {
  const auto client = open();
  const auto peer = server_side();
  peer->send({.bytes = "last"});
  peer->close(4000, "done with it");
  EXPECT_EQ(next(client)->bytes, "last");
  const auto end = next(client);
  ASSERT_FALSE(end.has_value());
  EXPECT_EQ(end.error().code, Code::Gone);
  ASSERT_TRUE(client->closed().has_value());
  EXPECT_EQ(client->closed()->code, 4000);
  EXPECT_EQ(client->closed()->reason, "done with it");
}

TEST_F(LeavingHttp, AMessageThatIsTooLongEndsIt) {
  limits.message_bytes = 1000;
  const auto client = open();
  const auto peer = server_side();
  client->send({.bytes = std::string(1001, 'x')});
  const auto got = next(peer);
  ASSERT_FALSE(got.has_value());
  EXPECT_THAT(to_string(got.error()), HasSubstr("WebSocket lost"));
  EXPECT_FALSE(next(client).has_value());
  EXPECT_EQ(client->closed().value_or(WebSocketClose{}).code, 1009);
}

TEST_F(LeavingHttp, ADroppedSocketIsLostToTheOtherSide) {
  const auto client = open();
  const auto peer = server_side();
  client->drop();
  const auto got = next(peer);
  ASSERT_FALSE(got.has_value());
  EXPECT_EQ(got.error().code, Code::Unavailable);
  client->send({.bytes = "to nobody"});
  EXPECT_EQ(client->protocol(), "two");
}

TEST_F(LeavingHttp, ARefusalIsTold) {
  EXPECT_EQ(open("/refused"), nullptr);
  EXPECT_THAT(error, HasSubstr("opens no WebSocket: 403 not you"));
}

TEST_F(LeavingHttp, ARequestThatIsNoneIsAnswered) {
  const auto answer = upgrade("/");
  ASSERT_TRUE(answer.has_value());
  EXPECT_GE(answer->answer.status, 400);
  EXPECT_EQ(answer->stream.connection, nullptr);
  EXPECT_FALSE(accepted->has_value());
}

TEST_F(LeavingHttp, AnyProtocolMayFollow) {
  auto upgraded = upgrade("/upper");
  ASSERT_TRUE(upgraded.has_value()) << to_string(upgraded.error());
  EXPECT_EQ(upgraded->answer.status, 101);
  const auto connection = upgraded->stream.connection;
  std::string heard = upgraded->stream.ahead;
  connection->write("world", [](Result<void>) {});
  while (heard.size() < std::string("HELLO WORLD").size()) {
    heard += read_some(connection);
  }
  EXPECT_EQ(heard, "HELLO WORLD");
}

TEST_F(LeavingHttp, ARefusedUpgradeHasItsBody) {
  const auto refused = upgrade("/refused");
  ASSERT_TRUE(refused.has_value());
  EXPECT_EQ(refused->answer.status, 403);
  EXPECT_EQ(refused->answer.body, "not you\n");
  EXPECT_EQ(refused->stream.connection, nullptr);
}

TEST_F(LeavingHttp, ATunnelPassesBytesOnUntilOneSideEnds) {
  auto there = upgrade("/upper");
  ASSERT_TRUE(there.has_value());
  bool over = false;
  std::shared_ptr<Tunnel> tunnel;
  auto through = HttpServer::listen(loop, {}, [&](const HttpRequest&, const HttpRespond& respond) {
    HttpResponse answer;
    answer.take_over = [&](HandedOver client) {
      const auto connection = client.connection;
      connection->write(switching_head({{"Upgrade", "upper"}}), [&, client](Result<void>) {
        tunnel = join(client, there->stream, [&] { over = true; });
      });
    };
    respond(std::move(answer));
  });
  ASSERT_TRUE(through.has_value());
  url.port = (*through)->port();
  const auto client = upgrade("/");
  ASSERT_TRUE(client.has_value());
  const auto connection = client->stream.connection;
  std::string heard = client->stream.ahead;
  connection->write("through", [](Result<void>) {});
  while (heard.size() < std::string("HELLO THROUGH").size()) {
    heard += read_some(connection);
  }
  EXPECT_EQ(heard, "HELLO THROUGH");
  EXPECT_FALSE(over);
  connection->close();
  until([&] { return over; });
}

} // namespace
} // namespace berth::net
