// The MPS control daemon of one resource: started, limited, and only then ready.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "berth/base/loop.h"
#include "berth/base/time.h"
#include "berth/deviceplugin/mps/command_runner.h"

namespace berth::deviceplugin {

/// A daemon that runs already, of an earlier life of the plugin, is kept: containers are its
/// clients. After a failure all is tried again, with a back-off of 1 s to 30 s. Destroying it
/// leaves the daemon running. Loop and runner must outlive it.
class MpsControl {
 public:
  /// `on_ready` runs once, when the limits are in force.
  MpsControl(Loop& loop, CommandRunner& runner, MpsPlan plan, std::function<void()> on_ready);
  ~MpsControl();
  MpsControl(const MpsControl&) = delete;
  MpsControl& operator=(const MpsControl&) = delete;

  /// Nobody shares by MPS any more: ends the daemon.
  void stop();

  bool ready() const { return ready_; }
  /// Why it is not ready yet; "" if nothing has failed.
  const std::string& problem() const { return problem_; }

 private:
  void begin();
  void run_from(const std::vector<Command>& commands, std::size_t step, void (MpsControl::*then)());
  void set_limits();
  void become_ready();
  void failed(const Error& error);

  CommandRunner* runner_;
  MpsPlan plan_;
  std::function<void()> on_ready_;
  std::string problem_;
  bool ready_ = false;
  Duration backoff_;
  Timer retry_;
  std::shared_ptr<int> alive_ = std::make_shared<int>(0);
};

} // namespace berth::deviceplugin
