#include "berth/store/validation/metadata.h"

#include <algorithm>
#include <array>

#include "berth/store/kind_rules.h"
#include "berth/store/naming.h"
#include "berth/store/validation/formats.h"

namespace berth::store {
namespace {

constexpr std::size_t kMaxAnnotations = std::size_t{256} * 1024;
constexpr std::string_view kOrphan = "orphan";
constexpr std::string_view kForeground = "foregroundDeletion";

std::vector<std::string> name_errors(const GroupKind& kind, std::string_view name) {
  if (kind.group == "rbac.authorization.k8s.io" ||
      kind == GroupKind{"certificates.k8s.io", "CertificateSigningRequest"}) {
    return path_segment_errors(name);
  }
  if (kind == kNamespaces || kind == GroupKind{"apps", "StatefulSet"}) {
    return label_name_errors(name);
  }
  if (kind == GroupKind{"", "Service"}) {
    return dns1035_label_errors(name);
  }
  return subdomain_errors(name);
}

/// Whether finalizers must have names that the server knows, or a domain: so for all kinds that
/// come with it, but for those of its extensions.
bool knows_finalizers(const GroupKind& kind) {
  constexpr std::array<std::string_view, 4> kOthers = {
      "apiextensions.k8s.io", "apiregistration.k8s.io", "admissionregistration.k8s.io",
      "coordination.k8s.io"};
  return is_built_in(kind) && std::ranges::find(kOthers, kind.group) == kOthers.end();
}

void check_owner(const Judged& owners, const Judged& owner) {
  const auto need = [&](std::string_view member, std::string_view given, std::string_view why) {
    if (given.empty()) {
      owners[member].invalid(quote(owner.text(member)), why);
    }
  };
  const std::string_view version = owner.text("apiVersion");
  need("apiVersion",
       version.substr(version.find('/') == std::string_view::npos ? 0 : version.find('/') + 1),
       "version must not be empty");
  for (const std::string_view member : {"kind", "name", "uid"}) {
    need(member, owner.text(member), "must not be empty");
  }
  if (version == "v1" && owner.text("kind") == "Event") {
    owners.invalid(api::to_json(*owner.json()),
                   "/v1, Kind=Event is disallowed from being an owner");
  }
}

void check_owners(const Judged& meta) {
  const Judged owners = meta["ownerReferences"];
  std::string first;
  meta.each("ownerReferences", [&](const Judged& owner) {
    check_owner(owners, owner);
    if (!owner.is_true("controller")) {
      return;
    }
    const std::string named = fmt::format("{}/{}", owner.text("kind"), owner.text("name"));
    if (!first.empty()) {
      owners.invalid(fmt::format("Only one reference can have Controller set to true. Found "
                                 "\"true\" in references for {} and {}",
                                 first, named));
    } else {
      first = named;
    }
  });
}

void check_finalizers(const Judged& meta) {
  const Judged all = meta["finalizers"];
  bool orphan = false;
  bool foreground = false;
  meta.each("finalizers", [&](const Judged& finalizer) {
    for (const std::string& why : qualified_name_errors(finalizer.text())) {
      all.invalid(quote(finalizer.text()), why);
    }
    orphan = orphan || finalizer.text() == kOrphan;
    foreground = foreground || finalizer.text() == kForeground;
  });
  if (orphan && foreground) {
    all.invalid(fmt::format("finalizer {} and {} cannot be both set", kOrphan, kForeground));
  }
}

void check_finalizer_names(const Judged& meta) {
  meta.each("finalizers", [](const Judged& finalizer) {
    const std::string_view name = finalizer.text();
    if (name.find('/') == std::string_view::npos && name != "kubernetes" && name != kOrphan &&
        name != kForeground) {
      finalizer.invalid("name is neither a standard finalizer name nor is it fully qualified");
    }
  });
}

/// How often kube-apiserver looks at the metadata of an update: once for every kind, once more
/// against what it was, then as the kind's own rules do. Each look tells its causes.
struct Looks {
  bool against_before = true; ///< the kind's rules look at what changed
  bool as_new = false;        ///< and at the whole as at its creation
};

Looks looks_of(const AdmissionRequest& request) {
  static constexpr std::array<std::string_view, 7> kAsNew = {
      "Pod",           "Service",          "ConfigMap",
      "Secret",        "PersistentVolume", "PersistentVolumeClaim",
      "ServiceAccount"};
  const std::string& kind = request.kind.kind;
  if (request.kind == GroupKind{"", "LimitRange"}) {
    return {.against_before = false, .as_new = true};
  }
  if (request.kind == GroupKind{"policy", "PodDisruptionBudget"} &&
      request.subresource == Subresource::None) {
    return {.against_before = false};
  }
  const bool core = request.kind.group.empty();
  const bool rbac = request.kind.group == "rbac.authorization.k8s.io";
  return {.as_new = request.subresource != Subresource::Status &&
                    (rbac || (core && std::ranges::find(kAsNew, kind) != kAsNew.end()))};
}

/// An object that is being deleted gets no further reason to stay.
void check_no_new_finalizers(const api::ObjectMeta& before, const api::ObjectMeta& now,
                             const Judged& meta) {
  std::string added;
  for (const std::string& finalizer : now.finalizers) {
    if (std::ranges::find(before.finalizers, finalizer) == before.finalizers.end()) {
      added += (added.empty() ? "" : ", ") + quote(finalizer);
    }
  }
  if (!added.empty()) {
    meta["finalizers"].forbidden(
        fmt::format("no new finalizers can be added if the object is being deleted, found new "
                    "finalizers []string{{{}}}",
                    added));
  }
}

void check_names(const AdmissionRequest& request, const api::ObjectMeta& meta,
                 FieldErrors& errors) {
  if (!meta.generate_name.empty()) {
    std::string base = meta.generate_name;
    if (base.size() > 1 && base.back() == '-') {
      base.back() = 'a';
    }
    add_invalid(errors, "metadata.generateName", meta.generate_name,
                name_errors(request.kind, base));
  }
  if (meta.name.empty()) {
    errors.push_back(required_field("metadata.name", "name or generateName is required"));
  } else {
    add_invalid(errors, "metadata.name", meta.name, name_errors(request.kind, meta.name));
  }
  if (!meta.ns.empty()) {
    add_invalid(errors, "metadata.namespace", meta.ns, label_name_errors(meta.ns));
  }
}

void check_labels_and_owners(const api::ObjectMeta& meta, const Judged& judged) {
  if (!meta.labels.empty()) {
    check_label_map(judged["labels"]);
  }
  if (!meta.annotations.empty()) {
    check_annotations(judged["annotations"]);
  }
  if (!meta.owner_references.empty()) {
    check_owners(judged);
  }
}

bool same_metadata(const api::ObjectMeta& before, const api::ObjectMeta& now) {
  return before.labels == now.labels && before.annotations == now.annotations &&
         before.finalizers == now.finalizers && before.owner_references == now.owner_references;
}

void check_update(const AdmissionRequest& request, const api::ObjectMeta& meta,
                  const Judged& judged) {
  const api::ObjectMeta& before = request.before->meta();
  if (same_metadata(before, meta)) {
    return; // it was judged when it came
  }
  const Looks looks = looks_of(request);
  const bool names = knows_finalizers(request.kind);
  check_labels_and_owners(meta, judged);
  check_finalizers(judged);
  for (std::size_t look = 0; look < (looks.against_before ? 2 : 1); ++look) {
    if (before.deletion_timestamp) {
      check_no_new_finalizers(before, meta, judged);
    }
    check_labels_and_owners(meta, judged);
    if (look > 0 && names) {
      check_finalizer_names(judged);
    }
  }
  if (looks.as_new) {
    check_labels_and_owners(meta, judged);
    check_finalizers(judged);
    if (names) {
      check_finalizer_names(judged);
    }
  }
}

} // namespace

std::vector<std::string> path_segment_errors(std::string_view name) {
  if (name == "." || name == "..") {
    return {fmt::format("may not be '{}'", name)};
  }
  std::vector<std::string> errors;
  for (const char c : {'/', '%'}) {
    if (name.find(c) != std::string_view::npos) {
      errors.push_back(fmt::format("may not contain '{}'", c));
    }
  }
  return errors;
}

void check_annotations(const Judged& annotations) {
  std::size_t total = 0;
  for (const std::string& key : annotations.names()) {
    std::string lower = key;
    std::ranges::transform(lower, lower.begin(), [](char c) {
      return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
    add_invalid(annotations.errors(), annotations.path(), key, qualified_name_errors(lower));
    total += key.size() + annotations.text(key).size();
  }
  if (total > kMaxAnnotations) {
    annotations.too_long(kMaxAnnotations);
  }
}

void check_metadata(const AdmissionRequest& request, const api::Object& object,
                    FieldErrors& errors) {
  const api::ObjectMeta& meta = object.meta();
  const Judged judged(api::find(object.json(), "metadata"), "metadata", errors);
  if (request.before != nullptr) {
    check_update(request, meta, judged);
    return;
  }
  check_names(request, meta, errors);
  check_labels_and_owners(meta, judged);
  check_finalizers(judged);
  if (knows_finalizers(request.kind)) {
    check_finalizer_names(judged);
  }
}

} // namespace berth::store
