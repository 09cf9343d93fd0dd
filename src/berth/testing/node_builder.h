// node("n").cpu("128").gpus(8).taint("x", "NoSchedule").build(): nodes for tests.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "berth/model/node.h"
#include "berth/testing/object_builder.h"

namespace berth::test {

/// Starts Ready with 64 CPUs, 512Gi of memory, 110 pods, no GPU, and the label
/// kubernetes.io/hostname.
class NodeBuilder : public ObjectBuilder<NodeBuilder> {
 public:
  explicit NodeBuilder(std::string_view name) : ObjectBuilder("v1", "Node", name) {
    label("kubernetes.io/hostname", name);
    resource("cpu", "64").resource("memory", "512Gi").resource("pods", "110");
    condition("Ready", "True");
  }

  /// Capacity and allocatable.
  NodeBuilder& resource(std::string_view name, std::string_view quantity) {
    api::object_at(status(), "capacity")[text(name)] = text(quantity);
    return allocatable(name, quantity);
  }
  NodeBuilder& allocatable(std::string_view name, std::string_view quantity) {
    api::object_at(status(), "allocatable")[text(name)] = text(quantity);
    return *this;
  }
  NodeBuilder& cpu(std::string_view quantity) { return resource("cpu", quantity); }
  NodeBuilder& memory(std::string_view quantity) { return resource("memory", quantity); }
  NodeBuilder& pods(int n) { return resource("pods", std::to_string(n)); }
  NodeBuilder& gpus(int n) { return resource(model::kGpuResource, std::to_string(n)); }
  /// The catalogue's hardware, e.g. "dgx-h100"; sets the label only.
  NodeBuilder& platform(std::string_view name) { return label(model::kPlatformLabel, name); }

  NodeBuilder& taint(std::string_view key, std::string_view effect, std::string_view value = "") {
    list_at(spec(), "taints")
        .emplace_back(
            json::object{{"key", text(key)}, {"value", text(value)}, {"effect", text(effect)}});
    return *this;
  }
  NodeBuilder& unschedulable() {
    spec()["unschedulable"] = true;
    return *this;
  }
  /// Sets or replaces a condition.
  NodeBuilder& condition(std::string_view type, std::string_view value) {
    json::array& list = list_at(status(), "conditions");
    for (json::value& known : list) {
      if (api::string_at(known, "type") == type) {
        known.as_object()["status"] = text(value);
        return *this;
      }
    }
    list.emplace_back(json::object{{"type", text(type)}, {"status", text(value)}});
    return *this;
  }
  NodeBuilder& not_ready() { return condition("Ready", "False"); }
  NodeBuilder& image(std::string_view name, std::int64_t bytes) {
    json::array names;
    names.push_back(json::value(text(name)));
    list_at(status(), "images").emplace_back(json::object{{"names", names}, {"sizeBytes", bytes}});
    return *this;
  }

  std::shared_ptr<const model::Node> build() const {
    return decoded(model::decode_node(json::value(document())));
  }
};

inline NodeBuilder node(std::string_view name) {
  return NodeBuilder(name);
}

} // namespace berth::test
