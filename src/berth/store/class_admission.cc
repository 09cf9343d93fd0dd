#include "berth/store/class_admission.h"

#include <algorithm>

#include <fmt/format.h>

#include "berth/store/document.h"

namespace berth::store {
namespace {

namespace json = api::json;
using json::object;

const GroupKind kRuntimeClasses{"node.k8s.io", "RuntimeClass"};
const GroupKind kIngresses{"networking.k8s.io", "Ingress"};
const GroupKind kIngressClasses{"networking.k8s.io", "IngressClass"};

constexpr std::string_view kDefaultClass = "ingressclass.kubernetes.io/is-default-class";
constexpr std::string_view kOldClass = "kubernetes.io/ingress.class";

tl::unexpected<Error> rejected(const json::value& pod, std::string_view why) {
  return forbidden(kPods, api::string_at(pod, "metadata.name"), why);
}

Result<void> set_overhead(const json::value* wanted, json::value& document, object& spec) {
  const json::value* given = spec.if_contains("overhead");
  if (wanted == nullptr) {
    return given == nullptr ? Result<void>()
                            : rejected(document, "pod rejected: Pod Overhead set without "
                                                 "corresponding RuntimeClass defined Overhead");
  }
  if (given != nullptr && *given != *wanted) {
    return rejected(document, "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined "
                              "Overhead");
  }
  spec["overhead"] = *wanted;
  return {};
}

Result<void> set_places(const json::value& scheduling, json::value& document, object& spec) {
  const json::value* selector = api::find(scheduling, "nodeSelector");
  if (selector != nullptr && selector->is_object()) {
    object& held = api::object_at(spec, "nodeSelector");
    for (const auto& [key, value] : selector->get_object()) {
      const json::value* own = held.if_contains(key);
      if (own != nullptr && *own != value && own->is_string() && value.is_string()) {
        return rejected(document,
                        fmt::format("conflict: runtimeClass.scheduling.nodeSelector[{}] = {}; "
                                    "pod.spec.nodeSelector[{}] = {}",
                                    std::string_view(key), std::string_view(value.get_string()),
                                    std::string_view(key), std::string_view(own->get_string())));
      }
      held[key] = value;
    }
  }
  const json::value* tolerations = api::find(scheduling, "tolerations");
  if (tolerations != nullptr && tolerations->is_array() && !tolerations->get_array().empty()) {
    json::value& held = spec["tolerations"];
    json::array& all = held.is_array() ? held.get_array() : held.emplace_array();
    for (const json::value& one : tolerations->get_array()) {
      if (std::ranges::find(all, one) == all.end()) {
        all.push_back(one);
      }
    }
  }
  return {};
}

/// The newest class that says it is the default; "" if none does.
std::string default_ingress_class(const Store& store) {
  const api::Object* best = nullptr;
  const ObjectList all = store.list({.kind = kIngressClasses});
  for (const api::Object& one : all.items) {
    const auto said = one.meta().annotations.find(kDefaultClass);
    if (said != one.meta().annotations.end() && said->second == "true" &&
        (best == nullptr || one.meta().creation_timestamp > best->meta().creation_timestamp)) {
      best = &one;
    }
  }
  return best == nullptr ? "" : best->meta().name;
}

} // namespace

Result<void> apply_runtime_class(const AdmissionRequest& request, json::value& document) {
  object* spec = object_in(document.as_object(), "spec");
  if (request.kind != kPods || request.before != nullptr || spec == nullptr) {
    return {};
  }
  if (!has(*spec, "runtimeClassName")) {
    return set_overhead(nullptr, document, *spec);
  }
  const std::string name(text_at(*spec, "runtimeClassName"));
  const auto found = request.store->get(kRuntimeClasses, {"", name});
  if (!found) {
    return rejected(document, fmt::format("pod rejected: RuntimeClass {} not found", quote(name)));
  }
  BERTH_CHECK(set_overhead(api::find_path(found->json(), "overhead.podFixed"), document, *spec));
  const json::value* scheduling = api::find(found->json(), "scheduling");
  return scheduling == nullptr ? Result<void>() : set_places(*scheduling, document, *spec);
}

Result<void> apply_ingress_class(const AdmissionRequest& request, json::value& document) {
  object* spec = object_in(document.as_object(), "spec");
  if (request.kind != kIngresses || request.before != nullptr || spec == nullptr ||
      has(*spec, "ingressClassName")) {
    return {};
  }
  const json::value* annotations = api::find_path(document, "metadata.annotations");
  if (annotations != nullptr && annotations->is_object() &&
      has(annotations->get_object(), kOldClass)) {
    return {};
  }
  if (const std::string name = default_ingress_class(*request.store); !name.empty()) {
    (*spec)["ingressClassName"] = name;
  }
  return {};
}

} // namespace berth::store
