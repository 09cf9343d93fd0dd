#include "berth/store/storage_defaults.h"

#include <algorithm>
#include <array>

#include "berth/store/document.h"

namespace berth::store {
namespace {

constexpr std::array<std::string_view, 2> kDefaultAnnotations = {
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class"};
constexpr std::string_view kClassAnnotation = "volume.beta.kubernetes.io/storage-class";

void default_volume(const AdmissionRequest& request, api::json::object& whole) {
  if (request.before == nullptr) {
    whole["status"] = {{"phase", "Pending"}, {"lastPhaseTransitionTime", to_rfc3339(request.now)}};
  }
  if (api::json::object* spec = object_in(whole, "spec")) {
    set_default(*spec, "persistentVolumeReclaimPolicy", "Retain");
    set_default(*spec, "volumeMode", "Filesystem");
    if (api::json::object* host = object_in(*spec, "hostPath")) {
      set_default(*host, "type", "");
    }
  }
}

/// A source of data has an older name too, which claims and snapshots alone may be given by.
void keep_sources_in_step(api::json::object& spec) {
  if (const api::json::object* source = object_in(spec, "dataSource")) {
    const std::string_view group = text_at(*source, "apiGroup");
    const std::string_view kind = text_at(*source, "kind");
    const bool known = (group.empty() && kind == "PersistentVolumeClaim") ||
                       (group == "snapshot.storage.k8s.io" && kind == "VolumeSnapshot");
    if (!known) {
      spec.stable_erase("dataSource");
    }
  }
  if (has(spec, "dataSource") && !has(spec, "dataSourceRef")) {
    spec["dataSourceRef"] = spec["dataSource"];
  } else if (const api::json::object* reference = object_in(spec, "dataSourceRef");
             reference != nullptr && !has(spec, "dataSource") &&
             text_at(*reference, "namespace").empty()) {
    api::json::object source = *reference;
    source.erase("namespace");
    spec["dataSource"] = std::move(source);
  }
}

void default_claim(const AdmissionRequest& request, api::json::object& whole) {
  if (request.before == nullptr) {
    whole["status"] = api::json::object{{"phase", "Pending"}};
  }
  if (api::json::object* spec = object_in(whole, "spec")) {
    set_default(*spec, "volumeMode", "Filesystem");
    if (request.before == nullptr) {
      keep_sources_in_step(*spec);
    }
  }
}

bool is_default(const api::Object& storage_class) {
  const auto& annotations = storage_class.meta().annotations;
  return std::ranges::any_of(kDefaultAnnotations, [&](std::string_view name) {
    const auto found = annotations.find(name);
    return found != annotations.end() && found->second == "true";
  });
}

/// The newest default class, of equals the first by name; "" if there is none.
std::string default_class(const Store& store) {
  const api::Object* best = nullptr;
  const ObjectList all = store.list({.kind = kStorageClasses});
  for (const api::Object& one : all.items) {
    if (is_default(one) &&
        (best == nullptr || one.meta().creation_timestamp > best->meta().creation_timestamp)) {
      best = &one;
    }
  }
  return best == nullptr ? "" : best->meta().name;
}

void add_finalizer(api::json::object& whole, std::string_view finalizer) {
  api::json::value& list = api::object_at(whole, "metadata")["finalizers"];
  api::json::array& all = list.is_array() ? list.get_array() : list.emplace_array();
  if (std::ranges::find(all, api::json::value(finalizer)) == all.end()) {
    all.emplace_back(finalizer);
  }
}

void default_driver(api::json::object& whole) {
  api::json::object& spec = api::object_at(whole, "spec");
  set_default(spec, "attachRequired", true);
  set_default(spec, "podInfoOnMount", false);
  set_default(spec, "storageCapacity", false);
  set_default(spec, "fsGroupPolicy", "ReadWriteOnceWithFSType");
  set_default(spec, "volumeLifecycleModes", api::json::array{"Persistent"});
  set_default(spec, "requiresRepublish", false);
  set_default(spec, "seLinuxMount", false);
}

} // namespace

Result<void> admit_storage(const AdmissionRequest& request, api::json::value& document) {
  api::json::object& whole = document.as_object();
  if (request.before != nullptr) {
    return {};
  }
  if (request.kind == kVolumes) {
    add_finalizer(whole, kVolumeProtection);
  } else if (request.kind == kVolumeClaims) {
    add_finalizer(whole, kClaimProtection);
    api::json::object& spec = api::object_at(whole, "spec");
    const api::json::value* noted = api::find_path(document, "metadata.annotations");
    const bool named =
        has(spec, "storageClassName") ||
        (noted != nullptr && noted->is_object() && has(noted->get_object(), kClassAnnotation));
    if (const std::string name = named ? "" : default_class(*request.store); !name.empty()) {
      spec["storageClassName"] = name;
    }
  }
  return {};
}

Result<void> default_storage(const AdmissionRequest& request, api::json::value& document) {
  api::json::object& whole = document.as_object();
  if (request.kind == kVolumeClaims) {
    default_claim(request, whole);
  } else if (request.kind == kVolumes) {
    default_volume(request, whole);
  } else if (request.kind == kStorageClasses) {
    set_default(whole, "reclaimPolicy", "Delete");
    set_default(whole, "volumeBindingMode", "Immediate");
  } else if (request.kind == kVolumeAttachments && request.before == nullptr) {
    whole["status"] = api::json::object{{"attached", false}};
  } else if (request.kind == kCsiDrivers) {
    default_driver(whole);
  }
  return {};
}

} // namespace berth::store
