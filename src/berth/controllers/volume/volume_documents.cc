#include "berth/controllers/volume/volume_documents.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "berth/api/json.h"
#include "berth/controllers/volume/claim_plan.h"

namespace berth::controllers {
namespace {

namespace json = api::json;

json::string_view text(std::string_view s) {
  return {s.data(), s.size()};
}

json::object only_for(std::uint64_t resource_version) {
  return json::object{{"resourceVersion", std::to_string(resource_version)}};
}

json::object reference_to(const model::PersistentVolumeClaim& claim) {
  return {{"apiVersion", "v1"},
          {"kind", "PersistentVolumeClaim"},
          {"namespace", claim.meta.ns},
          {"name", claim.meta.name},
          {"uid", claim.meta.uid}};
}

/// Copies a member that is there.
void copy(const json::value& from, std::string_view path, json::object& to, std::string_view name) {
  if (const json::value* found = api::find_path(from, path)) {
    to[text(name)] = *found;
  }
}

/// One node selector term that says what the topology term says.
json::object selector_term(const model::TopologyTerm& term, const api::Labels* node_labels) {
  json::array expressions;
  for (const api::Requirement& label : term.labels) {
    json::array values;
    const auto own =
        node_labels == nullptr ? api::Labels::const_iterator() : node_labels->find(label.key);
    if (node_labels != nullptr && own != node_labels->end()) {
      values.push_back(json::value(text(own->second)));
    } else {
      for (const std::string& value : label.values) {
        values.push_back(json::value(text(value)));
      }
    }
    expressions.push_back(
        json::object{{"key", label.key}, {"operator", "In"}, {"values", std::move(values)}});
  }
  return json::object{{"matchExpressions", std::move(expressions)}};
}

} // namespace

json::value patch_class(const model::PersistentVolumeClaim& claim, std::string_view name) {
  return json::object{{"metadata", only_for(claim.meta.resource_version)},
                      {"spec", json::object{{"storageClassName", text(name)}}}};
}

json::value patch_claim_reference(const model::PersistentVolume& volume,
                                  const model::PersistentVolumeClaim& claim) {
  json::object meta = only_for(volume.meta.resource_version);
  if (!volume.claim) {
    meta["annotations"] = json::object{{text(model::kBoundByControllerAnnotation), "yes"}};
  }
  return json::object{{"metadata", std::move(meta)},
                      {"spec", json::object{{"claimRef", reference_to(claim)}}}};
}

json::value patch_volume_name(const model::PersistentVolumeClaim& claim, std::string_view volume) {
  json::object annotations{{text(model::kBindCompletedAnnotation), "yes"}};
  if (claim.volume_name.empty()) {
    annotations[text(model::kBoundByControllerAnnotation)] = "yes";
  }
  json::object meta = only_for(claim.meta.resource_version);
  meta["annotations"] = std::move(annotations);
  return json::object{{"metadata", std::move(meta)},
                      {"spec", json::object{{"volumeName", text(volume)}}}};
}

json::value patch_phase(std::uint64_t resource_version, std::string_view phase) {
  return json::object{{"metadata", only_for(resource_version)},
                      {"status", json::object{{"phase", text(phase)}}}};
}

json::value patch_bound(const model::PersistentVolumeClaim& claim, const json::value& volume) {
  json::object status{{"phase", "Bound"}};
  copy(volume, "spec.capacity", status, "capacity");
  copy(volume, "spec.accessModes", status, "accessModes");
  return json::object{{"metadata", only_for(claim.meta.resource_version)},
                      {"status", std::move(status)}};
}

json::value provisioned_volume(const model::PersistentVolumeClaim& claim,
                               const json::value& document, const model::StorageClass& of,
                               const api::Labels* node_labels) {
  const std::string name = provisioned_name(claim);
  json::object spec{{"claimRef", reference_to(claim)},
                    {"storageClassName", of.meta.name},
                    {"persistentVolumeReclaimPolicy", of.reclaim_policy},
                    {"csi", json::object{{"driver", of.provisioner}, {"volumeHandle", name}}}};
  copy(document, "spec.resources.requests", spec, "capacity");
  copy(document, "spec.accessModes", spec, "accessModes");
  copy(document, "spec.volumeMode", spec, "volumeMode");
  copy(document, "spec.volumeAttributesClassName", spec, "volumeAttributesClassName");
  for (const model::TopologyTerm& term : of.allowed_topologies) {
    if (node_labels == nullptr || term.matches(*node_labels)) {
      json::array terms;
      terms.push_back(selector_term(term, node_labels));
      spec["nodeAffinity"] =
          json::object{{"required", json::object{{"nodeSelectorTerms", std::move(terms)}}}};
      break;
    }
  }
  json::object annotations{{text(model::kProvisionedByAnnotation), of.provisioner}};
  return json::object{
      {"apiVersion", "v1"},
      {"kind", "PersistentVolume"},
      {"metadata", json::object{{"name", name}, {"annotations", std::move(annotations)}}},
      {"spec", std::move(spec)}};
}

json::value ephemeral_claim(const api::Object& pod, std::string_view volume) {
  const json::value* volumes = api::find_path(pod.json(), "spec.volumes");
  if (volumes == nullptr || !volumes->is_array()) {
    return nullptr;
  }
  for (const json::value& each : volumes->get_array()) {
    const json::value* source = api::find_path(each, "ephemeral.volumeClaimTemplate");
    if (source == nullptr || api::string_at(each, "name") != volume) {
      continue;
    }
    json::object meta{{"name", pod.meta().name + "-" + std::string(volume)},
                      {"namespace", pod.meta().ns}};
    copy(*source, "metadata.labels", meta, "labels");
    copy(*source, "metadata.annotations", meta, "annotations");
    json::object claim{
        {"apiVersion", "v1"}, {"kind", "PersistentVolumeClaim"}, {"metadata", std::move(meta)}};
    copy(*source, "spec", claim, "spec");
    api::set_controller(claim, pod);
    return claim;
  }
  return nullptr;
}

} // namespace berth::controllers
