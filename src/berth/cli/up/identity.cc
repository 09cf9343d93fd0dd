#include "berth/cli/up/identity.h"

#include <fmt/format.h>

#include "berth/net/base64.h"
#include "berth/store/validation/formats.h"

namespace berth::cli {
namespace {

constexpr Duration kValid = Duration::hours(24 * 365 * 10);
constexpr Duration kBefore = Duration::hours(24); ///< for clocks that are behind

/// NAME.crt and NAME.key; empty texts if one is missing. One that cannot be read is an error: made
/// anew it would lock everybody out.
Result<net::KeyPair> read_pair(const Home& home, const std::string& name) {
  net::KeyPair pair;
  BERTH_TRY(pair.certificate, read_key_file(home, name + ".crt"));
  BERTH_TRY(pair.key, read_key_file(home, name + ".key"));
  return pair.certificate.empty() || pair.key.empty() ? net::KeyPair() : pair;
}

Result<void> write_pair(const Home& home, const std::string& name, const net::KeyPair& pair) {
  BERTH_CHECK(write_private(home.pki() / (name + ".crt"), pair.certificate));
  return write_private(home.pki() / (name + ".key"), pair.key);
}

net::CertificateRequest named(std::string name, TimePoint now) {
  return {.common_name = std::move(name),
          .organizations = {},
          .names = {},
          .not_before = now - kBefore,
          .not_after = now + kValid};
}

std::vector<std::string> server_names(const std::string& address) {
  std::vector<std::string> names = {"DNS:localhost",          "DNS:kubernetes",
                                    "DNS:kubernetes.default", "DNS:kubernetes.default.svc",
                                    "IP:127.0.0.1",           "IP:::1"};
  if (address != "127.0.0.1" && address != "::1" && address != "0.0.0.0" && address != "::") {
    names.push_back((store::is_ip(address) ? "IP:" : "DNS:") + address);
  }
  return names;
}

} // namespace

Result<Identity> identity_of(const Home& home, const std::string& address, TimePoint now) {
  Identity identity;
  BERTH_TRY(identity.authority, read_pair(home, "ca"));
  BERTH_TRY(identity.server, read_pair(home, "server"));
  BERTH_TRY(identity.admin, read_pair(home, "admin"));
  if (identity.authority.key.empty()) {
    BERTH_TRY(identity.authority, net::make_authority(named("berth-ca", now)));
    BERTH_CHECK(write_pair(home, "ca", identity.authority));
    identity.server = identity.admin = {};
  }
  constexpr const char* kTold = "server.address";
  BERTH_TRY(const std::string told, read_key_file(home, kTold));
  if (identity.server.key.empty() || told != address) {
    net::CertificateRequest server = named("berth-apiserver", now);
    server.names = server_names(address);
    BERTH_TRY(identity.server, net::issue(identity.authority, server));
    BERTH_CHECK(write_pair(home, "server", identity.server));
    BERTH_CHECK(write_private(home.pki() / kTold, address));
  }
  if (identity.admin.key.empty()) {
    net::CertificateRequest admin = named("admin", now);
    admin.organizations = {"system:masters"};
    BERTH_TRY(identity.admin, net::issue(identity.authority, admin));
    BERTH_CHECK(write_pair(home, "admin", identity.admin));
  }
  return identity;
}

std::string kubeconfig_text(const Identity& identity, const std::string& url) {
  return fmt::format(R"(apiVersion: v1
kind: Config
current-context: berth
clusters:
- name: berth
  cluster:
    server: {}
    certificate-authority-data: {}
contexts:
- name: berth
  context:
    cluster: berth
    user: admin
users:
- name: admin
  user:
    client-certificate-data: {}
    client-key-data: {}
)",
                     url, net::to_base64(identity.authority.certificate),
                     net::to_base64(identity.admin.certificate),
                     net::to_base64(identity.admin.key));
}

} // namespace berth::cli
