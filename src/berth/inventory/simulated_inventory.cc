#include "berth/inventory/simulated_inventory.h"

#include <utility>

#include <fmt/format.h>

namespace berth::inventory {

SimulatedInventory::SimulatedInventory(Loop& loop, const hardware::Platform& platform,
                                       std::string_view node_name)
    : loop_(&loop), platform_(&platform), state_(platform.gpus.size()),
      subscribers_(std::make_shared<Subscribers>()) {
  for (const hardware::Gpu& gpu : platform.gpus) {
    gpus_.push_back({.index = gpu.index,
                     .uuid = hardware::gpu_uuid(node_name, gpu.index),
                     .pci_bus_id = gpu.pci_bus_id,
                     .numa = gpu.numa,
                     .minor = gpu.index,
                     .memory_mib = platform.gpu_model.memory_mib,
                     .product = platform.gpu_model.product});
  }
}

SimulatedInventory::SimulatedInventory(Loop& loop, int count, std::string_view node_name)
    : loop_(&loop), state_(static_cast<std::size_t>(count)),
      subscribers_(std::make_shared<Subscribers>()) {
  for (int index = 0; index < count; ++index) {
    gpus_.push_back({.index = index,
                     .uuid = hardware::gpu_uuid(node_name, index),
                     .pci_bus_id = fmt::format("00000000:{:02x}:00.0", index + 1),
                     .numa = std::nullopt,
                     .minor = index,
                     .memory_mib = 0,
                     .product = ""});
  }
}

SimulatedInventory::~SimulatedInventory() = default;

GpuProbe SimulatedInventory::probe(int index) const {
  if (index < 0 || static_cast<std::size_t>(index) >= state_.size()) {
    return {.present = false};
  }
  return state_[static_cast<std::size_t>(index)];
}

std::unique_ptr<Subscription>
SimulatedInventory::subscribe(std::function<void(const HealthEvent&)> on_event) {
  return subscribers_->add(std::move(on_event));
}

void SimulatedInventory::publish(const HealthEvent& event) {
  subscribers_->publish([this](Task task) { loop_->post(std::move(task)); }, event);
}

Result<void> SimulatedInventory::check(int gpu) const {
  if (gpu < 0 || static_cast<std::size_t>(gpu) >= state_.size()) {
    return fail(Code::NotFound,
                fmt::format("no such gpu: the machine has {}, index asked {}", state_.size(), gpu));
  }
  return {};
}

Result<void> SimulatedInventory::xid(int gpu, int code) {
  BERTH_CHECK(check(gpu));
  GpuProbe& state = state_[static_cast<std::size_t>(gpu)];
  const RecoveryAction action = recovery_action(classify_xid(code));
  // A worse state is never covered by a milder error.
  if (action > state.action) {
    state.action = action;
    state.last_xid = code;
  }
  publish({.kind = HealthEvent::Kind::Xid, .gpu = gpu, .xid = code});
  return {};
}

Result<void> SimulatedInventory::lose(int gpu) {
  BERTH_CHECK(check(gpu));
  state_[static_cast<std::size_t>(gpu)] = {
      .present = false, .action = RecoveryAction::NodeReboot, .last_xid = 79};
  publish({.kind = HealthEvent::Kind::Lost, .gpu = gpu, .xid = 79});
  return {};
}

Result<void> SimulatedInventory::repair(int gpu) {
  BERTH_CHECK(check(gpu));
  state_[static_cast<std::size_t>(gpu)] = {};
  publish({.kind = HealthEvent::Kind::Recovered, .gpu = gpu});
  return {};
}

void SimulatedInventory::reboot() {
  for (GpuProbe& state : state_) {
    if (state.present) {
      state = {};
    }
  }
}

} // namespace berth::inventory
