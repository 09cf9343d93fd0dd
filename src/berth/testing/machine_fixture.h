// A control plane and one simulated machine for the tests of this room.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "berth/api/json.h"
#include "berth/node/simulated_machine.h"
#include "berth/testing/builders.h"
#include "berth/testing/control_plane.h"

namespace berth::test {

class MachineFixture : public ::testing::Test {
 protected:
  MachineFixture() { boot("dgx-h100"); }

  void boot(std::string_view platform) {
    machine = std::make_unique<node::SimulatedMachine>(
        plane.loop, plane.client,
        node::MachineOptions{.name = "n1", .platform = hardware::Catalogue::builtin().find(platform)});
    machine->power_on();
    run(Duration::seconds(1));
  }

  /// A pod that is already bound to the machine.
  static PodBuilder bound(std::string_view name) {
    PodBuilder builder(name);
    builder.image("registry.example/train:1").on_node("n1");
    return builder;
  }

  void run(Duration span) { plane.run_for(span); }

  api::Object stored(std::string_view name) const {
    return plane.find(client::kPods, {"default", std::string(name)});
  }
  api::Object node() const { return plane.find(client::kNodes, {"", "n1"}); }
  std::string phase(std::string_view name) const {
    const api::Object found = stored(name);
    return found ? std::string(api::string_at(found.json(), "status.phase")) : "gone";
  }
  std::string status(std::string_view name, std::string_view field) const {
    const api::Object found = stored(name);
    return found ? std::string(api::string_at(found.json(), "status." + std::string(field))) : "gone";
  }
  std::string allocatable(std::string_view resource) const {
    const auto* list = api::find_path(node().json(), "status.allocatable");
    const auto* value = list ? api::find(*list, resource) : nullptr;
    return value ? std::string(value->get_string()) : "absent";
  }
  std::string capacity(std::string_view resource) const {
    const auto* list = api::find_path(node().json(), "status.capacity");
    const auto* value = list ? api::find(*list, resource) : nullptr;
    return value ? std::string(value->get_string()) : "absent";
  }
  /// "Reason: message" of every event about an object, by time.
  std::vector<std::string> events(std::string_view about) const {
    std::vector<std::string> lines;
    for (const api::Object& event : plane.all(client::kEvents)) {
      if (api::string_at(event.json(), "involvedObject.name") == about) {
        lines.push_back(std::string(api::string_at(event.json(), "reason")) + ": " +
                        std::string(api::string_at(event.json(), "message")));
      }
    }
    return lines;
  }
  bool has_event(std::string_view about, std::string_view line) const {
    const auto lines = events(about);
    return std::ranges::find(lines, line) != lines.end();
  }
  std::vector<std::string> held_by(std::string_view name) const {
    std::vector<std::string> ids;
    for (const node::Holding* holding : machine->agent()->devices().of_pod(stored(name).meta().uid)) {
      for (const std::string& id : holding->ids()) {
        ids.push_back(id);
      }
    }
    return ids;
  }
  std::string uuid(int gpu) const { return hardware::gpu_uuid("n1", gpu); }

  mutable ControlPlane plane;
  std::unique_ptr<node::SimulatedMachine> machine;
};

} // namespace berth::test
