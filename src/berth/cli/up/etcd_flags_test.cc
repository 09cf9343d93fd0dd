#include "berth/cli/up/etcd_flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/net/certificates.h"
#include "berth/testing/temp_files.h"

namespace berth::cli {
namespace {

using testing::HasSubstr;

class EtcdFlags : public test::TempFiles {
 protected:
  void SetUp() override {
    TempFiles::SetUp();
    const net::CertificateRequest about{.common_name = "ca",
                                        .organizations = {},
                                        .names = {},
                                        .not_before = TimePoint::from_unix_seconds(1'700'000'000),
                                        .not_after = TimePoint::from_unix_seconds(4'000'000'000)};
    const net::KeyPair authority = net::make_authority(about).value();
    const net::KeyPair client = net::issue(authority, about).value();
    write("ca.crt", authority.certificate);
    write("client.crt", client.certificate);
    write("client.key", client.key);
    write("other.key", net::issue(authority, about).value().key);
  }

  using Flags = std::map<std::string, std::vector<std::string>, std::less<>>;
  static Result<std::optional<etcd::EtcdOptions>> read(Flags flags) {
    return etcd_options(Values{.flags = std::move(flags), .arguments = {}});
  }
  /// With the store, over https.
  static Result<std::optional<etcd::EtcdOptions>> read_secure(Flags flags) {
    flags["--store"] = {"etcd"};
    flags["--etcd-endpoints"] = {"https://127.0.0.1:2379"};
    return read(std::move(flags));
  }
};

TEST_F(EtcdFlags, NothingIsSaidOfAnotherStore) {
  const auto options = read({{"--store", {"memory"}}});
  ASSERT_TRUE(options.has_value());
  EXPECT_FALSE(options->has_value());
}

TEST_F(EtcdFlags, DefaultsAreEtcdsOwn) {
  const auto options = read({{"--store", {"etcd"}}});
  ASSERT_TRUE(options.has_value());
  EXPECT_EQ((*options)->endpoints.size(), 1u);
  EXPECT_EQ((*options)->prefix, "/berth");
  EXPECT_EQ((*options)->tls, nullptr);
  EXPECT_EQ((*options)->compact_every, Duration::minutes(5));
}

TEST_F(EtcdFlags, CertificatesAreReadFromTheirFiles) {
  const auto options = read_secure({{"--etcd-cafile", {path("ca.crt")}},
                                    {"--etcd-certfile", {path("client.crt")}},
                                    {"--etcd-keyfile", {path("client.key")}}});
  ASSERT_TRUE(options.has_value()) << to_string(options.error());
  EXPECT_NE((*options)->tls, nullptr);
}

TEST_F(EtcdFlags, WhatIsWrongIsNamed) {
  const auto says = [](const Result<std::optional<etcd::EtcdOptions>>& got) {
    return got ? "nothing" : to_string(got.error());
  };
  EXPECT_THAT(says(read({{"--etcd-cafile", {path("ca.crt")}}})),
              HasSubstr("--etcd-cafile has no effect without --store etcd"));
  EXPECT_THAT(says(read({{"--store", {"etcd"}}, {"--etcd-cafile", {path("ca.crt")}}})),
              HasSubstr("no effect on http:// endpoints"));
  EXPECT_THAT(says(read({{"--store", {"etcd"}}, {"--etcd-prefix", {"berth/"}}})),
              HasSubstr("--etcd-prefix berth/"));
  EXPECT_THAT(says(read({{"--store", {"etcd"}}, {"--etcd-compaction-interval", {"soon"}}})),
              HasSubstr("--etcd-compaction-interval soon"));
  EXPECT_THAT(says(read({{"--store", {"etcd"}}, {"--etcd-endpoints", {"ftp://a"}}})),
              HasSubstr("ftp://a"));
  EXPECT_THAT(says(read_secure({{"--etcd-certfile", {path("client.crt")}}})),
              HasSubstr("--etcd-certfile is set and --etcd-keyfile is not"));
  EXPECT_THAT(says(read_secure({{"--etcd-keyfile", {path("client.key")}}})),
              HasSubstr("--etcd-keyfile is set and --etcd-certfile is not"));
  EXPECT_THAT(says(read_secure({{"--etcd-cafile", {path("absent.crt")}}})),
              HasSubstr("absent.crt"));
  EXPECT_THAT(says(read_secure({{"--etcd-cafile", {path("client.key")}}})),
              HasSubstr("the certificates for etcd: "));
  EXPECT_THAT(says(read_secure({{"--etcd-certfile", {path("client.crt")}},
                                {"--etcd-keyfile", {path("other.key")}}})),
              HasSubstr("the certificates for etcd: "));
}

} // namespace
} // namespace berth::cli
