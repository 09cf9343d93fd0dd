// The kubelet's device manager: which devices exist, which container holds which, and what a
// container gets from them. Allocation order, accounting and every error text are the kubelet's
// (1.36); beyond it: endpoints have generations, a plugin that is coming back is waited for, advice
// is only advice, and the free set is derived from live pods instead of kept.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "berth/base/loop.h"
#include "berth/deviceplugin/contract.h"
#include "berth/model/pod.h"
#include "berth/node/checkpoint_store.h"
#include "berth/node/device_allocator.h"
#include "berth/node/device_book.h"
#include "berth/node/device_ledger.h"
#include "berth/node/device_options.h"
#include "berth/node/device_pool.h"

namespace berth::node {

class DevicePreparation;

/// All asynchronous results are later tasks of the Loop. Destroying it is a crash: plugins' streams
/// are dropped, nothing is called back, the checkpoint stays.
class DeviceManager final : public deviceplugin::Registration {
 public:
  using Done = std::function<void(AllocationVerdict)>;

  /// Reads the checkpoint; a corrupt or unreadable one is logged and counts as none.
  DeviceManager(Loop& loop, CheckpointStore& store, DeviceManagerOptions options);
  ~DeviceManager() override;
  DeviceManager(const DeviceManager&) = delete;
  DeviceManager& operator=(const DeviceManager&) = delete;

  void register_plugin(deviceplugin::RegisterRequest request,
                       deviceplugin::Done<void> done) override;

  /// Gives every container of the pod its devices, init containers first, or gives nothing new.
  /// Calls are served one after another; release() of the pod cancels.
  void allocate(std::shared_ptr<const model::Pod> pod, AllocationScope scope, Done done);
  /// Before each start of a container: its devices are there, and PreStartContainer where the
  /// plugin wants it.
  void prepare_container(std::shared_ptr<const model::Pod> pod, const std::string& container,
                         Done done);
  /// What the container gets, merged over its resources: first wins.
  deviceplugin::ContainerAllocateResponse edits_of(std::string_view pod_uid,
                                                   std::string_view container) const;

  /// The pod's containers are dead: everything it held is free.
  void release(std::string_view pod_uid);
  /// The pod's init phase is over: what only its init containers hold is free.
  void release_init_surplus(const model::Pod& pod);
  /// A container found in the runtime, with the devices it was made with, of GPUs `part` if they
  /// were not whole. One that may run has
  /// them, whatever a checkpoint says that may be older; one that has ended has what is recorded
  /// for it or, with nothing recorded, what nobody else has.
  void adopt(std::string_view pod_uid, std::string_view container,
             const std::map<std::string, std::vector<std::string>>& devices, Found found,
             const std::optional<GpuParts>& part = std::nullopt);
  /// The same for CPUs and memory of a container's own.
  void adopt_numa(const FoundNuma& container, Found found);
  /// Releases what pods hold that are gone: for when every pod of the node is known.
  void forget_gone();

  /// Resources that plugins give, or may give again, for the node's status; without patience, as in
  /// the kubelet, with a zero that stays for those whose plugin is gone for good.
  std::map<std::string, DeviceCount> accounting() const;
  /// Resources whose plugin is gone for good and which the node's status is to name no more; none
  /// without patience.
  std::vector<std::string> departed() const;
  /// The node's status names it no more.
  void forget_departed(const std::string& resource);
  /// The node's status names it, a plugin alone can have given it and nothing else is known of it:
  /// its plugin may come back, or be gone for good after the grace.
  void expect(const std::string& resource);
  /// Every resource that the checkpoint names has a live plugin again.
  bool complete() const;
  /// The resource's plugin is connected and has said what it has.
  bool live(std::string_view resource) const;
  DeviceHealth health(std::string_view resource, std::string_view id) const;
  /// Ids the plugin itself reports as unhealthy.
  std::vector<std::string> unhealthy(std::string_view resource) const;
  const DeviceLedger& ledger() const;
  const PluginEndpoints& plugins() const;
  /// Whose CPUs and memory are where.
  const topology::NumaBook& numa() const;
  AgentCounts& counts();
  const AgentCounts& counts() const;

 private:
  std::shared_ptr<DeviceBook> book_;
  std::shared_ptr<DeviceAllocator> allocator_;
  std::shared_ptr<DevicePreparation> preparation_;
};

} // namespace berth::node
