// What is known at this moment for picking devices of one resource for one container: the input of
// the picker and of the topology manager's device hints.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "berth/model/pod.h"
#include "berth/node/device_book.h"
#include "berth/node/device_picker.h"
#include "berth/node/device_request.h"
#include "berth/topology/cpu_ledger.h"
#include "berth/topology/device_hints.h"

namespace berth::node {

/// `left` are ids of the resource that init containers of the pod had in this attempt.
PickRequest pick_facts(const DeviceBook& book, const model::Pod& pod, const DeviceRequest& request,
                       const std::set<std::string>& left);

/// The holding that the request would be, of no device yet. Precondition: it asks for parts.
Holding wanted_part(const std::string& pod_uid, const DeviceRequest& request);

/// Whose devices count as taken: everyone's, or only those of pods that stay.
enum class Holders { Everyone, Staying };

/// Hints for one container's request. An init container takes what its pod has before anything
/// else, but need not touch all of it.
topology::ResourceHints device_hints(const DeviceBook& book, const PickRequest& pick, Role role,
                                     topology::Source source, Holders holders);

/// Hints for what a whole pod uses at a time of one resource.
topology::ResourceHints pod_device_hints(const DeviceBook& book, const PickRequest& pick,
                                         Holders holders);

} // namespace berth::node
