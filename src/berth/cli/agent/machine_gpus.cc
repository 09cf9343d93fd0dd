#include "berth/cli/agent/machine_gpus.h"

#include <utility>

#include <fmt/format.h>

#include "berth/cli/local_gpus.h"
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
  auto gpus = open_local_gpus(process_environment(),
                              [&loop](Task task) { loop.post_from_any_thread(std::move(task)); });
  if (!gpus && gpus.error().code == Code::NotFound) {
    say("no NVIDIA driver: this node has no GPUs");
    return std::shared_ptr<inventory::Inventory>();
  }
  return std::move(gpus).map([](std::unique_ptr<inventory::NvmlInventory> opened) {
    return std::shared_ptr<inventory::Inventory>(std::move(opened));
  });
}

} // namespace berth::cli
