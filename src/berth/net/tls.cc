#include "berth/net/tls.h"

#include <utility>

#include <boost/asio/ssl/context.hpp>
#include <fmt/format.h>

namespace berth::net {
namespace {

namespace ssl = boost::asio::ssl;
using boost::asio::buffer;
using boost::system::error_code;

class Context final : public TlsContext {
 public:
  explicit Context(ssl::context::method method) : context_(method) {
    context_.set_options(ssl::context::default_workarounds | ssl::context::no_sslv2 |
                         ssl::context::no_sslv3 | ssl::context::no_tlsv1 |
                         ssl::context::no_tlsv1_1);
  }

  Result<void> identify(const std::string& certificate, const std::string& key) {
    error_code error;
    context_.use_certificate_chain(buffer(certificate), error);
    if (error) {
      return cannot("certificate", error);
    }
    context_.use_private_key(buffer(key), ssl::context::pem, error);
    if (error) {
      return cannot("private key (or it does not belong to the certificate)", error);
    }
    return {};
  }

  Result<void> trust(const std::string& ca) {
    error_code error;
    context_.add_certificate_authority(buffer(ca), error);
    return error ? cannot("certificate authority", error) : Result<void>();
  }

  ssl::context& context() const override { return context_; }
  bool insecure() const override { return insecure_; }
  const std::string& server_name() const override { return server_name_; }

  static tl::unexpected<Error> cannot(std::string_view what, const error_code& error) {
    return fail(Code::BadRequest, fmt::format("the TLS {} cannot be used: {}; PEM text is expected",
                                              what, error.message()));
  }

  mutable ssl::context context_; // Asio's streams want it so
  bool insecure_ = false;
  std::string server_name_;
};

} // namespace

Result<std::shared_ptr<const TlsContext>> TlsContext::server(const TlsServerOptions& options) {
  auto made = std::make_shared<Context>(ssl::context::tls_server);
  // Every connection is judged by its own certificate, not by that of one before.
  SSL_CTX_set_session_cache_mode(made->context_.native_handle(), SSL_SESS_CACHE_OFF);
  SSL_CTX_set_options(made->context_.native_handle(), SSL_OP_NO_TICKET);
  SSL_CTX_set_num_tickets(made->context_.native_handle(), 0);
  BERTH_CHECK(made->identify(options.certificate, options.key));
  if (!options.client_ca.empty()) {
    BERTH_CHECK(made->trust(options.client_ca));
    made->context_.set_verify_mode(ssl::verify_peer); // a certificate that is shown must be good
  }
  return std::shared_ptr<const TlsContext>(std::move(made));
}

Result<std::shared_ptr<const TlsContext>> TlsContext::client(const TlsClientOptions& options) {
  auto made = std::make_shared<Context>(ssl::context::tls_client);
  made->insecure_ = options.insecure;
  made->server_name_ = options.server_name;
  if (!options.certificate.empty()) {
    BERTH_CHECK(made->identify(options.certificate, options.key));
  }
  if (options.insecure) {
    made->context_.set_verify_mode(ssl::verify_none);
  } else {
    if (options.ca.empty()) {
      made->context_.set_default_verify_paths();
    } else {
      BERTH_CHECK(made->trust(options.ca));
    }
    made->context_.set_verify_mode(ssl::verify_peer);
  }
  return std::shared_ptr<const TlsContext>(std::move(made));
}

} // namespace berth::net
