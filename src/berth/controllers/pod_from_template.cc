#include "berth/controllers/pod_from_template.h"

#include <algorithm>

namespace berth::controllers {
namespace {

namespace json = api::json;

/// A DNS label's 63 characters less the five of the suffix.
constexpr std::size_t kMaxGenerateName = 58;

} // namespace

std::string generate_name(std::string_view base, std::string_view tail) {
  const std::size_t room = kMaxGenerateName - std::min(kMaxGenerateName, tail.size());
  return std::string(base.substr(0, room)) + std::string(tail);
}

json::object pod_from_template(const json::value& pod_template, const api::Object& owner,
                               const std::string& generate, const std::string& suffix) {
  json::object metadata;
  metadata["name"] = generate + suffix;
  metadata["generateName"] = generate;
  metadata["namespace"] = owner.meta().ns;
  for (const std::string_view field : {"labels", "annotations", "finalizers"}) {
    const json::value* from = api::find(pod_template, "metadata");
    const json::value* value = from == nullptr ? nullptr : api::find(*from, field);
    if (value != nullptr) {
      metadata[field] = *value;
    }
  }
  json::object pod{{"apiVersion", "v1"}, {"kind", "Pod"}, {"metadata", std::move(metadata)}};
  if (const json::value* spec = api::find(pod_template, "spec")) {
    pod["spec"] = *spec;
  }
  api::set_controller(pod, owner);
  return pod;
}

} // namespace berth::controllers
