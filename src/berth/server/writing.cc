#include "berth/server/writing.h"

#include <array>
#include <utility>

#include <boost/json/serialize.hpp>
#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/api/same.h"
#include "berth/patch/request.h"
#include "berth/server/body.h"
#include "berth/server/definitions.h"
#include "berth/server/event_views.h"
#include "berth/server/list_query.h"
#include "berth/server/write_target.h"
#include "berth/store/errors.h"
#include "berth/store/validation/warnings.h"

namespace berth::server {
namespace {

namespace json = api::json;

constexpr std::size_t kDigitsThatFit = 20; ///< 64 bits hold every number with fewer

store::GroupKind kind_of(const schema::Resource& resource) {
  return stored_kind(resource);
}

/// The resource as which its objects are kept.
const schema::Resource& kept_as(const Shared& shared, const schema::Resource& resource) {
  return is_event_view(resource) ? *shared.resources->find("", "v1", "events") : resource;
}

api::Key key_of(const Call& call, const schema::Resource& resource) {
  return {resource.namespaced() ? call.info.ns : "", call.info.name};
}

store::Subresource subresource_of(const Call& call) {
  using enum store::Subresource;
  static constexpr std::array<std::pair<std::string_view, store::Subresource>, 4> kNames = {
      {{"status", Status},
       {"approval", Approval},
       {"ephemeralcontainers", EphemeralContainers},
       {"resize", Resize}}};
  const auto found = std::ranges::find(kNames, call.info.subresource,
                                       &std::pair<std::string_view, store::Subresource>::first);
  return found == kNames.end() ? None : found->second;
}

Answer<net::HttpResponse> told(const Shared& shared, const Call& call,
                               const schema::Resource& resource, int status,
                               const Result<api::Object>& written) {
  if (!written) {
    return tl::unexpected(status_of(written.error()));
  }
  const auto options = render_options(shared, call);
  if (!options) {
    return tl::unexpected(options.error());
  }
  return answer(status, call, render_object(*written, resource, *options));
}

/// The object may leave out its namespace, and name that of the path.
Answer<void> check_namespace(const Call& call, const schema::Resource& resource,
                             const json::value& document) {
  const std::string_view given = api::string_at(document, "metadata.namespace");
  if (resource.namespaced() && !given.empty() && given != call.info.ns) {
    return bad_request("the namespace of the provided object does not match the namespace sent on "
                       "the request");
  }
  return {};
}

/// The namespace of the path goes into the object.
Answer<void> place(const Call& call, const schema::Resource& resource, json::value& document) {
  if (auto fits = check_namespace(call, resource, document); !fits) {
    return fits;
  }
  json::object& meta = api::object_at(document.as_object(), "metadata");
  if (resource.namespaced()) {
    meta["namespace"] = call.info.ns;
  } else {
    meta.stable_erase("namespace");
  }
  return {};
}

Answer<void> check_name(const Call& call, const json::value& document) {
  const std::string_view name = api::string_at(document, "metadata.name");
  if (name.empty()) {
    return bad_request(fmt::format("the name of the object ({} based on URL) was undeterminable: "
                                   "name must be provided",
                                   call.info.name));
  }
  if (name != call.info.name) {
    return bad_request(
        fmt::format("the name of the object ({}) does not match the name on the URL ({})", name,
                    call.info.name));
  }
  return {};
}

/// The version that a write names must be a number; kube-apiserver's words for what is none.
Answer<void> check_version(const api::Object& wanted) {
  const std::string_view text = api::string_at(wanted.json(), "metadata.resourceVersion");
  if (text.empty() || fmt::to_string(wanted.meta().resource_version) == text) {
    return {};
  }
  const bool digits = text.find_first_not_of("0123456789") == std::string_view::npos;
  if (digits && text.size() < kDigitsThatFit) { // zeroes in front
    return {};
  }
  return tl::unexpected(
      Status{.code = 500,
             .reason = "",
             .message = fmt::format("strconv.ParseUint: parsing \"{}\": {}", text,
                                    digits ? "value out of range" : "invalid syntax"),
             .details = nullptr});
}

/// The object as it is kept.
Answer<api::Object> object_of(const schema::Resource& resource, json::value document) {
  if (is_event_view(resource)) {
    to_core_event(document);
  }
  auto object = api::Object::from_json(std::move(document));
  if (!object) {
    return tl::unexpected(status_of(object.error()));
  }
  return *std::move(object);
}

/// Kinds that PUT makes when they are absent. Source: each strategy's AllowCreateOnUpdate.
bool created_by_update(const schema::Resource& resource) {
  static constexpr std::array<std::string_view, 8> kKinds = {
      "Lease",      "Event", "Endpoints",   "EndpointSlice",
      "LimitRange", "Role",  "RoleBinding", "ClusterRole"};
  return !resource.custom && std::ranges::find(kKinds, resource.kind) != kKinds.end();
}

/// Kinds whose DELETE answers with the object as it was; others answer with a Status. Source: each
/// storage's ReturnDeletedObject.
bool returned_when_deleted(const schema::Resource& resource) {
  static constexpr std::array<std::string_view, 10> kKinds = {
      "Pod",          "PersistentVolumeClaim", "PersistentVolume",
      "PodTemplate",  "ResourceQuota",         "ServiceAccount",
      "DeviceClass",  "ResourceClaim",         "ResourceClaimTemplate",
      "ResourceSlice"};
  return !resource.custom && std::ranges::find(kKinds, resource.kind) != kKinds.end();
}

/// Kinds that PUT replaces only where it says which version. Source: each strategy's
/// AllowUnconditionalUpdate.
bool needs_version(const schema::Resource& resource) {
  static constexpr std::array<std::string_view, 11> kKinds = {"Lease",
                                                              "CustomResourceDefinition",
                                                              "PodDisruptionBudget",
                                                              "VolumeAttachment",
                                                              "CSIDriver",
                                                              "CSINode",
                                                              "CSIStorageCapacity",
                                                              "RuntimeClass",
                                                              "MutatingWebhookConfiguration",
                                                              "ValidatingWebhookConfiguration",
                                                              "APIService"};
  return resource.custom || std::ranges::find(kKinds, resource.kind) != kKinds.end();
}

Status version_missing(const schema::Resource& resource, std::string_view name) {
  const Error cause =
      store::invalid_value("metadata.resourceVersion", "0", "must be specified for an update");
  Error error = store::invalid(kind_of(resource), name, {cause}).value();
  // Told of the resource, not of the kind.
  error.message.replace(0, error.message.find(' '),
                        resource.group.empty() ? resource.plural
                                               : resource.plural + "." + resource.group);
  return status_of(error);
}

/// Namespaces that the server itself lives on. Source: the NamespaceLifecycle admission plugin.
bool is_immortal(std::string_view ns) {
  return ns == "default" || ns == "kube-system" || ns == "kube-public";
}

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

/// A definition goes after its objects.
void hold_for_cleanup(const Shared& shared, const api::Object& definition) {
  const auto& finalizers = definition.meta().finalizers;
  if (std::ranges::find(finalizers, kCleanupFinalizer) == finalizers.end()) {
    (void)shared.registry->update(definition.edit([](json::object& document) {
      json::value& list = api::object_at(document, "metadata")["finalizers"];
      (list.is_array() ? list.get_array() : list.emplace_array()).emplace_back(kCleanupFinalizer);
    }),
                                  store::Subresource::None, shared.loop->now());
  }
}

/// A patch may not change who the object is.
Status immutable_uid(const schema::Resource& resource, std::string_view name,
                     std::string_view uid) {
  const Error cause = store::invalid_value("metadata.uid", store::quote(uid), "field is immutable");
  Error error = store::invalid(kind_of(resource), name, {cause}).value();
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
  return told(shared, call, how.resource, 201,
              shared.registry->create(
                  *object, shared.loop->now(),
                  {.dry_run = how.query.dry_run,
                   .defaulted = [&shared, &call, &how](json::value& made) -> Result<void> {
                     BERTH_CHECK(judge_by_schema(how.resource, {}, made));
                     return judge_grant(
                         {.rbac = *shared.rbac, .user = call.user, .info = call.info}, {}, made);
                   }}));
}

/// A request for a certificate says who asks, whatever its writer says of it.
void name_requester(const User& user, store::WriteOptions& write) {
  write.defaulted = [user, tracked = std::move(write.defaulted)](json::value& made) {
    const Result<void> judged = tracked(made);
    json::object& spec = api::object_at(made.as_object(), "spec");
    for (const std::string_view member : {"username", "uid", "groups", "extra"}) {
      spec.stable_erase(member);
    }
    spec["username"] = user.name;
    if (!user.uid.empty()) {
      spec["uid"] = user.uid;
    }
    json::array& groups = spec["groups"].emplace_array();
    for (const std::string& group : user.groups) {
      groups.emplace_back(group);
    }
    return judged;
  };
}

/// A namespace's spec.finalizers change by its subresource finalize, and by nothing else.
api::Object with_finalizers(const Call& call, const api::Object& live, const api::Object& wanted) {
  const bool finalizes = call.info.subresource == "finalize";
  const json::value* list = api::find_path((finalizes ? wanted : live).json(), "spec.finalizers");
  return (finalizes ? live : wanted).edit([&](json::object& document) {
    json::object& spec = api::object_at(document, "spec");
    if (list == nullptr) {
      spec.stable_erase("finalizers");
    } else {
      spec["finalizers"] = *list;
    }
  });
}

} // namespace

Answer<net::HttpResponse> create_object(const Shared& shared, Call& call,
                                        const schema::Resource& resource) {
  const auto query = write_query(call, "CreateOptions");
  if (!query) {
    return tl::unexpected(query.error());
  }
  auto document = read_object(call, resource.gvk(), *resource.type);
  if (!document) {
    return tl::unexpected(std::move(document).error());
  }
  if (auto placed = place(call, resource, *document); !placed) {
    return tl::unexpected(std::move(placed).error());
  }
  const auto object = object_of(resource, *std::move(document));
  if (!object) {
    return tl::unexpected(object.error());
  }
  if (!api::string_at(object->json(), "metadata.resourceVersion").empty() && !query->dry_run) {
    return tl::unexpected(
        Status{.code = 500,
               .reason = "",
               .message = "resourceVersion should not be set on objects to be created",
               .details = nullptr});
  }
  store::WriteOptions write = tracked_write(shared, call, kept_as(shared, resource), *query, {});
  if (resource.kind == "CertificateSigningRequest" && !resource.custom) {
    name_requester(call.user, write);
  }
  const auto made = shared.registry->create(*object, shared.loop->now(), write);
  if (made) {
    const auto warnings = store::warnings_of(*made);
    call.warnings.insert(call.warnings.end(), warnings.begin(), warnings.end());
  }
  return told(shared, call, resource, 201, made);
}

Answer<net::HttpResponse> update_object(const Shared& shared, Call& call,
                                        const schema::Resource& resource) {
  const auto query = write_query(call, "UpdateOptions");
  if (!query) {
    return tl::unexpected(query.error());
  }
  auto document = read_object(call, resource.gvk(), *resource.type);
  if (!document) {
    return tl::unexpected(std::move(document).error());
  }
  if (auto placed = place(call, resource, *document); !placed) {
    return tl::unexpected(std::move(placed).error());
  }
  if (auto named = check_name(call, *document); !named) {
    return tl::unexpected(std::move(named).error());
  }
  const auto object = object_of(resource, *std::move(document));
  if (!object) {
    return tl::unexpected(object.error());
  }
  const schema::Resource& kept = kept_as(shared, resource);
  const auto live = shared.registry->get(kind_of(resource), key_of(call, resource));
  if (!live && live.error().code == Code::NotFound && created_by_update(resource) &&
      call.info.subresource.empty()) {
    return told(shared, call, resource, 201,
                shared.registry->create(*object, shared.loop->now(),
                                        tracked_write(shared, call, kept, *query, {})));
  }
  if (!live) {
    return tl::unexpected(status_of(live.error()));
  }
  if (auto version = check_version(*object); !version) {
    return tl::unexpected(std::move(version).error());
  }
  if (object->meta().resource_version == 0 && needs_version(resource)) {
    return tl::unexpected(version_missing(resource, call.info.name));
  }
  const api::Object next =
      kind_of(resource) == store::kNamespaces ? with_finalizers(call, *live, *object) : *object;
  return told(shared, call, resource, 200,
              shared.registry->update(next, subresource_of(call), shared.loop->now(),
                                      tracked_write(shared, call, kept, *query, *live)));
}

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
  const auto found = shared.registry->get(kind_of(resource), key_of(call, resource));
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
  return told(shared, call, resource, 200,
              shared.registry->update(*object, subresource_of(call), shared.loop->now(), write));
}

