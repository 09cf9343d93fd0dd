// GET: one object, a list, a watch.
#pragma once

#include <functional>

#include "berth/net/http.h"
#include "berth/schema/resource.h"
#include "berth/server/call.h"
#include "berth/server/render.h"

namespace berth::server {

Answer<net::HttpResponse> get_object(const Shared& shared, const Call& call,
                                     const schema::Resource& resource);
Answer<net::HttpResponse> list_objects(const Shared& shared, const Call& call,
                                       const schema::Resource& resource);
/// A stream of events that ends with timeoutSeconds, or after half an hour to an hour.
Answer<net::HttpResponse> watch_objects(const Shared& shared, const Call& call,
                                        const schema::Resource& resource);

/// The form that the client wants of an answer with objects.
Answer<RenderOptions> render_options(const Shared& shared, const Call& call);
/// What there is to say beside the answer.
void add_warnings(const Call& call, net::HttpResponse& response);
net::HttpResponse answer(int status, const Call& call, std::string body);

} // namespace berth::server
