#include "berth/node/device_manager.h"

#include <utility>

#include "berth/node/device_edits.h"
#include "berth/node/device_preparation.h"

namespace berth::node {

DeviceManager::DeviceManager(Loop& loop, CheckpointStore& store, DeviceManagerOptions options)
    : book_(std::make_shared<DeviceBook>(loop, store, std::move(options))),
      allocator_(std::make_shared<DeviceAllocator>(loop, book_)),
      preparation_(std::make_shared<DevicePreparation>(loop, book_)) {}

DeviceManager::~DeviceManager() = default;

void DeviceManager::register_plugin(deviceplugin::RegisterRequest request,
                                    deviceplugin::Done<void> done) {
  const std::string resource = request.resource_name;
  book_->endpoints().register_plugin(std::move(request),
                                     [weak = std::weak_ptr(book_), resource,
                                      done = std::move(done)](const Result<void>& registered) {
                                       if (const auto book = weak.lock(); book && registered) {
                                         book->counts().plugin_registered(resource);
                                       }
                                       done(registered);
                                     });
}

void DeviceManager::allocate(std::shared_ptr<const model::Pod> pod, AllocationScope scope,
                             Done done) {
  allocator_->allocate(std::move(pod), scope, std::move(done));
}

void DeviceManager::prepare_container(std::shared_ptr<const model::Pod> pod,
                                      const std::string& container, Done done) {
  preparation_->prepare(std::move(pod), container, std::move(done));
}

deviceplugin::ContainerAllocateResponse DeviceManager::edits_of(std::string_view pod_uid,
                                                                std::string_view container) const {
  return merge_edits(book_->ledger().of_container(pod_uid, container));
}

void DeviceManager::release(std::string_view pod_uid) {
  allocator_->cancel(pod_uid);
  book_->release(pod_uid);
}

void DeviceManager::release_init_surplus(const model::Pod& pod) {
  book_->release_init_surplus(pod);
}

void DeviceManager::adopt(std::string_view pod_uid, std::string_view container,
                          const std::map<std::string, std::vector<std::string>>& devices,
                          Found found, const std::optional<GpuParts>& part) {
  book_->adopt(pod_uid, container, devices, found, part);
}

void DeviceManager::adopt_numa(const FoundNuma& container, Found found) {
  book_->adopt_numa(container, found);
}

void DeviceManager::forget_gone() {
  book_->forget_gone();
}

std::map<std::string, DeviceCount> DeviceManager::accounting() const {
  std::map<std::string, DeviceCount> counts = book_->endpoints().accounting();
  if (book_->options().patience == Patience::None) {
    for (const std::string& resource : book_->endpoints().departed()) {
      counts.emplace(resource, DeviceCount{});
    }
  }
  return counts;
}

std::vector<std::string> DeviceManager::departed() const {
  return book_->options().patience == Patience::None ? std::vector<std::string>()
                                                     : book_->endpoints().departed();
}

void DeviceManager::forget_departed(const std::string& resource) {
  book_->endpoints().forget_departed(resource);
}

void DeviceManager::expect(const std::string& resource) {
  book_->endpoints().expect(resource);
}

bool DeviceManager::complete() const {
  return book_->endpoints().complete();
}

bool DeviceManager::live(std::string_view resource) const {
  return book_->endpoints().live(resource) != nullptr;
}

DeviceHealth DeviceManager::health(std::string_view resource, std::string_view id) const {
  const DevicePool* pool = book_->endpoints().pool(resource);
  return pool ? pool->health(id) : DeviceHealth::Unknown;
}

std::vector<std::string> DeviceManager::unhealthy(std::string_view resource) const {
  const DevicePool* pool = book_->endpoints().pool(resource);
  return pool ? pool->reported_unhealthy() : std::vector<std::string>();
}

const PluginEndpoints& DeviceManager::plugins() const {
  return book_->endpoints();
}

const DeviceLedger& DeviceManager::ledger() const {
  return book_->ledger();
}

const topology::NumaBook& DeviceManager::numa() const {
  return book_->numa();
}

AgentCounts& DeviceManager::counts() {
  return book_->counts();
}

const AgentCounts& DeviceManager::counts() const {
  return std::as_const(*book_).counts();
}

} // namespace berth::node
