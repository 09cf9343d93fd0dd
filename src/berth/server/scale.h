// The scale subresource: autoscaling/v1 Scale of workloads and of custom resources that define it.
#pragma once

#include "berth/server/reading.h"

namespace berth::server {

/// GET, PUT and PATCH of RESOURCE/NAME/scale.
Answer<net::HttpResponse> answer_scale(const Shared& shared, Call& call,
                                       const schema::Resource& resource);

} // namespace berth::server
