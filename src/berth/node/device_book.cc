#include "berth/node/device_book.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <ranges>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "berth/base/log.h"
#include "berth/node/checkpoint.h"

namespace berth::node {
namespace {

constexpr std::string_view kLog = "device-manager";
constexpr Duration kSaveAgain = Duration::seconds(10);
const std::vector<model::hami::Device> kNoVgpus;

} // namespace

DeviceBook::DeviceBook(Loop& loop, CheckpointStore& store, DeviceManagerOptions options)
    : loop_(&loop), store_(&store), options_(std::move(options)), numa_(options_.numa),
      endpoints_(loop, options_.endpoint_stop_grace, [this] { changed(); }),
      started_at_(loop.now()), save_again_(loop) {
  restore();
}

void DeviceBook::restore() {
  const auto bytes = store_->read();
  if (!bytes) {
    log(LogLevel::Error, kLog, to_string(bytes.error()));
    return;
  }
  const std::optional<std::string>& kept = *bytes;
  if (!kept) {
    return;
  }
  auto checkpoint = decode_checkpoint(*kept);
  if (!checkpoint) {
    log(LogLevel::Error, kLog,
        fmt::format("{}; starting from what the runtime and the API know",
                    checkpoint.error().message));
    return;
  }
  const std::set<std::string> unproven(checkpoint->unproven.begin(), checkpoint->unproven.end());
  for (Holding& holding : checkpoint->holdings) {
    if (checkpoint->boot_id != options_.boot_id || unproven.contains(holding.pod_uid)) {
      unproven_.insert(holding.pod_uid);
    }
    const std::string what = fmt::format("{} of pod {}", holding.resource, holding.pod_uid);
    if (!ledger_.record(std::move(holding))) {
      log(LogLevel::Error, kLog, "checkpoint gives a device twice, ignoring the second: " + what);
    }
  }
  restore_numa(*checkpoint);
  for (const auto& [resource, ids] : checkpoint->registered) {
    endpoints_.restore(resource);
  }
  for (const std::string& resource : checkpoint->departed) {
    endpoints_.restore_departed(resource);
  }
}

// What another policy left, or what the machine no longer has, is of no use: the containers start
// anew with what the policy of now gives them.
void DeviceBook::restore_numa(const Checkpoint& checkpoint) {
  const auto forget = [](std::string_view what, const auto& entry) {
    log(LogLevel::Warn, kLog,
        fmt::format("checkpoint gives {} to container {} of pod {}, which the policy or the "
                    "machine no longer allows; ignored",
                    what, entry.container, entry.pod_uid));
  };
  for (const topology::CpuAssignment& each : checkpoint.cpus) {
    if (!numa_.record(each)) {
      forget("CPUs", each);
    }
  }
  for (const topology::MemoryAssignment& each : checkpoint.memory) {
    if (!numa_.record(each)) {
      forget("memory", each);
    }
  }
}

void DeviceBook::save() {
  Checkpoint checkpoint{.boot_id = options_.boot_id,
                        .holdings = ledger_.all(),
                        .unproven = {unproven_.begin(), unproven_.end()},
                        .registered = {},
                        .departed = endpoints_.departed(),
                        .cpus = numa_.cpus().all(),
                        .memory = numa_.memory().all()};
  for (const std::string& resource : endpoints_.resources()) {
    checkpoint.registered[resource] = endpoints_.pool(resource)->healthy();
  }
  save_again_.cancel();
  // What is written on a simulated machine is seldom read: the text is made when it is.
  const auto contents = [kept = std::make_shared<const Checkpoint>(std::move(checkpoint))] {
    return encode_checkpoint(*kept);
  };
  if (const auto written = store_->write(contents); !written) {
    log(LogLevel::Error, kLog, to_string(written.error()));
    save_again_.set(kSaveAgain, [this] { save(); });
  }
}

void DeviceBook::changed() {
  save();
  if (change_posted_) {
    return;
  }
  change_posted_ = true;
  loop_->post([weak = weak_from_this()] {
    if (const auto book = weak.lock()) {
      book->change_posted_ = false;
      book->options_.on_change();
    }
  });
}

bool DeviceBook::record(Holding holding) {
  if (!ledger_.record(std::move(holding))) {
    return false;
  }
  save();
  return true;
}

void DeviceBook::take_back(std::string_view pod_uid,
                           const std::vector<std::pair<std::string, std::string>>& granted) {
  for (const auto& [container, resource] : granted) {
    ledger_.erase(pod_uid, container, resource);
  }
  if (!granted.empty()) {
    save();
  }
}

topology::Granted<void> DeviceBook::assign_numa(const topology::PodAsk& ask,
                                                const topology::ContainerAsk& container,
                                                const topology::Hint& hint) {
  const bool had_all = numa_.complete(ask, container);
  auto assigned = numa_.assign(ask, container, hint);
  if (!assigned) {
    counts_.not_assigned();
    return assigned;
  }
  if (!had_all) {
    const bool on_one = hint.affinity && hint.affinity->count() == 1;
    counts_.assigned(numa_.rules().alignment.scope,
                     on_one ? AgentCounts::Place::OneNode : AgentCounts::Place::Wider);
    save();
  }
  return {};
}

void DeviceBook::take_back_numa(std::string_view pod_uid,
                                const std::vector<std::string>& containers) {
  for (const std::string& container : containers) {
    numa_.erase(pod_uid, container);
  }
  if (!containers.empty()) {
    save();
  }
}

void DeviceBook::release(std::string_view pod_uid) {
  if (ledger_.of_pod(pod_uid).empty() && !numa_.has(pod_uid)) {
    return;
  }
  ledger_.erase_pod(pod_uid);
  numa_.erase_pod(pod_uid);
  unproven_.erase(std::string(pod_uid));
  changed();
}

void DeviceBook::release_init_surplus(const model::Pod& pod) {
  bool released = false;
  for (const ContainerRef& ref : containers_of(pod.spec)) {
    const std::string& name = ref.container->name;
    if (ref.role == Role::Init &&
        (!ledger_.of_container(pod.meta.uid, name).empty() || numa_.has(pod.meta.uid, name))) {
      ledger_.erase_container(pod.meta.uid, name);
      numa_.erase(pod.meta.uid, name);
      released = true;
    }
  }
  if (released) {
    changed();
  }
}

bool DeviceBook::drop_gone() {
  bool any = false;
  std::vector<std::string> holders = ledger_.pods();
  if (numa_.active()) {
    const std::vector<std::string> more = numa_.pods();
    holders.insert(holders.end(), more.begin(), more.end());
    std::ranges::sort(holders);
    const auto repeated = std::ranges::unique(holders);
    holders.erase(repeated.begin(), repeated.end());
  }
  for (const std::string& uid : holders) {
    if (options_.holder_state(uid) == HolderState::Gone) {
      log(LogLevel::Info, kLog, fmt::format("releasing devices of pod {}, which is gone", uid));
      ledger_.erase_pod(uid);
      numa_.erase_pod(uid);
      unproven_.erase(uid);
      any = true;
    }
  }
  return any;
}

void DeviceBook::forget_gone() {
  if (drop_gone()) {
    changed();
  }
}

// What other pods have on record of the same devices is out of date: their use has been seen.
void DeviceBook::take_from_others(const Holding& used) {
  const auto everyone = [](const std::string&) { return true; };
  for (const std::string& id : used.ids()) {
    for (const std::string& other : ledger_.holders(used.resource, id)) {
      if (other != used.pod_uid && !ledger_.has_room(used, id, everyone)) {
        take_from(other, used, id);
      }
    }
  }
}

void DeviceBook::take_from(const std::string& other, const Holding& used, const std::string& id) {
  log(LogLevel::Warn, kLog,
      fmt::format("checkpoint gives {} {} to pod {}, but container {} of pod {} uses it",
                  used.resource, id, other, used.container, used.pod_uid));
  std::vector<std::string> containers;
  for (const Holding* holding : ledger_.of_pod(other)) {
    const auto ids = holding->ids();
    if (holding->resource == used.resource && std::ranges::binary_search(ids, id)) {
      containers.push_back(holding->container);
    }
  }
  for (const std::string& container : containers) {
    ledger_.erase(other, container, used.resource);
  }
}

void DeviceBook::adopt(std::string_view pod_uid, std::string_view container,
                       const std::map<std::string, std::vector<std::string>>& devices, Found found,
                       const std::optional<GpuParts>& part) {
  for (const auto& [resource, ids] : devices) {
    Holding holding{.pod_uid = std::string(pod_uid),
                    .container = std::string(container),
                    .resource = resource,
                    .devices = {{-1, ids}},
                    .response = std::nullopt,
                    .part = resource == model::kGpuResource ? part : std::nullopt};
    const Holding* recorded = ledger_.find(pod_uid, container, resource);
    if (recorded && (found == Found::Ended ||
                     (recorded->ids() == holding.ids() && recorded->part == holding.part))) {
      continue;
    }
    if (found == Found::MayRun) {
      take_from_others(holding);
    }
    if (!ledger_.record(std::move(holding))) {
      log(LogLevel::Warn, kLog,
          fmt::format("container {} of pod {}, which has ended, had {} that another pod has now",
                      container, pod_uid, resource));
      continue;
    }
    save();
  }
}

// As with devices: who runs is believed before the record, who has ended gets what is left.
void DeviceBook::adopt_numa(const FoundNuma& container, Found found) {
  if (!numa_.active()) {
    return;
  }
  const auto make_way = [&](const auto& others, const auto& used, auto meets) {
    for (const auto& other : others) {
      if (other.pod_uid != used.pod_uid && meets(other)) {
        log(LogLevel::Warn, kLog,
            fmt::format("checkpoint gives container {} of pod {} CPUs or memory that container {} "
                        "of pod {} uses",
                        other.container, other.pod_uid, used.container, used.pod_uid));
        numa_.erase(other.pod_uid, other.container);
      }
    }
  };
  bool adopted = false;
  if (const auto& used = container.cpus) {
    const auto known = numa_.cpus().find(used->pod_uid, used->container);
    if (!known || (found == Found::MayRun && *known != used->cpus)) {
      if (found == Found::MayRun) {
        make_way(numa_.cpus().all(), *used,
                 [&](const auto& other) { return other.cpus.meets(used->cpus); });
      }
      adopted = numa_.record(*used) || adopted;
    }
  }
  if (const auto& used = container.memory) {
    const auto* known = numa_.memory().find(used->pod_uid, used->container);
    if (!known || (found == Found::MayRun && *known != *used)) {
      if (found == Found::MayRun) {
        make_way(numa_.memory().all(), *used, [&](const auto& other) {
          return other.nodes.meets(used->nodes) && other.nodes != used->nodes;
        });
      }
      adopted = numa_.record(*used) || adopted;
    }
  }
  if (adopted) {
    save();
  }
}

void DeviceBook::prove(std::string_view pod_uid) {
  if (unproven_.erase(std::string(pod_uid)) > 0) {
    save();
  }
}

bool DeviceBook::may_come_back(std::string_view resource) const {
  if (endpoints_.pool(resource)) {
    return !endpoints_.live(resource);
  }
  return loop_->now() < started_at_ + options_.startup_wait;
}

bool DeviceBook::comes_free(std::string_view resource, std::string_view id) const {
  const std::vector<std::string> holders = ledger_.holders(resource, id);
  return !holders.empty() && std::ranges::all_of(holders, [&](const std::string& pod) {
    return options_.holder_state(pod) == HolderState::Dying;
  });
}

model::ShareableGpus DeviceBook::shareable() const {
  return options_.shareable ? options_.shareable() : model::ShareableGpus();
}

bool DeviceBook::gives_parts() const {
  return endpoints_.knows(model::kGpuResource) || shareable().gpus > 0;
}

std::vector<DeviceRequest> DeviceBook::requests_of(const model::Pod& pod) const {
  const std::vector<model::hami::Device> vgpus = options_.vgpus ? options_.vgpus() : kNoVgpus;
  std::vector<DeviceRequest> requests = device_requests(pod.spec, [&](std::string_view resource) {
    return (vgpus.empty() || resource != model::kGpuResource) &&
           (endpoints_.knows(resource) || options_.needs_plugin(resource));
  });
  if (!vgpus.empty()) {
    if (auto shares = vgpu_requests(pod, vgpus)) {
      std::ranges::move(*shares, std::back_inserter(requests));
    }
    return requests;
  }
  if (auto parts = part_requests(pod, shareable()); parts && !parts->empty() && gives_parts()) {
    std::ranges::move(*parts, std::back_inserter(requests));
  }
  return requests;
}

std::string DeviceBook::part_fault(const model::Pod& pod) const {
  if (const auto vgpus = options_.vgpus ? options_.vgpus() : kNoVgpus; !vgpus.empty()) {
    const auto shares = vgpu_requests(pod, vgpus);
    const auto in_parts = part_requests(pod, shareable());
    return !shares ? shares.error().message
           : !in_parts || !in_parts->empty()
               ? "the node gives its GPUs as HAMi's vGPUs, and none in "
                 "parts; ask for nvidia.com/gpu and nvidia.com/gpumem"
               : "";
  }
  const auto parts = part_requests(pod, shareable());
  return parts || !gives_parts() ? "" : parts.error().message;
}

void DeviceBook::tell_part(const model::Pod& pod, Holding& holding) const {
  if (!holding.part || !holding.response) {
    return;
  }
  std::map<int, GpuPart> parts; // by GPU
  for (const std::string& id : holding.ids()) {
    if (const auto index = options_.index_of_gpu ? options_.index_of_gpu(id) : std::nullopt) {
      parts.emplace(*index, holding.part->of(id));
    }
  }
  const auto indices = parts | std::views::keys;
  auto envs = part_environment(pod, holding.container, holding.part->each, shareable(),
                               fmt::format("{}", fmt::join(indices, ",")));
  const auto values = parts | std::views::values;
  envs.merge(vgpu_environment(std::vector<GpuPart>(values.begin(), values.end())));
  for (auto& [name, value] : envs) {
    holding.response->envs.emplace(name, std::move(value));
  }
}

} // namespace berth::node
