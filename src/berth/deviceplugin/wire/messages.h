// Between the values of contract.h and the messages of package v1beta1. What comes from the other
// side of a socket is judged here: see each reader. For this folder's sources, and tests.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "berth/base/result.h"
#include "berth/deviceplugin/contract.h"
#include "deviceplugin/wire/v1beta1.pb.h"

namespace berth::deviceplugin {

/// More devices than this are no list. A hundred times what a node has of shared GPUs.
inline constexpr std::size_t kMostDevices = 20'000;

v1beta1::DevicePluginOptions to_message(const DevicePluginOptions& options);
DevicePluginOptions from_message(const v1beta1::DevicePluginOptions& message);

/// A device on NUMA node 0 has a topology with one node that is an empty message; one without
/// topology has none.
v1beta1::ListAndWatchResponse to_message(const std::vector<Device>& devices);
/// Devices without an id are left out, and so are NUMA nodes below 0, which are not known. Ids
/// given twice and unknown health are kept: DevicePool knows what they mean. Error Invalid: more
/// than kMostDevices.
Result<std::vector<Device>> from_message(const v1beta1::ListAndWatchResponse& message);

v1beta1::PreferredAllocationRequest to_message(const PreferredAllocationRequest& request);
/// One question a container. Invalid: a size below 0.
Result<std::vector<PreferredAllocationRequest>>
from_message(const v1beta1::PreferredAllocationRequest& message);
/// One list of ids a container.
v1beta1::PreferredAllocationResponse
preference_message(const std::vector<std::vector<std::string>>& preferred);
/// Empty for an answer about no container: advice that is not there. Invalid for several.
Result<std::vector<std::string>> from_message(const v1beta1::PreferredAllocationResponse& message);

v1beta1::AllocateRequest to_message(const std::vector<std::vector<std::string>>& containers);
std::vector<std::vector<std::string>> from_message(const v1beta1::AllocateRequest& message);
v1beta1::AllocateResponse to_message(const std::vector<ContainerAllocateResponse>& responses);
/// Invalid unless it speaks of as many containers as were asked about, or of none, which the device
/// manager has its own words for.
Result<std::vector<ContainerAllocateResponse>>
from_message(const v1beta1::AllocateResponse& message, std::size_t asked);

/// One container's part, whose bytes stand for it in a kubelet's checkpoint too.
v1beta1::ContainerAllocateResponse to_message(const ContainerAllocateResponse& response);
ContainerAllocateResponse from_message(const v1beta1::ContainerAllocateResponse& message);

} // namespace berth::deviceplugin
