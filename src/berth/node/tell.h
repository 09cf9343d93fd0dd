// How parts of a pod's work tell its owner of something: as an event of the pod.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "berth/client/events.h"

namespace berth::node {

/// Type, reason and message of an event.
using Tell =
    std::function<void(client::EventType, std::string_view reason, const std::string& message)>;

} // namespace berth::node
