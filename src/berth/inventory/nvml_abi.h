// The part of NVML's public C interface that Berth calls, declared anew: NVIDIA's header is not
// free and nothing of it is needed to build. Names, layouts and numbers are those of the library
// (libnvidia-ml.so.1); they do not change, new forms get new names (_v2).
#pragma once

#include <cstdint>

namespace berth::inventory::nvml {

using Return = int;
inline constexpr Return kSuccess = 0;
inline constexpr Return kUninitialized = 1;
inline constexpr Return kInvalidArgument = 2;
inline constexpr Return kNotSupported = 3;
inline constexpr Return kNoPermission = 4;
inline constexpr Return kNotFound = 6;
inline constexpr Return kInsufficientSize = 7;
inline constexpr Return kDriverNotLoaded = 9;
inline constexpr Return kTimeout = 10;
inline constexpr Return kFunctionNotFound = 13;
inline constexpr Return kGpuIsLost = 15;
inline constexpr Return kResetRequired = 16;
inline constexpr Return kOperatingSystem = 17;
inline constexpr Return kVersionMismatch = 18;
inline constexpr Return kUnknown = 999;

/// Handles are addresses inside the library.
using Device = struct DeviceObject*;
using EventSet = struct EventSetObject*;
using GpuInstance = struct GpuInstanceObject*;

struct PciInfo {
  char bus_id_legacy[16]; // NOLINT(modernize-avoid-c-arrays): the library's layout
  unsigned domain;
  unsigned bus;
  unsigned device;
  unsigned pci_device_id; ///< device << 16 | vendor
  unsigned pci_subsystem_id;
  char bus_id[32]; // NOLINT(modernize-avoid-c-arrays)
};
static_assert(sizeof(PciInfo) == 68);

struct Memory {
  std::uint64_t total;
  std::uint64_t free;
  std::uint64_t used;
};

struct MemoryWithReserved { ///< version 2: what the driver keeps for itself is not in use
  unsigned version;
  std::uint64_t total;
  std::uint64_t reserved;
  std::uint64_t free;
  std::uint64_t used;
};
static_assert(sizeof(MemoryWithReserved) == 40);
inline constexpr unsigned kMemoryVersion = sizeof(MemoryWithReserved) | (2U << 24U);

struct Utilization { ///< percent of the time
  unsigned gpu;
  unsigned memory;
};

struct DeviceAttributes {
  unsigned multiprocessors;
  unsigned copy_engines;
  unsigned decoders;
  unsigned encoders;
  unsigned jpeg_engines;
  unsigned ofa_engines;
  unsigned gpu_instance_slices;
  unsigned compute_instance_slices;
  std::uint64_t memory_mib;
};
static_assert(sizeof(DeviceAttributes) == 40);

struct Placement {
  unsigned start;
  unsigned size;
};

struct GpuInstanceInfo {
  Device device;
  unsigned id;
  unsigned profile_id;
  Placement placement;
};

struct EventData {
  Device device;
  std::uint64_t type;
  std::uint64_t data; ///< of an Xid event the Xid
  unsigned gpu_instance;
  unsigned compute_instance;
};
static_assert(sizeof(EventData) == 32);

struct ProcessInfo {
  unsigned pid;
  std::uint64_t used_memory; ///< bytes; all ones: not known
  unsigned gpu_instance;
  unsigned compute_instance;
};
static_assert(sizeof(ProcessInfo) == 24);

struct FieldValue {
  unsigned field;
  unsigned scope;
  std::int64_t timestamp; ///< microseconds since 1970
  std::int64_t latency_us;
  int value_type;
  Return result;
  union {
    double real;
    unsigned natural;
    std::uint64_t large;
  } value;
};
static_assert(sizeof(FieldValue) == 40);

struct FabricInfo { ///< version 2
  unsigned version;
  unsigned char cluster_uuid[16]; // NOLINT(modernize-avoid-c-arrays)
  Return status;
  unsigned clique;
  unsigned char state; ///< 3: completed
  unsigned health_mask;
};
static_assert(sizeof(FabricInfo) == 36);
inline constexpr unsigned kFabricVersion = sizeof(FabricInfo) | (2U << 24U);
inline constexpr unsigned char kFabricCompleted = 3;

inline constexpr unsigned kMemoryTemperatureField = 82;
inline constexpr unsigned kNvlinkSentField = 138; ///< KiB of data; of all links in scope kAllLinks
inline constexpr unsigned kNvlinkReceivedField = 139;
inline constexpr unsigned kPcieSentField = 197; ///< bytes
inline constexpr unsigned kPcieReceivedField = 198;
inline constexpr unsigned kRecoveryActionField = 230;
inline constexpr unsigned kAllLinks = 0xffffffff;
inline constexpr std::uint64_t kEventSingleBitEcc = 0x1;
inline constexpr std::uint64_t kEventDoubleBitEcc = 0x2;
inline constexpr std::uint64_t kEventXid = 0x8;
/// Modes of virtualisation that need no license: none, and a GPU passed through to a machine.
inline constexpr unsigned kNotVirtual = 0;
inline constexpr unsigned kPassedThrough = 1;
inline constexpr unsigned kNoInstance = 0xffffffff;

/// Levels of the closest common point of two devices.
inline constexpr int kAncestorInternal = 0;
inline constexpr int kAncestorSingle = 10;
inline constexpr int kAncestorMultiple = 20;
inline constexpr int kAncestorHostBridge = 30;
inline constexpr int kAncestorNode = 40;
inline constexpr int kAncestorSystem = 50;

inline constexpr int kRemoteGpu = 0;
inline constexpr int kRemoteSwitch = 2;
/// Links are asked for until the library refuses a number; this is above any GPU's.
inline constexpr unsigned kMaxLinks = 72;

} // namespace berth::inventory::nvml
