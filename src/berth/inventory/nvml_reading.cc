#include "berth/inventory/nvml_reading.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace berth::inventory::nvml {

namespace {

constexpr unsigned kMaxGpus = 64;
constexpr unsigned kMaxMigDevices = 32;
constexpr unsigned kMaxProcesses = 4096;
constexpr std::int64_t kMib = 1 << 20;

using Text = std::array<char, 96>;

/// The text a function writes; "" if it fails. The last byte is ours: no length is trusted.
template <class Function, class... Arguments>
std::string text_from(Function function, Arguments... arguments) {
  Text text{};
  if (call(function, arguments..., text.data(), static_cast<unsigned>(text.size() - 1)) !=
      kSuccess) {
    return "";
  }
  return text.data();
}

std::string bus_of(const PciInfo& info) {
  return fmt::format("{:08x}:{:02x}:{:02x}.0", info.domain, info.bus & 0xffU, info.device & 0x1fU);
}

/// "NVIDIA H100 80GB HBM3" -> "NVIDIA-H100-80GB-HBM3", as in the label nvidia.com/gpu.product.
std::string product_of(std::string name) {
  std::ranges::replace(name, ' ', '-');
  return name;
}

std::string uuid_text(const unsigned char* bytes) {
  std::string out;
  for (int i = 0; i < 16; ++i) {
    out += fmt::format("{}{:02x}", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", bytes[i]);
  }
  return out;
}

std::optional<FabricInfo> fabric_of(const Functions& f, Device device) {
  FabricInfo info{};
  info.version = kFabricVersion;
  return call(f.fabric_info, device, &info) == kSuccess ? std::optional(info) : std::nullopt;
}

/// A GPU of a single machine has a cluster of zeros.
bool is_alone(const FabricInfo& info) {
  return std::ranges::all_of(info.cluster_uuid, [](unsigned char b) { return b == 0; });
}

FabricState fabric_state(const FabricInfo& info) {
  switch (info.state) {
  case 1:
    return FabricState::NotStarted;
  case 2:
    return FabricState::InProgress;
  case kFabricCompleted:
    return info.status == kSuccess ? FabricState::Completed : FabricState::Failed;
  default:
    return FabricState::None;
  }
}

class Machine {
 public:
  Machine(const Library& library, const PciOf& pci_of)
      : library_(library), f_(library.functions()), pci_of_(pci_of) {}

  Result<Reading> read() {
    unsigned count = 0;
    if (const Return code = call(f_.device_count, &count); code != kSuccess) {
      return fail(Code::Unavailable,
                  fmt::format("the number of GPUs cannot be read: {}", library_.describe(code)));
    }
    read_versions();
    for (unsigned i = 0; i < std::min(count, kMaxGpus); ++i) {
      Device device = nullptr;
      const Return code = call(f_.device_by_index, i, &device);
      if (code != kSuccess || device == nullptr) {
        out_.notes.push_back(fmt::format("GPU {} does not answer: {}", i, library_.describe(code)));
        out_.devices.push_back(nullptr);
        out_.facts.gpus.push_back(lost(static_cast<int>(i)));
        continue;
      }
      out_.devices.push_back(device);
      out_.facts.gpus.push_back(read_gpu(static_cast<int>(i), device));
    }
    return std::move(out_);
  }

 private:
  static GpuFacts lost(int index) {
    GpuFacts facts;
    facts.answers = false;
    facts.info.index = index;
    facts.info.minor = index;
    facts.info.uuid = fmt::format("GPU-lost-{}", index);
    facts.family = "undefined";
    return facts;
  }

  void read_versions() {
    out_.facts.driver = text_from(f_.driver_version);
    int cuda = 0;
    if (call(f_.cuda_version, &cuda) == kSuccess && cuda > 0) {
      out_.facts.cuda_major = cuda / 1000;
      out_.facts.cuda_minor = cuda % 1000 / 10;
    }
  }

  GpuFacts read_gpu(int index, Device device) {
    GpuFacts facts = lost(index);
    facts.answers = true;
    GpuInfo& info = facts.info;
    facts.name = text_from(f_.name, device);
    info.product = product_of(facts.name);
    if (std::string uuid = text_from(f_.uuid, device); !uuid.empty()) {
      info.uuid = std::move(uuid);
    } else {
      out_.notes.push_back(fmt::format("GPU {} does not say its UUID", index));
    }
    if (unsigned minor = 0; call(f_.minor_number, device, &minor) == kSuccess) {
      info.minor = static_cast<int>(minor);
    }
    if (PciInfo pci{}; call(f_.pci_info, device, &pci) == kSuccess) {
      info.pci_bus_id = bus_of(pci);
      const PciFacts said = pci_of_ ? pci_of_(info.pci_bus_id.substr(4)) : PciFacts{};
      info.numa = said.numa;
      facts.pci_class = said.pci_class;
    }
    if (Memory memory{}; call(f_.memory_info, device, &memory) == kSuccess) {
      info.memory_mib = static_cast<std::int64_t>(memory.total) / kMib;
    }
    if (call(f_.compute_capability, device, &facts.compute_major, &facts.compute_minor) ==
        kSuccess) {
      facts.family = gpu_family(facts.compute_major, facts.compute_minor);
    }
    refresh_mig(library_, device, facts);
    read_fabric(device, facts);
    facts.nvlinks = active_links(device);
    return facts;
  }

  void read_fabric(Device device, GpuFacts& facts) const {
    const std::optional<FabricInfo> read = fabric_of(f_, device);
    if (!read || fabric_state(*read) != FabricState::Completed) {
      return;
    }
    const FabricInfo& info = *read;
    if (!is_alone(info)) {
      facts.fabric = fmt::format("{}.{}", uuid_text(info.cluster_uuid), info.clique);
    }
  }

  int active_links(Device device) const {
    int active = 0;
    for (unsigned link = 0; link < kMaxLinks; ++link) {
      int state = 0;
      if (call(f_.nvlink_state, device, link, &state) != kSuccess) {
        break;
      }
      active += state == 1 ? 1 : 0;
    }
    return active;
  }

  const Library& library_;
  const Functions& f_;
  const PciOf& pci_of_;
  Reading out_;
};

} // namespace

Result<Reading> read_machine(const Library& library, const PciOf& pci_of) {
  return Machine(library, pci_of).read();
}

void refresh_mig(const Library& library, Device device, GpuFacts& facts) {
  unsigned current = 0;
  unsigned pending = 0;
  facts.mig_capable = call(library.functions().mig_mode, device, &current, &pending) == kSuccess;
  facts.mig_enabled = facts.mig_capable && current == 1;
  facts.mig_pending = facts.mig_capable && current != pending;
  facts.mig = facts.mig_enabled ? read_mig(library, device, facts.info.memory_mib * kMib)
                                : std::vector<MigDevice>();
}

FabricState read_fabric_state(const Library& library, Device device) {
  const std::optional<FabricInfo> info = fabric_of(library.functions(), device);
  return info ? fabric_state(*info) : FabricState::None;
}

std::vector<MigDevice> read_mig(const Library& library, Device device,
                                std::int64_t gpu_memory_bytes) {
  const Functions& f = library.functions();
  unsigned most = 0;
  std::vector<MigDevice> found;
  if (call(f.mig_count, device, &most) != kSuccess) {
    return found;
  }
  for (unsigned i = 0; i < std::min(most, kMaxMigDevices); ++i) {
    Device mig = nullptr;
    DeviceAttributes a{};
    // Numbers without a device are holes, not the end.
    if (call(f.mig_by_index, device, i, &mig) != kSuccess ||
        call(f.attributes, mig, &a) != kSuccess) {
      continue;
    }
    MigDevice made{.uuid = text_from(f.uuid, mig),
                   .memory_mib = static_cast<std::int64_t>(a.memory_mib),
                   .multiprocessors = static_cast<int>(a.multiprocessors),
                   .gpu_slices = static_cast<int>(a.gpu_instance_slices),
                   .compute_slices = static_cast<int>(a.compute_instance_slices),
                   .copy_engines = static_cast<int>(a.copy_engines),
                   .decoders = static_cast<int>(a.decoders),
                   .encoders = static_cast<int>(a.encoders),
                   .jpeg_engines = static_cast<int>(a.jpeg_engines),
                   .ofa_engines = static_cast<int>(a.ofa_engines)};
    unsigned id = 0;
    if (call(f.gpu_instance_id, mig, &id) == kSuccess) {
      made.gpu_instance = static_cast<int>(id);
      GpuInstance instance = nullptr;
      GpuInstanceInfo info{};
      if (call(f.gpu_instance_by_id, device, id, &instance) == kSuccess &&
          call(f.gpu_instance_info, instance, &info) == kSuccess) {
        made.start = static_cast<int>(info.placement.start);
        made.size = static_cast<int>(info.placement.size);
      }
    }
    if (call(f.compute_instance_id, mig, &id) == kSuccess) {
      made.compute_instance = static_cast<int>(id);
    }
    made.profile = mig_profile_name(made, gpu_memory_bytes);
    found.push_back(std::move(made));
  }
  return found;
}

Result<std::vector<GpuProcess>> read_processes(const Library& library, Device device) {
  const Functions& f = library.functions();
  std::vector<ProcessInfo> raw(64);
  while (true) {
    auto count = static_cast<unsigned>(raw.size());
    const Return code = call(f.processes, device, &count, raw.data());
    if (code == kInsufficientSize && raw.size() < kMaxProcesses) {
      // More may have come meanwhile.
      raw.resize(std::clamp<std::size_t>(count * 2, raw.size() * 2, kMaxProcesses));
      continue;
    }
    if (code != kSuccess) {
      return fail(Code::Unavailable,
                  fmt::format("the GPU's processes cannot be read: {}", library.describe(code)));
    }
    raw.resize(std::min<std::size_t>(count, raw.size()));
    break;
  }
  std::vector<GpuProcess> out;
  for (const ProcessInfo& process : raw) {
    const bool known = process.used_memory != UINT64_MAX;
    out.push_back({.pid = process.pid,
                   .memory_mib = known ? static_cast<std::int64_t>(process.used_memory) / kMib : -1,
                   .gpu_instance = process.gpu_instance == kNoInstance
                                       ? -1
                                       : static_cast<int>(process.gpu_instance)});
  }
  return out;
}

} // namespace berth::inventory::nvml
