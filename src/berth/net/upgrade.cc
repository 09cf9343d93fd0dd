#include "berth/net/upgrade.h"

#include <utility>

#include <fmt/format.h>

#include "berth/net/transport.h"

namespace berth::net {
namespace {

constexpr int kSwitchingProtocols = 101;
constexpr HttpLimits kLimits{.header_bytes = std::size_t{64} * 1024,
                             .body_bytes = std::size_t{1024} * 1024};

/// Held by its connection's reads and writes.
class Asking : public std::enable_shared_from_this<Asking> {
 public:
  Asking(AsioLoop& loop, UpgradeRequest what, std::function<void(Result<Upgraded>)> done)
      : loop_(&loop), what_(std::move(what)), done_(std::move(done)), timer_(loop) {
    what_.request.target = what_.to.path + what_.request.target;
  }

  void start() {
    if (what_.to.tls && what_.tls == nullptr) {
      auto tls = TlsContext::client({});
      if (!tls) {
        loop_->post([self = shared_from_this(), error = std::move(tls).error()] {
          self->finish(tl::unexpected(error));
        });
        return;
      }
      what_.tls = *std::move(tls);
    }
    timer_.set(what_.timeout, [this] {
      finish(fail(Code::Timeout, fmt::format("no answer from {} within {}", what_.to.authority(),
                                             to_string(what_.timeout))));
    });
    connection_ = make_connection(*loop_, {.tls = what_.to.tls ? what_.tls : nullptr});
    connection_->connect(
        what_.to.host, what_.to.port, [self = shared_from_this()](Result<void> connected) {
          connected ? self->write() : self->finish(tl::unexpected(std::move(connected).error()));
        });
  }

  void stop() {
    done_ = nullptr;
    timer_.cancel();
    if (connection_) {
      connection_->close();
    }
  }

 private:
  void write() {
    connection_->write(upgrade_bytes(what_.request, what_.to.authority()),
                       [self = shared_from_this()](Result<void> sent) {
                         sent ? self->read() : self->lost(sent.error());
                       });
  }

  void read() {
    connection_->read([self = shared_from_this()](Result<std::string_view> bytes) {
      if (!bytes) {
        self->lost(bytes.error());
        return;
      }
      const auto fed = bytes->empty() ? self->reader_.end() : self->reader_.feed(*bytes);
      if (!fed) {
        self->lost(fed.error());
      } else if (self->reader_.done()) {
        self->answered();
      } else {
        self->read();
      }
    });
  }

  void answered() {
    Upgraded upgraded{.answer = reader_.take(), .stream = {}};
    if (upgraded.answer.status == kSwitchingProtocols) {
      upgraded.stream = {.loop = loop_,
                         .connection = std::exchange(connection_, nullptr),
                         .ahead = reader_.take_rest()};
    }
    finish(std::move(upgraded));
  }

  void lost(const Error& error) {
    finish(fail(error.code, fmt::format("{}: {}", what_.to.authority(), error.message)));
  }

  void finish(Result<Upgraded> how) {
    const auto self = shared_from_this(); // until this is over
    const auto done = std::exchange(done_, nullptr);
    stop();
    if (done) {
      done(std::move(how));
    }
  }

  AsioLoop* loop_;
  UpgradeRequest what_;
  std::function<void(Result<Upgraded>)> done_;
  Timer timer_;
  std::shared_ptr<Connection> connection_;
  ResponseReader reader_{kLimits, ResponseReader::To::Get};
};

class Handle final : public UpgradeCall {
 public:
  explicit Handle(std::shared_ptr<Asking> asking) : asking_(std::move(asking)) {}
  ~Handle() override { asking_->stop(); }

 private:
  std::shared_ptr<Asking> asking_;
};

} // namespace

std::unique_ptr<UpgradeCall> request_upgrade(AsioLoop& loop, UpgradeRequest what,
                                             std::function<void(Result<Upgraded>)> done) {
  auto asking = std::make_shared<Asking>(loop, std::move(what), std::move(done));
  asking->start();
  return std::make_unique<Handle>(std::move(asking));
}

} // namespace berth::net
