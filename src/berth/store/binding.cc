#include "berth/store/binding.h"

#include <boost/json/value.hpp>
#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/store/errors.h"

namespace berth::store {

Result<void> check_binding(const api::Object& pod, const Binding& binding) {
  const api::ObjectMeta& meta = pod.meta();
  const auto refuse = [&](std::string_view why) {
    return conflict("pods/binding", meta.name, why);
  };
  if (binding.node.empty()) {
    return fail(Code::Invalid, "target.name: Required value");
  }
  if (!binding.uid.empty() && binding.uid != meta.uid) {
    return refuse(
        fmt::format("Precondition failed: UID in precondition: {}, UID in object meta: {}",
                    binding.uid, meta.uid));
  }
  if (meta.deletion_timestamp) {
    return refuse(fmt::format("pod {} is being deleted, cannot be assigned to a host", meta.name));
  }
  if (const std::string_view node = node_of(pod); !node.empty()) {
    return refuse(fmt::format("pod {} is already assigned to node \"{}\"", meta.name, node));
  }
  const api::json::value* gates = api::find_path(pod.json(), "spec.schedulingGates");
  if (gates != nullptr && gates->is_array() && !gates->as_array().empty()) {
    return refuse(fmt::format("pod {} has non-empty .spec.schedulingGates", meta.name));
  }
  return {};
}

void apply_binding(const Binding& binding, TimePoint now, api::json::object& document) {
  api::object_at(document, "spec")["nodeName"] = binding.node;
  if (!binding.annotations.empty()) {
    api::json::object& annotations =
        api::object_at(api::object_at(document, "metadata"), "annotations");
    for (const auto& [key, value] : binding.annotations) {
      annotations[key] = value;
    }
  }
  api::json::value& list = api::object_at(document, "status")["conditions"];
  api::json::array& conditions = list.is_array() ? list.as_array() : list.emplace_array();
  api::json::object scheduled{{"type", "PodScheduled"},
                              {"status", "True"},
                              {"lastProbeTime", nullptr},
                              {"lastTransitionTime", to_rfc3339(now)}};
  for (api::json::value& condition : conditions) {
    if (api::string_at(condition, "type") == "PodScheduled") {
      condition = std::move(scheduled);
      return;
    }
  }
  conditions.emplace_back(std::move(scheduled));
}

} // namespace berth::store
