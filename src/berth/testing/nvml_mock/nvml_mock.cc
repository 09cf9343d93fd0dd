// A libnvidia-ml.so.1 of our own, for tests on machines without a GPU: it serves the machine that a
// text describes, a line KEY=VALUE for each fact (testing/nvml_profile.h makes the text of a
// platform; its keys are what the functions below ask for). The text is given by
// berth_nvml_mock_load, or is in the file that the environment variable BERTH_NVML_MOCK names,
// which is read at every start. Faults are facts too, set while the library runs: INDEX.lost=1,
// INDEX.reset=1, init=9. Built with BERTH_NVML_MOCK_OLD it lacks what older drivers lack.
#include <algorithm>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <fstream>
#include <map>
#include <mutex>
#include <sstream>
#include <string>
#include <vector>

#include "berth/inventory/nvml_abi.h"

namespace nvml = berth::inventory::nvml;

namespace {

struct Event {
  int gpu = 0;
  std::uint64_t type = 0;
  std::uint64_t data = 0;
  unsigned gpu_instance = nvml::kNoInstance;
  unsigned compute_instance = nvml::kNoInstance;
};

struct Mock {
  std::mutex mutex;
  std::condition_variable woke;
  std::map<std::string, std::string> facts;
  std::deque<Event> events;
  bool started = false;
};

Mock& mock() {
  static Mock the;
  return the;
}

void load(const std::string& text) {
  const std::lock_guard lock(mock().mutex);
  mock().facts.clear();
  mock().events.clear();
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (const auto at = line.find('='); at != std::string::npos) {
      mock().facts[line.substr(0, at)] = line.substr(at + 1);
    }
  }
}

/// A fact as text; "" if it is not stated.
std::string fact(const std::string& key) {
  const std::lock_guard lock(mock().mutex);
  const auto found = mock().facts.find(key);
  return found == mock().facts.end() ? "" : found->second;
}

long long number(const std::string& key, long long absent = 0) {
  const std::string text = fact(key);
  long long value = absent;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// A handle is its number: 1 + GPU, or for MIG devices 1000 + 100 x GPU + device.
constexpr std::uintptr_t kMigBase = 1000;

template <class Handle> Handle handle_of(std::uintptr_t value) {
  return reinterpret_cast<Handle>(value); // NOLINT
}

std::uintptr_t value_of(const void* handle) {
  return reinterpret_cast<std::uintptr_t>(handle); // NOLINT
}

bool is_mig(nvml::Device device) {
  return value_of(device) >= kMigBase;
}

/// "3." for GPU 3, "3.mig.1." for its second MIG device.
std::string prefix_of(nvml::Device device) {
  const std::uintptr_t value = value_of(device);
  if (is_mig(device)) {
    return std::to_string((value - kMigBase) / 100) + ".mig." +
           std::to_string((value - kMigBase) % 100) + ".";
  }
  return std::to_string(value - 1) + ".";
}

std::string gpu_of(nvml::Device device) {
  const std::string prefix = prefix_of(device);
  return prefix.substr(0, prefix.find('.') + 1);
}

nvml::Return check(nvml::Device device) {
  if (!mock().started) {
    return nvml::kUninitialized;
  }
  if (device == nullptr) {
    return nvml::kInvalidArgument;
  }
  if (number(gpu_of(device) + "lost") != 0) {
    return nvml::kGpuIsLost;
  }
  return number(gpu_of(device) + "reset") != 0 ? nvml::kResetRequired : nvml::kSuccess;
}

nvml::Return copy(const std::string& text, char* to, unsigned size) {
  if (text.empty()) {
    return nvml::kNotSupported;
  }
  if (text.size() + 1 > size) {
    return nvml::kInsufficientSize;
  }
  std::memcpy(to, text.c_str(), text.size() + 1);
  return nvml::kSuccess;
}

void fill(const std::string& bus, nvml::PciInfo& info) {
  info = {};
  std::sscanf(bus.c_str(), "%x:%x:%x", &info.domain, &info.bus, &info.device); // NOLINT
  std::snprintf(info.bus_id, sizeof info.bus_id, "%08X:%02X:%02X.0", info.domain, info.bus,
                info.device);
  std::snprintf(info.bus_id_legacy, sizeof info.bus_id_legacy, "%04X:%02X:%02X.0",
                info.domain & 0xffffU, info.bus, info.device);
}

/// "0-3,8" as bits.
void set_bits(const std::string& list, unsigned words, unsigned long* mask) {
  std::fill(mask, mask + words, 0UL);
  std::istringstream parts(list);
  for (std::string part; std::getline(parts, part, ',');) {
    unsigned first = 0;
    unsigned last = 0;
    const int found = std::sscanf(part.c_str(), "%u-%u", &first, &last); // NOLINT
    for (unsigned i = first; i <= (found == 2 ? last : first) && i / 64 < words; ++i) {
      mask[i / 64] |= 1UL << (i % 64);
    }
  }
}

nvml::Return set_if(const std::string& key, unsigned* to) {
  if (fact(key).empty()) {
    return nvml::kNotSupported;
  }
  *to = static_cast<unsigned>(number(key));
  return nvml::kSuccess;
}

/// A fact of a device that answers.
template <class T> nvml::Return tell(nvml::Device device, const std::string& name, T* to) {
  if (const nvml::Return checked = check(device); checked != nvml::kSuccess) {
    return checked;
  }
  const std::string key = prefix_of(device) + name;
  if (fact(key).empty()) {
    return nvml::kNotSupported;
  }
  *to = static_cast<T>(number(key));
  return nvml::kSuccess;
}

} // namespace

