#include "berth/inventory/nvml_inventory.h"

#include <algorithm>
#include <fstream>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "berth/hardware/formats/import.h"
#include "berth/inventory/event_watch.h"
#include "berth/inventory/nvml_usage.h"
#include "berth/inventory/subscribers.h"

namespace berth::inventory {

namespace {

using nvml::Return;

/// NVML's recovery actions: 1 reset, 2 reboot, 3 drain peers, 4 drain and reset, 5 recover the
/// domain. Whoever must be drained is not to be given out, and a reset is what ends it.
RecoveryAction action_of(unsigned value) {
  return value == 0   ? RecoveryAction::None
         : value == 2 ? RecoveryAction::NodeReboot
                      : RecoveryAction::GpuReset;
}

/// Has the catalogue a machine with these GPUs and these paths between them?
const hardware::Platform* known_platform(const NodeFacts& facts,
                                         const hardware::TopoMatrix& matrix) {
  const auto& catalogue = hardware::Catalogue::builtin();
  for (const std::string& name : catalogue.names()) {
    const hardware::Platform* p = catalogue.find(name);
    const bool model = p->gpu_model.product == facts.gpus.front().info.product ||
                       std::ranges::find(p->also_products, facts.gpus.front().info.product) !=
                           p->also_products.end();
    if (!model || p->gpus.size() != facts.gpus.size()) {
      continue;
    }
    const hardware::TopoMatrix known = hardware::topo_matrix(*p);
    bool same = true;
    for (std::size_t a = 0; a < p->gpus.size(); ++a) {
      for (std::size_t b = 0; b < p->gpus.size(); ++b) {
        same = same && known.cells[a][b] == matrix.cells[a][b];
      }
    }
    if (same) {
      return p;
    }
  }
  return nullptr;
}

const hardware::Platform* like_of(const NodeFacts& facts) {
  const auto& catalogue = hardware::Catalogue::builtin();
  for (const std::string& name : catalogue.names()) {
    const hardware::Platform* p = catalogue.find(name);
    if (p->gpu_model.product == facts.gpus.front().info.product) {
      return p;
    }
  }
  return nullptr;
}

} // namespace

struct NvmlInventory::State : std::enable_shared_from_this<NvmlInventory::State> {
  State(nvml::Library loaded, nvml::Reading read, const NvmlOptions& options)
      : library(std::move(loaded)), reading(std::move(read)), post(options.post),
        remembered(reading.devices.size()), was_away(reading.devices.size()),
        last_xids(reading.devices.size()), told_usable(reading.devices.size()),
        pcie(reading.devices.size()) {
    matrix = nvml::read_matrix(library, reading);
    for (const GpuFacts& gpu : reading.facts.gpus) {
      infos.push_back(gpu.info);
    }
    for (std::size_t i = 0; i < told_usable.size(); ++i) {
      told_usable[i] = probe(static_cast<int>(i)).usable();
    }
    told_facts = reading.facts;
    find_platform();
    if (!library.missing().empty()) {
      reading.notes.push_back(
          fmt::format("this driver lacks {}", fmt::join(library.missing(), ", ")));
    }
  }

  void find_platform() {
    if (infos.empty() || infos.size() > hardware::kMaxTopoGpus ||
        library.functions().common_ancestor == nullptr) {
      return;
    }
    known = known_platform(reading.facts, matrix);
    if (known != nullptr) {
      return;
    }
    auto made = hardware::import_topo_matrix(
        matrix, {.name = "this-machine", .like = like_of(reading.facts)});
    if (!made) {
      reading.notes.push_back(made.error().message);
      return;
    }
    hardware::Platform platform = std::move(made->platform);
    const GpuFacts& first = reading.facts.gpus.front();
    platform.gpu_model.product = first.info.product;
    platform.gpu_model.memory_mib = first.info.memory_mib;
    platform.gpu_model.family = first.family;
    platform.gpu_model.compute_major = first.compute_major;
    platform.gpu_model.compute_minor = first.compute_minor;
    platform.gpu_model.mig_capable = first.mig_capable;
    for (std::size_t i = 0; i < infos.size(); ++i) {
      if (!infos[i].pci_bus_id.empty()) {
        platform.gpus[i].pci_bus_id = infos[i].pci_bus_id;
      }
    }
    auto finished = hardware::finish_platform(std::move(platform));
    if (finished) {
      own = *std::move(finished);
    } else {
      reading.notes.push_back(finished.error().message);
    }
  }

