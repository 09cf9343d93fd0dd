#include "berth/inventory/event_watch.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace berth::inventory::nvml {

EventWatch::EventWatch(const Library& library, const std::vector<Device>& devices, unsigned wait_ms,
                       std::function<void(const Report&)> report)
    : library_(library), devices_(devices), wait_ms_(wait_ms), report_(std::move(report)) {
  const Functions& f = library.functions();
  const bool made = call(f.event_set_create, &set_) == kSuccess && f.event_set_wait != nullptr;
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    std::uint64_t wanted = kEventXid | kEventDoubleBitEcc;
    std::uint64_t supported = 0;
    if (devices_[i] != nullptr && call(f.supported_events, devices_[i], &supported) == kSuccess) {
      wanted &= supported;
    }
    if (!made || devices_[i] == nullptr || wanted == 0 ||
        call(f.register_events, devices_[i], wanted, set_) != kSuccess) {
      unwatched_.push_back(static_cast<int>(i));
    }
  }
  if (made && unwatched_.size() < devices_.size()) {
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
  }
}

EventWatch::~EventWatch() {
  thread_.request_stop();
  if (thread_.joinable()) {
    thread_.join();
  }
  if (set_ != nullptr) {
    call(library_.functions().event_set_free, set_);
  }
}

void EventWatch::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    EventData data{};
    const Return code = call(library_.functions().event_set_wait, set_, &data, wait_ms_);
    if (code == kSuccess) {
      if (const Report report = report_of(data); report.kind != Report::Kind::Quiet) {
        report_(report);
      }
    } else if (code == kTimeout) {
      if (want_quiet_) {
        report_({.kind = Report::Kind::Quiet});
      }
    } else {
      report_({.kind = code == kGpuIsLost ? Report::Kind::SomethingLost : Report::Kind::Failed});
      pause(stop); // such an answer comes at once, and again
    }
  }
}

void EventWatch::pause(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  wake_.wait_for(lock, stop, std::chrono::milliseconds(wait_ms_), [] { return false; });
}

Report EventWatch::report_of(const EventData& data) const {
  const auto it = std::ranges::find(devices_, data.device);
  const int gpu =
      it == devices_.end() || data.device == nullptr ? -1 : static_cast<int>(it - devices_.begin());
  if ((data.type & kEventXid) != 0) {
    const auto instance = [](unsigned id) { return id == kNoInstance ? -1 : static_cast<int>(id); };
    return {.kind = Report::Kind::Xid,
            .gpu = gpu,
            .data = data.data,
            .gpu_instance = instance(data.gpu_instance),
            .compute_instance = instance(data.compute_instance)};
  }
  if ((data.type & kEventDoubleBitEcc) != 0) {
    return {.kind = Report::Kind::DoubleBitEcc, .gpu = gpu, .data = data.data};
  }
  return {};
}

} // namespace berth::inventory::nvml
