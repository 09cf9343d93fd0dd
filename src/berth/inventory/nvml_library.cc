#include "berth/inventory/nvml_library.h"

#include <dlfcn.h>

#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace berth::inventory::nvml {

namespace {

/// What the library says of a code, for those that keep it from starting and so from being asked.
std::string_view meaning(Return code) {
  switch (code) {
  case kUninitialized:
    return "not initialised";
  case kNotSupported:
    return "not supported";
  case kNoPermission:
    return "no permission";
  case kNotFound:
    return "not found";
  case kDriverNotLoaded:
    return "the NVIDIA driver is not loaded";
  case kTimeout:
    return "timed out";
  case kFunctionNotFound:
    return "the driver is too old for this";
  case kGpuIsLost:
    return "the GPU has fallen off the bus";
  case kResetRequired:
    return "the GPU needs a reset";
  case kOperatingSystem:
    return "the system blocks access to the GPU";
  case kVersionMismatch:
    return "library and kernel module are of different driver versions; reboot or reload the "
           "module";
  default:
    return "";
  }
}

class Symbols {
 public:
  Symbols(void* handle, std::vector<std::string>& missing) : handle_(handle), missing_(missing) {}

  template <class Function> void take(Function& function, const char* name) {
    // POSIX has dlsym's result be a function's address too.
    function = reinterpret_cast<Function>(dlsym(handle_, name)); // NOLINT
    if (function == nullptr) {
      missing_.emplace_back(name);
    }
  }

 private:
  void* handle_;
  std::vector<std::string>& missing_;
};

Functions resolve(void* handle, std::vector<std::string>& missing) {
  Functions f;
  Symbols symbols(handle, missing);
  symbols.take(f.init, "nvmlInit_v2");
  symbols.take(f.shutdown, "nvmlShutdown");
  symbols.take(f.error_string, "nvmlErrorString");
  symbols.take(f.driver_version, "nvmlSystemGetDriverVersion");
  symbols.take(f.cuda_version, "nvmlSystemGetCudaDriverVersion_v2");
  symbols.take(f.device_count, "nvmlDeviceGetCount_v2");
  symbols.take(f.device_by_index, "nvmlDeviceGetHandleByIndex_v2");
  symbols.take(f.name, "nvmlDeviceGetName");
  symbols.take(f.uuid, "nvmlDeviceGetUUID");
  symbols.take(f.minor_number, "nvmlDeviceGetMinorNumber");
  symbols.take(f.pci_info, "nvmlDeviceGetPciInfo_v3");
  symbols.take(f.memory_info, "nvmlDeviceGetMemoryInfo");
  symbols.take(f.memory_with_reserved, "nvmlDeviceGetMemoryInfo_v2");
  symbols.take(f.virtualization, "nvmlDeviceGetVirtualizationMode");
  symbols.take(f.compute_capability, "nvmlDeviceGetCudaComputeCapability");
  symbols.take(f.cpu_affinity, "nvmlDeviceGetCpuAffinity");
  symbols.take(f.numa_node, "nvmlDeviceGetNumaNodeId");
  symbols.take(f.common_ancestor, "nvmlDeviceGetTopologyCommonAncestor");
  symbols.take(f.p2p_status, "nvmlDeviceGetP2PStatus");
  symbols.take(f.nvlink_state, "nvmlDeviceGetNvLinkState");
  symbols.take(f.nvlink_remote_pci, "nvmlDeviceGetNvLinkRemotePciInfo_v2");
  symbols.take(f.nvlink_remote_type, "nvmlDeviceGetNvLinkRemoteDeviceType");
  symbols.take(f.mig_mode, "nvmlDeviceGetMigMode");
  symbols.take(f.mig_count, "nvmlDeviceGetMaxMigDeviceCount");
  symbols.take(f.mig_by_index, "nvmlDeviceGetMigDeviceHandleByIndex");
  symbols.take(f.gpu_instance_id, "nvmlDeviceGetGpuInstanceId");
  symbols.take(f.compute_instance_id, "nvmlDeviceGetComputeInstanceId");
  symbols.take(f.attributes, "nvmlDeviceGetAttributes_v2");
  symbols.take(f.gpu_instance_by_id, "nvmlDeviceGetGpuInstanceById");
  symbols.take(f.gpu_instance_info, "nvmlGpuInstanceGetInfo");
  symbols.take(f.processes, "nvmlDeviceGetComputeRunningProcesses_v3");
  symbols.take(f.fabric_info, "nvmlDeviceGetGpuFabricInfoV");
  symbols.take(f.field_values, "nvmlDeviceGetFieldValues");
  symbols.take(f.ecc_errors, "nvmlDeviceGetTotalEccErrors");
  symbols.take(f.utilization, "nvmlDeviceGetUtilizationRates");
  symbols.take(f.encoder, "nvmlDeviceGetEncoderUtilization");
  symbols.take(f.decoder, "nvmlDeviceGetDecoderUtilization");
  symbols.take(f.clock, "nvmlDeviceGetClockInfo");
  symbols.take(f.temperature, "nvmlDeviceGetTemperature");
  symbols.take(f.power, "nvmlDeviceGetPowerUsage");
  symbols.take(f.energy, "nvmlDeviceGetTotalEnergyConsumption");
  symbols.take(f.pcie_replays, "nvmlDeviceGetPcieReplayCounter");
  symbols.take(f.remapped_rows, "nvmlDeviceGetRemappedRows");
  symbols.take(f.nvlink_errors, "nvmlDeviceGetNvLinkErrorCounter");
  symbols.take(f.supported_events, "nvmlDeviceGetSupportedEventTypes");
  symbols.take(f.event_set_create, "nvmlEventSetCreate");
  symbols.take(f.event_set_free, "nvmlEventSetFree");
  symbols.take(f.register_events, "nvmlDeviceRegisterEvents");
  symbols.take(f.event_set_wait, "nvmlEventSetWait_v2");
  return f;
}

} // namespace

