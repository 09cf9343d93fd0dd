// A control plane and one simulated machine, for tests of the node room and what stands on it.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "berth/api/json.h"
#include "berth/client/faulty_client.h"
#include "berth/node/simulated_machine.h"
#include "berth/testing/builders.h"
#include "berth/testing/control_plane.h"

namespace berth::test {

/// A control plane, a line to it and a machine named "n1" that has just booted.
class MachineWorld {
 public:
  explicit MachineWorld(std::uint64_t seed = 1, std::string_view platform = "dgx-h100",
                        const topology::Settings& numa = {},
                        const std::optional<node::HamiSettings>& hami = {})
      : plane(seed), line(plane.client, plane.loop, Rng(seed), {}) {
    machine = std::make_unique<node::SimulatedMachine>(
        plane.loop, line,
        node::MachineOptions{.name = "n1",
                             .platform = hardware::Catalogue::builtin().find(platform),
                             .hami = hami,
                             .numa = numa,
                             .seed = seed});
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
    return found ? std::string(api::string_at(found.json(), "status." + std::string(field)))
                 : "gone";
  }
  /// Status of a condition of a pod; "" if it has none.
  std::string condition(std::string_view name, std::string_view type) const {
    const api::Object found = stored(name);
    const json::value* list = api::find_path(found.json(), "status.conditions");
    for (const json::value& each : list ? list->get_array() : json::array()) {
      if (api::string_at(each, "type") == type) {
        return std::string(api::string_at(each, "status"));
      }
    }
    return "";
  }
  /// A field of a container's status, list elements by number: "state.waiting.reason".
  std::string container(std::string_view name, int index, std::string_view field) const {
    return field_of(name, "containerStatuses", index, field);
  }
  std::string init_container(std::string_view name, int index, std::string_view field) const {
    return field_of(name, "initContainerStatuses", index, field);
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
  bool has_event(std::string_view about, std::string_view wanted) const {
    const auto lines = events(about);
    return std::ranges::find(lines, wanted) != lines.end();
  }
  std::vector<std::string> held_by(std::string_view name) const {
    std::vector<std::string> ids;
    for (const node::Holding* holding :
         machine->agent()->devices().of_pod(stored(name).meta().uid)) {
      for (const std::string& id : holding->ids()) {
        ids.push_back(id);
      }
    }
    return ids;
  }
  std::string uuid(int gpu) const { return hardware::gpu_uuid("n1", gpu); }

  mutable ControlPlane plane;
  client::FaultyClient line; ///< the machine's way to the API; perfect until told otherwise
  std::unique_ptr<node::SimulatedMachine> machine;

 private:
  std::string field_of(std::string_view name, std::string_view list, int index,
                       std::string_view field) const {
    const api::Object found = stored(name);
    const json::value* value = api::find_path(found.json(), "status");
    std::string path = std::string(list) + "." + std::to_string(index) + "." + std::string(field);
    while (value && !path.empty()) {
      const std::string part = path.substr(0, path.find('.'));
      path.erase(0, part.size() + 1);
      if (value->is_array()) {
        const auto at = static_cast<std::size_t>(std::stoi(part));
        value = at < value->get_array().size() ? &value->get_array()[at] : nullptr;
      } else {
        value = api::find(*value, part);
      }
    }
    return !value               ? "absent"
           : value->is_string() ? std::string(value->get_string())
                                : api::to_json(*value);
  }
};

class MachineFixture : public ::testing::Test, protected MachineWorld {};

} // namespace berth::test