extern "C" {

// ---- control ------------------------------------------------------------------------------------
void berth_nvml_mock_load(const char* text) {
  load(text);
}

void berth_nvml_mock_set(const char* key, const char* value) {
  {
    const std::lock_guard lock(mock().mutex);
    mock().facts[key] = value;
  }
  mock().woke.notify_all();
}

void berth_nvml_mock_event(int gpu, std::uint64_t type, std::uint64_t data) {
  {
    const std::lock_guard lock(mock().mutex);
    mock().events.push_back({.gpu = gpu, .type = type, .data = data});
  }
  mock().woke.notify_all();
}

/// An Xid of one MIG device.
void berth_nvml_mock_mig_xid(int gpu, unsigned gpu_instance, unsigned compute_instance,
                             std::uint64_t xid) {
  {
    const std::lock_guard lock(mock().mutex);
    mock().events.push_back({.gpu = gpu,
                             .type = nvml::kEventXid,
                             .data = xid,
                             .gpu_instance = gpu_instance,
                             .compute_instance = compute_instance});
  }
  mock().woke.notify_all();
}

// ---- the library --------------------------------------------------------------------------------
nvml::Return nvmlInit_v2() {
  if (const char* path = std::getenv("BERTH_NVML_MOCK"); path != nullptr) {
    std::ifstream in(path);
    std::stringstream text;
    text << in.rdbuf();
    load(text.str());
  }
  if (const long long refused = number("init"); refused != 0) {
    return static_cast<nvml::Return>(refused);
  }
  mock().started = true;
  return nvml::kSuccess;
}

nvml::Return nvmlShutdown() {
  mock().started = false;
  return nvml::kSuccess;
}

const char* nvmlErrorString(nvml::Return /*code*/) {
  return "a mock's error";
}

nvml::Return nvmlSystemGetDriverVersion(char* text, unsigned size) {
  return copy(fact("driver"), text, size);
}

nvml::Return nvmlSystemGetCudaDriverVersion_v2(int* version) {
  *version = static_cast<int>(number("cuda"));
  return nvml::kSuccess;
}

nvml::Return nvmlDeviceGetCount_v2(unsigned* count) {
  if (!mock().started) {
    return nvml::kUninitialized;
  }
  *count = static_cast<unsigned>(number("gpus"));
  return nvml::kSuccess;
}

nvml::Return nvmlDeviceGetHandleByIndex_v2(unsigned index, nvml::Device* device) {
  if (!mock().started) {
    return nvml::kUninitialized;
  }
  if (index >= static_cast<unsigned>(number("gpus"))) {
    return nvml::kInvalidArgument;
  }
  if (number(std::to_string(index) + ".lost") != 0) {
    return nvml::kGpuIsLost;
  }
  *device = handle_of<nvml::Device>(index + 1);
  return nvml::kSuccess;
}

nvml::Return nvmlDeviceGetName(nvml::Device device, char* text, unsigned size) {
  return copy(fact(prefix_of(device) + "name"), text, size);
}

nvml::Return nvmlDeviceGetUUID(nvml::Device device, char* text, unsigned size) {
  return copy(fact(prefix_of(device) + "uuid"), text, size);
}

nvml::Return nvmlDeviceGetMinorNumber(nvml::Device device, unsigned* minor) {
  return set_if(prefix_of(device) + "minor", minor);
}

nvml::Return nvmlDeviceGetPciInfo_v3(nvml::Device device, nvml::PciInfo* info) {
  fill(fact(prefix_of(device) + "bus"), *info);
  return nvml::kSuccess;
}

nvml::Return nvmlDeviceGetMemoryInfo(nvml::Device device, nvml::Memory* memory) {
  const nvml::Return checked = check(device);
  const std::uint64_t scale = is_mig(device) ? std::uint64_t{1} << 20U : 1; // MiB of instances
  const auto total = static_cast<std::uint64_t>(number(prefix_of(device) + "memory")) * scale;
  const auto used = std::min(static_cast<std::uint64_t>(number(prefix_of(device) + "used")), total);
  *memory = {.total = total, .free = total - used, .used = used};
  return checked;
}

nvml::Return nvmlDeviceGetCudaComputeCapability(nvml::Device device, int* major, int* minor) {
  const auto sm = static_cast<int>(number(prefix_of(device) + "sm"));
  *major = sm / 10;
  *minor = sm % 10;
  return nvml::kSuccess;
}

nvml::Return nvmlDeviceGetCpuAffinity(nvml::Device device, unsigned words, unsigned long* mask) {
  set_bits(fact(prefix_of(device) + "cpus"), words, mask);
  return nvml::kSuccess;
}

nvml::Return nvmlDeviceGetTopologyCommonAncestor(nvml::Device a, nvml::Device b, int* level) {
  *level =
      static_cast<int>(number(prefix_of(a) + "ancestor." + prefix_of(b), nvml::kAncestorSystem));
  return nvml::kSuccess;
}

nvml::Return nvmlDeviceGetNvLinkState(nvml::Device device, unsigned link, int* active) {
  const std::string key = prefix_of(device) + "link." + std::to_string(link);
  if (fact(key).empty()) {
    return nvml::kInvalidArgument;
  }
  *active = fact(key) == "down" ? 0 : 1;
  return nvml::kSuccess;
}

nvml::Return nvmlDeviceGetNvLinkRemotePciInfo_v2(nvml::Device device, unsigned link,
                                                 nvml::PciInfo* info) {
  const std::string remote = fact(prefix_of(device) + "link." + std::to_string(link));
  fill(remote == "switch" ? "0:5:0" : remote, *info);
  return nvml::kSuccess;
}

nvml::Return nvmlDeviceGetComputeRunningProcesses_v3(nvml::Device device, unsigned* count,
                                                     nvml::ProcessInfo* processes) {
  const auto running = static_cast<unsigned>(number(prefix_of(device) + "processes"));
  const unsigned room = *count;
  *count = running;
  if (running > room) {
    return nvml::kInsufficientSize;
  }
  const auto first = static_cast<unsigned>(number(prefix_of(device) + "first_pid", 1000));
  const auto instance = static_cast<unsigned>(
      number(prefix_of(device) + "processes.gi", static_cast<long long>(nvml::kNoInstance)));
  for (unsigned i = 0; i < running; ++i) {
    processes[i] = {.pid = first + i,
                    .used_memory = i == 0 ? UINT64_MAX : std::uint64_t{i} << 20U,
                    .gpu_instance = instance,
                    .compute_instance = nvml::kNoInstance};
  }
  return check(device);
}

nvml::Return nvmlDeviceGetUtilizationRates(nvml::Device device, nvml::Utilization* load) {
  load->memory = static_cast<unsigned>(number(prefix_of(device) + "memory_busy"));
  return tell(device, "busy", &load->gpu);
}

nvml::Return nvmlDeviceGetEncoderUtilization(nvml::Device device, unsigned* percent,
                                             unsigned* period) {
  *period = 167'000;
  return tell(device, "encoder", percent);
}

nvml::Return nvmlDeviceGetDecoderUtilization(nvml::Device device, unsigned* percent,
                                             unsigned* period) {
  *period = 167'000;
  return tell(device, "decoder", percent);
}

nvml::Return nvmlDeviceGetClockInfo(nvml::Device device, int type, unsigned* mhz) {
  return tell(device, "clock." + std::to_string(type), mhz);
}

nvml::Return nvmlDeviceGetTemperature(nvml::Device device, int /*sensor*/, unsigned* celsius) {
  return tell(device, "celsius", celsius);
}

nvml::Return nvmlDeviceGetPowerUsage(nvml::Device device, unsigned* milliwatts) {
  return tell(device, "milliwatts", milliwatts);
}

nvml::Return nvmlDeviceGetPcieReplayCounter(nvml::Device device, unsigned* replays) {
  return tell(device, "replays", replays);
}

nvml::Return nvmlDeviceGetMigMode(nvml::Device device, unsigned* current, unsigned* pending) {
  const nvml::Return told = set_if(prefix_of(device) + "mig", current);
  *pending = *current;
  if (!fact(prefix_of(device) + "mig_pending").empty()) {
    set_if(prefix_of(device) + "mig_pending", pending);
  }
  return told;
}

nvml::Return nvmlEventSetCreate(nvml::EventSet* set) {
  *set = handle_of<nvml::EventSet>(1);
  return nvml::kSuccess;
}

nvml::Return nvmlEventSetFree(nvml::EventSet /*set*/) {
  return nvml::kSuccess;
}

nvml::Return nvmlDeviceGetSupportedEventTypes(nvml::Device device, std::uint64_t* types) {
  *types = number(prefix_of(device) + "no_events") != 0
               ? 0
               : nvml::kEventXid | nvml::kEventDoubleBitEcc | nvml::kEventSingleBitEcc;
  return nvml::kSuccess;
}

nvml::Return nvmlDeviceRegisterEvents(nvml::Device /*device*/, std::uint64_t /*types*/,
                                      nvml::EventSet /*set*/) {
  return nvml::kSuccess;
}

nvml::Return nvmlEventSetWait_v2(nvml::EventSet /*set*/, nvml::EventData* data, unsigned ms) {
  std::unique_lock lock(mock().mutex);
  const auto stated = [](const char* key) {
    const auto found = mock().facts.find(key);
    return found != mock().facts.end() && found->second != "0";
  };
  mock().woke.wait_for(lock, std::chrono::milliseconds(ms),
                       [&] { return !mock().events.empty() || stated("wait_lost"); });
  if (!mock().events.empty()) {
    const Event event = mock().events.front();
    mock().events.pop_front();
    *data = {.device = event.gpu < 0
                           ? nullptr
                           : handle_of<nvml::Device>(static_cast<std::uintptr_t>(event.gpu) + 1),
             .type = event.type,
             .data = event.data,
             .gpu_instance = event.gpu_instance,
             .compute_instance = event.compute_instance};
    return nvml::kSuccess;
  }
  if (stated("wait_lost")) {
    mock().facts["wait_lost"] = "0";
    return nvml::kGpuIsLost;
  }
  return nvml::kTimeout;
}

#ifndef BERTH_NVML_MOCK_OLD
nvml::Return nvmlDeviceGetNumaNodeId(nvml::Device device, unsigned* node) {
  return set_if(prefix_of(device) + "memory_numa", node);
}

nvml::Return nvmlDeviceGetNvLinkRemoteDeviceType(nvml::Device device, unsigned link, int* type) {
  const std::string remote = fact(prefix_of(device) + "link." + std::to_string(link));
  *type = remote == "switch" ? nvml::kRemoteSwitch : nvml::kRemoteGpu;
  return nvml::kSuccess;
}

nvml::Return nvmlDeviceGetP2PStatus(nvml::Device a, nvml::Device b, int /*of*/, int* status) {
  *status = static_cast<int>(number(prefix_of(a) + "p2p." + prefix_of(b)));
  return nvml::kSuccess;
}

nvml::Return nvmlDeviceGetMaxMigDeviceCount(nvml::Device /*device*/, unsigned* count) {
  *count = 7;
  return nvml::kSuccess;
}

nvml::Return nvmlDeviceGetMigDeviceHandleByIndex(nvml::Device device, unsigned index,
                                                 nvml::Device* mig) {
  if (fact(prefix_of(device) + "mig." + std::to_string(index) + ".uuid").empty()) {
    return nvml::kNotFound;
  }
  *mig = handle_of<nvml::Device>(kMigBase + (value_of(device) - 1) * 100 + index);
  return nvml::kSuccess;
}

nvml::Return nvmlDeviceGetGpuInstanceId(nvml::Device device, unsigned* id) {
  return set_if(prefix_of(device) + "gi", id);
}

nvml::Return nvmlDeviceGetComputeInstanceId(nvml::Device device, unsigned* id) {
  return set_if(prefix_of(device) + "ci", id);
}

nvml::Return nvmlDeviceGetAttributes_v2(nvml::Device device, nvml::DeviceAttributes* a) {
  const std::string prefix = prefix_of(device);
  const auto of = [&](const char* key) { return static_cast<unsigned>(number(prefix + key)); };
  *a = {.multiprocessors = of("sms"),
        .copy_engines = of("copy"),
        .decoders = of("decoders"),
        .encoders = of("encoders"),
        .jpeg_engines = of("jpeg"),
        .ofa_engines = of("ofa"),
        .gpu_instance_slices = of("gslices"),
        .compute_instance_slices = of("cslices"),
        .memory_mib = of("memory")};
  return nvml::kSuccess;
}

nvml::Return nvmlDeviceGetGpuInstanceById(nvml::Device device, unsigned id,
                                          nvml::GpuInstance* instance) {
  *instance = handle_of<nvml::GpuInstance>(value_of(device) * 100 + id);
  return nvml::kSuccess;
}

nvml::Return nvmlGpuInstanceGetInfo(nvml::GpuInstance instance, nvml::GpuInstanceInfo* info) {
  const std::string gpu = std::to_string(value_of(instance) / 100 - 1);
  const auto id = static_cast<unsigned>(value_of(instance) % 100);
  for (int i = 0; i < 7; ++i) {
    const std::string prefix = gpu + ".mig." + std::to_string(i) + ".";
    if (!fact(prefix + "uuid").empty() && number(prefix + "gi") == id) {
      *info = {.device = nullptr,
               .id = id,
               .profile_id = 0,
               .placement = {.start = static_cast<unsigned>(number(prefix + "start")),
                             .size = static_cast<unsigned>(number(prefix + "size"))}};
      return nvml::kSuccess;
    }
  }
  return nvml::kNotFound;
}

nvml::Return nvmlDeviceGetGpuFabricInfoV(nvml::Device device, nvml::FabricInfo* info) {
  const std::string cluster = fact(prefix_of(device) + "fabric");
  if (info->version != nvml::kFabricVersion || cluster.empty()) {
    return cluster.empty() ? nvml::kNotSupported : 25; // argument version mismatch
  }
  std::string digits;
  std::ranges::copy_if(cluster.substr(0, cluster.find('.')), std::back_inserter(digits),
                       [](char c) { return c != '-'; });
  for (std::size_t i = 0; i < 16 && 2 * i + 1 < digits.size(); ++i) {
    std::from_chars(digits.data() + 2 * i, digits.data() + 2 * i + 2, info->cluster_uuid[i], 16);
  }
  info->clique = static_cast<unsigned>(
      std::strtoul(cluster.substr(cluster.find('.') + 1).c_str(), nullptr, 10));
  info->state = static_cast<unsigned char>(
      number(prefix_of(device) + "fabric_state", nvml::kFabricCompleted));
  info->status = nvml::kSuccess;
  return nvml::kSuccess;
}

nvml::Return nvmlDeviceGetFieldValues(nvml::Device device, int count, nvml::FieldValue* values) {
  for (int i = 0; i < count; ++i) {
    const std::string key = prefix_of(device) + "field." + std::to_string(values[i].field);
    values[i].result = fact(key).empty() ? nvml::kNotSupported : nvml::kSuccess;
    values[i].value_type = 3; // an unsigned long long
    values[i].value.large = static_cast<std::uint64_t>(number(key));
    values[i].timestamp = number("now_us", 1'700'000'000'000'000);
  }
  return check(device);
}

nvml::Return nvmlDeviceGetMemoryInfo_v2(nvml::Device device, nvml::MemoryWithReserved* memory) {
  if (fact(prefix_of(device) + "reserved").empty()) {
    return nvml::kNotSupported;
  }
  if (memory->version != nvml::kMemoryVersion) {
    return 25; // argument version mismatch
  }
  nvml::Memory plain{};
  const nvml::Return code = nvmlDeviceGetMemoryInfo(device, &plain);
  const auto reserved = static_cast<std::uint64_t>(number(prefix_of(device) + "reserved"));
  memory->total = plain.total;
  memory->reserved = reserved;
  memory->used = plain.used;
  memory->free = plain.free - std::min(plain.free, reserved);
  return code;
}

nvml::Return nvmlDeviceGetVirtualizationMode(nvml::Device device, unsigned* mode) {
  return tell(device, "virtual", mode);
}

nvml::Return nvmlDeviceGetTotalEnergyConsumption(nvml::Device device, std::uint64_t* millijoules) {
  return tell(device, "energy", millijoules);
}

nvml::Return nvmlDeviceGetRemappedRows(nvml::Device device, unsigned* corrected,
                                       unsigned* uncorrected, unsigned* pending, unsigned* failed) {
  *uncorrected = static_cast<unsigned>(number(prefix_of(device) + "uncorrected_rows"));
  *pending = 0;
  *failed = static_cast<unsigned>(number(prefix_of(device) + "row_failure"));
  return tell(device, "corrected_rows", corrected);
}

nvml::Return nvmlDeviceGetNvLinkErrorCounter(nvml::Device device, unsigned link, int counter,
                                             std::uint64_t* errors) {
  return tell(device, "link." + std::to_string(link) + ".errors." + std::to_string(counter),
              errors);
}

nvml::Return nvmlDeviceGetTotalEccErrors(nvml::Device device, int type, int counter,
                                         std::uint64_t* errors) {
  const std::string exact = "ecc." + std::to_string(type) + "." + std::to_string(counter);
  if (!fact(prefix_of(device) + exact).empty()) {
    return tell(device, exact, errors);
  }
  *errors = static_cast<std::uint64_t>(number(prefix_of(device) + "ecc"));
  return fact(prefix_of(device) + "ecc").empty() ? nvml::kNotSupported : nvml::kSuccess;
}
#endif

} // extern "C"
