#include "berth/node/device_request.h"

#include <algorithm>

#include <fmt/format.h>

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
         .part = GpuParts{.each = {.milli = own->milli,
                                   .memory = own->memory + own->memory_units * node.memory_unit,
                                   .gpu_memory = node.memory,
                                   .init = ref.role == Role::Init}}});
  }
  return requests;
}

Result<std::vector<DeviceRequest>> vgpu_requests(const model::Pod& pod,
                                                 const std::vector<model::hami::Device>& gpus) {
  constexpr std::int64_t kMiB = std::int64_t{1} << 20;
  BERTH_TRY(const model::hami::PodShares shares, model::hami::shares_to_give(pod));
  std::vector<DeviceRequest> requests;
  const std::vector<ContainerRef> containers = containers_of(pod.spec);
  for (std::size_t i = 0; i < std::min(shares.size(), containers.size()); ++i) {
    if (shares[i].empty()) {
      continue;
    }
    GpuParts parts;
    for (const model::hami::Share& share : shares[i]) {
      const auto gpu = std::ranges::find(gpus, share.uuid, &model::hami::Device::uuid);
      const bool fresh = gpu != gpus.end() &&
                         parts.by_device
                             .emplace(share.uuid, GpuPart{.memory = share.memory * kMiB,
                                                          .gpu_memory = gpu->memory * kMiB,
                                                          .init = containers[i].role == Role::Init,
                                                          .cores = share.cores,
                                                          .gpu_cores = gpu->cores,
                                                          .sharers = gpu->count})
                             .second;
      if (!fresh) {
        return fail(
            Code::Invalid,
            fmt::format("annotation {} gives container {} GPU {}, which {}; delete the pod to "
                        "have it placed again",
                        model::hami::kToAllocate, containers[i].container->name, share.uuid,
                        gpu == gpus.end() ? "this node does not have" : "it has already"));
      }
    }
    requests.push_back({.container = containers[i].container->name,
                        .role = containers[i].role,
                        .resource = std::string(model::kGpuResource),
                        .count = std::ssize(parts.by_device),
                        .part = std::move(parts)});
  }
  return requests;
}

} // namespace berth::node
