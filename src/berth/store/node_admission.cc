#include "berth/store/node_admission.h"

#include <boost/json/value.hpp>

#include "berth/store/document.h"

namespace berth::store {
namespace {

constexpr std::string_view kNotReady = "node.kubernetes.io/not-ready";
constexpr std::string_view kNoSchedule = "NoSchedule";

} // namespace

Result<void> taint_new_node(const AdmissionRequest& request, api::json::value& document) {
  if (request.kind != kNodes || request.operation != AdmissionRequest::Operation::Create) {
    return {};
  }
  api::json::object& spec = api::object_at(document.as_object(), "spec");
  api::json::value& taints = spec["taints"];
  if (!taints.is_array()) {
    taints.emplace_array();
  }
  for (const api::json::value& taint : taints.get_array()) {
    if (api::string_at(taint, "key") == kNotReady &&
        api::string_at(taint, "effect") == kNoSchedule) {
      return {};
    }
  }
  taints.get_array().push_back(api::json::object{{"key", kNotReady}, {"effect", kNoSchedule}});
  return {};
}

} // namespace berth::store
