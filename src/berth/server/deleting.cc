// DELETE, of one object and of all that are selected.
#include <algorithm>
#include <array>

#include "berth/api/json.h"
#include "berth/server/body.h"
#include "berth/server/definitions.h"
#include "berth/server/event_views.h"
#include "berth/server/judged_write.h"
#include "berth/server/list_query.h"
#include "berth/server/writing.h"
#include "berth/server/written_object.h"
#include "berth/store/errors.h"

namespace berth::server {
namespace {

namespace json = api::json;

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

/// Namespaces that the server itself lives on. Source: the NamespaceLifecycle admission plugin.
bool is_immortal(std::string_view ns) {
  return ns == "default" || ns == "kube-system" || ns == "kube-public";
}

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

} // namespace

Answer<net::HttpResponse> delete_object(const Shared& shared, Call& call,
                                        const schema::Resource& resource) {
  const auto query = delete_query(call);
  if (!query) {
    return tl::unexpected(query.error());
  }
  if (stored_kind(resource) == store::kNamespaces && is_immortal(call.info.name)) {
    const auto refused =
        store::forbidden(store::kNamespaces, call.info.name, "this namespace may not be deleted");
    return tl::unexpected(status_of(refused.value()));
  }
  const auto before = shared.registry->get(stored_kind(resource), key_of(call, resource));
  if (!before) {
    return tl::unexpected(status_of(before.error()));
  }
  if (stored_kind(resource) == kDefinitions && !query->dry_run) {
    hold_for_cleanup(shared, *before);
  }
  const auto left =
      shared.registry->remove(stored_kind(resource), key_of(call, resource), query->options,
                              shared.loop->now(), judged_write(shared, call, query->dry_run));
  if (!left) {
    return tl::unexpected(status_of(left.error()));
  }
  const bool gone =
      query->dry_run || !shared.registry->get(stored_kind(resource), key_of(call, resource));
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

Answer<net::HttpResponse> delete_objects(const Shared& shared, Call& call,
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
    const auto removed =
        shared.registry->remove(stored_kind(resource), object.key(), query->options,
                                shared.loop->now(), judged_write(shared, call, query->dry_run));
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
