#include "berth/sched/ids.h"

namespace berth::sched {

ResourceNames make_resource_names() {
  ResourceNames names;
  for (const std::string_view name : {"cpu", "memory", "ephemeral-storage", "nvidia.com/gpu"}) {
    names.intern(name);
  }
  return names;
}

namespace {

bool has_kubernetes_domain(std::string_view name) {
  const auto slash = name.find('/');
  return slash != std::string_view::npos && name.substr(0, slash).ends_with("kubernetes.io");
}

} // namespace

bool is_extended_resource(std::string_view name) {
  return name.find('/') != std::string_view::npos && !has_kubernetes_domain(name) &&
         !name.starts_with("requests.");
}

bool is_counted_resource(std::string_view name) {
  return name == "cpu" || name == "memory" || name == "ephemeral-storage" ||
         name.starts_with("hugepages-") || name.starts_with("attachable-volumes-") ||
         has_kubernetes_domain(name) || is_extended_resource(name);
}

std::int64_t amount_of(std::string_view name, const api::Quantity& quantity) {
  return name == "cpu" ? quantity.milli_value() : quantity.value();
}

} // namespace berth::sched
