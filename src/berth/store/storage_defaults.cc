#include "berth/store/storage_defaults.h"

#include "berth/store/document.h"

namespace berth::store {
namespace {

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

void default_claim(const AdmissionRequest& request, api::json::object& whole) {
  if (request.before == nullptr) {
    whole["status"] = api::json::object{{"phase", "Pending"}};
  }
  if (api::json::object* spec = object_in(whole, "spec")) {
    set_default(*spec, "volumeMode", "Filesystem");
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
