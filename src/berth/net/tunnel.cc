#include "berth/net/tunnel.h"

#include <utility>

#include "berth/net/transport.h"

namespace berth::net {
namespace {

class Joined final : public Tunnel, public std::enable_shared_from_this<Joined> {
 public:
  Joined(HandedOver a, HandedOver b, std::function<void()> on_end)
      : a_(std::move(a.connection)), b_(std::move(b.connection)), on_end_(std::move(on_end)) {}

  void start(std::string ahead_of_a, std::string ahead_of_b) {
    pass(a_, b_, std::move(ahead_of_a));
    pass(b_, a_, std::move(ahead_of_b));
  }

  void cut() override {
    const auto self = shared_from_this(); // until this is over
    a_->close();
    b_->close();
    if (const auto on_end = std::exchange(on_end_, nullptr)) {
      on_end();
    }
  }

 private:
  using Side = std::shared_ptr<Connection>;

  void pass(const Side& from, const Side& to, std::string bytes) {
    if (bytes.empty()) {
      read(from, to);
      return;
    }
    to->write(std::move(bytes), [self = shared_from_this(), from, to](Result<void> sent) {
      sent ? self->read(from, to) : self->cut();
    });
  }

  void read(const Side& from, const Side& to) {
    from->read([self = shared_from_this(), from, to](Result<std::string_view> bytes) {
      if (!bytes || bytes->empty()) {
        self->cut();
      } else {
        self->pass(from, to, std::string(*bytes));
      }
    });
  }

  Side a_;
  Side b_;
  std::function<void()> on_end_;
};

} // namespace

std::shared_ptr<Tunnel> join(HandedOver a, HandedOver b, std::function<void()> on_end) {
  std::string ahead_of_a = std::move(a.ahead);
  std::string ahead_of_b = std::move(b.ahead);
  auto joined = std::make_shared<Joined>(std::move(a), std::move(b), std::move(on_end));
  joined->start(std::move(ahead_of_a), std::move(ahead_of_b));
  return joined;
}

} // namespace berth::net
