// The devices of a node that are replicas or MIG devices, by GPU (model/gpu_slices.h): what the
// node says of them, and which of them are those that the scheduler chose for a container.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "berth/model/gpu_slices.h"
#include "berth/model/pod.h"
#include "berth/node/device_book.h"
#include "berth/node/device_picker.h"
#include "berth/node/gpu_devices.h"
#include "berth/node/plugin_endpoints.h"

namespace berth::node {

/// Healthy replicas and MIG devices of live plugins, by resource and GPU. A resource all of whose
/// devices are whole GPUs, or not this machine's, is not named; one whose GPUs are all sick is.
/// `limit` is of all replicas, as it is in NVIDIA's configuration.
model::NodeSlices slices_of(const PluginEndpoints& plugins, GpuDevices& gpus,
                            model::ReplicaLimit limit);

/// Ids for the container on the GPUs of the pod's annotation, less what its other containers have
/// there already (init containers' are theirs to use): in the plugin's order. None if nothing was
/// chosen for the resource, or the choice cannot be had any more: then the node decides.
std::optional<std::vector<std::string>> chosen_slices(const DeviceBook& book, const model::Pod& pod,
                                                      const PickRequest& pick);

} // namespace berth::node
