#include "berth/server/write_target.h"

#include <memory>
#include <utility>

#include "berth/server/access/escalation.h"
#include "berth/server/access/signing_rights.h"
#include "berth/server/definitions.h"
#include "berth/server/judged_write.h"

namespace berth::server {

Result<void> judge_grant(const Granting& by, const api::Object& before,
                         const api::json::value& document) {
  if (by.info.group != "rbac.authorization.k8s.io") {
    return check_signing_rights(by.rbac, by.user, by.info, document);
  }
  BERTH_TRY(const api::Object object, api::Object::from_json(document));
  const auto judged = check_escalation(
      by.rbac,
      {.user = by.user, .info = by.info, .object = object, .before = before ? &before : nullptr});
  if (!judged) {
    return fail(Code::Forbidden, judged.error().message);
  }
  return {};
}

patch::Target write_target(const schema::Resource& resource, const std::string& subresource) {
  const bool has_status = resource.subresource("status") != nullptr;
  return {.type = resource.type.get(),
          .group = resource.group,
          .version = resource.version,
          .kind = resource.kind,
          .zero = patch::zero_object(*resource.type, resource.gvk().api_version(), resource.kind),
          .resets = patch::reset_fields(resource.group, resource.kind, subresource, has_status)};
}

patch::Writer writer_of(const Shared& shared, const Call& call, const WriteQuery& query) {
  return {
      .manager = query.manager, .subresource = call.info.subresource, .now = shared.loop->now()};
}

store::WriteOptions tracked_write(const Shared& shared, Call& call,
                                  const schema::Resource& resource, const WriteQuery& query,
                                  const api::Object& live) {
  const auto target =
      std::make_shared<const patch::Target>(write_target(resource, call.info.subresource));
  store::WriteOptions out = judged_write(shared, call, query.dry_run);
  out.defaulted = [target, live, resource, rbac = shared.rbac, user = call.user, info = call.info,
                   writer =
                       writer_of(shared, call, query)](api::json::value& document) -> Result<void> {
    BERTH_CHECK(judge_by_schema(resource, live, document));
    BERTH_CHECK(judge_grant({.rbac = *rbac, .user = user, .info = info}, live, document));
    document = patch::track_update(*target, live ? live.json() : target->zero, std::move(document),
                                   writer);
    return {};
  };
  return out;
}

} // namespace berth::server
