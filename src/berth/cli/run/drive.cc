#include "berth/cli/run/drive.h"

#include <algorithm>

#include "berth/base/virtual_loop.h"
#include "berth/cli/run/interrupt.h"
#include "berth/net/asio_loop.h"

namespace berth::cli {
namespace {

class VirtualDrive final : public Drive {
 public:
  Loop& loop() override { return loop_; }
  net::AsioLoop* sockets() override { return nullptr; }

  report::Outcome run(const std::function<bool()>& done, TimePoint end) override {
    while (!InterruptWatch::interrupted()) {
      const TimePoint next = loop_.next();
      if (next > loop_.now() && done()) {
        return report::Outcome::Settled;
      }
      if (next == TimePoint::max()) {
        return report::Outcome::Settled; // nothing will ever happen again
      }
      if (next > end) {
        loop_.run_until(end);
        return report::Outcome::TimeUp;
      }
      loop_.step();
    }
    return report::Outcome::Interrupted;
  }

 private:
  VirtualLoop loop_{virtual_start()};
};

class RealDrive final : public Drive {
 public:
  Loop& loop() override { return loop_; }
  net::AsioLoop* sockets() override { return &loop_; }

  report::Outcome run(const std::function<bool()>& done, TimePoint end) override {
    constexpr Duration kLook = Duration::millis(50);
    while (!InterruptWatch::interrupted()) {
      if (done()) {
        return report::Outcome::Settled;
      }
      const TimePoint now = loop_.now();
      if (now >= end) {
        return report::Outcome::TimeUp;
      }
      loop_.run_for(std::min(kLook, end - now));
    }
    return report::Outcome::Interrupted;
  }

 private:
  net::AsioLoop loop_;
};

} // namespace

TimePoint virtual_start() {
  return TimePoint::from_unix_seconds(1'767'225'600);
}

std::unique_ptr<Drive> make_drive(Speed speed) {
  if (speed == Speed::Real) {
    return std::make_unique<RealDrive>();
  }
  return std::make_unique<VirtualDrive>();
}

} // namespace berth::cli
