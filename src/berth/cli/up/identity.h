// The certificates of a lasting cluster: its authority, its API server's and its administrator's,
// made once.
#pragma once

#include <string>
#include <vector>

#include "berth/base/time.h"
#include "berth/cli/up/home.h"
#include "berth/net/certificates.h"

namespace berth::cli {

struct Identity {
  net::KeyPair authority;
  net::KeyPair server;
  net::KeyPair admin; ///< of group system:masters
};

/// Read from the home's pki folder; what is missing is made there. The server's certificate is made
/// anew when it does not name `address`. Errors name the file.
Result<Identity> identity_of(const Home& home, const std::string& address, TimePoint now);

/// For kubectl: the administrator at `url`.
std::string kubeconfig_text(const Identity& identity, const std::string& url);

} // namespace berth::cli
