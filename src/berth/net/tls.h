// TLS as the Kubernetes API speaks it: a server that may ask for client certificates, a client that
// trusts a CA. OpenSSL stays inside this room's sources.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "berth/base/result.h"

namespace boost::asio::ssl {
class context;
}

namespace berth::net {

/// Who a verified client certificate names: Kubernetes' user (CN) and groups (O).
struct Peer {
  std::string common_name;
  std::vector<std::string> organizations;
};

/// All texts are PEM; a certificate may bring its chain.
struct TlsServerOptions {
  std::string certificate;
  std::string key;
  std::string
      client_ca; ///< "": client certificates are not asked for. A client may come without one.
};

struct TlsClientOptions {
  std::string ca;          ///< "": the system's
  std::string certificate; ///< "": none is shown
  std::string key;
  std::string server_name; ///< expected in the server's certificate; "": the host connected to
  bool insecure = false;   ///< believe any server
};

/// Shared by all connections of one kind. TLS 1.2 and up.
class TlsContext {
 public:
  /// Error BadRequest names what cannot be used: certificate, key (or that they do not belong
  /// together), CA.
  static Result<std::shared_ptr<const TlsContext>> server(const TlsServerOptions& options);
  static Result<std::shared_ptr<const TlsContext>> client(const TlsClientOptions& options);
  virtual ~TlsContext() = default;

  /// For this room's sockets.
  virtual boost::asio::ssl::context& context() const = 0;
  virtual bool insecure() const = 0;
  virtual const std::string& server_name() const = 0;
};

} // namespace berth::net
