#include "berth/server/streams/pass_on.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "berth/net/transport.h"
#include "berth/net/tunnel.h"
#include "berth/net/upgrade.h"
#include "berth/server/streams/upstream.h"

namespace berth::server {
namespace {

constexpr int kSwitchingProtocols = 101;

/// What a handshake consists of.
bool of_protocol(std::string_view header) {
  constexpr std::array<std::string_view, 3> kOthers = {"upgrade", "x-stream-protocol-version",
                                                       "content-type"};
  std::string name;
  std::ranges::transform(header, std::back_inserter(name),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return name.starts_with("sec-websocket-") || std::ranges::find(kOthers, name) != kOthers.end();
}

net::HttpHeaders of_protocol(const net::HttpHeaders& all) {
  net::HttpHeaders out;
  for (const auto& header : all) {
    if (of_protocol(header.first)) {
      out.push_back(header);
    }
  }
  return out;
}

/// From the client's request to the end of its connection.
class Passing final : public LiveConnection, public std::enable_shared_from_this<Passing> {
 public:
  Passing(LiveConnections& live, net::HttpRespond respond)
      : live_(&live), respond_(std::move(respond)) {}

  void start(const net::HttpRequest& request, const StreamPlace& place) {
    live_->add(shared_from_this());
    net::UpgradeRequest ask{.to = place.url,
                            .request = {.method = request.method,
                                        .target = place.target,
                                        .headers = of_protocol(request.headers),
                                        .body = {},
                                        .peer = {}},
                            .tls = place.tls};
    std::ranges::copy(place.headers, std::back_inserter(ask.request.headers));
    call_ = net::request_upgrade(*place.loop, std::move(ask),
                                 [weak = weak_from_this()](Result<net::Upgraded> upgraded) {
                                   if (const auto self = weak.lock()) {
                                     self->asked(std::move(upgraded));
                                   }
                                 });
  }

  void cut() override {
    call_ = nullptr;
    respond_ = nullptr;
    if (const auto tunnel = std::exchange(tunnel_, nullptr)) {
      tunnel->cut();
    }
    live_ = nullptr;
  }

 private:
  void asked(Result<net::Upgraded> upgraded) {
    const auto self = shared_from_this(); // until this is over
    const auto respond = std::exchange(respond_, nullptr);
    if (!upgraded) {
      end();
      respond(to_response(dialing_failed(upgraded.error())));
      return;
    }
    net::HttpResponse answer{.status = upgraded->answer.status,
                             .headers = of_protocol(upgraded->answer.headers),
                             .body = upgraded->answer.body};
    if (answer.status != kSwitchingProtocols) {
      end();
      respond(std::move(answer));
      return;
    }
    // Dropped with the answer if the client has gone meanwhile.
    const std::shared_ptr<void> unless_taken(nullptr, [self](void*) {
      if (self->tunnel_ == nullptr && !self->greeting_) {
        self->end();
      }
    });
    answer.take_over = [self, unless_taken, head = net::switching_head(answer.headers),
                        there = std::move(upgraded->stream)](net::HandedOver client) {
      self->greet(head, std::move(client), there);
    };
    respond(std::move(answer));
  }

  void greet(const std::string& head, net::HandedOver client, net::HandedOver there) {
    greeting_ = true;
    const auto connection = client.connection;
    connection->write(head, [self = shared_from_this(), client = std::move(client),
                             there = std::move(there)](Result<void> sent) {
      self->greeting_ = false;
      if (sent && self->live_ != nullptr) {
        self->join(client, there);
      } else {
        client.connection->close();
        there.connection->close();
        self->end();
      }
    });
  }

  void join(net::HandedOver client, net::HandedOver there) {
    tunnel_ = net::join(std::move(client), std::move(there), [weak = weak_from_this()] {
      if (const auto self = weak.lock()) {
        self->end();
      }
    });
  }

  void end() {
    if (live_ != nullptr) {
      live_->remove(shared_from_this());
    }
  }

  LiveConnections* live_;
  net::HttpRespond respond_;
  std::unique_ptr<net::UpgradeCall> call_;
  std::shared_ptr<net::Tunnel> tunnel_;
  bool greeting_ = false; ///< the client is being told that it may begin
};

} // namespace

void pass_on(const net::HttpRequest& request, const StreamPlace& place, LiveConnections& live,
             net::HttpRespond respond) {
  std::make_shared<Passing>(live, std::move(respond))->start(request, place);
}

} // namespace berth::server
