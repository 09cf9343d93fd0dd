#include <array>

#include <boost/json/value.hpp>

#include "berth/store/registry.h"

namespace berth::store {
namespace {

struct SystemClass {
  std::string_view name;
  std::int64_t value;
  std::string_view description;
};

constexpr std::array<std::string_view, 4> kSystemNamespaces = {"default", "kube-node-lease",
                                                               "kube-public", "kube-system"};
constexpr std::array<SystemClass, 2> kSystemClasses = {
    {{"system-node-critical", 2'000'001'000,
      "Used for system critical pods that must not be moved from their current node."},
     {"system-cluster-critical", 2'000'000'000,
      "Used for system critical pods that must run in the cluster, but can be moved to another "
      "node if necessary."}}};

Result<void> create_if_absent(Registry& registry, api::json::object document, TimePoint now) {
  BERTH_TRY(const api::Object object, api::Object::from_json(std::move(document)));
  const auto made = registry.create(object, now);
  if (!made && made.error().code != Code::AlreadyExists) {
    return tl::unexpected(made.error());
  }
  return {};
}

} // namespace

Result<void> bootstrap(Registry& registry, TimePoint now) {
  for (const std::string_view name : kSystemNamespaces) {
    BERTH_CHECK(create_if_absent(registry,
                                 {{"apiVersion", "v1"},
                                  {"kind", "Namespace"},
                                  {"metadata", api::json::object{{"name", name}}}},
                                 now));
  }
  for (const SystemClass& system : kSystemClasses) {
    BERTH_CHECK(create_if_absent(registry,
                                 {{"apiVersion", "scheduling.k8s.io/v1"},
                                  {"kind", "PriorityClass"},
                                  {"metadata", api::json::object{{"name", system.name}}},
                                  {"value", system.value},
                                  {"description", system.description}},
                                 now));
  }
  return {};
}

} // namespace berth::store
