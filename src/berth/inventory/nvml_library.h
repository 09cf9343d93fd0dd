// libnvidia-ml.so.1, loaded while the program runs. It comes with the driver, so that a machine
// without one is a normal case; a driver older than a function is too: each function may be absent,
// and what needs it is then unknown, not everything.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "berth/base/result.h"
#include "berth/inventory/nvml_abi.h"

namespace berth::inventory::nvml {

/// The functions of the library by the names it exports; nullptr: this driver has none.
struct Functions {
  Return (*init)() = nullptr;
  Return (*shutdown)() = nullptr;
  const char* (*error_string)(Return) = nullptr;
  Return (*driver_version)(char*, unsigned) = nullptr;
  Return (*cuda_version)(int*) = nullptr;
  Return (*device_count)(unsigned*) = nullptr;
  Return (*device_by_index)(unsigned, Device*) = nullptr;
  Return (*name)(Device, char*, unsigned) = nullptr;
  Return (*uuid)(Device, char*, unsigned) = nullptr;
  Return (*minor_number)(Device, unsigned*) = nullptr;
  Return (*pci_info)(Device, PciInfo*) = nullptr;
  Return (*memory_info)(Device, Memory*) = nullptr;
  Return (*memory_with_reserved)(Device, MemoryWithReserved*) = nullptr;
  Return (*virtualization)(Device, unsigned*) = nullptr;
  Return (*compute_capability)(Device, int*, int*) = nullptr;
  Return (*cpu_affinity)(Device, unsigned, unsigned long*) = nullptr;
  Return (*numa_node)(Device, unsigned*) = nullptr;
  Return (*common_ancestor)(Device, Device, int*) = nullptr;
  Return (*p2p_status)(Device, Device, int, int*) = nullptr;
  Return (*nvlink_state)(Device, unsigned, int*) = nullptr;
  Return (*nvlink_remote_pci)(Device, unsigned, PciInfo*) = nullptr;
  Return (*nvlink_remote_type)(Device, unsigned, int*) = nullptr;
  Return (*mig_mode)(Device, unsigned*, unsigned*) = nullptr;
  Return (*mig_count)(Device, unsigned*) = nullptr;
  Return (*mig_by_index)(Device, unsigned, Device*) = nullptr;
  Return (*gpu_instance_id)(Device, unsigned*) = nullptr;
  Return (*compute_instance_id)(Device, unsigned*) = nullptr;
  Return (*attributes)(Device, DeviceAttributes*) = nullptr;
  Return (*gpu_instance_by_id)(Device, unsigned, GpuInstance*) = nullptr;
  Return (*gpu_instance_info)(GpuInstance, GpuInstanceInfo*) = nullptr;
  Return (*processes)(Device, unsigned*, ProcessInfo*) = nullptr;
  Return (*fabric_info)(Device, FabricInfo*) = nullptr;
  Return (*field_values)(Device, int, FieldValue*) = nullptr;
  Return (*ecc_errors)(Device, int, int, std::uint64_t*) = nullptr;
  Return (*utilization)(Device, Utilization*) = nullptr;
  Return (*encoder)(Device, unsigned*, unsigned*) = nullptr;
  Return (*decoder)(Device, unsigned*, unsigned*) = nullptr;
  Return (*clock)(Device, int, unsigned*) = nullptr;
  Return (*temperature)(Device, int, unsigned*) = nullptr;
  Return (*power)(Device, unsigned*) = nullptr;
  Return (*energy)(Device, std::uint64_t*) = nullptr;
  Return (*pcie_replays)(Device, unsigned*) = nullptr;
  Return (*remapped_rows)(Device, unsigned*, unsigned*, unsigned*, unsigned*) = nullptr;
  Return (*nvlink_errors)(Device, unsigned, int, std::uint64_t*) = nullptr;
  Return (*supported_events)(Device, std::uint64_t*) = nullptr;
  Return (*event_set_create)(EventSet*) = nullptr;
  Return (*event_set_free)(EventSet) = nullptr;
  Return (*register_events)(Device, std::uint64_t, EventSet) = nullptr;
  Return (*event_set_wait)(EventSet, EventData*, unsigned) = nullptr;
};

/// Calls a function that may be absent.
template <class... Parameters, class... Arguments>
Return call(Return (*function)(Parameters...), Arguments... arguments) {
  return function == nullptr ? kFunctionNotFound : function(arguments...);
}

/// Where drivers put the library: by the loader's own search, then the places that containers and
/// distributions use.
std::vector<std::string> usual_libraries();

/// The library, loaded and initialised for as long as the object lives.
class Library {
 public:
  /// The first of `candidates` that loads. Errors NotFound: none loads (no driver here);
  /// Unavailable: the library refuses to start, with its reason.
  static Result<Library> open(const std::vector<std::string>& candidates);
  Library(Library&& other) noexcept;
  Library& operator=(Library&& other) noexcept;
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  ~Library();

  const Functions& functions() const { return functions_; }
  const std::string& path() const { return path_; }
  /// The names of functions that this driver does not have.
  const std::vector<std::string>& missing() const { return missing_; }
  /// "gpu is lost (15)".
  std::string describe(Return code) const;

 private:
  Library() = default;
  void close();

  void* handle_ = nullptr;
  bool started_ = false;
  std::string path_;
  Functions functions_;
  std::vector<std::string> missing_;
};

} // namespace berth::inventory::nvml