  void start_watch(const NvmlOptions& options) {
    if (!post) {
      return;
    }
    watch = std::make_unique<nvml::EventWatch>(
        library, reading.devices, options.wait_ms,
        [weak = weak_from_this(), to_loop = post](const nvml::Report& report) {
          to_loop([weak, report] {
            if (const auto state = weak.lock()) {
              state->take(report);
            }
          });
        });
    if (!watch->unwatched().empty()) {
      reading.notes.push_back(fmt::format("no health events of GPU {}: they are seen when probed",
                                          fmt::join(watch->unwatched(), ", ")));
    }
    ask_for_quiet();
  }

  /// nullptr: no such GPU, or it does not answer.
  nvml::Device device(int index) const {
    return index >= 0 && static_cast<std::size_t>(index) < reading.devices.size()
               ? reading.devices[static_cast<std::size_t>(index)]
               : nullptr;
  }

  /// How the GPU itself answers: memory is asked of it, names and UUIDs of the library's own store.
  Return answer_of(std::size_t gpu) const {
    nvml::Memory memory{};
    return reading.devices[gpu] == nullptr
               ? nvml::kGpuIsLost
               : nvml::call(library.functions().memory_info, reading.devices[gpu], &memory);
  }
  static bool answers(Return code) {
    return code == nvml::kSuccess || code == nvml::kNotSupported || code == nvml::kFunctionNotFound;
  }

  GpuProbe probe(int index) const {
    if (index < 0 || static_cast<std::size_t>(index) >= reading.devices.size()) {
      return {.present = false};
    }
    const auto at = static_cast<std::size_t>(index);
    const nvml::Device handle = reading.devices[at];
    GpuProbe found = remembered[at];
    const Return code = answer_of(at);
    if (code == nvml::kResetRequired) {
      found.action = std::max(found.action, RecoveryAction::GpuReset);
      return found;
    }
    if (!answers(code)) {
      return {.present = false, .action = RecoveryAction::NodeReboot, .last_xid = found.last_xid};
    }
    found.fabric = nvml::read_fabric_state(library, handle);
    nvml::FieldValue field{.field = nvml::kRecoveryActionField};
    if (nvml::call(library.functions().field_values, handle, 1, &field) == nvml::kSuccess &&
        field.result == nvml::kSuccess) {
      found.action = action_of(field.value.natural);
      found.last_xid = found.action == RecoveryAction::None ? 0 : found.last_xid;
    }
    return found;
  }

  void publish(HealthEvent::Kind kind, int gpu, int xid) {
    subscribers->publish(post, {.kind = kind, .gpu = gpu, .xid = xid});
  }

  NodeFacts survey() const {
    NodeFacts now = told_facts;
    for (std::size_t i = 0; i < now.gpus.size(); ++i) {
      // Of a GPU that is lost, what was known last stands.
      if (now.gpus[i].mig_capable && probe(static_cast<int>(i)).present) {
        nvml::refresh_mig(library, reading.devices[i], now.gpus[i]);
      }
    }
    return now;
  }

  void take(const nvml::Report& report) {
    using Kind = nvml::Report::Kind;
    const int xid = static_cast<int>(std::min<std::uint64_t>(report.data, 0xffff));
    switch (report.kind) {
    case Kind::Xid:
      if (report.gpu >= 0 && report.gpu_instance >= 0 && report.compute_instance >= 0) {
        // Other MIG devices of the GPU go on; what the GPU itself needs is for the driver to say.
        last_xids[static_cast<std::size_t>(report.gpu)] = xid;
        subscribers->publish(post, {.kind = HealthEvent::Kind::Xid,
                                    .gpu = report.gpu,
                                    .xid = xid,
                                    .gpu_instance = report.gpu_instance,
                                    .compute_instance = report.compute_instance});
      } else {
        take_xid(report.gpu, xid);
      }
      break;
    case Kind::DoubleBitEcc:
      // The driver logs Xid 48 of the same error, before or after.
      if (report.gpu >= 0 && remembered[static_cast<std::size_t>(report.gpu)].last_xid != 48) {
        take_xid(report.gpu, 48);
      }
      break;
    case Kind::SomethingLost:
    case Kind::Failed:
    case Kind::Quiet:
      compare();
      compare_mig();
      break;
    }
    ask_for_quiet();
  }

