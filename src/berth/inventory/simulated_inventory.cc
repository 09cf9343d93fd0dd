#include "berth/inventory/simulated_inventory.h"

#include <utility>

#include <fmt/format.h>

#include "berth/inventory/simulated_mig.h"

namespace berth::inventory {

SimulatedInventory::SimulatedInventory(Loop& loop, const hardware::Platform& platform,
                                       std::string_view node_name)
    : loop_(&loop), platform_(&platform), node_name_(node_name),
      state_(
          platform.gpus.size(),
          {.fabric = platform.nvlink_domain_gpus > 0 ? FabricState::Completed : FabricState::None}),
      mig_(platform.gpus.size()), mig_pending_(platform.gpus.size()),
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
    : loop_(&loop), node_name_(node_name), state_(static_cast<std::size_t>(count)),
      mig_(static_cast<std::size_t>(count)), mig_pending_(static_cast<std::size_t>(count)),
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

NodeFacts SimulatedInventory::survey() const {
  NodeFacts facts;
  if (platform_ != nullptr) {
    facts = simulated_facts(*platform_, node_name_);
  } else {
    for (const GpuInfo& gpu : gpus_) {
      GpuFacts& made = facts.gpus.emplace_back();
      made.info = gpu;
      made.family = "undefined";
    }
  }
  for (std::size_t i = 0; i < facts.gpus.size(); ++i) {
    facts.gpus[i].mig_enabled = mig_[i].has_value();
    facts.gpus[i].mig = mig_[i].value_or(std::vector<MigDevice>());
    facts.gpus[i].mig_pending = mig_pending_[i];
  }
  return facts;
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
  GpuProbe& state = state_[static_cast<std::size_t>(gpu)];
  state.present = false;
  state.action = RecoveryAction::NodeReboot;
  state.last_xid = 79;
  publish({.kind = HealthEvent::Kind::Lost, .gpu = gpu, .xid = 79});
  return {};
}

Result<void> SimulatedInventory::repair(int gpu) {
  BERTH_CHECK(check(gpu));
  GpuProbe& state = state_[static_cast<std::size_t>(gpu)];
  state = {.fabric = state.fabric};
  publish({.kind = HealthEvent::Kind::Recovered, .gpu = gpu});
  return {};
}

Result<void> SimulatedInventory::xid_of(int gpu, const MigDevice& device, int code) {
  BERTH_CHECK(check(gpu));
  publish({.kind = HealthEvent::Kind::Xid,
           .gpu = gpu,
           .xid = code,
           .gpu_instance = device.gpu_instance,
           .compute_instance = device.compute_instance});
  return {};
}

Result<void> SimulatedInventory::cut(int gpu, std::string_view wishes) {
  BERTH_CHECK(check(gpu));
  const auto at = static_cast<std::size_t>(gpu);
  BERTH_TRY(mig_[at], cut_gpu(survey().gpus[at], wishes, ++cuts_));
  mig_pending_[at] = false;
  publish({.kind = HealthEvent::Kind::Mig, .gpu = gpu});
  return {};
}

Result<void> SimulatedInventory::uncut(int gpu) {
  BERTH_CHECK(check(gpu));
  mig_[static_cast<std::size_t>(gpu)].reset();
  mig_pending_[static_cast<std::size_t>(gpu)] = false;
  publish({.kind = HealthEvent::Kind::Mig, .gpu = gpu});
  return {};
}

Result<void> SimulatedInventory::await_mig_change(int gpu) {
  BERTH_CHECK(check(gpu));
  mig_pending_[static_cast<std::size_t>(gpu)] = true;
  publish({.kind = HealthEvent::Kind::Mig, .gpu = gpu});
  return {};
}

Result<void> SimulatedInventory::set_fabric(int gpu, FabricState state) {
  BERTH_CHECK(check(gpu));
  state_[static_cast<std::size_t>(gpu)].fabric = state;
  publish({.kind = HealthEvent::Kind::Fabric, .gpu = gpu});
  return {};
}

void SimulatedInventory::reboot() {
  for (GpuProbe& state : state_) {
    if (state.present) {
      state = {.fabric = state.fabric};
    }
  }
  constexpr int kAmpere = 8;
  const bool mode_stays = platform_ != nullptr && platform_->gpu_model.compute_major == kAmpere;
  mig_pending_.assign(mig_pending_.size(), false);
  for (auto& mig : mig_) {
    if (mig) {
      mig = mode_stays ? std::optional(std::vector<MigDevice>()) : std::nullopt;
    }
  }
}

} // namespace berth::inventory
