#include "berth/deviceplugin/wire/messages.h"

#include <utility>

#include <fmt/format.h>

namespace berth::deviceplugin {
namespace {

template <class Field> std::vector<std::string> strings(const Field& field) {
  return {field.begin(), field.end()};
}

template <class Field> void assign(Field& field, const std::vector<std::string>& values) {
  field.Assign(values.begin(), values.end());
}

} // namespace

v1beta1::DevicePluginOptions to_message(const DevicePluginOptions& options) {
  v1beta1::DevicePluginOptions message;
  message.set_pre_start_required(options.pre_start_required);
  message.set_get_preferred_allocation_available(options.get_preferred_allocation_available);
  return message;
}

DevicePluginOptions from_message(const v1beta1::DevicePluginOptions& message) {
  return {.pre_start_required = message.pre_start_required(),
          .get_preferred_allocation_available = message.get_preferred_allocation_available()};
}

v1beta1::ListAndWatchResponse to_message(const std::vector<Device>& devices) {
  v1beta1::ListAndWatchResponse message;
  for (const Device& device : devices) {
    v1beta1::Device& to = *message.add_devices();
    to.set_id(device.id);
    to.set_health(device.health);
    for (const std::int64_t node : device.numa_nodes) {
      to.mutable_topology()->add_nodes()->set_id(node);
    }
  }
  return message;
}

Result<std::vector<Device>> from_message(const v1beta1::ListAndWatchResponse& message) {
  const auto count = static_cast<std::size_t>(message.devices_size());
  if (count > kMostDevices) {
    return fail(Code::Invalid, fmt::format("a list of {} devices; a resource has at most {}", count,
                                           kMostDevices));
  }
  std::vector<Device> devices;
  for (const v1beta1::Device& from : message.devices()) {
    if (from.id().empty()) {
      continue;
    }
    Device& device = devices.emplace_back(Device{.id = from.id(), .health = from.health()});
    for (const v1beta1::NUMANode& node : from.topology().nodes()) {
      if (node.id() >= 0) {
        device.numa_nodes.push_back(node.id());
      }
    }
  }
  return devices;
}

v1beta1::PreferredAllocationRequest to_message(const PreferredAllocationRequest& request) {
  v1beta1::PreferredAllocationRequest message;
  v1beta1::ContainerPreferredAllocationRequest& to = *message.add_container_requests();
  assign(*to.mutable_available_deviceids(), request.available);
  assign(*to.mutable_must_include_deviceids(), request.must_include);
  to.set_allocation_size(request.allocation_size);
  return message;
}

Result<std::vector<PreferredAllocationRequest>>
from_message(const v1beta1::PreferredAllocationRequest& message) {
  std::vector<PreferredAllocationRequest> requests;
  for (const v1beta1::ContainerPreferredAllocationRequest& from : message.container_requests()) {
    if (from.allocation_size() < 0) {
      return fail(Code::Invalid,
                  fmt::format("allocation_size is negative: {}", from.allocation_size()));
    }
    requests.push_back({.available = strings(from.available_deviceids()),
                        .must_include = strings(from.must_include_deviceids()),
                        .allocation_size = from.allocation_size()});
  }
  return requests;
}

v1beta1::PreferredAllocationResponse
preference_message(const std::vector<std::vector<std::string>>& preferred) {
  v1beta1::PreferredAllocationResponse message;
  for (const std::vector<std::string>& ids : preferred) {
    assign(*message.add_container_responses()->mutable_deviceids(), ids);
  }
  return message;
}

Result<std::vector<std::string>> from_message(const v1beta1::PreferredAllocationResponse& message) {
  if (message.container_responses_size() > 1) {
    return fail(Code::Invalid, fmt::format("a preference for {} containers; one was asked about",
                                           message.container_responses_size()));
  }
  return message.container_responses_size() == 0
             ? std::vector<std::string>()
             : strings(message.container_responses(0).deviceids());
}

v1beta1::AllocateRequest to_message(const std::vector<std::vector<std::string>>& containers) {
  v1beta1::AllocateRequest message;
  for (const std::vector<std::string>& ids : containers) {
    assign(*message.add_container_requests()->mutable_devices_ids(), ids);
  }
  return message;
}

std::vector<std::vector<std::string>> from_message(const v1beta1::AllocateRequest& message) {
  std::vector<std::vector<std::string>> containers;
  for (const v1beta1::ContainerAllocateRequest& from : message.container_requests()) {
    containers.push_back(strings(from.devices_ids()));
  }
  return containers;
}

v1beta1::ContainerAllocateResponse to_message(const ContainerAllocateResponse& response) {
  v1beta1::ContainerAllocateResponse message;
  message.mutable_envs()->insert(response.envs.begin(), response.envs.end());
  for (const Mount& mount : response.mounts) {
    v1beta1::Mount& to = *message.add_mounts();
    to.set_container_path(mount.container_path);
    to.set_host_path(mount.host_path);
    to.set_read_only(mount.read_only);
  }
  for (const DeviceSpec& device : response.devices) {
    v1beta1::DeviceSpec& to = *message.add_devices();
    to.set_container_path(device.container_path);
    to.set_host_path(device.host_path);
    to.set_permissions(device.permissions);
  }
  message.mutable_annotations()->insert(response.annotations.begin(), response.annotations.end());
  for (const std::string& name : response.cdi_devices) {
    message.add_cdi_devices()->set_name(name);
  }
  return message;
}

ContainerAllocateResponse from_message(const v1beta1::ContainerAllocateResponse& message) {
  ContainerAllocateResponse response;
  response.envs.insert(message.envs().begin(), message.envs().end());
  for (const v1beta1::Mount& from : message.mounts()) {
    response.mounts.push_back({.container_path = from.container_path(),
                               .host_path = from.host_path(),
                               .read_only = from.read_only()});
  }
  for (const v1beta1::DeviceSpec& from : message.devices()) {
    response.devices.push_back({.container_path = from.container_path(),
                                .host_path = from.host_path(),
                                .permissions = from.permissions()});
  }
  response.annotations.insert(message.annotations().begin(), message.annotations().end());
  for (const v1beta1::CDIDevice& from : message.cdi_devices()) {
    response.cdi_devices.push_back(from.name());
  }
  return response;
}

v1beta1::AllocateResponse to_message(const std::vector<ContainerAllocateResponse>& responses) {
  v1beta1::AllocateResponse message;
  for (const ContainerAllocateResponse& response : responses) {
    *message.add_container_responses() = to_message(response);
  }
  return message;
}

Result<std::vector<ContainerAllocateResponse>>
from_message(const v1beta1::AllocateResponse& message, std::size_t asked) {
  const auto count = static_cast<std::size_t>(message.container_responses_size());
  if (count != asked && count != 0) {
    return fail(Code::Invalid,
                fmt::format("the device plugin answered for {} containers; {} were asked about",
                            count, asked));
  }
  std::vector<ContainerAllocateResponse> responses;
  for (const v1beta1::ContainerAllocateResponse& from : message.container_responses()) {
    responses.push_back(from_message(from));
  }
  return responses;
}

} // namespace berth::deviceplugin
