// Clients brought to a streaming server, over real loopback sockets.
#include "berth/server/streams/connect.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/net/spdy/client.h"
#include "berth/net/upgrade.h"
#include "berth/net/websocket.h"
#include "berth/server/streams/stream_options.h"
#include "berth/testing/fake_streaming_server.h"

namespace berth::server {
namespace {

using testing::HasSubstr;
using testing::Not;

/// What a client of channels has heard until its connection ended.
struct Heard {
  std::string out;
  std::string err;
  std::string status;
  std::optional<net::WebSocketClose> closed;
};

class Connecting : public testing::Test {
 protected:
  Connecting() {
    proxy = *net::HttpServer::listen(
        loop, {}, [this](const net::HttpRequest& request, const net::HttpRespond& respond) {
          const auto spoken = check_upgrade(request);
          const auto what = stream_options(kind, request, StreamNames::Api);
          if (!spoken || !what) {
            respond(to_response(spoken ? what.error() : spoken.error()));
            return;
          }
          const StreamPlace place{
              .loop = &loop,
              .url = *net::HttpUrl::parse(runtime.url(std::string(request.path()))),
              .target = {},
              .tls = nullptr,
              .headers = {{"X-Who", "the server"}}};
          connect_streams(request, *what, place, *live, respond);
        });
    url = *net::HttpUrl::parse("http://127.0.0.1:" + std::to_string(proxy->port()));
  }

  void until(const std::function<bool()>& met) {
    while (!met()) {
      loop.run_for(Duration::millis(2));
    }
  }

  std::shared_ptr<net::WebSocket> open(const std::string& target, const std::string& protocol) {
    std::optional<Result<std::shared_ptr<net::WebSocket>>> opened;
    net::connect_websocket(
        loop,
        {.to = url,
         .target = target,
         .headers = {{"Authorization", "Bearer secret"}},
         .protocols = {protocol}},
        [&](Result<std::shared_ptr<net::WebSocket>> how) { opened = std::move(how); });
    until([&] { return opened.has_value(); });
    error = *opened ? "" : to_string(opened->error());
    return *opened ? **opened : nullptr;
  }

  std::optional<std::string> next(const std::shared_ptr<net::WebSocket>& socket) {
    std::optional<Result<net::WebSocketMessage>> got;
    socket->read([&](Result<net::WebSocketMessage> message) { got = std::move(message); });
    until([&] { return got.has_value(); });
    return *got ? std::optional((*got)->bytes) : std::nullopt;
  }

  Heard hear(const std::shared_ptr<net::WebSocket>& socket) {
    Heard heard;
    while (const auto message = next(socket)) {
      if (!message->empty()) {
        const std::string_view bytes = std::string_view(*message).substr(1);
        (message->front() == 1   ? heard.out
         : message->front() == 2 ? heard.err
                                 : heard.status) += bytes;
      }
    }
    heard.closed = socket->closed();
    return heard;
  }

  Heard run(const std::string& target) {
    const auto socket = open(target, "v5.channel.k8s.io");
    EXPECT_NE(socket, nullptr) << error;
    return socket ? hear(socket) : Heard();
  }

  net::Upgraded upgrade(const std::string& target, const std::string& protocol) {
    std::optional<Result<net::Upgraded>> got;
    const auto call =
        net::request_upgrade(loop,
                             {.to = url,
                              .request = {.method = "POST",
                                          .target = target,
                                          .headers = {{"Upgrade", "SPDY/3.1"},
                                                      {"X-Stream-Protocol-Version", protocol},
                                                      {"Authorization", "Bearer secret"}}}},
                             [&](Result<net::Upgraded> how) { got = std::move(how); });
    until([&] { return got.has_value(); });
    EXPECT_TRUE(got->has_value());
    return **std::move(got);
  }

