// Running programs of the driver from a loop: as processes of this machine, or recorded by a test.
#pragma once

#include <string>

#include "berth/base/background.h"
#include "berth/deviceplugin/contract.h"
#include "berth/deviceplugin/mps/mps_plan.h"

namespace berth::deviceplugin {

class CommandRunner {
 public:
  virtual ~CommandRunner() = default;
  /// `done` comes as a later task, with what the program printed. Errors NotFound: it is not
  /// installed; Unavailable: it failed, with what it printed.
  virtual void run(const Command& command, Done<std::string> done) = 0;
};

/// Processes, one at a time, beside the loop. The background must outlive it.
class ProcessRunner final : public CommandRunner {
 public:
  explicit ProcessRunner(Background& background) : background_(&background) {}
  void run(const Command& command, Done<std::string> done) override;

 private:
  Background* background_;
};

} // namespace berth::deviceplugin
