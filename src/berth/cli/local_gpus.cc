#include "berth/cli/local_gpus.h"

#include <fstream>
#include <utility>

namespace berth::cli {

Result<std::unique_ptr<inventory::NvmlInventory>> open_local_gpus(const Environment& environment,
                                                                  std::function<void(Task)> post) {
  inventory::NvmlOptions options{.post = std::move(post), .pci_of = inventory::sysfs_pci("/sys")};
  if (const auto library = environment("BERTH_NVML"); library && !library->empty()) {
    options.libraries = {*library};
  }
  return inventory::NvmlInventory::open(options);
}

std::string machine_name() {
  std::ifstream in("/sys/class/dmi/id/product_name");
  std::string name;
  std::getline(in, name);
  constexpr std::size_t kLongest = 256;
  return name.substr(0, kLongest);
}

} // namespace berth::cli
