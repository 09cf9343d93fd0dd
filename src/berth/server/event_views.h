// core/v1 Events and events.k8s.io/v1 Events are one stored object under two sets of names. It is
// kept as core/v1; the other view is made when somebody reads or writes it. Source: kubernetes
// pkg/apis/events/v1/conversion.go.
#pragma once

#include "berth/api/json.h"
#include "berth/schema/resource.h"
#include "berth/store/request.h"

namespace berth::server {

/// The resource shows core Events under the names of events.k8s.io.
bool is_event_view(const schema::Resource& resource);
/// The kind under which objects of the resource are kept.
store::GroupKind stored_kind(const schema::Resource& resource);

/// Of a whole object; fields that both have keep their names. What is no object stays as it is.
void to_core_event(api::json::value& event);
void to_event_view(api::json::value& event);

} // namespace berth::server
