#include "berth/store/validation/storage.h"

#include <algorithm>
#include <array>
#include <set>

#include "berth/store/naming.h"
#include "berth/store/validation/affinity.h"
#include "berth/store/validation/csi.h"
#include "berth/store/validation/formats.h"
#include "berth/store/validation/immutable.h"
#include "berth/store/validation/resources.h"
#include "berth/store/validation/storage_text.h"

namespace berth::store {
namespace {

constexpr std::size_t kMaxDriverName = 63;
constexpr std::size_t kMaxParameters = 512;

void check_access_modes(const Judged& spec) {
  const Judged modes = spec["accessModes"];
  static const std::vector<std::string> kShared = {"ReadOnlyMany", "ReadWriteMany",
                                                   "ReadWriteOnce"};
  bool alone = false;
  bool shared = false;
  spec.each("accessModes", [&](const Judged& mode) {
    alone = alone || mode.text() == "ReadWriteOncePod";
    shared = shared || std::ranges::find(kShared, mode.text()) != kShared.end();
    Judged(mode.json(), modes.path(), modes.errors())
        .one_of({"ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"});
  });
  if (alone && shared) {
    modes.forbidden("may not use ReadWriteOncePod with other access modes");
  }
}

void check_positive(const Judged& entry) {
  if (const auto quantity = quantity_of(entry); quantity && quantity->sign() <= 0) {
    entry.invalid(quote(quantity->to_string()), "must be greater than zero");
  }
}

void check_class_name(const Judged& name) {
  if (!name.text().empty()) {
    name.dns_subdomain();
  }
}

void check_data_source(const Judged& source) {
  if (!source) {
    return;
  }
  source["name"].need_text();
  source["kind"].need_text();
  if (source.text("apiGroup").empty() && !source.text("kind").empty() &&
      source.text("kind") != "PersistentVolumeClaim") {
    source.invalid(quote(source.text("kind")),
                   "must be 'PersistentVolumeClaim' when referencing the default apiGroup");
  }
}

constexpr std::string_view kClassAnnotation = "volume.beta.kubernetes.io/storage-class";

std::string_view annotation_of(const api::Object& object, std::string_view name) {
  const auto found = object.meta().annotations.find(name);
  return found == object.meta().annotations.end() ? std::string_view() : found->second;
}

/// A copy of the new spec with what may change as it was, and of the old one with what comes once.
struct Comparable {
  api::json::object before;
  api::json::object now;
};

Comparable comparable(const api::Object& before, const Judged& was, const Judged& is) {
  Comparable out{.before = was.object() == nullptr ? api::json::object() : *was.object(),
                 .now = is.object() == nullptr ? api::json::object() : *is.object()};
  if (was.text("volumeName").empty() && is.has("volumeName")) {
    out.before["volumeName"] = is.text("volumeName");
  }
  const std::string_view noted = annotation_of(before, kClassAnnotation);
  if (!was.has("storageClassName") && (noted.empty() || is.text("storageClassName") == noted)) {
    out.now.erase("storageClassName"); // a class may be given to a claim that had none
  }
  if (api::string_at(before.json(), "status.phase") != "Bound") {
    return out;
  }
  if (const Judged size = was["resources"]["requests"].key("storage");
      size && is["resources"].has("requests")) {
    api::object_at(api::object_at(out.now, "resources"), "requests")["storage"] = *size.json();
  }
  if (is.has("volumeAttributesClassName")) {
    if (was.has("volumeAttributesClassName")) {
      out.now["volumeAttributesClassName"] = was.text("volumeAttributesClassName");
    } else {
      out.now.erase("volumeAttributesClassName");
    }
  }
  return out;
}

void check_claim_change(const api::Object& before, const api::Object& object, const Judged& is) {
  const Judged was(api::find(before.json(), "spec"), "spec", is.errors());
  if (annotation_of(before, kClassAnnotation) != annotation_of(object, kClassAnnotation)) {
    is.errors().push_back(invalid_value(fmt::format("metadata.annotations.{}", kClassAnnotation),
                                        quote(annotation_of(object, kClassAnnotation)),
                                        "field is immutable"));
  }
  if (const Comparable both = comparable(before, was, is); both.before != both.now) {
    is.forbidden("spec is immutable after creation except resources.requests and "
                 "volumeAttributesClassName for bound claims" +
                 claim_difference(both.before, both.now));
  }
  const auto size = [](const Judged& spec) {
    return quantity_of(spec["resources"]["requests"].key("storage")).value_or(api::Quantity());
  };
  const Judged status(api::find(before.json(), "status"), "status", is.errors());
  const auto held = quantity_of(status["capacity"].key("storage")).value_or(api::Quantity());
  if (size(is) < size(was) && size(is) <= held) {
    is["resources"]["requests"]["storage"].forbidden("field can not be less than status.capacity");
  }
  const auto at_top = [&](const Judged& spec) {
    return Judged(spec["volumeMode"].json(), "volumeMode", spec.errors());
  };
  if (differ(was, is, "volumeMode")) {
    at_top(is).invalid(is.has("volumeMode") ? quote(is.text("volumeMode")) : "null",
                       "field is immutable");
  }
  if (was.has("volumeAttributesClassName") && is.text("volumeAttributesClassName").empty()) {
    is["volumeAttributesClassName"].forbidden(
        is.has("volumeAttributesClassName")
            ? "update from non-nil value to an empty string is forbidden"
            : "update from non-nil value to nil is forbidden");
  }
}

void check_claim(const AdmissionRequest& request, const api::Object& object, const Judged& spec) {
  check_claim_spec(spec);
  if (request.before != nullptr) {
    check_claim_change(*request.before, object, spec);
  }
}

struct Source {
  std::string_view name;
  std::array<std::string_view, 2> needs;
};
constexpr std::array<Source, 8> kSources = {{{"hostPath", {"path", ""}},
                                             {"local", {"path", ""}},
                                             {"nfs", {"server", "path"}},
                                             {"csi", {"driver", "volumeHandle"}},
                                             {"gcePersistentDisk", {"pdName", ""}},
                                             {"awsElasticBlockStore", {"volumeID", ""}},
                                             {"azureDisk", {"diskName", "diskURI"}},
                                             {"azureFile", {"secretName", "shareName"}}}};
constexpr std::array<std::string_view, 12> kOtherSources = {
    "glusterfs",  "rbd",     "iscsi",          "cinder",  "cephfs",  "fc",
    "flexVolume", "flocker", "portworxVolume", "quobyte", "scaleIO", "vsphereVolume"};

void check_volume_sources(const Judged& spec) {
  bool first = true;
  for (const Source& source : kSources) {
    const Judged given = spec[source.name];
    if (!given) {
      continue;
    }
    if (!first) {
      given.forbidden("may not specify more than 1 volume type");
      continue;
    }
    first = false;
    for (const std::string_view need : source.needs) {
      if (!need.empty()) {
        given[need].need_text();
      }
    }
    check_no_backsteps(given["path"]);
    if (source.name == "csi" && !given.text("driver").empty()) {
      check_csi_driver_name(given["driver"]);
    }
    if (source.name == "local" && !spec.has("nodeAffinity")) {
      spec["nodeAffinity"].required("Local volume requires node affinity");
    }
  }
  const bool other =
      std::ranges::any_of(kOtherSources, [&](std::string_view name) { return spec.has(name); });
  if (first && !other) {
    spec.required("must specify a volume type");
  }
}

/// The members that say where the data lies.
api::json::object source_of(const Judged& spec) {
  api::json::object out;
  const auto take = [&](std::string_view name) {
    if (spec.has(name)) {
      out[name] = *spec[name].json();
    }
  };
  for (const Source& source : kSources) {
    take(source.name);
  }
  std::ranges::for_each(kOtherSources, take);
  return out;
}

void check_volume_change(const Judged& was, const Judged& is) {
  const api::json::object before = source_of(was);
  const api::json::object now = source_of(is);
  if (before != now) {
    is["persistentvolumesource"].forbidden(
        "spec.persistentvolumesource is immutable after creation" + source_difference(before, now));
  }
  if (differ(was, is, "volumeMode")) {
    Judged(is["volumeMode"].json(), "volumeMode", is.errors())
        .invalid(is.has("volumeMode") ? quote(is.text("volumeMode")) : "null",
                 "field is immutable");
  }
}

void check_volume(const AdmissionRequest& request, const Judged& spec) {
  if (spec.size("accessModes") == 0) {
    spec["accessModes"].required();
  }
  check_access_modes(spec);
  const Judged capacity = spec["capacity"];
  if (capacity.size() == 0) {
    capacity.required();
  }
  if (!capacity.has("storage") || capacity.size() > 1) {
    spec.errors().push_back(unsupported_value(
        capacity.path(), capacity ? api::to_json(*capacity.json()) : "null", {"storage"}));
  }
  for (const std::string& name : capacity.names()) {
    check_positive(capacity.key(name));
  }
  spec["persistentVolumeReclaimPolicy"].one_of({"Delete", "Recycle", "Retain"});
  if (const Judged affinity = spec["nodeAffinity"]) {
    if (affinity.has("required")) {
      check_node_selector(affinity["required"]);
    } else {
      affinity["required"].required("must specify required node constraints");
    }
  }
  check_volume_sources(spec);
  check_class_name(spec["storageClassName"]);
  spec["volumeMode"].one_of({"Block", "Filesystem"});
  if (request.before != nullptr) {
    check_volume_change(Judged(api::find(request.before->json(), "spec"), "spec", spec.errors()),
                        spec);
  }
}

void check_class(const AdmissionRequest& request, const Judged& whole) {
  if (request.before != nullptr) {
    const Judged before(&request.before->json(), "", whole.errors());
    for (const std::string_view field : {"parameters", "provisioner", "reclaimPolicy"}) {
      if (differ(before, whole, field)) {
        whole[field].forbidden(fmt::format("updates to {} are forbidden.", field));
      }
    }
    check_immutable(before, whole, "volumeBindingMode");
    return;
  }
  if (whole["provisioner"].need_text()) {
    std::string lower(whole.text("provisioner"));
    std::ranges::transform(lower, lower.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    whole["provisioner"].invalid(qualified_name_errors(lower));
  }
  if (whole.size("parameters") > kMaxParameters) {
    whole["parameters"].too_long(kMaxParameters);
  }
  if (whole["parameters"].has("")) {
    whole["parameters"].invalid(quote(""), "field can not be empty.");
  }
  whole["reclaimPolicy"].one_of({"Delete", "Retain"});
  whole["volumeBindingMode"].one_of({"Immediate", "WaitForFirstConsumer"});
}

} // namespace

void check_csi_driver_name(const Judged& name) {
  if (!name.need_text()) {
    return;
  }
  if (name.text().size() > kMaxDriverName) {
    name.too_long(kMaxDriverName);
  }
  std::string lower(name.text());
  std::ranges::transform(lower, lower.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  name.invalid(subdomain_errors(lower));
}

void check_claim_spec(const Judged& spec) {
  if (spec.size("accessModes") == 0) {
    spec["accessModes"].required("at least 1 access mode is required");
  }
  check_label_selector(spec["selector"]);
  check_access_modes(spec);
  const Judged resources = spec["resources"];
  const Judged storage(resources["requests"].key("storage").json(), resources.path() + "[storage]",
                       spec.errors());
  if (!storage) {
    storage.required();
  } else {
    check_positive(storage);
  }
  check_class_name(spec["storageClassName"]);
  spec["volumeMode"].one_of({"Block", "Filesystem"});
  check_data_source(spec["dataSource"]);
  check_data_source(spec["dataSourceRef"]);
}

void check_storage(const AdmissionRequest& request, const api::Object& object,
                   FieldErrors& errors) {
  if (request.subresource == Subresource::Status) {
    return;
  }
  const Judged whole(&object.json(), "", errors);
  if (request.kind == kVolumeClaims) {
    check_claim(request, object, whole["spec"]);
  } else if (request.kind == kVolumes) {
    check_volume(request, whole["spec"]);
  } else if (request.kind == kStorageClasses) {
    check_class(request, whole);
  } else {
    check_csi(request, whole);
  }
}

} // namespace berth::store
