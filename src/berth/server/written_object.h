// What POST, PUT and PATCH have in common: where the object of a request stands, whether it is the
// one that the path names, and how it is kept.
#pragma once

#include "berth/schema/resource.h"
#include "berth/server/call.h"
#include "berth/server/reading.h"
#include "berth/store/registry.h"

namespace berth::server {

/// The resource as which its objects are kept.
const schema::Resource& kept_as(const Shared& shared, const schema::Resource& resource);
/// Of the object that the path names.
api::Key key_of(const Call& call, const schema::Resource& resource);
/// None: the object itself.
store::Subresource subresource_of(const Call& call);
/// The answer to a write.
Answer<net::HttpResponse> told(const Shared& shared, const Call& call,
                               const schema::Resource& resource, int status,
                               const Result<api::Object>& written);
/// The object may leave out its namespace, and name that of the path.
Answer<void> check_namespace(const Call& call, const schema::Resource& resource,
                             const api::json::value& document);
/// The namespace of the path goes into the object.
Answer<void> place(const Call& call, const schema::Resource& resource, api::json::value& document);
/// The name of the object must be that of the path.
Answer<void> check_name(const Call& call, const api::json::value& document);
/// The version that a write names must be a number; kube-apiserver's words for what is none.
Answer<void> check_version(const api::Object& wanted);
/// The object as it is kept.
Answer<api::Object> object_of(const schema::Resource& resource, api::json::value document);

/// Tells the call what is doubtful in what it has written. `before`: null if it is new.
void warn_of(Call& call, const Result<api::Object>& written, const api::Object* before);

} // namespace berth::server
