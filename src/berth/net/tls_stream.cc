#include "berth/net/tls_stream.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <utility>
#include <vector>

#include <boost/asio/post.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/error.hpp>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

namespace berth::net {
namespace {

using boost::asio::ip::tcp;
using boost::system::error_code;

/// Records written before others have their turn.
constexpr int kRecordsATurn = 64;

// ---- OpenSSL's view of the socket. Its own would raise SIGPIPE, and would go on using the number
// of a socket that is closed.

int handle_of(BIO* bio) {
  return static_cast<tcp::socket*>(BIO_get_data(bio))->native_handle();
}

bool again() {
  return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

int read_socket(BIO* bio, char* into, int size) {
  BIO_clear_retry_flags(bio);
  const auto got = ::recv(handle_of(bio), into, static_cast<std::size_t>(size), 0);
  if (got < 0 && again()) {
    BIO_set_retry_read(bio);
  }
  return static_cast<int>(got);
}

int write_socket(BIO* bio, const char* bytes, int size) {
  BIO_clear_retry_flags(bio);
  const auto sent = ::send(handle_of(bio), bytes, static_cast<std::size_t>(size), MSG_NOSIGNAL);
  if (sent < 0 && again()) {
    BIO_set_retry_write(bio);
  }
  return static_cast<int>(sent);
}

long control_socket(BIO*, int command, long, void*) {
  return command == BIO_CTRL_FLUSH ? 1 : 0;
}

const BIO_METHOD* socket_method() {
  static const BIO_METHOD* const made = [] {
    BIO_METHOD* method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "berth socket");
    BIO_meth_set_read(method, read_socket);
    BIO_meth_set_write(method, write_socket);
    BIO_meth_set_ctrl(method, control_socket);
    return method;
  }();
  return made;
}

error_code protocol_error() {
  return {static_cast<int>(ERR_get_error()), boost::asio::error::get_ssl_category()};
}

std::vector<std::string> entries(const X509_NAME* name, int nid) {
  std::vector<std::string> found;
  for (int at = X509_NAME_get_index_by_NID(name, nid, -1); at >= 0;
       at = X509_NAME_get_index_by_NID(name, nid, at)) {
    const ASN1_STRING* text = X509_NAME_ENTRY_get_data(X509_NAME_get_entry(name, at));
    found.emplace_back(reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
                       static_cast<std::size_t>(ASN1_STRING_length(text)));
  }
  return found;
}

} // namespace

/// What one call of the caller's asks of OpenSSL, until it has `enough`.
struct TlsStream::Operation {
  std::function<int(std::size_t)> attempt; ///< told how much is done; OpenSSL's result
  std::size_t enough = 0;
  Done done;
  std::size_t size = 0;
};

TlsStream::TlsStream(tcp::socket socket, const TlsContext& context)
    : socket_(std::move(socket)), ssl_(SSL_new(context.context().native_handle()), &SSL_free) {
  SSL_set_mode(ssl_.get(), SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                               SSL_MODE_RELEASE_BUFFERS);
  SSL_set_read_ahead(ssl_.get(), 1);
  BIO* bio = BIO_new(socket_method());
  BIO_set_data(bio, &socket_);
  BIO_set_init(bio, 1);
  SSL_set_bio(ssl_.get(), bio, bio);
}

TlsStream::~TlsStream() = default;

void TlsStream::expect(const std::string& name) {
  if (X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl_.get()), name.c_str()) == 1) {
    return;
  }
  SSL_set1_host(ssl_.get(), name.c_str());
  SSL_set_tlsext_host_name(ssl_.get(), name.c_str()); // which of its names a server is asked for
}

void TlsStream::async_handshake(Side side, Done done) {
  error_code error;
  socket_.native_non_blocking(true, error);
  if (side == Side::Client) {
    SSL_set_connect_state(ssl_.get());
  } else {
    SSL_set_accept_state(ssl_.get());
  }
  begin([this](std::size_t) { return SSL_do_handshake(ssl_.get()); }, 1, std::move(done));
}

void TlsStream::async_read_some(boost::asio::mutable_buffer into, Done done) {
  const int size = static_cast<int>(std::min<std::size_t>(into.size(), INT_MAX));
  begin([this, into, size](std::size_t) { return SSL_read(ssl_.get(), into.data(), size); }, 1,
        std::move(done));
}

void TlsStream::async_write(boost::asio::const_buffer bytes, Done done) {
  begin(
      [this, bytes](std::size_t at) {
        const auto rest = bytes + at;
        return SSL_write(ssl_.get(), rest.data(),
                         static_cast<int>(std::min<std::size_t>(rest.size(), INT_MAX)));
      },
      bytes.size(), std::move(done));
}

void TlsStream::begin(std::function<int(std::size_t)> attempt, std::size_t enough, Done done) {
  go_on(std::make_shared<Operation>(
            Operation{.attempt = std::move(attempt), .enough = enough, .done = std::move(done)}),
        Now::Inside);
}

void TlsStream::go_on(const std::shared_ptr<Operation>& operation, Now now) {
  for (int turn = 0; operation->size < operation->enough; ++turn) {
    if (turn == kRecordsATurn) {
      boost::asio::post(socket_.get_executor(),
                        [this, operation] { go_on(operation, Now::Later); });
      return;
    }
    if (!socket_.is_open()) {
      finish(operation, boost::asio::error::operation_aborted, now);
      return;
    }
    ERR_clear_error();
    const int result = operation->attempt(operation->size);
    const int system_error = errno;
    if (result > 0) {
      operation->size += static_cast<std::size_t>(result);
      continue;
    }
    switch (SSL_get_error(ssl_.get(), result)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:
      socket_.async_wait(
          SSL_want_read(ssl_.get()) ? tcp::socket::wait_read : tcp::socket::wait_write,
          [this, operation](const error_code& error) {
            error ? finish(operation, error, Now::Later) : go_on(operation, Now::Later);
          });
      return;
    case SSL_ERROR_ZERO_RETURN:
      finish(operation, boost::asio::error::eof, now);
      return;
    case SSL_ERROR_SYSCALL:
      finish(operation,
             result == 0 || system_error == 0
                 ? error_code(boost::asio::error::eof)
                 : error_code(system_error, boost::system::system_category()),
             now);
      return;
    default:
      finish(operation, protocol_error(), now);
      return;
    }
  }
  finish(operation, {}, now);
}

void TlsStream::finish(const std::shared_ptr<Operation>& operation, const error_code& error,
                       Now now) {
  if (now == Now::Later) {
    operation->done(error, operation->size);
    return;
  }
  boost::asio::post(socket_.get_executor(),
                    [operation, error] { operation->done(error, operation->size); });
}

std::optional<Peer> TlsStream::peer() const {
  const X509* certificate = SSL_get0_peer_certificate(ssl_.get());
  if (certificate == nullptr || SSL_get_verify_result(ssl_.get()) != X509_V_OK) {
    return std::nullopt;
  }
  const X509_NAME* subject = X509_get_subject_name(certificate);
  const auto names = entries(subject, NID_commonName);
  return Peer{.common_name = names.empty() ? std::string() : names.back(),
              .organizations = entries(subject, NID_organizationName)};
}

} // namespace berth::net
