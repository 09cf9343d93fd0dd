#include "berth/api/object.h"

#include <charconv>
#include <utility>

#include <fmt/format.h>

#include "berth/api/field.h"
#include "berth/api/json.h"
#include "berth/base/assert.h"
#include "berth/base/made_once.h"

namespace berth::api {

void decode(const Field& in, OwnerReference& out) {
  in.read("apiVersion", out.api_version);
  in.read("kind", out.kind);
  in.read("name", out.name);
  in.read("uid", out.uid);
  in.read("controller", out.controller);
  in.read("blockOwnerDeletion", out.block_owner_deletion);
}

void decode(const Field& in, ObjectMeta& out) {
  in.read("name", out.name);
  in.read("generateName", out.generate_name);
  in.read("namespace", out.ns);
  in.read("uid", out.uid);
  std::string version;
  in.read("resourceVersion", version);
  // Versions of other clusters are opaque text; one that is no number counts as not stored yet.
  std::from_chars(version.data(), version.data() + version.size(), out.resource_version);
  in.read("generation", out.generation);
  in.read("labels", out.labels);
  in.read("annotations", out.annotations);
  in.read("ownerReferences", out.owner_references);
  in.read("finalizers", out.finalizers);
  in.read("creationTimestamp", out.creation_timestamp);
  in.read("deletionTimestamp", out.deletion_timestamp);
  in.read("deletionGracePeriodSeconds", out.deletion_grace_period_seconds);
}

struct Object::Rep {
  Rep(GroupVersionKind k, ObjectMeta m, json::value d)
      : gvk(std::move(k)), meta(std::move(m)), document(std::move(d)) {}

  GroupVersionKind gvk;
  ObjectMeta meta;
  json::value document;
  MadeOnce<std::string> bytes;
  MadeSlots views;
};

const OwnerReference* ObjectMeta::controller() const {
  for (const OwnerReference& owner : owner_references) {
    if (owner.controller) {
      return &owner;
    }
  }
  return nullptr;
}

Result<Object> Object::from_json(json::value document) {
  std::optional<Error> failure;
  const Field root(document, failure);
  std::string api_version;
  std::string kind;
  root.read("apiVersion", api_version);
  root.read("kind", kind);
  for (const auto& [name, text] :
       {std::pair("kind", &kind), std::pair("apiVersion", &api_version)}) {
    if (!failure && text->empty()) {
      return fail_at({.file = {}, .line = 0, .column = 0, .field = name},
                     fmt::format("a Kubernetes object needs {}", name));
    }
  }
  ObjectMeta meta;
  root.read("metadata", meta);
  if (failure) {
    return tl::unexpected(*std::move(failure));
  }
  return Object(
      std::make_shared<Rep>(make_gvk(api_version, kind), std::move(meta), std::move(document)));
}

Result<Object> Object::parse(std::string bytes) {
  BERTH_TRY(json::value document, parse_json(bytes));
  return from_json(std::move(document));
}

const GroupVersionKind& Object::gvk() const {
  return rep_->gvk;
}
const ObjectMeta& Object::meta() const {
  return rep_->meta;
}
const json::value& Object::json() const {
  return rep_->document;
}

const std::string& Object::bytes() const {
  return rep_->bytes.get([this] {
    std::string text = to_json(rep_->document);
    text.shrink_to_fit(); // it is kept as long as the object
    return text;
  });
}

Object Object::edit(const std::function<void(json::object&)>& change) const {
  json::value copy(rep_->document);
  change(copy.get_object());
  auto changed = from_json(std::move(copy));
  BERTH_ASSERT(changed.has_value(), berth::to_string(changed.error()));
  return *std::move(changed);
}

std::shared_ptr<const void> Object::cached_view(const void* slot) const {
  return rep_->views.find(slot);
}

std::shared_ptr<const void> Object::cache_view(const void* slot,
                                               std::shared_ptr<const void> view) const {
  return rep_->views.keep(slot, std::move(view));
}

Result<ObjectMeta> parse_meta(const json::value& document) {
  std::optional<Error> failure;
  ObjectMeta meta;
  Field(document, failure).read("metadata", meta);
  if (failure) {
    return tl::unexpected(*std::move(failure));
  }
  return meta;
}

OwnerReference controller_ref(const Object& owner) {
  return {.api_version = owner.gvk().api_version(),
          .kind = owner.gvk().kind,
          .name = owner.meta().name,
          .uid = owner.meta().uid,
          .controller = true,
          .block_owner_deletion = true};
}

void set_controller(json::object& document, const Object& owner) {
  const OwnerReference ref = controller_ref(owner);
  json::value& list = object_at(document, "metadata")["ownerReferences"];
  json::array& owners = list.is_array() ? list.get_array() : list.emplace_array();
  // An object has one controller: its old one goes.
  for (auto it = owners.begin(); it != owners.end();) {
    const json::value* controller = find(*it, "controller");
    it = controller != nullptr && controller->is_bool() && controller->get_bool() ? owners.erase(it)
                                                                                  : it + 1;
  }
  owners.push_back({{"apiVersion", ref.api_version},
                    {"kind", ref.kind},
                    {"name", ref.name},
                    {"uid", ref.uid},
                    {"controller", true},
                    {"blockOwnerDeletion", true}});
}

} // namespace berth::api
