#include "berth/server/writing.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/server/body.h"
#include "berth/server/event_views.h"
#include "berth/server/write_target.h"
#include "berth/server/written_object.h"
#include "berth/store/errors.h"

namespace berth::server {
namespace {

namespace json = api::json;

/// Kinds that PUT makes when they are absent. Source: each strategy's AllowCreateOnUpdate.
bool created_by_update(const schema::Resource& resource) {
  static constexpr std::array<std::string_view, 8> kKinds = {
      "Lease",      "Event", "Endpoints",   "EndpointSlice",
      "LimitRange", "Role",  "RoleBinding", "ClusterRole"};
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
  Error error = store::invalid(stored_kind(resource), name, {cause}).value();
  // Told of the resource, not of the kind.
  error.message.replace(0, error.message.find(' '),
                        resource.group.empty() ? resource.plural
                                               : resource.plural + "." + resource.group);
  return status_of(error);
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
  warn_of(call, made, nullptr);
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
  const auto live = shared.registry->get(stored_kind(resource), key_of(call, resource));
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
      stored_kind(resource) == store::kNamespaces ? with_finalizers(call, *live, *object) : *object;
  const auto written = shared.registry->update(next, subresource_of(call), shared.loop->now(),
                                               tracked_write(shared, call, kept, *query, *live));
  warn_of(call, written, &*live);
  return told(shared, call, resource, 200, written);
}

} // namespace berth::server
