// POST, PUT (writing.cc), PATCH (patching.cc) and DELETE (deleting.cc) of objects and of their
// status.
#pragma once

#include "berth/schema/resource.h"
#include "berth/server/call.h"
#include "berth/server/reading.h"

namespace berth::server {

Answer<net::HttpResponse> create_object(const Shared& shared, Call& call,
                                        const schema::Resource& resource);
Answer<net::HttpResponse> update_object(const Shared& shared, Call& call,
                                        const schema::Resource& resource);
Answer<net::HttpResponse> patch_object(const Shared& shared, Call& call,
                                       const schema::Resource& resource);
Answer<net::HttpResponse> delete_object(const Shared& shared, Call& call,
                                        const schema::Resource& resource);
Answer<net::HttpResponse> delete_objects(const Shared& shared, Call& call,
                                         const schema::Resource& resource);

} // namespace berth::server
