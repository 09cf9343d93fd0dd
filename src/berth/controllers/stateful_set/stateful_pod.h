// The documents of a StatefulSet: its pods with their identity, and their claims. Source:
// kubernetes pkg/controller/statefulset/stateful_set_utils.go.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <boost/json/object.hpp>

#include "berth/api/object.h"

namespace berth::controllers {

/// "web-3" of "web".
std::string stateful_name(const api::Object& set, std::int64_t ordinal);
/// The ordinal of a pod with such a name; none for other names.
std::optional<std::int64_t> ordinal_of(const api::Object& set, const std::string& pod);

/// The pod as the revision's template describes it, with its name, host name, labels and claims.
api::json::object stateful_pod(const api::Object& set, const api::Object& revision,
                               std::int64_t ordinal);

/// The labels by which a pod is known; an empty object if it has them.
api::json::object missing_identity(const api::Object& set, const api::Object& pod,
                                   std::int64_t ordinal);

/// The claims of one replica, as they are to be created.
std::vector<api::Object> stateful_claims(const api::Object& set, std::int64_t ordinal);

} // namespace berth::controllers
