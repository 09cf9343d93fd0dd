#include "berth/node/device_book.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "berth/base/log.h"
#include "berth/node/checkpoint.h"

namespace berth::node {
namespace {

constexpr std::string_view kLog = "device-manager";
constexpr Duration kSaveAgain = Duration::seconds(10);

} // namespace

DeviceBook::DeviceBook(Loop& loop, CheckpointStore& store, DeviceManagerOptions options)
    : loop_(&loop), store_(&store), options_(std::move(options)),
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
  for (Holding& holding : checkpoint->holdings) {
    if (checkpoint->boot_id != options_.boot_id) {
      unproven_.insert(holding.pod_uid);
    }
    const std::string what = fmt::format("{} of pod {}", holding.resource, holding.pod_uid);
    if (!ledger_.record(std::move(holding))) {
      log(LogLevel::Error, kLog, "checkpoint gives a device twice, ignoring the second: " + what);
    }
  }
  for (const auto& [resource, ids] : checkpoint->registered) {
    endpoints_.restore(resource);
  }
  for (const std::string& resource : checkpoint->departed) {
    endpoints_.restore_departed(resource);
  }
}

void DeviceBook::save() {
  Checkpoint checkpoint{.boot_id = options_.boot_id,
                        .holdings = ledger_.all(),
                        .registered = {},
                        .departed = endpoints_.departed()};
  for (const std::string& resource : endpoints_.resources()) {
    checkpoint.registered[resource] = endpoints_.pool(resource)->healthy();
  }
  save_again_.cancel();
  if (const auto written = store_->write(encode_checkpoint(checkpoint)); !written) {
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

void DeviceBook::release(std::string_view pod_uid) {
  if (ledger_.of_pod(pod_uid).empty()) {
    return;
  }
  ledger_.erase_pod(pod_uid);
  prove(pod_uid);
  changed();
}

void DeviceBook::release_init_surplus(const model::Pod& pod) {
  bool released = false;
  for (const ContainerRef& ref : containers_of(pod.spec)) {
    if (ref.role == Role::Init &&
        !ledger_.of_container(pod.meta.uid, ref.container->name).empty()) {
      ledger_.erase_container(pod.meta.uid, ref.container->name);
      released = true;
    }
  }
  if (released) {
    changed();
  }
}

bool DeviceBook::drop_gone() {
  bool any = false;
  for (const std::string& uid : ledger_.pods()) {
    if (options_.holder_state(uid) == HolderState::Gone) {
      log(LogLevel::Info, kLog, fmt::format("releasing devices of pod {}, which is gone", uid));
      ledger_.erase_pod(uid);
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
  for (const std::string& id : used.ids()) {
    const std::string other = ledger_.holder(used.resource, id);
    if (other.empty() || other == used.pod_uid) {
      continue;
    }
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
}

void DeviceBook::adopt(std::string_view pod_uid, std::string_view container,
                       const std::map<std::string, std::vector<std::string>>& devices,
                       Found found) {
  for (const auto& [resource, ids] : devices) {
    Holding holding{.pod_uid = std::string(pod_uid),
                    .container = std::string(container),
                    .resource = resource,
                    .devices = {{-1, ids}}};
    const Holding* recorded = ledger_.find(pod_uid, container, resource);
    if (recorded && (found == Found::Ended || recorded->ids() == holding.ids())) {
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

void DeviceBook::prove(std::string_view pod_uid) {
  if (const auto it = unproven_.find(pod_uid); it != unproven_.end()) {
    unproven_.erase(it);
  }
}

bool DeviceBook::may_come_back(std::string_view resource) const {
  if (endpoints_.pool(resource)) {
    return !endpoints_.live(resource);
  }
  return loop_->now() < started_at_ + options_.startup_wait;
}

std::vector<DeviceRequest> DeviceBook::requests_of(const model::Pod& pod) const {
  return device_requests(pod.spec, [&](std::string_view resource) {
    return endpoints_.knows(resource) || options_.needs_plugin(resource);
  });
}

} // namespace berth::node
