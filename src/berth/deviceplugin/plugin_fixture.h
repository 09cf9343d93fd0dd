// Plugins of a simulated machine in virtual time, with a kubelet that takes what registers.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "berth/base/log.h"
#include "berth/base/virtual_loop.h"
#include "berth/cdi/spec_store.h"
#include "berth/deviceplugin/plugin_set.h"
#include "berth/inventory/simulated_inventory.h"

namespace berth::deviceplugin::test {

/// Takes what registers, or says why not.
class Kubelet final : public Registration {
 public:
  void register_plugin(RegisterRequest request, Done<void> done) override {
    requests.push_back(std::move(request));
    done(answer);
  }
  std::vector<std::string> resources() const {
    std::vector<std::string> names;
    for (const RegisterRequest& request : requests) {
      names.push_back(request.resource_name);
    }
    return names;
  }

  std::vector<RegisterRequest> requests;
  Result<void> answer;
};

/// The specs of a machine, on a disk that may be full.
class Specs final : public cdi::SpecStore {
 public:
  explicit Specs(cdi::Registry& registry) : store_(registry) {}
  Result<void> put(std::string_view file, const cdi::Spec& spec) override {
    ++puts;
    return full ? fail(Code::Unavailable, "no space left on device") : store_.put(file, spec);
  }
  Result<void> remove(std::string_view file) override { return store_.remove(file); }

  bool full = false;
  int puts = 0;

 private:
  cdi::RegistryStore store_;
};

class Plugin : public ::testing::Test {
 protected:
  Plugin() {
    set_log_level(LogLevel::Off);
    options_.nodes.mig = cdi::MigMinors::usual(8);
    options_.config.flags.nvidia_dev_root = "/";
    options_.config.flags.plugin.pass_device_specs = true;
    options_.config.flags.plugin.device_list_strategies.cdi_cri = true;
  }
  ~Plugin() override { set_log_level(LogLevel::Warn); }

  PluginPlace place() {
    return {.loop = &loop_, .inventory = &inventory_, .specs = &specs_, .socket = &socket_};
  }
  void start() {
    set_ = std::make_unique<PluginSet>(place(), options_);
    run();
  }
  void run(Duration span = Duration::millis(1)) { loop_.run_until(loop_.now() + span); }

  GpuPlugin& plugin(std::string_view resource = "nvidia.com/gpu") {
    GpuPlugin* found = set_->find(resource);
    EXPECT_NE(found, nullptr) << resource;
    return *found;
  }

  template <class T, class F> Result<T> asked(F call) {
    std::optional<Result<T>> answer;
    call([&](Result<T> said) { answer = std::move(said); });
    EXPECT_FALSE(answer) << "a later task";
    run(Duration::minutes(1));
    EXPECT_TRUE(answer) << "no answer";
    return answer.value_or(fail(Code::Internal, "no answer"));
  }
  Result<std::vector<ContainerAllocateResponse>>
  allocate(const std::shared_ptr<DevicePlugin>& plugin,
           const std::vector<std::vector<std::string>>& containers) {
    return asked<std::vector<ContainerAllocateResponse>>(
        [&](auto done) { plugin->allocate(containers, done); });
  }
  std::string uuid(int gpu) const { return inventory_.gpus()[static_cast<std::size_t>(gpu)].uuid; }
  std::string mig_uuid(int gpu, std::size_t device) const {
    return inventory_.survey().gpus[static_cast<std::size_t>(gpu)].mig[device].uuid;
  }
  std::set<int> sick(const std::vector<Device>& devices) const {
    std::set<int> indices;
    for (std::size_t i = 0; i < devices.size(); ++i) {
      EXPECT_EQ(devices[i].id, uuid(static_cast<int>(i)));
      if (devices[i].health == kUnhealthy) {
        indices.insert(static_cast<int>(i));
      } else {
        EXPECT_EQ(devices[i].health, kHealthy);
      }
    }
    return indices;
  }

  /// Keeps the newest list of a resource in lists_.
  void watch(const std::string& resource = "nvidia.com/gpu") {
    streams_.push_back(plugin(resource).connect()->list_and_watch(
        [this, resource](std::vector<Device> devices) { lists_[resource] = std::move(devices); },
        [](const Error&) {}));
    run();
  }
  /// Ids in the newest list with that health.
  std::set<std::string> ids(std::string_view health,
                            const std::string& resource = "nvidia.com/gpu") {
    std::set<std::string> found;
    for (const Device& device : lists_[resource]) {
      if (device.health == health) {
        found.insert(device.id);
      }
    }
    return found;
  }

  VirtualLoop loop_{TimePoint::from_unix_seconds(1)};
  inventory::SimulatedInventory inventory_{loop_, *hardware::Catalogue::builtin().find("dgx-h100"),
                                           "n1"};
  cdi::Registry cdi_;
  Specs specs_{cdi_};
  KubeletSocket socket_{loop_};
  Kubelet kubelet_;
  PluginOptions options_;
  std::map<std::string, std::vector<Device>> lists_;
  std::vector<std::unique_ptr<DeviceStream>> streams_;
  std::unique_ptr<PluginSet> set_;
};

} // namespace berth::deviceplugin::test
