#include "berth/node/shared_cpus.h"

#include <utility>

#include <fmt/format.h>

#include "berth/base/log.h"

namespace berth::node {
namespace {

constexpr std::string_view kLog = "cpu-manager";
constexpr Duration kAgain = Duration::seconds(10); // the kubelet's cpuManagerReconcilePeriod

} // namespace

SharedCpus::SharedCpus(Loop& loop, runtime::Runtime& runtime, std::function<void()> again)
    : runtime_(&runtime), again_(std::move(again)), again_timer_(loop) {}

void SharedCpus::follow(const std::map<std::string, std::string>& running) {
  std::erase_if(told_, [&](const auto& each) { return !running.contains(each.first); });
  for (const auto& [id, cpus] : running) {
    if (const auto told = told_.find(id);
        cpus.empty() || (told != told_.end() && told->second == cpus)) {
      continue;
    }
    told_[id] = cpus;
    ++under_way_;
    runtime_->set_cpus(id, cpus, [weak = weak_from_this(), id](const Result<void>& answer) {
      if (const auto self = weak.lock()) {
        self->answered(id, answer);
      }
    });
  }
}

void SharedCpus::answered(const std::string& id, const Result<void>& answer) {
  --under_way_;
  if (answer || answer.error().code == Code::NotFound) { // ended meanwhile
    return;
  }
  log(LogLevel::Warn, kLog,
      fmt::format("container {} cannot be moved to other CPUs: {}", id, answer.error().message));
  told_.erase(id);
  if (!again_timer_.armed()) {
    again_timer_.set(kAgain, [this] { again_(); });
  }
}

} // namespace berth::node