std::vector<std::string> usual_libraries() {
  return {"libnvidia-ml.so.1",
          "/usr/lib64/libnvidia-ml.so.1",
          "/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1",
          "/usr/lib/aarch64-linux-gnu/libnvidia-ml.so.1",
          "/run/nvidia/driver/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1",
          "/run/nvidia/driver/usr/lib64/libnvidia-ml.so.1",
          "/usr/lib/wsl/lib/libnvidia-ml.so.1"};
}

Result<Library> Library::open(const std::vector<std::string>& candidates) {
  Library library;
  for (const std::string& path : candidates) {
    library.handle_ = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
    if (library.handle_ != nullptr) {
      library.path_ = path;
      break;
    }
  }
  if (library.handle_ == nullptr) {
    return fail(Code::NotFound, fmt::format("NVIDIA's management library is not on this machine: "
                                            "tried {}",
                                            fmt::join(candidates, ", ")));
  }
  library.functions_ = resolve(library.handle_, library.missing_);
  const Return started = call(library.functions_.init);
  if (started != kSuccess) {
    return fail(Code::Unavailable,
                fmt::format("{} does not start: {}", library.path_, library.describe(started)));
  }
  library.started_ = true;
  return library;
}

Library::Library(Library&& other) noexcept {
  *this = std::move(other);
}

Library& Library::operator=(Library&& other) noexcept {
  if (this != &other) {
    close();
    handle_ = std::exchange(other.handle_, nullptr);
    started_ = std::exchange(other.started_, false);
    path_ = std::move(other.path_);
    functions_ = std::exchange(other.functions_, {});
    missing_ = std::move(other.missing_);
  }
  return *this;
}

Library::~Library() {
  close();
}

void Library::close() {
  if (started_) {
    call(functions_.shutdown);
    started_ = false;
  }
  if (handle_ != nullptr) {
    dlclose(handle_);
    handle_ = nullptr;
  }
}

std::string Library::describe(Return code) const {
  std::string_view text = meaning(code);
  if (text.empty() && functions_.error_string != nullptr) {
    if (const char* own = functions_.error_string(code)) {
      text = own;
    }
  }
  return fmt::format("{} ({})", text.empty() ? "unknown error" : text, code);
}

} // namespace berth::inventory::nvml
