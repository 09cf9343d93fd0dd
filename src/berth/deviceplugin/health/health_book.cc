#include "berth/deviceplugin/health/health_book.h"

#include <algorithm>

namespace berth::deviceplugin {
namespace {

using inventory::HealthEvent;
using inventory::MigDevice;

/// UUID of the MIG device that an event concerns; "" if it is none, or not known.
std::string mig_of(const HealthEvent& event, const inventory::NodeFacts& facts) {
  if (event.gpu_instance == HealthEvent::kWholeGpu ||
      event.compute_instance == HealthEvent::kWholeGpu || event.gpu < 0 ||
      static_cast<std::size_t>(event.gpu) >= facts.gpus.size()) {
    return "";
  }
  const auto& devices = facts.gpus[static_cast<std::size_t>(event.gpu)].mig;
  const auto found = std::ranges::find_if(devices, [&](const MigDevice& device) {
    return device.gpu_instance == event.gpu_instance &&
           device.compute_instance == event.compute_instance;
  });
  return found == devices.end() ? "" : found->uuid;
}

} // namespace

void HealthBook::probed(int gpu, const inventory::GpuProbe& probe) {
  if (is_sick(checks_, probe)) {
    sick_.insert(gpu);
  } else {
    sick_.erase(gpu);
  }
}

void HealthBook::heard(const HealthEvent& event, const inventory::NodeFacts& facts, TimePoint now) {
  if (event.kind == HealthEvent::Kind::Recovered) {
    std::erase_if(marks_, [&](const Mark& mark) { return mark.gpu == event.gpu; });
    return;
  }
  if (event.kind != HealthEvent::Kind::Xid || !counts(checks_, event.xid)) {
    return;
  }
  const std::string mig = mig_of(event, facts);
  if (mig.empty() && sick_.contains(event.gpu)) {
    return; // its own answer says when that ends
  }
  std::erase_if(marks_, [&](const Mark& mark) { return mark.gpu == event.gpu && mark.mig == mig; });
  marks_.push_back({.gpu = event.gpu, .mig = mig, .xid = event.xid, .until = now + hold_});
}

void HealthBook::recut(const inventory::NodeFacts& facts) {
  std::erase_if(marks_, [&](const Mark& mark) {
    const auto& devices = facts.gpus[static_cast<std::size_t>(mark.gpu)].mig;
    return !mark.mig.empty() &&
           std::ranges::find(devices, mark.mig, &MigDevice::uuid) == devices.end();
  });
}

void HealthBook::review(TimePoint now) {
  for (Mark& mark : marks_) {
    if (mark.until <= now && sick_.contains(mark.gpu)) {
      mark.until = now + hold_;
    }
  }
  std::erase_if(marks_, [&](const Mark& mark) { return mark.until <= now; });
}

std::optional<TimePoint> HealthBook::review_at() const {
  const auto first = std::ranges::min_element(marks_, {}, &Mark::until);
  return first == marks_.end() ? std::nullopt : std::optional(first->until);
}

bool HealthBook::healthy(const PluginDevice& device) const {
  return !sick_.contains(device.gpu) && std::ranges::none_of(marks_, [&](const Mark& mark) {
    return mark.gpu == device.gpu && (mark.mig.empty() || !device.mig || mark.mig == device.uuid);
  });
}

} // namespace berth::deviceplugin
