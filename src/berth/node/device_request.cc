#include "berth/node/device_request.h"

#include <algorithm>

#include "berth/model/requests.h"

namespace berth::node {

std::string_view to_string(Role role) {
  switch (role) {
  case Role::Init:
    return "init";
  case Role::Sidecar:
    return "sidecar";
  case Role::App:
    return "app";
  }
  return "app";
}

std::vector<ContainerRef> containers_of(const model::PodSpec& spec) {
  std::vector<ContainerRef> refs;
  for (const model::Container& container : spec.init_containers) {
    refs.push_back({&container, container.restart_policy == "Always" ? Role::Sidecar : Role::Init});
  }
  for (const model::Container& container : spec.containers) {
    refs.push_back({&container, Role::App});
  }
  return refs;
}

std::vector<DeviceRequest> device_requests(const model::PodSpec& spec,
                                           const std::function<bool(std::string_view)>& is_device) {
  std::vector<DeviceRequest> requests;
  for (const ContainerRef& ref : containers_of(spec)) {
    for (const auto& [resource, quantity] : ref.container->resources.limits) {
      if (quantity.value() > 0 && is_device(resource)) {
        requests.push_back({.container = ref.container->name,
                            .role = ref.role,
                            .resource = resource,
                            .count = quantity.value()});
      }
    }
  }
  return requests;
}

Result<std::vector<DeviceRequest>> part_requests(const model::Pod& pod,
                                                 const model::ShareableGpus& node) {
  BERTH_TRY(const model::GpuShare share,
            model::gpu_share_of(pod, model::effective_requests(pod.spec)));
  BERTH_TRY(const auto shares, model::container_shares(pod, share));
  std::vector<DeviceRequest> requests;
  for (const ContainerRef& ref : containers_of(pod.spec)) {
    const auto own =
        std::ranges::find(shares, ref.container->name, &model::ContainerShare::container);
    if (own == shares.end()) {
      continue;
    }
    requests.push_back(
        {.container = own->container,
         .role = ref.role,
         .resource = std::string(model::kGpuResource),
         .count = share.gpus,
         .part = GpuPart{.milli = own->milli,
                         .memory = own->memory + own->memory_units * node.memory_unit,
                         .gpu_memory = node.memory,
                         .init = ref.role == Role::Init}});
  }
  return requests;
}

} // namespace berth::node
