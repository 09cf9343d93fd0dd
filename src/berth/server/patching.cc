// PATCH. An apply of an object that is not there creates it.
#include <optional>
#include <utility>

#include <boost/json/serialize.hpp>

#include "berth/api/json.h"
#include "berth/api/same.h"
#include "berth/patch/request.h"
#include "berth/server/body.h"
#include "berth/server/definitions.h"
#include "berth/server/event_views.h"
#include "berth/server/judged_write.h"
#include "berth/server/write_target.h"
#include "berth/server/writing.h"
#include "berth/server/written_object.h"
#include "berth/store/errors.h"

namespace berth::server {
namespace {

namespace json = api::json;

std::string_view options_kind(const Call& call) {
  return call.info.verb == "create"   ? "CreateOptions"
         : call.info.verb == "update" ? "UpdateOptions"
                                      : "PatchOptions";
}

struct PatchCall {
  const schema::Resource& resource;
  WriteQuery query;
  patch::PatchKind kind;
};

/// A patch may not change who the object is.
Status immutable_uid(const schema::Resource& resource, std::string_view name,
                     std::string_view uid) {
  const Error cause = store::invalid_value("metadata.uid", store::quote(uid), "field is immutable");
  Error error = store::invalid(stored_kind(resource), name, {cause}).value();
  error.causes.push_back(cause); // two of kube-apiserver's checks find it
  return status_of(error);
}

/// What a patch makes of the object, before it is decoded again.
Result<json::value> patched(const Shared& shared, const Call& call, const PatchCall& how,
                            const std::optional<api::Object>& live) {
  std::optional<json::value> view;
  if (live && is_event_view(how.resource)) {
    to_event_view(view.emplace(live->json()));
  }
  const auto before = [&]() -> const json::value& { return view ? *view : live->json(); };
  if (how.kind != patch::PatchKind::Apply) {
    return patch::patched(how.kind, before(), call.request->body, *how.resource.type);
  }
  BERTH_TRY(json::value applied, patch::applied_object(call.request->body));
  if (!applied.is_object()) {
    return fail(Code::BadRequest, "the body of an apply must be an object");
  }
  const patch::Target target = write_target(how.resource, call.info.subresource);
  return patch::apply(target, live ? before() : target.zero, applied,
                      writer_of(shared, call, how.query),
                      how.query.force ? patch::Conflicts::Forced : patch::Conflicts::Refused);
}

/// An apply of an object that is not there yet.
Answer<net::HttpResponse> create_by_apply(const Shared& shared, Call& call, const PatchCall& how,
                                          json::value document) {
  if (auto placed = place(call, how.resource, document); !placed) {
    return tl::unexpected(std::move(placed).error());
  }
  api::object_at(document.as_object(), "metadata")["name"] = call.info.name;
  auto checked =
      checked_object(call, how.resource.gvk(), *how.resource.type, json::serialize(document));
  if (!checked) {
    return tl::unexpected(std::move(checked).error());
  }
  const auto object = object_of(how.resource, *std::move(checked));
  if (!object) {
    return tl::unexpected(object.error());
  }
  store::WriteOptions write = judged_write(shared, call, how.query.dry_run);
  write.defaulted = [&shared, &call, &how](json::value& made) -> Result<void> {
    BERTH_CHECK(judge_by_schema(how.resource, {}, made));
    return judge_grant({.rbac = *shared.rbac, .user = call.user, .info = call.info}, {}, made);
  };
  const auto made = shared.registry->create(*object, shared.loop->now(), write);
  warn_of(call, made, nullptr);
  return told(shared, call, how.resource, 201, made);
}

} // namespace

Answer<net::HttpResponse> patch_object(const Shared& shared, Call& call,
                                       const schema::Resource& resource) {
  const auto kind =
      patch::patch_kind(net::header_of(call.request->headers, "Content-Type"),
                        resource.custom ? patch::KindOf::CustomResource : patch::KindOf::BuiltIn);
  if (!kind) {
    return tl::unexpected(status_of(kind.error()));
  }
  const auto query = write_query(call, options_kind(call));
  if (!query) {
    return tl::unexpected(query.error());
  }
  patch::PatchOptions options{.field_manager = query->field_manager, .force = {}};
  if (!parameter(call.query, "force").empty()) {
    options.force = query->force;
  }
  if (const auto checked = patch::check_options(options, *kind); !checked) {
    return tl::unexpected(status_of(checked.error()));
  }
  const PatchCall how{.resource = resource, .query = *query, .kind = *kind};
  const auto found = shared.registry->get(stored_kind(resource), key_of(call, resource));
  const bool creates = !found && found.error().code == Code::NotFound &&
                       *kind == patch::PatchKind::Apply && call.info.subresource.empty();
  if (!found && !creates) {
    return tl::unexpected(status_of(found.error()));
  }
  const std::optional<api::Object> live = found ? std::optional(*found) : std::nullopt;
  auto document = patched(shared, call, how, live);
  if (!document) {
    return tl::unexpected(status_of(document.error()));
  }
  if (creates) {
    return create_by_apply(shared, call, how, *std::move(document));
  }
  if (api::same(*document, live->json())) {
    const auto admitted = judged_write(shared, call, query->dry_run)
                              .admit({.operation = store::Attempt::Operation::Update,
                                      .kind = stored_kind(resource),
                                      .subresource = subresource_of(call),
                                      .object = &*live,
                                      .before = &*live,
                                      .dry_run = query->dry_run});
    if (!admitted) {
      return tl::unexpected(status_of(admitted.error()));
    }
    return told(shared, call, resource, 200, *live);
  }
  if (const std::string_view uid = api::string_at(*document, "metadata.uid");
      !uid.empty() && uid != live->meta().uid && call.info.subresource.empty()) {
    return tl::unexpected(immutable_uid(resource, live->meta().name, uid));
  }
  if (auto named = check_name(call, *document); !named) {
    return tl::unexpected(std::move(named).error());
  }
  if (auto fits = check_namespace(call, resource, *document); !fits) {
    return tl::unexpected(std::move(fits).error());
  }
  auto checked = checked_object(call, resource.gvk(), *resource.type, json::serialize(*document));
  if (!checked) {
    return tl::unexpected(std::move(checked).error());
  }
  const auto object = object_of(resource, *std::move(checked));
  if (!object) {
    return tl::unexpected(object.error());
  }
  if (auto version = check_version(*object); !version) {
    return tl::unexpected(std::move(version).error());
  }
  store::WriteOptions write = tracked_write(shared, call, kept_as(shared, resource), *query, *live);
  if (*kind == patch::PatchKind::Apply) { // apply() has seen to the managers
    write.defaulted =
        [&, managed = *api::find(object->json(), "metadata")](json::value& next) -> Result<void> {
      json::object& meta = api::object_at(next.as_object(), "metadata");
      if (const json::value* fields = managed.as_object().if_contains("managedFields")) {
        meta["managedFields"] = *fields;
      } else {
        meta.stable_erase("managedFields");
      }
      BERTH_CHECK(judge_by_schema(resource, *live, next));
      return judge_grant({.rbac = *shared.rbac, .user = call.user, .info = call.info}, *live, next);
    };
  }
  const auto written =
      shared.registry->update(*object, subresource_of(call), shared.loop->now(), write);
  warn_of(call, written, &*live);
  return told(shared, call, resource, 200, written);
}

} // namespace berth::server