  void take_xid(int gpu, int xid) {
    for (int i = 0; i < static_cast<int>(remembered.size()); ++i) {
      if (gpu >= 0 && i != gpu) {
        continue; // an event of no GPU concerns each
      }
      last_xids[static_cast<std::size_t>(i)] = xid;
      GpuProbe& state = remembered[static_cast<std::size_t>(i)];
      const RecoveryAction action = recovery_action(classify_xid(xid));
      if (action > state.action) {
        state.action = action;
        state.last_xid = xid;
      }
      told_usable[static_cast<std::size_t>(i)] = probe(i).usable();
      publish(HealthEvent::Kind::Xid, i, xid);
    }
  }

  /// A GPU that did not answer and does again has been reset, which ends what its Xids asked for,
  /// unless that was a reboot: a driver too old for a word on recovery of its own says no more than
  /// this.
  void notice_reset(std::size_t gpu) {
    const bool away = !answers(answer_of(gpu));
    if (!away && was_away[gpu] && remembered[gpu].action != RecoveryAction::NodeReboot) {
      remembered[gpu] = {};
    }
    was_away[gpu] = away;
  }

  /// Tells of GPUs that got lost, or are usable again, since it was last told.
  void compare() {
    for (std::size_t i = 0; i < told_usable.size(); ++i) {
      const int index = static_cast<int>(i);
      notice_reset(i);
      const GpuProbe now = probe(index);
      if (now.usable() == told_usable[i]) {
        continue;
      }
      told_usable[i] = now.usable();
      if (now.usable()) {
        remembered[i] = {};
        publish(HealthEvent::Kind::Recovered, index, 0);
      } else if (!now.present) {
        publish(HealthEvent::Kind::Lost, index, 79);
      } else if (now.action == RecoveryAction::None) {
        publish(HealthEvent::Kind::Fabric, index, 0);
      } else {
        publish(HealthEvent::Kind::Xid, index, now.last_xid);
      }
    }
  }

  /// Tells of GPUs that are cut in another way than they were when it was last told, or are to be.
  void compare_mig() {
    if (!any_mig_capable()) {
      return;
    }
    NodeFacts now = survey();
    for (std::size_t i = 0; i < now.gpus.size(); ++i) {
      if (now.gpus[i].mig_enabled != told_facts.gpus[i].mig_enabled ||
          now.gpus[i].mig_pending != told_facts.gpus[i].mig_pending ||
          now.gpus[i].mig != told_facts.gpus[i].mig) {
        publish(HealthEvent::Kind::Mig, static_cast<int>(i), 0);
      }
    }
    told_facts = std::move(now);
  }

  bool any_mig_capable() const {
    return std::ranges::any_of(reading.facts.gpus, &GpuFacts::mig_capable);
  }

  void ask_for_quiet() {
    if (watch != nullptr) {
      const bool ill = std::ranges::find(told_usable, false) != told_usable.end();
      watch->want_quiet(ill || any_mig_capable());
    }
  }

