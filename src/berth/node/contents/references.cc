#include "berth/node/contents/references.h"

#include <map>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "berth/node/contents/spec_field.h"

namespace berth::node {
namespace {

namespace json = boost::json;

// Gathers mentions; one that is not optional makes the source needed.
class Mentions {
 public:
  // `ref` is a {name, optional} object; nothing without a name.
  void add(SourceKind kind, const json::value* ref, std::string_view name_key = "name") {
    if (!ref) {
      return;
    }
    const bool optional = bool_at(*ref, "optional").value_or(false);
    add(kind, api::string_at(*ref, name_key), optional ? Need::Optional : Need::Required);
  }
  enum class Need { Required, Optional };
  void add(SourceKind kind, std::string_view name, Need need) {
    if (name.empty()) {
      return;
    }
    const auto [it, added] = needs_.emplace(SourceName{kind, std::string(name)}, need);
    if (!added && need == Need::Required) {
      it->second = need;
    }
  }
  void add(const std::vector<Reference>& others) {
    for (const Reference& each : others) {
      add(each.source.kind, each.source.name, each.optional ? Need::Optional : Need::Required);
    }
  }
  std::vector<Reference> all() const {
    std::vector<Reference> list;
    for (const auto& [source, need] : needs_) {
      list.push_back({source, need == Need::Optional});
    }
    return list;
  }

 private:
  std::map<SourceName, Need> needs_;
};

} // namespace

std::string_view to_string(SourceKind kind) {
  return kind == SourceKind::ConfigMap ? "configmap" : "secret";
}

std::vector<Reference> env_references(const json::value& container) {
  Mentions mentions;
  for (const json::value& each : list_at(container, "envFrom")) {
    mentions.add(SourceKind::ConfigMap, api::find(each, "configMapRef"));
    mentions.add(SourceKind::Secret, api::find(each, "secretRef"));
  }
  for (const json::value& each : list_at(container, "env")) {
    if (!api::string_at(each, "value").empty()) {
      continue; // a value of its own goes before what valueFrom would say
    }
    mentions.add(SourceKind::ConfigMap, api::find_path(each, "valueFrom.configMapKeyRef"));
    mentions.add(SourceKind::Secret, api::find_path(each, "valueFrom.secretKeyRef"));
  }
  return mentions.all();
}

std::vector<Reference> volume_references(const json::value& volume) {
  Mentions mentions;
  mentions.add(SourceKind::ConfigMap, api::find(volume, "configMap"));
  mentions.add(SourceKind::Secret, api::find(volume, "secret"), "secretName");
  for (const json::value& each : list_at(volume, "projected.sources")) {
    mentions.add(SourceKind::ConfigMap, api::find(each, "configMap"));
    mentions.add(SourceKind::Secret, api::find(each, "secret"));
  }
  return mentions.all();
}

std::vector<Reference> pull_secret_references(const json::value& pod) {
  Mentions mentions;
  for (const json::value& each : list_at(pod, "spec.imagePullSecrets")) {
    mentions.add(SourceKind::Secret, api::string_at(each, "name"), Mentions::Need::Optional);
  }
  return mentions.all();
}

std::vector<Reference> pod_references(const json::value& pod) {
  Mentions mentions;
  for (const std::string_view list : {"spec.initContainers", "spec.containers"}) {
    for (const json::value& container : list_at(pod, list)) {
      mentions.add(env_references(container));
    }
  }
  for (const json::value& volume : list_at(pod, "spec.volumes")) {
    mentions.add(volume_references(volume));
  }
  mentions.add(pull_secret_references(pod));
  return mentions.all();
}

} // namespace berth::node
