// How a kind's writes are owned: what server/ gives the functions of patch/.
#pragma once

#include "berth/patch/owners.h"
#include "berth/schema/resource.h"
#include "berth/server/body.h"
#include "berth/server/call.h"
#include "berth/store/registry.h"

namespace berth::server {

/// Of the object of `resource` or of its subresource "status".
patch::Target write_target(const schema::Resource& resource, const std::string& subresource);

/// Who writes an object that may grant rights.
struct Granting {
  const Rbac& rbac;
  const User& user;
  const RequestInfo& info;
};
/// Forbidden: a role or binding grants more than its writer holds, or a certificate is approved by
/// somebody who may not. Other kinds pass. `before` is
/// empty on create.
Result<void> judge_grant(const Granting& by, const api::Object& before,
                         const api::json::value& document);

/// Judges custom resources and grants, records who wrote what, and has policies judge the request:
/// `live` is null on create. `shared` and `call` outlive the write.
store::WriteOptions tracked_write(const Shared& shared, Call& call,
                                  const schema::Resource& resource, const WriteQuery& query,
                                  const api::Object& live);

patch::Writer writer_of(const Shared& shared, const Call& call, const WriteQuery& query);

} // namespace berth::server