  net::AsioLoop loop;
  test::FakeStreamingServer runtime{loop};
  StreamRequest::Kind kind = StreamRequest::Kind::Exec;
  std::unique_ptr<LiveConnections> live = std::make_unique<LiveConnections>();
  std::unique_ptr<net::HttpServer> proxy;
  net::HttpUrl url;
  std::string error;
};

TEST_F(Connecting, ACommandTellsItsOutputAndItsExitCode) {
  const Heard heard = run("/exit3?command=x");
  EXPECT_EQ(heard.out, "out");
  EXPECT_EQ(heard.err, "err");
  EXPECT_EQ(heard.status, test::kExit3);
  ASSERT_TRUE(heard.closed.has_value());
  EXPECT_EQ(heard.closed->code, 1000);
  until([&] { return live->count() == 0; });
}

TEST_F(Connecting, TheEndOfStdinReachesTheCommandWhileItsOutputGoesOn) {
  const auto socket = open("/cat?command=cat&stdin=true", "v5.channel.k8s.io");
  ASSERT_NE(socket, nullptr) << error;
  EXPECT_EQ(next(socket), std::string(1, '\1')) << "the connection stands";
  socket->send({.bytes = std::string("\0hi", 3)});
  EXPECT_EQ(next(socket), "\1hi");
  socket->send({.bytes = std::string("\0 there", 7)});
  socket->send({.bytes = std::string("\xFF\0", 2)});
  const Heard heard = hear(socket);
  EXPECT_EQ(heard.out, " there");
  EXPECT_EQ(heard.status, test::kSuccess);
}

TEST_F(Connecting, WhatAClientSaysBeforeTheCommandRunsIsKept) {
  const auto socket = open("/cat?command=cat&stdin=true", "v5.channel.k8s.io");
  socket->send({.bytes = std::string("\0early", 6)});
  socket->send({.bytes = std::string("\xFF\0", 2)});
  EXPECT_EQ(hear(socket).out, "early");
}

TEST_F(Connecting, ATerminalIsResizedAndHasOneOutput) {
  const auto socket = open("/resize?command=sh&stdin=true&tty=true", "v5.channel.k8s.io");
  socket->send({.bytes = "\4{\"Width\":80,\"Height\":24}"});
  socket->send({.bytes = std::string("\xFF\0", 2)});
  const Heard heard = hear(socket);
  EXPECT_EQ(heard.out, "{\"Width\":80,\"Height\":24}");
}

TEST_F(Connecting, MuchOutputIsWhole) {
  const Heard heard = run("/flood?command=yes");
  EXPECT_EQ(heard.out.size(), test::kFlood);
  EXPECT_EQ(heard.status, test::kSuccess);
}

TEST_F(Connecting, NonsenseFromAClientIsPassedOver) {
  const auto socket = open("/cat?command=cat&stdin=true", "v5.channel.k8s.io");
  for (const std::string& message :
       {std::string(), std::string("\x09x"), std::string("\x01x"), std::string("\x03x"),
        std::string("\xFF"), std::string("\xFF\x09"), std::string("\xFF\x01")}) {
    socket->send({.bytes = message});
  }
  socket->send({.bytes = std::string("\0a", 2)});
  socket->send({.bytes = std::string("\xFF\0", 2)});
  socket->send({.bytes = std::string("\0after its end", 14)});
  const Heard heard = hear(socket);
  EXPECT_EQ(heard.out, "a");
  EXPECT_EQ(heard.status, test::kSuccess);
}

TEST_F(Connecting, WhyACommandCannotRunIsItsStatus) {
  EXPECT_THAT(run("/elsewhere?command=x").status,
              HasSubstr("Internal error occurred: unable to upgrade connection: container is in "
                        "CONTAINER_EXITED state"));
  EXPECT_THAT(run("/vanish?command=x").status, HasSubstr("was lost"));
}

TEST_F(Connecting, EveryKubectlsSpdyIsPassedOn) {
  auto upgraded = upgrade("/cat?command=cat&stdin=true", "v4.channel.k8s.io");
  ASSERT_EQ(upgraded.answer.status, 101);
  EXPECT_EQ(net::header_of(upgraded.answer.headers, "X-Stream-Protocol-Version"),
            "v4.channel.k8s.io");
  EXPECT_EQ(net::header_of(upgraded.answer.headers, "Upgrade"), "SPDY/3.1");
  std::map<net::spdy::StreamId, std::string> got;
  bool over = false;
  const auto client = net::spdy::make_client(
      std::move(upgraded.stream),
      {.data = [&](net::spdy::StreamId stream, std::string_view bytes) { got[stream] += bytes; },
       .end = [](net::spdy::StreamId) {},
       .over = [&](const Result<void>&) { over = true; },
       .room = {}});
  const auto status = client->open({{"streamType", "error"}});
  const auto in = client->open({{"streamType", "stdin"}});
  const auto out = client->open({{"streamType", "stdout"}});
  client->send(in, "hello");
  client->finish(in);
  until([&] { return over; });
  EXPECT_EQ(got[out], "hello");
  EXPECT_EQ(got[status], test::kSuccess);
  until([&] { return live->count() == 0; });
}

TEST_F(Connecting, ChannelsOfV4ArePassedOn) {
  const auto socket = open("/cat?command=cat&stdin=true", "v4.channel.k8s.io");
  ASSERT_NE(socket, nullptr) << error;
  EXPECT_EQ(socket->protocol(), "v4.channel.k8s.io");
  socket->send({.bytes = std::string("\0hi", 3)});
  EXPECT_EQ(next(socket), "\1hi");
}

TEST_F(Connecting, PortsAreForwardedThroughMessages) {
  kind = StreamRequest::Kind::PortForward;
  const auto socket = open("/ports", "SPDY/3.1+portforward.k8s.io");
  ASSERT_NE(socket, nullptr) << error;
  EXPECT_EQ(socket->protocol(), "SPDY/3.1+portforward.k8s.io");
  net::spdy::FrameWriter writer;
  net::spdy::FrameReader reader;
  socket->send({.bytes = writer.syn_stream(1, {{"streamType", "data"}, {"port", "80"}})});
  socket->send({.bytes = net::spdy::FrameWriter::data(1, "ping", net::spdy::Fin::No)});
  std::string got;
  while (got.empty()) {
    reader.feed(next(socket).value_or("gone"));
    for (auto frame = reader.next(); frame && *frame; frame = reader.next()) {
      got += (*frame)->data;
    }
  }
  EXPECT_EQ(got, "ping");
  EXPECT_EQ(net::header_of(runtime.requests.back().headers, "X-Stream-Protocol-Version"),
            "portforward.k8s.io");
}

TEST_F(Connecting, CredentialsOfClientsStayHere) {
  run("/exit3?command=x");
  upgrade("/cat?command=cat&stdin=true", "v4.channel.k8s.io");
  open("/cat?command=cat&stdin=true", "v4.channel.k8s.io");
  ASSERT_EQ(runtime.requests.size(), 3U);
  for (const net::HttpRequest& request : runtime.requests) {
    EXPECT_EQ(net::header_of(request.headers, "Authorization"), "");
    EXPECT_EQ(net::header_of(request.headers, "X-Who"), "the server");
  }
}

TEST_F(Connecting, ARefusalIsPassedOn) {
  const auto refused = upgrade("/elsewhere?command=x", "v4.channel.k8s.io");
  EXPECT_EQ(refused.answer.status, 400);
  EXPECT_THAT(refused.answer.body, HasSubstr("CONTAINER_EXITED"));
  EXPECT_EQ(live->count(), 0U);
  kind = StreamRequest::Kind::PortForward;
  EXPECT_EQ(open("/elsewhere", "SPDY/3.1+portforward.k8s.io"), nullptr);
  EXPECT_THAT(error, HasSubstr("unable to upgrade connection: container is in"));
  EXPECT_EQ(live->count(), 0U);
}

TEST_F(Connecting, AllEndWithTheServer) {
  const auto v5 = open("/cat?command=cat&stdin=true", "v5.channel.k8s.io");
  const auto v4 = open("/cat?command=cat&stdin=true", "v4.channel.k8s.io");
  EXPECT_EQ(next(v5), std::string(1, '\1'));
  EXPECT_EQ(live->count(), 2U);
  live = nullptr;
  EXPECT_EQ(next(v5), std::nullopt);
  EXPECT_EQ(next(v4), std::nullopt);
}

TEST_F(Connecting, WhoLeavesEndsItsCommand) {
  auto socket = open("/cat?command=cat&stdin=true", "v5.channel.k8s.io");
  EXPECT_EQ(live->count(), 1U);
  socket->drop();
  until([&] { return live->count() == 0; });
}

TEST(StreamOptions, Upgrades) {
  const auto said = [](net::HttpHeaders headers) {
    const auto checked = check_upgrade({.headers = std::move(headers)});
    return checked ? "" : checked.error().message;
  };
  EXPECT_EQ(said({}), "Upgrade request required");
  EXPECT_EQ(said({{"Upgrade", "websocket"}}), "Upgrade request required");
  EXPECT_EQ(said({{"Connection", "keep-alive, Upgrade"}, {"Upgrade", "WebSocket"}}), "");
  EXPECT_EQ(said({{"Connection", "upgrade"}, {"Upgrade", "SPDY/3.1"}}), "");
  EXPECT_THAT(said({{"Connection", "upgrade"}, {"Upgrade", "h2c"}}), HasSubstr("\"h2c\""));
}

struct OptionsCase {
  const char* name;
  StreamRequest::Kind kind;
  StreamNames names;
  const char* query;
  const char* want; ///< what a kubelet is asked, or why nothing is
};

class Options : public testing::TestWithParam<OptionsCase> {};

TEST_P(Options, AreReadAsKubernetesReadsThem) {
  const OptionsCase& given = GetParam();
  auto what = stream_options(given.kind, {.target = std::string("/x?") + given.query}, given.names);
  if (what) {
    what->ns = "default";
    what->pod = "p";
    what->container = "c";
  }
  EXPECT_EQ(what ? kubelet_target(*what) : what.error().message, given.want);
}

constexpr auto kExec = StreamRequest::Kind::Exec;
constexpr auto kAttach = StreamRequest::Kind::Attach;
constexpr auto kPorts = StreamRequest::Kind::PortForward;

INSTANTIATE_TEST_SUITE_P(
    All, Options,
    testing::Values(
        OptionsCase{"OutputsAreWantedUnlessNot", kExec, StreamNames::Api, "command=a&command=b%20c",
                    "/exec/default/p/c?command=a&command=b%20c&output=1&error=1"},
        OptionsCase{"InputIsAskedFor", kExec, StreamNames::Api,
                    "command=sh&stdin=true&stdout=true&stderr=false",
                    "/exec/default/p/c?command=sh&input=1&output=1"},
        OptionsCase{"ATerminalHasOneOutput", kExec, StreamNames::Api,
                    "command=sh&stdin=1&tty=true&stderr=true",
                    "/exec/default/p/c?command=sh&input=1&output=1&tty=1"},
        OptionsCase{"NoStreams", kExec, StreamNames::Api, "command=a&stdout=false&stderr=false",
                    "you must specify at least 1 of stdin, stdout, stderr"},
        OptionsCase{"NoStreamsOfAKubelet", kAttach, StreamNames::Kubelet, "",
                    "you must specify at least 1 of stdin, stdout, stderr"},
        OptionsCase{"NoCommand", kExec, StreamNames::Api, "stdin=true",
                    "you must specify at least one command for the container"},
        OptionsCase{"AKubeletsNames", kAttach, StreamNames::Kubelet, "input=1&output=1",
                    "/attach/default/p/c?input=1&output=1"},
        OptionsCase{"Ports", kPorts, StreamNames::Api, "ports=80,443&ports=22",
                    "/portForward/default/p?port=80&port=443&port=22"},
        OptionsCase{"NoPortsAreNeeded", kPorts, StreamNames::Kubelet, "", "/portForward/default/p"},
        OptionsCase{"NoPort", kPorts, StreamNames::Kubelet, "port=http",
                    "unable to parse \"http\" as a port"},
        OptionsCase{"PortZero", kPorts, StreamNames::Api, "ports=0", "port \"0\" must be > 0"},
        OptionsCase{"PortTooHigh", kPorts, StreamNames::Api, "ports=65536",
                    "unable to parse \"65536\" as a port"}),
    [](const auto& one) { return one.param.name; });

} // namespace
} // namespace berth::server
