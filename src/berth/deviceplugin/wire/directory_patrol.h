// When to look at a directory again: soon after something has changed in it, and now and then,
// because a change may be missed, and because a directory that is not there cannot be watched.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "berth/base/loop.h"
#include "berth/net/asio_loop.h"
#include "berth/net/directory_watch.h"

namespace berth::deviceplugin {

struct PatrolTimes {
  /// What changes together is looked at once. A storm of changes makes no more looks than this.
  Duration settle = Duration::millis(20);
  Duration interval = Duration::seconds(10);
};

/// The first look comes at once, as a later task like all others. None comes once it is destroyed.
class DirectoryPatrol {
 public:
  enum class Why { Change, Interval };

  DirectoryPatrol(net::AsioLoop& loop, std::string directory, PatrolTimes times,
                  std::function<void(Why)> look);
  DirectoryPatrol(const DirectoryPatrol&) = delete;
  DirectoryPatrol& operator=(const DirectoryPatrol&) = delete;

 private:
  void watch();
  void look_soon();
  void look_at_intervals();

  net::AsioLoop* loop_;
  std::string directory_;
  PatrolTimes times_;
  std::function<void(Why)> look_;
  std::unique_ptr<net::DirectoryWatch> watch_;
  Timer soon_;
  Timer interval_;
};

} // namespace berth::deviceplugin
