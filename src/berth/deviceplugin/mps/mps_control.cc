#include "berth/deviceplugin/mps/mps_control.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "berth/base/log.h"

namespace berth::deviceplugin {
namespace {

constexpr Duration kFirstBackoff = Duration::seconds(1);
constexpr Duration kLastBackoff = Duration::seconds(30);

} // namespace

MpsControl::MpsControl(Loop& loop, CommandRunner& runner, MpsPlan plan,
                       std::function<void()> on_ready)
    : runner_(&runner), plan_(std::move(plan)), on_ready_(std::move(on_ready)),
      backoff_(kFirstBackoff), retry_(loop) {
  begin();
}

MpsControl::~MpsControl() = default;

void MpsControl::stop() {
  for (const Command& command : plan_.stop) {
    runner_->run(command, [](const Result<std::string>&) {});
  }
}

void MpsControl::begin() {
  runner_->run(plan_.alive, [this, weak = std::weak_ptr(alive_)](const Result<std::string>& said) {
    if (weak.expired()) {
      return;
    }
    if (said) {
      set_limits();
    } else {
      run_from(plan_.launch, 0, &MpsControl::set_limits);
    }
  });
}

void MpsControl::run_from(const std::vector<Command>& commands, std::size_t step,
                          void (MpsControl::*then)()) {
  if (step == commands.size()) {
    (this->*then)();
    return;
  }
  runner_->run(commands[step], [this, weak = std::weak_ptr(alive_), &commands, step,
                                then](const Result<std::string>& result) {
    if (weak.expired()) {
      return;
    }
    if (result) {
      run_from(commands, step + 1, then);
    } else {
      failed(result.error());
    }
  });
}

void MpsControl::set_limits() {
  run_from(plan_.limits, 0, &MpsControl::become_ready);
}

void MpsControl::become_ready() {
  ready_ = true;
  problem_.clear();
  on_ready_();
}

void MpsControl::failed(const Error& error) {
  problem_ = fmt::format("{} is not advertised before MPS runs: {}", plan_.resource, error.message);
  log(LogLevel::Error, "device-plugin", problem_);
  retry_.set(backoff_, [this] { begin(); });
  backoff_ = std::min(backoff_ * 2, kLastBackoff);
}

} // namespace berth::deviceplugin