  nvml::Library library;
  nvml::Reading reading;
  std::function<void(Task)> post;
  std::vector<GpuInfo> infos;
  hardware::TopoMatrix matrix;
  const hardware::Platform* known = nullptr;
  std::optional<hardware::Platform> own;
  std::vector<GpuProbe> remembered; ///< what Xids said; lost is for the probe to find
  std::vector<bool> was_away;       ///< did not answer when it was last compared
  std::vector<int> last_xids;       ///< told since the start, whatever they mean; 0: none
  std::vector<bool> told_usable;
  std::vector<nvml::PcieMeter> pcie;
  NodeFacts told_facts; ///< MIG as it was told last
  std::shared_ptr<Subscribers> subscribers = std::make_shared<Subscribers>();
  std::unique_ptr<nvml::EventWatch> watch; ///< goes first
};

Result<std::unique_ptr<NvmlInventory>> NvmlInventory::open(const NvmlOptions& options) {
  BERTH_TRY(
      nvml::Library library,
      nvml::Library::open(options.libraries.empty() ? nvml::usual_libraries() : options.libraries));
  BERTH_TRY(nvml::Reading reading, nvml::read_machine(library, options.pci_of));
  auto state = std::make_shared<State>(std::move(library), std::move(reading), options);
  state->start_watch(options);
  return std::unique_ptr<NvmlInventory>(new NvmlInventory(std::move(state))); // NOLINT: private
}

NvmlInventory::NvmlInventory(std::shared_ptr<State> state) : state_(std::move(state)) {}

NvmlInventory::~NvmlInventory() {
  state_->watch.reset(); // here, not on the loop, where a task may hold the state last
}

const std::vector<GpuInfo>& NvmlInventory::gpus() const {
  return state_->infos;
}

GpuProbe NvmlInventory::probe(int index) const {
  return state_->probe(index);
}

GpuReadings NvmlInventory::readings(int index) const {
  const nvml::Device device = state_->device(index);
  if (device == nullptr) {
    return {};
  }
  GpuReadings read = nvml::read_usage(state_->library, device, mig_devices(index));
  state_->pcie[static_cast<std::size_t>(index)].look(state_->library, device, read);
  read.last_xid = state_->last_xids[static_cast<std::size_t>(index)];
  return read;
}

NodeFacts NvmlInventory::survey() const {
  return state_->survey();
}

const hardware::Platform* NvmlInventory::platform() const {
  return state_->known != nullptr ? state_->known : state_->own ? &*state_->own : nullptr;
}

std::unique_ptr<Subscription>
NvmlInventory::subscribe(std::function<void(const HealthEvent&)> on_event) {
  return state_->subscribers->add(std::move(on_event));
}

const NodeFacts& NvmlInventory::facts() const {
  return state_->reading.facts;
}

const hardware::TopoMatrix& NvmlInventory::matrix() const {
  return state_->matrix;
}

Result<std::vector<GpuProcess>> NvmlInventory::processes(int index) const {
  if (index < 0 || static_cast<std::size_t>(index) >= state_->reading.devices.size()) {
    return fail(Code::NotFound, fmt::format("no such gpu: the machine has {}, index asked {}",
                                            state_->reading.devices.size(), index));
  }
  return nvml::read_processes(state_->library,
                              state_->reading.devices[static_cast<std::size_t>(index)]);
}

std::optional<bool> NvmlInventory::reads_peer(int index, int peer) const {
  constexpr int kRead = 0;
  constexpr int kOk = 0;
  int status = 0;
  const nvml::Device from = state_->device(index);
  const nvml::Device to = state_->device(peer);
  if (from == nullptr || to == nullptr ||
      nvml::call(state_->library.functions().p2p_status, from, to, kRead, &status) !=
          nvml::kSuccess) {
    return std::nullopt;
  }
  return status == kOk;
}

std::optional<std::uint64_t> NvmlInventory::uncorrected_errors(int index) const {
  constexpr int kUncorrected = 1;
  constexpr int kSinceLoaded = 0;
  std::uint64_t errors = 0;
  const nvml::Device device = state_->device(index);
  if (device == nullptr || nvml::call(state_->library.functions().ecc_errors, device, kUncorrected,
                                      kSinceLoaded, &errors) != nvml::kSuccess) {
    return std::nullopt;
  }
  return errors;
}

std::vector<MigDevice> NvmlInventory::mig_devices(int index) const {
  const GpuProbe now = probe(index);
  if (!now.present) {
    return {};
  }
  const auto at = static_cast<std::size_t>(index);
  return nvml::read_mig(state_->library, state_->reading.devices[at],
                        state_->infos[at].memory_mib << 20);
}

const std::vector<std::string>& NvmlInventory::notes() const {
  return state_->reading.notes;
}

nvml::PciOf sysfs_pci(std::string root) {
  return [root = std::move(root)](const std::string& bus_id) {
    const std::string device = root + "/bus/pci/devices/" + bus_id;
    nvml::PciFacts facts;
    std::ifstream numa(device + "/numa_node");
    int node = -1;
    if (numa >> node && node >= 0) {
      facts.numa = node;
    }
    std::ifstream pci_class(device + "/class");
    pci_class >> std::hex >> facts.pci_class;
    return facts;
  };
}

} // namespace berth::inventory