Answer<net::HttpResponse> delete_object(const Shared& shared, const Call& call,
                                        const schema::Resource& resource) {
  const auto query = delete_query(call);
  if (!query) {
    return tl::unexpected(query.error());
  }
  if (kind_of(resource) == store::kNamespaces && is_immortal(call.info.name)) {
    const auto refused =
        store::forbidden(store::kNamespaces, call.info.name, "this namespace may not be deleted");
    return tl::unexpected(status_of(refused.value()));
  }
  const auto before = shared.registry->get(kind_of(resource), key_of(call, resource));
  if (!before) {
    return tl::unexpected(status_of(before.error()));
  }
  if (kind_of(resource) == kDefinitions && !query->dry_run) {
    hold_for_cleanup(shared, *before);
  }
  const auto left =
      shared.registry->remove(kind_of(resource), key_of(call, resource), query->options,
                              shared.loop->now(), {.dry_run = query->dry_run});
  if (!left) {
    return tl::unexpected(status_of(left.error()));
  }
  const bool gone =
      query->dry_run || !shared.registry->get(kind_of(resource), key_of(call, resource));
  if (!gone || returned_when_deleted(resource)) {
    return told(shared, call, resource, 200, *left);
  }
  json::object details{{"name", before->meta().name}};
  if (!resource.group.empty()) {
    details["group"] = resource.group;
  }
  details["kind"] = resource.plural;
  details["uid"] = before->meta().uid;
  return answer(200, call, encode(success_document(std::move(details)), call.wanted.encoding));
}

Answer<net::HttpResponse> delete_objects(const Shared& shared, const Call& call,
                                         const schema::Resource& resource) {
  const auto query = delete_query(call);
  if (!query) {
    return tl::unexpected(query.error());
  }
  const auto selected = list_query(call.info, resource, call.query);
  if (!selected) {
    return tl::unexpected(selected.error());
  }
  const store::ObjectList found = shared.registry->list(selected->what);
  std::vector<api::Object> left; // as they were
  for (const api::Object& object : found.items) {
    const auto removed = shared.registry->remove(kind_of(resource), object.key(), query->options,
                                                 shared.loop->now(), {.dry_run = query->dry_run});
    if (removed) {
      left.push_back(object);
    } else if (removed.error().code != Code::NotFound) {
      return tl::unexpected(status_of(removed.error()));
    }
  }
  const auto options = render_options(shared, call);
  if (!options) {
    return tl::unexpected(options.error());
  }
  const ListHead head{.resource_version = shared.registry->revision(), .continue_token = {}};
  return answer(200, call, render_list(left, head, resource, *options));
}

} // namespace berth::server
