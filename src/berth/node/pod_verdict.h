// How a pod ends: the phase it will have once nothing of it runs, and why.
#pragma once

#include <optional>
#include <string>

#include "berth/api/object.h"
#include "berth/base/time.h"
#include "berth/model/pod.h"
#include "berth/node/pod_status.h"
#include "berth/node/pod_view.h"

namespace berth::node {

struct Verdict {
  std::string phase; ///< "Succeeded" or "Failed"
  Reason why;
};

/// What the API says of a pod that has ended; none for one that has not. It never becomes anything
/// else.
std::optional<Verdict> stored_verdict(const model::Pod& pod);
/// The pod is stopped while its work is not done: it has succeeded if all of its work had.
Verdict stopped_verdict(const PodView& view);
/// It cannot have its devices; `message` is the device manager's, `reason` too if it has one.
Verdict allocation_failure(const std::string& message, const std::string& reason = "");
/// It was turned away at admission.
Verdict rejection(std::string reason, const std::string& message);
Verdict deadline_exceeded();

/// What a pod has to end in: what its deletion gives it, or its own wish (30 s if it has none). At
/// least a second.
Duration grace_of(const api::Object& object, const model::Pod& pod);

/// "name_namespace(uid)", as the kubelet names a pod in messages.
std::string log_name(const model::Pod& pod);

} // namespace berth::node
