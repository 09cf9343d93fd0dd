#include "berth/net/spdy/client.h"

#include <utility>

#include "berth/net/transport.h"

namespace berth::net::spdy {
namespace {

class ConnectionClient final : public Client,
                               public std::enable_shared_from_this<ConnectionClient> {
 public:
  ConnectionClient(HandedOver on, ClientEvents events)
      : loop_(on.loop), connection_(std::move(on.connection)),
        events_(std::make_shared<const ClientEvents>(std::move(events))) {
    reader_.feed(on.ahead);
  }

  void start() {
    loop_->post([self = shared_from_this()] { self->take(); });
  }

  StreamId open(const HttpHeaders& headers) override {
    const StreamId stream = next_;
    next_ += 2; // those of a client are odd
    write(writer_.syn_stream(stream, headers));
    return stream;
  }
  void send(StreamId stream, std::string_view bytes) override {
    if (!bytes.empty()) {
      write(FrameWriter::data(stream, bytes, Fin::No));
    }
  }
  void finish(StreamId stream) override { write(FrameWriter::data(stream, {}, Fin::Yes)); }
  std::size_t waiting() const override { return waiting_.size() + on_its_way_; }
  void pause() override { paused_ = true; }
  void resume() override {
    if (std::exchange(paused_, false) && std::exchange(held_, false)) {
      loop_->post([self = shared_from_this()] { self->take(); });
    }
  }
  void cut() override {
    over_ = true;
    connection_->close();
    events_ = nullptr; // and whom they hold
  }

 private:
  void read() {
    connection_->read([self = shared_from_this()](Result<std::string_view> bytes) {
      if (self->over_) {
        return;
      }
      if (!bytes || bytes->empty()) {
        self->finish_with(bytes ? Result<void>() : tl::unexpected(bytes.error()));
        return;
      }
      self->reader_.feed(*bytes);
      self->take();
    });
  }

  /// Tells of the frames that are in, then reads on.
  void take() {
    while (!over_) {
      if (paused_) {
        held_ = true;
        return;
      }
      const auto frame = reader_.next();
      if (!frame) {
        finish_with(tl::unexpected(frame.error()));
        return;
      }
      if (!*frame) {
        read();
        return;
      }
      tell(**frame);
    }
  }

  void tell(const Frame& frame) {
    const auto events = events_; // they may cut
    switch (frame.type) {
    case Frame::Type::Data:
      if (!frame.data.empty()) {
        events->data(frame.stream, frame.data);
      }
      break;
    case Frame::Type::RstStream:
      events->end(frame.stream);
      return;
    case Frame::Type::Ping:
      if (frame.stream % 2 == 0) { // odd ones answer this side's
        write(FrameWriter::ping(frame.stream));
      }
      return;
    case Frame::Type::SynStream: // nobody here waits for a server's streams
    case Frame::Type::SynReply:
    case Frame::Type::GoAway:
    case Frame::Type::Other:
      break;
    }
    if (frame.fin && !over_) {
      events->end(frame.stream);
    }
  }

  void write(std::string bytes) {
    if (over_) {
      return;
    }
    waiting_ += bytes;
    flush();
  }

  void flush() {
    if (on_its_way_ > 0) {
      return;
    }
    if (waiting_.empty()) {
      if (const auto events = events_; events->room) {
        events->room();
      }
      return;
    }
    on_its_way_ = waiting_.size();
    connection_->write(std::exchange(waiting_, {}), [self = shared_from_this()](Result<void> sent) {
      self->on_its_way_ = 0;
      if (self->over_) {
        return;
      }
      if (sent) {
        self->flush();
      } else if (!self->held_) {
        return; // the read under way tells of it, after what came before
      } else {
        self->finish_with(std::move(sent));
      }
    });
  }

  void finish_with(Result<void> how) {
    const auto self = shared_from_this(); // until this is over
    const auto events = events_;
    cut();
    events->over(std::move(how));
  }

  AsioLoop* loop_;
  std::shared_ptr<Connection> connection_;
  std::shared_ptr<const ClientEvents> events_;
  FrameWriter writer_;
  FrameReader reader_;
  StreamId next_ = 1;
  std::string waiting_;
  std::size_t on_its_way_ = 0;
  bool paused_ = false;
  bool held_ = false; ///< frames, or the next read, wait for resume()
  bool over_ = false;
};

} // namespace

std::shared_ptr<Client> make_client(HandedOver on, ClientEvents events) {
  auto client = std::make_shared<ConnectionClient>(std::move(on), std::move(events));
  client->start();
  return client;
}

} // namespace berth::net::spdy
