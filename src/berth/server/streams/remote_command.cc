#include "berth/server/streams/remote_command.h"

#include <algorithm>
#include <map>
#include <utility>

#include "berth/api/json.h"
#include "berth/net/spdy/client.h"
#include "berth/net/websocket.h"
#include "berth/server/streams/protocols.h"
#include "berth/server/streams/upstream.h"

namespace berth::server {
namespace {

constexpr std::size_t kAhead = std::size_t{1024} * 1024; ///< that may wait for a slow side
constexpr std::size_t kStatusBytes = std::size_t{64} * 1024;
constexpr std::uint16_t kNormalClosure = 1000;

std::string message_of(Channel channel, std::string_view bytes) {
  return std::string(1, static_cast<char>(channel)).append(bytes);
}

/// One command, from the client's handshake to its Status.
class RemoteCommand final : public LiveConnection,
                            public std::enable_shared_from_this<RemoteCommand> {
 public:
  RemoteCommand(StreamRequest what, StreamPlace place, LiveConnections& live)
      : what_(std::move(what)), place_(std::move(place)), live_(&live) {}

  void start(net::HandedOver client, const net::HttpRequest& request) {
    live_->add(shared_from_this());
    net::accept_websocket(
        std::move(client), request, std::string(kRemoteCommandV5),
        [weak = weak_from_this()](Result<std::shared_ptr<net::WebSocket>> opened) {
          if (const auto self = weak.lock()) {
            opened ? self->opened(*std::move(opened)) : self->end();
          }
        });
  }

  void cut() override {
    live_ = nullptr;
    stop();
    if (client_ != nullptr) {
      client_->drop();
    }
  }

 private:
  void opened(std::shared_ptr<net::WebSocket> client) {
    client_ = std::move(client);
    // An empty message on the lowest channel that is written tells that the connection stands.
    send(what_.out ? Channel::Stdout : what_.err ? Channel::Stderr : Channel::Error, {});
    call_ =
        dial_spdy(place_, kRemoteCommandV4, [weak = weak_from_this()](Answer<net::Upgraded> to) {
          const auto self = weak.lock();
          if (self == nullptr) {
            return;
          }
          if (to) {
            self->connected(std::move(to->stream));
          } else {
            self->fail_with(to.error());
          }
        });
    read_client();
  }

  void connected(net::HandedOver to) {
    const auto weak = weak_from_this();
    const auto with_self = [weak](auto run) {
      if (const auto self = weak.lock()) {
        run(*self);
      }
    };
    server_ = net::spdy::make_client(
        std::move(to),
        {.data =
             [with_self](net::spdy::StreamId stream, std::string_view bytes) {
               with_self([&](RemoteCommand& self) { self.got(stream, bytes); });
             },
         .end =
             [with_self](net::spdy::StreamId stream) {
               with_self([&](RemoteCommand& self) { self.ended(stream); });
             },
         .over =
             [with_self](const Result<void>&) {
               with_self([&](RemoteCommand& self) { self.finish(); });
             },
         .room = [with_self] { with_self([&](RemoteCommand& self) { self.read_client(); }); }});
    open(Channel::Error, "error");
    if (what_.in) {
      open(Channel::Stdin, "stdin");
    }
    if (what_.out) {
      open(Channel::Stdout, "stdout");
    }
    if (what_.err) {
      open(Channel::Stderr, "stderr");
    }
    if (what_.tty) {
      open(Channel::Resize, "resize");
    }
    for (const std::string& message : std::exchange(early_, {})) {
      from_client(message);
    }
    read_client();
  }

  void open(Channel channel, const char* type) {
    const net::spdy::StreamId stream = server_->open({{"streamType", type}});
    streams_[channel] = stream;
    channels_[stream] = channel;
    if (channel == Channel::Error || channel == Channel::Stdout || channel == Channel::Stderr) {
      ++reading_;
    }
  }

  // ---- from the streaming server to the client
  void got(net::spdy::StreamId stream, std::string_view bytes) {
    const auto channel = channels_.find(stream);
    if (channel == channels_.end()) {
      return;
    }
    if (channel->second == Channel::Error) {
      status_.append(bytes.substr(0, kStatusBytes - std::min(status_.size(), kStatusBytes)));
    } else {
      send(channel->second, bytes);
    }
  }

  void ended(net::spdy::StreamId stream) {
    const auto channel = channels_.find(stream);
    if (channel == channels_.end()) {
      return;
    }
    const Channel which = channel->second;
    channels_.erase(channel);
    streams_.erase(which);
    if (which != Channel::Stdin && which != Channel::Resize && --reading_ == 0) {
      finish();
    }
  }

  void send(Channel channel, std::string_view bytes) {
    if (client_ == nullptr) {
      return;
    }
    client_->send({.bytes = message_of(channel, bytes)}, [weak = weak_from_this()] {
      const auto self = weak.lock();
      if (self && self->server_ && self->client_->waiting() < kAhead) {
        self->server_->resume();
      }
    });
    if (server_ && client_->waiting() >= kAhead) {
      server_->pause();
    }
  }

  // ---- from the client to the streaming server
  void read_client() {
    if (client_ == nullptr || client_reading_ || (server_ && server_->waiting() >= kAhead) ||
        (!server_ && early_bytes_ >= kAhead)) {
      return;
    }
    client_reading_ = true;
    client_->read([weak = weak_from_this()](Result<net::WebSocketMessage> message) {
      const auto self = weak.lock();
      if (self == nullptr) {
        return;
      }
      self->client_reading_ = false;
      if (!message) { // it has gone, and the command with it
        self->stop();
        self->end();
        return;
      }
      if (self->server_ == nullptr) {
        self->early_bytes_ += message->bytes.size();
        self->early_.push_back(std::move(message->bytes));
      } else {
        self->from_client(message->bytes);
      }
      self->read_client();
    });
  }

  void from_client(std::string_view message) {
    if (message.empty()) {
      return;
    }
    const auto first = static_cast<unsigned char>(message.front());
    message.remove_prefix(1);
    if (first == kChannelEnds) {
      if (!message.empty()) {
        end_of(static_cast<unsigned char>(message.front()));
      }
      return;
    }
    const auto stream = writable(first);
    if (stream) {
      server_->send(*stream, message);
    }
  }

  void end_of(unsigned char number) {
    if (const auto stream = writable(number)) {
      server_->finish(*stream);
      streams_.erase(static_cast<Channel>(number));
    }
  }

  std::optional<net::spdy::StreamId> writable(unsigned char number) const {
    const auto channel = static_cast<Channel>(number);
    const auto stream = streams_.find(channel);
    return stream != streams_.end() && (channel == Channel::Stdin || channel == Channel::Resize)
               ? std::optional(stream->second)
               : std::nullopt;
  }

  // ---- the end
  void finish() {
    if (status_.empty()) {
      fail_with(internal_error("the connection to the container was lost"));
      return;
    }
    tell(status_);
  }

  void fail_with(const Status& status) { tell(api::to_json(to_document(status))); }

  void tell(const std::string& status) {
    const auto self = shared_from_this(); // until this is over
    stop();
    if (client_ != nullptr) {
      send(Channel::Error, status);
      // Normal in any case: with any other code clients do not look at the Status.
      client_->close(kNormalClosure, "");
    }
    end();
  }

  void stop() {
    call_ = nullptr;
    if (const auto server = std::exchange(server_, nullptr)) {
      server->cut();
    }
  }

  void end() {
    if (live_ != nullptr) {
      live_->remove(shared_from_this());
    }
  }

  StreamRequest what_;
  StreamPlace place_;
  LiveConnections* live_;
  std::shared_ptr<net::WebSocket> client_;
  std::unique_ptr<net::UpgradeCall> call_;
  std::shared_ptr<net::spdy::Client> server_;
  std::map<Channel, net::spdy::StreamId> streams_;
  std::map<net::spdy::StreamId, Channel> channels_;
  int reading_ = 0;                ///< streams that the server has not ended
  std::string status_;             ///< what came on the error stream
  std::vector<std::string> early_; ///< what the client said before there was a server
  std::size_t early_bytes_ = 0;
  bool client_reading_ = false;
};

} // namespace

void translate_remote_command(const net::HttpRequest& request, const StreamRequest& what,
                              const StreamPlace& place, LiveConnections& live,
                              const net::HttpRespond& respond) {
  net::HttpResponse answer{.status = 101};
  answer.take_over = [command = std::make_shared<RemoteCommand>(what, place, live), request](
                         net::HandedOver client) { command->start(std::move(client), request); };
  respond(std::move(answer));
}

} // namespace berth::server
