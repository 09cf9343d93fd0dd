// What the mock of NVML (nvml_mock/nvml_mock.cc) serves, and how tests speak to it.
#pragma once

#include <dlfcn.h>

#include <string>

#include <fmt/format.h>

#include "berth/hardware/platform.h"

namespace berth::testing {

/// The text of a platform, as a driver 580 would describe the machine.
inline std::string nvml_profile(const hardware::Platform& p, std::string_view node_name) {
  std::string out = fmt::format("driver=580.95.05\ncuda=13000\ngpus={}\n", p.gpus.size());
  for (const hardware::Gpu& gpu : p.gpus) {
    const int i = gpu.index;
    const auto add = [&](std::string_view key, const auto& value) {
      out += fmt::format("{}.{}={}\n", i, key, value);
    };
    std::string name = p.gpu_model.product;
    std::ranges::replace(name, '-', ' ');
    add("name", name);
    add("uuid", hardware::gpu_uuid(node_name, i));
    add("minor", i);
    add("bus", gpu.pci_bus_id);
    add("memory", p.gpu_model.memory_mib << 20);
    add("sm", p.gpu_model.compute_major * 10 + p.gpu_model.compute_minor);
    add("cpus", p.numa[static_cast<std::size_t>(gpu.numa)].cpus);
    if (gpu.memory_numa >= 0) {
      add("memory_numa", gpu.memory_numa);
    }
    if (p.gpu_model.mig_capable) {
      add("mig", 0);
    }
    if (const auto clique = hardware::gpu_clique(p, node_name); !clique.empty()) {
      add("fabric", clique);
    }
    int link = 0;
    for (const hardware::Gpu& peer : p.gpus) {
      constexpr int kLevels[] = {0, 0, 50, 10, 20, 30, 40, 50}; // by hardware::Link
      add(fmt::format("ancestor.{}.", peer.index),
          kLevels[static_cast<int>(p.pcie_link(i, peer.index))]);
      for (int n = 0; !p.nvswitch && n < p.nvlinks[i][peer.index]; ++n) {
        add(fmt::format("link.{}", link++), peer.pci_bus_id);
      }
    }
    for (; p.nvswitch && link < p.gpu_model.nvlink_links; ++link) {
      add(fmt::format("link.{}", link), "switch");
    }
    for (; link < p.gpu_model.nvlink_links; ++link) {
      add(fmt::format("link.{}", link), "down");
    }
  }
  return out;
}

/// The control functions of a mock that is loaded in this process.
class NvmlMock {
 public:
  explicit NvmlMock(const char* library) : handle_(dlopen(library, RTLD_NOW | RTLD_LOCAL)) {}
  ~NvmlMock() {
    if (handle_ != nullptr) {
      dlclose(handle_);
    }
  }
  NvmlMock(const NvmlMock&) = delete;
  NvmlMock& operator=(const NvmlMock&) = delete;

  bool loaded() const { return handle_ != nullptr; }
  void load(const std::string& text) const {
    function<void (*)(const char*)>("berth_nvml_mock_load")(text.c_str());
  }
  void set(const std::string& key, const std::string& value) const {
    function<void (*)(const char*, const char*)>("berth_nvml_mock_set")(key.c_str(), value.c_str());
  }
  void event(int gpu, std::uint64_t type, std::uint64_t data) const {
    function<void (*)(int, std::uint64_t, std::uint64_t)>("berth_nvml_mock_event")(gpu, type, data);
  }
  void mig_xid(int gpu, unsigned gpu_instance, unsigned compute_instance, std::uint64_t xid) const {
    function<void (*)(int, unsigned, unsigned, std::uint64_t)>("berth_nvml_mock_mig_xid")(
        gpu, gpu_instance, compute_instance, xid);
  }

 private:
  template <class Function> Function function(const char* name) const {
    return reinterpret_cast<Function>(dlsym(handle_, name)); // NOLINT
  }
  void* handle_;
};

} // namespace berth::testing
