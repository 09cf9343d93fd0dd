#include "berth/store/request.h"

#include <algorithm>

#include "berth/api/json.h"

namespace berth::store {

std::string_view node_of(const api::Object& object) {
  const api::GroupVersionKind& gvk = object.gvk();
  if (gvk.kind != kPods.kind || !gvk.group.empty()) {
    return {};
  }
  return api::string_at(object.json(), "spec.nodeName");
}

bool FieldRequirement::matches(const api::Object& object) const {
  const api::json::value* found = api::find_path(object.json(), path);
  std::string text = absent;
  if (found != nullptr && found->is_string()) {
    text = std::string_view(found->get_string());
  } else if (found != nullptr && !found->is_null()) {
    text = api::to_json(*found);
  }
  return (text == value) == equal;
}

bool covers(const ListOptions& what, const api::Object& object) {
  const api::ObjectMeta& meta = object.meta();
  return (what.ns.empty() || what.ns == meta.ns) && (!what.name || *what.name == meta.name) &&
         (!what.node || *what.node == node_of(object)) &&
         (what.labels.empty() || what.labels.matches(meta.labels)) &&
         what.kind.kind == object.gvk().kind && what.kind.group == object.gvk().group &&
         std::ranges::all_of(what.fields,
                             [&](const FieldRequirement& field) { return field.matches(object); });
}

} // namespace berth::store
