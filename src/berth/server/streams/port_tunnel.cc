#include "berth/server/streams/port_tunnel.h"

#include <utility>

#include "berth/net/transport.h"
#include "berth/net/websocket.h"
#include "berth/server/streams/protocols.h"
#include "berth/server/streams/upstream.h"

namespace berth::server {
namespace {

constexpr std::uint16_t kNormalClosure = 1000;

/// From the client's request to the end of its connection. Each direction has one piece under way.
class PortTunnel final : public LiveConnection, public std::enable_shared_from_this<PortTunnel> {
 public:
  PortTunnel(net::HttpRequest request, std::string protocol, LiveConnections& live,
             net::HttpRespond respond)
      : request_(std::move(request)), protocol_(std::move(protocol)), live_(&live),
        respond_(std::move(respond)) {}

  void start(const StreamPlace& place) {
    live_->add(shared_from_this());
    call_ = dial_spdy(place, std::string_view(protocol_).substr(kTunnelPrefix.size()),
                      [weak = weak_from_this()](Answer<net::Upgraded> to) {
                        if (const auto self = weak.lock()) {
                          self->dialled(std::move(to));
                        }
                      });
  }

  void cut() override {
    live_ = nullptr;
    call_ = nullptr;
    respond_ = nullptr;
    close();
  }

 private:
  void dialled(Answer<net::Upgraded> to) {
    const auto self = shared_from_this(); // until this is over
    const auto respond = std::exchange(respond_, nullptr);
    if (!to) {
      end();
      respond(to_response(to.error()));
      return;
    }
    server_ = std::move(to->stream.connection);
    // Dropped with the answer if the client has gone meanwhile.
    const std::shared_ptr<void> unless_taken(nullptr, [self](void*) {
      if (!self->taken_) {
        self->end();
      }
    });
    net::HttpResponse answer{.status = 101};
    answer.take_over = [self, unless_taken,
                        ahead = std::move(to->stream.ahead)](net::HandedOver client) {
      self->taken_ = true;
      net::accept_websocket(std::move(client), self->request_, self->protocol_,
                            [self, ahead](Result<std::shared_ptr<net::WebSocket>> opened) {
                              opened && self->live_ != nullptr
                                  ? self->opened(*std::move(opened), ahead)
                                  : self->end();
                            });
    };
    respond(std::move(answer));
  }

  void opened(std::shared_ptr<net::WebSocket> client, const std::string& ahead) {
    client_ = std::move(client);
    if (!ahead.empty()) {
      client_->send({.bytes = ahead});
    }
    read_client();
    read_server();
  }

  void read_client() {
    client_->read([weak = weak_from_this()](Result<net::WebSocketMessage> message) {
      const auto self = weak.lock();
      if (self == nullptr) {
        return;
      }
      if (!message) {
        self->end();
      } else if (message->bytes.empty()) {
        self->read_client();
      } else {
        self->server_->write(std::move(message->bytes), [weak](Result<void> sent) {
          if (const auto still = weak.lock()) {
            sent ? still->read_client() : still->end();
          }
        });
      }
    });
  }

  void read_server() {
    server_->read([weak = weak_from_this()](Result<std::string_view> bytes) {
      const auto self = weak.lock();
      if (self == nullptr) {
        return;
      }
      if (!bytes || bytes->empty()) {
        self->client_->close(kNormalClosure, "");
        self->end();
        return;
      }
      self->client_->send({.bytes = std::string(*bytes)}, [weak] {
        if (const auto still = weak.lock()) {
          still->read_server();
        }
      });
    });
  }

  void end() {
    if (live_ != nullptr) {
      if (server_ != nullptr) {
        server_->close();
      }
      live_->remove(shared_from_this());
    }
  }

  void close() {
    if (server_ != nullptr) {
      server_->close();
    }
    if (client_ != nullptr) {
      client_->drop();
    }
  }

  net::HttpRequest request_;
  std::string protocol_;
  LiveConnections* live_;
  net::HttpRespond respond_;
  std::unique_ptr<net::UpgradeCall> call_;
  std::shared_ptr<net::Connection> server_;
  std::shared_ptr<net::WebSocket> client_;
  bool taken_ = false;
};

} // namespace

void tunnel_ports(const net::HttpRequest& request, const std::string& protocol,
                  const StreamPlace& place, LiveConnections& live, net::HttpRespond respond) {
  std::make_shared<PortTunnel>(request, protocol, live, std::move(respond))->start(place);
}

} // namespace berth::server
