#include "berth/model/node.h"

#include <algorithm>

#include "berth/model/decode.h"

namespace berth::model {

using api::Field;

void decode(const Field& in, Taint& out) {
  in.read("key", out.key);
  in.read("value", out.value);
  in.read("effect", out.effect);
  in.read("timeAdded", out.time_added);
}

void decode(const Field& in, ContainerImage& out) {
  in.read("names", out.names);
  in.read("sizeBytes", out.size_bytes);
}

void decode(const Field& in, Node& out) {
  in.read("metadata", out.meta);
  in.within("spec", [&](const Field& spec) {
    spec.read("unschedulable", out.unschedulable);
    spec.read("taints", out.taints);
  });
  in.within("status", [&](const Field& status) {
    status.read("capacity", out.capacity);
    status.read("allocatable", out.allocatable);
    status.read("conditions", out.conditions);
    status.read("images", out.images);
  });
  // The API server defaults allocatable to capacity.
  if (out.allocatable.empty()) {
    out.allocatable = out.capacity;
  }
}

bool tolerates(const Toleration& toleration, const Taint& taint) {
  if (!toleration.effect.empty() && toleration.effect != taint.effect) {
    return false;
  }
  if (!toleration.key.empty() && toleration.key != taint.key) {
    return false;
  }
  if (toleration.op == "Exists") {
    return true;
  }
  // An empty key means every key for Exists only.
  const bool equal = toleration.op.empty() || toleration.op == "Equal";
  return equal && !toleration.key.empty() && toleration.value == taint.value;
}

bool tolerates(const std::vector<Toleration>& tolerations, const Taint& taint) {
  return std::any_of(tolerations.begin(), tolerations.end(),
                     [&](const Toleration& toleration) { return tolerates(toleration, taint); });
}

bool Node::ready() const {
  return std::any_of(conditions.begin(), conditions.end(), [](const Condition& condition) {
    return condition.type == "Ready" && condition.status == "True";
  });
}

Result<std::shared_ptr<const Node>> decode_node(const api::json::value& document) {
  return decode_shared<Node>(document);
}

} // namespace berth::model
