// TLS over real loopback sockets: who is believed, and who the client proves to be.
#include "berth/net/tls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "berth/net/certificates.h"
#include "berth/net/http_client.h"
#include "berth/net/http_server.h"
#include "berth/net/transport.h"

namespace berth::net {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

CertificateRequest subject(std::string name, const AsioLoop& loop) {
  return {.common_name = std::move(name),
          .not_before = loop.now() - Duration::hours(1),
          .not_after = loop.now() + Duration::hours(1)};
}

class Tls : public testing::Test {
 protected:
  void SetUp() override {
    authority = *make_authority(subject("test authority", loop));
    CertificateRequest wanted = subject("server", loop);
    wanted.names = {"IP:127.0.0.1", "DNS:localhost"};
    server_pair = *issue(authority, wanted);
    CertificateRequest user = subject("ada", loop);
    user.organizations = {"system:masters", "ops"};
    client_pair = *issue(authority, user);
  }

  void serve() {
    HttpServerOptions options;
    options.tls = *TlsContext::server({.certificate = server_pair.certificate,
                                       .key = server_pair.key,
                                       .client_ca = authority.certificate});
    auto listening = HttpServer::listen(
        loop, std::move(options), [this](const HttpRequest& request, const HttpRespond& respond) {
          peer = request.peer;
          respond(text_response(200, std::string(request.path())));
        });
    ASSERT_TRUE(listening.has_value()) << to_string(listening.error());
    server = *std::move(listening);
    url = *HttpUrl::parse("https://127.0.0.1:" + std::to_string(server->port()));
  }

  Result<HttpResponse> call(const TlsClientOptions& options, HttpUrl to) {
    HttpClient client(loop, {.tls = *TlsContext::client(options)});
    std::optional<Result<HttpResponse>> got;
    client.send(to, {.target = "/page"}, [&](Result<HttpResponse> answer) {
      got = std::move(answer);
      loop.stop();
    });
    loop.run();
    return *std::move(got);
  }
  Result<HttpResponse> call(const TlsClientOptions& options) { return call(options, url); }

