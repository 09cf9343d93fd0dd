#include "berth/deviceplugin/wire/directory_patrol.h"

#include <algorithm>
#include <utility>

namespace berth::deviceplugin {

DirectoryPatrol::DirectoryPatrol(net::AsioLoop& loop, std::string directory, PatrolTimes times,
                                 std::function<void(Why)> look)
    : loop_(&loop), directory_(std::move(directory)), times_(times), look_(std::move(look)),
      soon_(loop), interval_(loop) {
  watch();
  soon_.set(Duration(), [this] { look_(Why::Change); });
  look_at_intervals();
}

void DirectoryPatrol::watch() {
  auto watch =
      net::DirectoryWatch::open(*loop_, directory_, [this](const net::DirectoryChange& change) {
        if (change.kind == net::DirectoryChange::Kind::Ended) {
          watch_.reset(); // the interval finds the next directory of that name
        }
        look_soon();
      });
  if (watch) {
    watch_ = *std::move(watch);
  }
}

void DirectoryPatrol::look_soon() {
  if (!soon_.armed()) {
    soon_.set(times_.settle, [this] { look_(Why::Change); });
  }
}

void DirectoryPatrol::look_at_intervals() {
  constexpr Duration kUnwatched = Duration::seconds(1);
  interval_.set(watch_ ? times_.interval : std::min(times_.interval, kUnwatched), [this] {
    if (!watch_) {
      watch();
    }
    look_at_intervals();
    look_(Why::Interval);
  });
}

} // namespace berth::deviceplugin
