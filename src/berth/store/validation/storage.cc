#include "berth/store/validation/storage.h"

#include <algorithm>
#include <array>
#include <set>

#include "berth/store/naming.h"
#include "berth/store/validation/affinity.h"
#include "berth/store/validation/formats.h"
#include "berth/store/validation/immutable.h"
#include "berth/store/validation/resources.h"

namespace berth::store {
namespace {

constexpr std::size_t kMaxDriverName = 63;
constexpr std::size_t kMaxNodeId = 192;
constexpr std::size_t kMaxParameters = 512;

void check_access_modes(const Judged& spec) {
  const Judged modes = spec["accessModes"];
  bool alone = false;
  spec.each("accessModes", [&](const Judged& mode) {
    alone = alone || mode.text() == "ReadWriteOncePod";
    Judged(mode.json(), modes.path(), modes.errors())
        .one_of({"ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"});
  });
  if (alone && modes.size() > 1) {
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

void check_claim(const AdmissionRequest& request, const Judged& spec) {
  check_claim_spec(spec);
  if (request.before == nullptr) {
    return;
  }
  const Judged before(api::find(request.before->json(), "spec"), "spec", spec.errors());
  // A claim that came before there was a default class may get one.
  const bool unclassed = !before.has("storageClassName");
  const auto fixed = [&](const Judged& whole) {
    api::json::object kept = whole.object() == nullptr ? api::json::object() : *whole.object();
    if (unclassed) {
      kept.erase("storageClassName");
    }
    for (const std::string_view free : {"resources", "volumeName", "volumeAttributesClassName"}) {
      kept.erase(free);
    }
    return kept;
  };
  const bool bound_anew = before.text("volumeName").empty();
  if (fixed(spec) != fixed(before) ||
      (!bound_anew && before.text("volumeName") != spec.text("volumeName"))) {
    spec.forbidden("spec is immutable after creation except resources.requests and "
                   "volumeAttributesClassName for bound claims");
  }
  const auto was = quantity_of(before["resources"]["requests"].key("storage"));
  const auto now = quantity_of(spec["resources"]["requests"].key("storage"));
  const bool bound = api::string_at(request.before->json(), "status.phase") == "Bound";
  if (was && now && *was != *now) {
    if (!bound) {
      spec.forbidden("spec is immutable after creation except resources.requests and "
                     "volumeAttributesClassName for bound claims");
    } else if (*now < *was) {
      spec["resources"]["requests"]["storage"].forbidden(
          "field can not be less than status.capacity");
    }
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
    const Judged before(api::find(request.before->json(), "spec"), "spec", spec.errors());
    for (const Source& source : kSources) {
      const Judged was = before[source.name];
      const Judged is = spec[source.name];
      if (bool(was) != bool(is) || (was && *was.json() != *is.json())) {
        spec["persistentvolumesource"].forbidden(
            "spec.persistentvolumesource is immutable after creation");
        break;
      }
    }
    check_immutable(before, spec, "volumeMode");
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

void check_csi_node(const Judged& spec) {
  std::set<std::string, std::less<>> names;
  spec.each("drivers", [&](const Judged& driver) {
    check_csi_driver_name(driver["name"]);
    if (const Judged id = driver["nodeID"]; id.need_text() && id.text().size() > kMaxNodeId) {
      id.invalid(fmt::format("must be {} characters or less", kMaxNodeId));
    }
    if (!names.emplace(driver.text("name")).second) {
      driver["name"].duplicate();
    }
    if (const Judged count = driver["allocatable"]["count"]) {
      count.not_negative();
    }
    std::set<std::string, std::less<>> keys;
    driver.each("topologyKeys", [&](const Judged& key) {
      if (!keys.emplace(key.text()).second) {
        Judged(key.json(), driver.path() + ".topologyKeys", key.errors()).duplicate();
      }
      Judged(key.json(), driver.path() + ".topologyKeys", key.errors()).label_name();
    });
  });
}

void check_attachment(const AdmissionRequest& request, const Judged& spec) {
  if (request.before != nullptr) {
    const Judged before(api::find(request.before->json(), "spec"), "spec", spec.errors());
    if (before.json() != nullptr && spec.json() != nullptr && *before.json() != *spec.json()) {
      spec.invalid("field is immutable");
    }
    return;
  }
  check_csi_driver_name(spec["attacher"]);
  const Judged source = spec["source"];
  if (source.has("inlineVolumeSpec") && source.has("persistentVolumeName")) {
    source.forbidden("inlineVolumeSpec and persistentVolumeName are mutually exclusive");
  } else if (!source.has("inlineVolumeSpec") && !source.has("persistentVolumeName")) {
    source.required("must specify one of inlineVolumeSpec and persistentVolumeName");
  }
  if (spec["nodeName"].need_text()) {
    spec["nodeName"].dns_subdomain();
  }
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
  check_label_selector(spec["selector"]);
  if (spec.size("accessModes") == 0) {
    spec["accessModes"].required("at least 1 access mode is required");
  }
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
    check_claim(request, whole["spec"]);
  } else if (request.kind == kVolumes) {
    check_volume(request, whole["spec"]);
  } else if (request.kind == kStorageClasses) {
    check_class(request, whole);
  } else if (request.kind == kCsiNodes) {
    check_csi_node(whole["spec"]);
  } else if (request.kind == kVolumeAttachments) {
    check_attachment(request, whole["spec"]);
  }
}

} // namespace berth::store
