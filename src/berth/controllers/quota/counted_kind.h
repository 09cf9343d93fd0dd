// The keys of a ResourceQuota that count objects. Rule: Kubernetes' object count quota:
// "count/<plural>.<group>", and the bare names of some old kinds.
#pragma once

#include <optional>
#include <string_view>

#include "berth/client/client.h"

namespace berth::controllers {

/// The kind that a key counts objects of ("count/jobs.batch", "configmaps"); none for resources and
/// for pods, which the server itself accounts for.
std::optional<client::GroupKind> counted_kind(std::string_view key);

} // namespace berth::controllers
