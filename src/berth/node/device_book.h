// What the device manager knows: the plugins, who holds which device, and whether that is from
// before a reboot. Every change reaches the checkpoint; a new book begins with what is there.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "berth/base/loop.h"
#include "berth/model/pod.h"
#include "berth/node/agent_counts.h"
#include "berth/node/checkpoint_store.h"
#include "berth/node/device_ledger.h"
#include "berth/node/device_options.h"
#include "berth/node/device_request.h"
#include "berth/node/plugin_endpoints.h"
#include "berth/topology/numa_book.h"

namespace berth::node {

struct Checkpoint;

/// In which state a container was found that an earlier agent made.
enum class Found { MayRun, Ended };

/// What a container was found to have been made with.
struct FoundNuma {
  std::optional<topology::CpuAssignment> cpus;
  std::optional<topology::MemoryAssignment> memory;
};

/// To be owned by a shared_ptr: its later tasks do nothing once it is gone.
class DeviceBook : public std::enable_shared_from_this<DeviceBook> {
 public:
  /// Reads the checkpoint; a corrupt or unreadable one is logged and counts as none.
  DeviceBook(Loop& loop, CheckpointStore& store, DeviceManagerOptions options);

  const DeviceManagerOptions& options() const { return options_; }
  PluginEndpoints& endpoints() { return endpoints_; }
  const PluginEndpoints& endpoints() const { return endpoints_; }
  const DeviceLedger& ledger() const { return ledger_; }
  const topology::NumaBook& numa() const { return numa_; }
  AgentCounts& counts() { return counts_; }
  const AgentCounts& counts() const { return counts_; }

  /// See DeviceLedger::record. Saved.
  [[nodiscard]] bool record(Holding holding);
  /// Takes back what was recorded for (container, resource) pairs of the pod.
  void take_back(std::string_view pod_uid,
                 const std::vector<std::pair<std::string, std::string>>& granted);
  /// See NumaBook::assign. Saved.
  topology::Granted<void> assign_numa(const topology::PodAsk& ask,
                                      const topology::ContainerAsk& container,
                                      const topology::Hint& hint);
  /// Takes back CPUs and memory of containers of the pod.
  void take_back_numa(std::string_view pod_uid, const std::vector<std::string>& containers);
  /// Everything the pod held is free; told to on_change.
  void release(std::string_view pod_uid);
  /// The pod's init phase is over: what its init containers hold is free.
  void release_init_surplus(const model::Pod& pod);
  /// Releases what pods hold that are gone; true if there were any. The caller saves or tells.
  bool drop_gone();
  /// As drop_gone, and told to on_change.
  void forget_gone();
  /// See DeviceManager::adopt.
  void adopt(std::string_view pod_uid, std::string_view container,
             const std::map<std::string, std::vector<std::string>>& devices, Found found,
             const std::optional<GpuParts>& part);
  /// The same for CPUs and memory of a container's own.
  void adopt_numa(const FoundNuma& container, Found found);

  /// What the pod holds is from before a reboot and nobody has confirmed it since.
  bool unproven(std::string_view pod_uid) const { return unproven_.contains(pod_uid); }
  /// Saved.
  void prove(std::string_view pod_uid);
  /// No live plugin offers the resource now, but one may soon.
  bool may_come_back(std::string_view resource) const;
  /// Everybody who holds the device, or parts of it, is on the way out; false if nobody does.
  bool comes_free(std::string_view resource, std::string_view id) const;
  /// What the pod wants of device plugins. Nothing of GPUs in parts if that cannot be meant.
  std::vector<DeviceRequest> requests_of(const model::Pod& pod) const;
  /// Why what the pod asks of parts of GPUs cannot be meant; "" if it can.
  std::string part_fault(const model::Pod& pod) const;
  /// What the node's GPUs are, for parts of them.
  model::ShareableGpus shareable() const;
  /// Adds what the container is to know of its part.
  void tell_part(const model::Pod& pod, Holding& holding) const;

 private:
  void restore();
  void save();
  void changed();
  void restore_numa(const Checkpoint& checkpoint);
  void take_from_others(const Holding& used);
  void take_from(const std::string& other, const Holding& used, const std::string& id);
  bool gives_parts() const;

  Loop* loop_;
  CheckpointStore* store_;
  DeviceManagerOptions options_;
  DeviceLedger ledger_;
  topology::NumaBook numa_;
  AgentCounts counts_;
  PluginEndpoints endpoints_;
  TimePoint started_at_;
  std::set<std::string, std::less<>> unproven_;
  bool change_posted_ = false;
  Timer save_again_; ///< what the disk did not take is not left out of date until the next change
};

} // namespace berth::node
