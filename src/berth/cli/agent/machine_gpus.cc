#include "berth/cli/agent/machine_gpus.h"

#include <utility>

#include <fmt/format.h>

#include "berth/cli/command.h"
#include "berth/inventory/nvml_inventory.h"
#include "berth/inventory/simulated_inventory.h"
#include "berth/net/asio_loop.h"

namespace berth::cli {

Result<std::shared_ptr<inventory::Inventory>>
machine_gpus(net::AsioLoop& loop, const hardware::Platform* platform, const std::string& node,
             const std::function<void(const std::string&)>& say) {
  if (platform) {
    say(fmt::format("{} simulated GPUs of {}", platform->gpus.size(), platform->name));
    return std::make_shared<inventory::SimulatedInventory>(loop, *platform, node);
  }
  inventory::NvmlOptions options{
      .post = [&loop](Task task) { loop.post_from_any_thread(std::move(task)); },
      .pci_of = inventory::sysfs_pci("/sys")};
  if (const auto library = process_environment()("BERTH_NVML"); library && !library->empty()) {
    options.libraries = {*library};
  }
  auto gpus = inventory::NvmlInventory::open(options);
  if (!gpus && gpus.error().code == Code::NotFound) {
    say("no NVIDIA driver: this node has no GPUs");
    return std::shared_ptr<inventory::Inventory>();
  }
  return std::move(gpus).map([](std::unique_ptr<inventory::NvmlInventory> opened) {
    return std::shared_ptr<inventory::Inventory>(std::move(opened));
  });
}

} // namespace berth::cli
