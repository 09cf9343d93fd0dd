#include "berth/store/partial_write.h"

#include <boost/json/value.hpp>

#include "berth/api/json.h"
#include "berth/store/document.h"
#include "berth/store/kind_rules.h"

namespace berth::store {
namespace {

using api::json::array;
using api::json::object;
using api::json::value;

void copy_member(const object& from, std::string_view member, object& to) {
  if (const value* found = from.if_contains(member)) {
    to[member] = *found;
  } else {
    to.stable_erase(member);
  }
}

void take_metadata(const api::Object& current, const api::Object& wanted, object& document) {
  const StatusMetadata rule = status_metadata(group_kind(current));
  const value* given = api::find(wanted.json(), "metadata");
  const value* stored = api::find(current.json(), "metadata");
  if (rule == StatusMetadata::Kept || given == nullptr || !given->is_object()) {
    return;
  }
  document["metadata"] = *given;
  object& meta = api::object_at(document, "metadata");
  if (rule == StatusMetadata::ButLabels) {
    copy_member(stored->get_object(), "labels", meta);
  } else if (rule == StatusMetadata::ButOwners) {
    copy_member(stored->get_object(), "ownerReferences", meta);
  }
}

const array* list_of(const value& pod, std::string_view list) {
  const value* spec = api::find(pod, "spec");
  const value* found = spec == nullptr ? nullptr : api::find(*spec, list);
  return found == nullptr ? nullptr : found->if_array();
}

/// Whether both have the same containers in the same order.
bool same_names(const array* stored, const array* given) {
  const std::size_t count = stored == nullptr ? 0 : stored->size();
  if (count != (given == nullptr ? 0 : given->size())) {
    return false;
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (api::string_at((*stored)[i], "name") != api::string_at((*given)[i], "name")) {
      return false;
    }
  }
  return true;
}

void take_resources(const array* given, std::string_view list, object& document) {
  value* held = api::object_at(document, "spec").if_contains(list);
  if (held == nullptr || !held->is_array() || given == nullptr) {
    return;
  }
  for (std::size_t i = 0; i < given->size(); ++i) {
    object* container = held->get_array()[i].if_object();
    const object* from = (*given)[i].if_object();
    if (container != nullptr && from != nullptr) {
      copy_member(*from, "resources", *container);
      copy_member(*from, "resizePolicy", *container);
    }
  }
}

void take_sizes(const api::Object& current, const api::Object& wanted, object& document) {
  for (const std::string_view list : {"containers", "initContainers"}) {
    const array* given = list_of(wanted.json(), list);
    if (same_names(list_of(current.json(), list), given)) {
      take_resources(given, list, document);
    } else {
      copy_member(wanted.json().at("spec").as_object(), list, api::object_at(document, "spec"));
    }
  }
}

} // namespace

value partial_write(const api::Object& current, const api::Object& wanted,
                    Subresource subresource) {
  if (subresource == Subresource::None) {
    value out = editable(wanted.json());
    copy_member(current.json().as_object(), "status", out.as_object());
    if (group_kind(current) == GroupKind{"certificates.k8s.io", "CertificateSigningRequest"}) {
      copy_member(current.json().as_object(), "spec", out.as_object());
    }
    return out;
  }
  value out = editable(current.json());
  object& document = out.as_object();
  const value* spec = api::find(wanted.json(), "spec");
  const bool has_spec = spec != nullptr && spec->is_object();
  if (subresource == Subresource::Status) {
    copy_member(wanted.json().as_object(), "status", document);
    take_metadata(current, wanted, document);
  } else if (subresource == Subresource::Approval) {
    const value* status = api::find(wanted.json(), "status");
    if (status != nullptr && status->is_object()) {
      copy_member(status->get_object(), "conditions", api::object_at(document, "status"));
    }
  } else if (subresource == Subresource::EphemeralContainers && has_spec) {
    copy_member(spec->get_object(), "ephemeralContainers", api::object_at(document, "spec"));
  } else if (subresource == Subresource::Resize && has_spec) {
    take_sizes(current, wanted, document);
  }
  return out;
}

void keep_quality(const api::Object& current, object& document) {
  object* status = object_in(document, "status");
  const std::string_view held = api::string_at(current.json(), "status.qosClass");
  if (status != nullptr && !held.empty() && text_at(*status, "qosClass").empty()) {
    (*status)["qosClass"] = held;
  }
}

} // namespace berth::store