  AsioLoop loop;
  KeyPair authority;
  KeyPair server_pair;
  KeyPair client_pair;
  std::unique_ptr<HttpServer> server;
  HttpUrl url;
  std::optional<Peer> peer;
};

TEST_F(Tls, CarriesMuchBothWaysOnOneConnection) {
  HttpServerOptions options;
  options.tls =
      *TlsContext::server({.certificate = server_pair.certificate, .key = server_pair.key});
  server = *HttpServer::listen(loop, std::move(options),
                               [](const HttpRequest& request, const HttpRespond& respond) {
                                 respond({.body = request.body + request.body});
                               });
  url = *HttpUrl::parse("https://127.0.0.1:" + std::to_string(server->port()));
  HttpClient client(loop, {.tls = *TlsContext::client({.ca = authority.certificate})});
  std::string body;
  for (int i = 0; i < 250'000; ++i) {
    body += std::to_string(i);
  }
  int right = 0;
  std::function<void()> ask = [&] {
    client.send(url, {.method = "POST", .target = "/", .body = body},
                [&](Result<HttpResponse> answer) {
                  ASSERT_TRUE(answer.has_value()) << to_string(answer.error());
                  right += answer->body == body + body ? 1 : 0;
                  right < 3 ? ask() : loop.stop();
                });
  };
  ask();
  loop.run();
  EXPECT_EQ(right, 3);
}

TEST_F(Tls, AClientThatTrustsTheAuthorityIsAnswered) {
  serve();
  const auto answer = call({.ca = authority.certificate});
  ASSERT_TRUE(answer.has_value()) << to_string(answer.error());
  EXPECT_EQ(answer->body, "/page\n");
  EXPECT_FALSE(peer.has_value());
}

TEST_F(Tls, ACertificateNamesItsUserAndGroups) {
  serve();
  ASSERT_TRUE(call({.ca = authority.certificate,
                    .certificate = client_pair.certificate,
                    .key = client_pair.key})
                  .has_value());
  ASSERT_TRUE(peer.has_value());
  EXPECT_EQ(peer->common_name, "ada");
  EXPECT_THAT(peer->organizations, ElementsAre("system:masters", "ops"));
}

TEST_F(Tls, StrangersAreNotBelieved) {
  serve();
  const KeyPair other = *make_authority(subject("other authority", loop));
  EXPECT_THAT(to_string(call({.ca = other.certificate}).error()), HasSubstr("verify failed"));
  EXPECT_TRUE(call({.insecure = true}).has_value());
  const KeyPair imposter = *issue(other, subject("ada", loop));
  EXPECT_FALSE(
      call({.ca = authority.certificate, .certificate = imposter.certificate, .key = imposter.key})
          .has_value());
}

TEST_F(Tls, TheServersNameMustBeInItsCertificate) {
  serve();
  EXPECT_THAT(
      to_string(call({.ca = authority.certificate, .server_name = "elsewhere.example"}).error()),
      HasSubstr("verify failed"));
  EXPECT_TRUE(call({.ca = authority.certificate, .server_name = "localhost"}).has_value());
}

TEST_F(Tls, PlainTextIsNotAnswered) {
  serve();
  HttpUrl plain = url;
  plain.tls = false;
  EXPECT_FALSE(call({}, plain).has_value());
  EXPECT_TRUE(call({.ca = authority.certificate}).has_value()) << "others are still served";
}

/// A listener that shakes hands with few at a time, and clients of it.
class Handshakes : public Tls {
 protected:
  void listen_with(int most, Duration timeout) {
    listener =
        *listen(loop,
                {.tls = *TlsContext::server(
                     {.certificate = server_pair.certificate, .key = server_pair.key}),
                 .handshake_timeout = timeout,
                 .most_handshakes = most},
                [this](std::shared_ptr<Connection> shaken) { accepted = std::move(shaken); });
  }
  /// One that connects and then says nothing.
  std::shared_ptr<Connection> silent() {
    auto made = make_connection(loop);
    made->connect("127.0.0.1", listener->port(), [this](const Result<void>& connected) {
      EXPECT_TRUE(connected);
      loop.stop();
    });
    loop.run();
    return made;
  }
  void come() {
    late = make_connection(loop, {.tls = *TlsContext::client({.ca = authority.certificate})});
    late->connect("127.0.0.1", listener->port(), [this](const Result<void>& connected) {
      served = connected.has_value();
      loop.stop();
    });
  }

  std::unique_ptr<Listener> listener;
  std::shared_ptr<Connection> accepted;
  std::shared_ptr<Connection> late;
  bool served = false;
};

TEST_F(Handshakes, WhoComesDuringTooManyIsAcceptedWhenOneOfThemEnds) {
  listen_with(2, Duration::hours(1));
  const auto first = silent();
  const auto second = silent();
  loop.run_for(Duration::millis(50)); // both have been accepted
  come();
  loop.run_for(Duration::millis(50));
  EXPECT_FALSE(served);
  first->close();
  loop.run_for(Duration::seconds(10));
  EXPECT_TRUE(served);
}

TEST_F(Handshakes, OneThatRunsOutOfTimeMakesRoom) {
  listen_with(1, Duration::millis(50));
  const auto first = silent();
  come();
  loop.run_for(Duration::seconds(10));
  EXPECT_TRUE(served);
}

TEST_F(Tls, WhatCannotBeUsedIsNamed) {
  EXPECT_THAT(to_string(TlsContext::server({.certificate = "x", .key = "y"}).error()),
              HasSubstr("TLS certificate cannot be used"));
  EXPECT_THAT(
      to_string(TlsContext::server({.certificate = server_pair.certificate, .key = client_pair.key})
                    .error()),
      HasSubstr("does not belong to the certificate"));
  EXPECT_THAT(to_string(TlsContext::client({.ca = "junk"}).error()),
              HasSubstr("certificate authority cannot be used"));
  EXPECT_THAT(to_string(issue({}, subject("x", loop)).error()), HasSubstr("cannot be read"));
}

} // namespace
} // namespace berth::net
