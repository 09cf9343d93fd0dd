// An etcd that speaks TLS and asks for certificates.
#include "berth/etcd/etcd_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/etcd/endpoints.h"
#include "berth/net/certificates.h"
#include "berth/testing/etcd_server.h"
#include "berth/testing/temp_files.h"

namespace berth::etcd {
namespace {

class EtcdOverTls : public test::TempFiles {
 protected:
  void SetUp() override {
    TempFiles::SetUp();
    if (!berth::testing::EtcdServer::at_hand()) {
      GTEST_SKIP() << "there is no etcd on the PATH (Debian: etcd-server)";
    }
    const net::CertificateRequest about{.common_name = "etcd-ca",
                                        .organizations = {},
                                        .names = {},
                                        .not_before = loop.now() - Duration::hours(1),
                                        .not_after = loop.now() + Duration::hours(1)};
    authority = net::make_authority(about).value();
    net::CertificateRequest member = about;
    member.common_name = "member";
    member.names = {"IP:127.0.0.1"};
    member.shown_by_servers_too = true; // its JSON gateway is a client of itself
    const net::KeyPair served = net::issue(authority, member).value();
    net::CertificateRequest reader = about;
    reader.common_name = "berth";
    client = net::issue(authority, reader).value();
    server.emplace(
        "tls", root(),
        berth::testing::EtcdServer::Tls{.ca = write("ca.crt", authority.certificate),
                                        .certificate = write("server.crt", served.certificate),
                                        .key = write("server.key", served.key)});
    ASSERT_TRUE(server->start()) << "etcd does not come up";
  }

  Result<std::unique_ptr<EtcdStore>> open(const net::TlsClientOptions& tls) {
    return EtcdStore::open(loop, {.endpoints = *parse_endpoints(server->url()),
                                  .tls = net::TlsContext::client(tls).value()});
  }

  net::AsioLoop loop;
  net::KeyPair authority;
  net::KeyPair client;
  std::optional<berth::testing::EtcdServer> server;
};

TEST_F(EtcdOverTls, IsReadAndWrittenByWhoShowsACertificate) {
  auto store =
      open({.ca = authority.certificate, .certificate = client.certificate, .key = client.key});
  ASSERT_TRUE(store.has_value()) << to_string(store.error());
  const auto written =
      (*store)->put(api::json::object{{"apiVersion", "v1"},
                                      {"kind", "ConfigMap"},
                                      {"metadata", {{"name", "a"}, {"namespace", "default"}}}},
                    0, store::Check());
  ASSERT_TRUE(written.has_value()) << to_string(written.error());
  EXPECT_TRUE((*store)->get({"", "ConfigMap"}, {"default", "a"}).has_value());
}

TEST_F(EtcdOverTls, TurnsOthersAway) {
  const auto without = open({.ca = authority.certificate});
  ASSERT_FALSE(without.has_value());
  EXPECT_EQ(without.error().code, Code::Unavailable);
  const auto doubted = open({.certificate = client.certificate, .key = client.key});
  ASSERT_FALSE(doubted.has_value());
  EXPECT_THAT(to_string(doubted.error()), ::testing::HasSubstr("certificate"));
}

} // namespace
} // namespace berth::etcd
