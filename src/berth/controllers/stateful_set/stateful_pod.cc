#include "berth/controllers/stateful_set/stateful_pod.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include <boost/json/array.hpp>
#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/controllers/fields.h"
#include "berth/controllers/pod_from_template.h"
#include "berth/controllers/revision/revision.h"

namespace berth::controllers {
namespace {

namespace json = api::json;

constexpr std::string_view kPodName = "statefulset.kubernetes.io/pod-name";
constexpr std::string_view kPodIndex = "apps.kubernetes.io/pod-index";

std::string claim_name(const api::Object& set, const json::value& claim, std::int64_t ordinal) {
  return fmt::format("{}-{}-{}", api::string_at(claim, "metadata.name"), set.meta().name, ordinal);
}

/// Each claim is a volume of the pod, instead of one of that name that the template has.
void add_volumes(const api::Object& set, std::int64_t ordinal, json::object& spec) {
  const json::array& claims = array_at(set.json(), "spec.volumeClaimTemplates");
  if (claims.empty()) {
    return;
  }
  json::array volumes;
  const auto is_claim = [&](std::string_view name) {
    return std::ranges::any_of(claims, [&](const json::value& claim) {
      return api::string_at(claim, "metadata.name") == name;
    });
  };
  for (const json::value& claim : claims) {
    volumes.push_back(json::object{
        {"name", api::string_at(claim, "metadata.name")},
        {"persistentVolumeClaim", json::object{{"claimName", claim_name(set, claim, ordinal)}}}});
  }
  if (const json::value* own = spec.if_contains("volumes"); own != nullptr && own->is_array()) {
    for (const json::value& volume : own->get_array()) {
      if (!is_claim(api::string_at(volume, "name"))) {
        volumes.push_back(volume);
      }
    }
  }
  spec["volumes"] = std::move(volumes);
}

} // namespace

std::string stateful_name(const api::Object& set, std::int64_t ordinal) {
  return fmt::format("{}-{}", set.meta().name, ordinal);
}

std::optional<std::int64_t> ordinal_of(const api::Object& set, const std::string& pod) {
  const std::size_t dash = pod.rfind('-');
  if (dash == std::string::npos || pod.substr(0, dash) != set.meta().name) {
    return std::nullopt;
  }
  std::int32_t ordinal = 0;
  const char* const end = pod.data() + pod.size();
  const auto [at, error] = std::from_chars(pod.data() + dash + 1, end, ordinal);
  if (error != std::errc() || at != end || ordinal < 0) {
    return std::nullopt;
  }
  return ordinal;
}

json::object stateful_pod(const api::Object& set, const api::Object& revision,
                          std::int64_t ordinal) {
  const json::value* held = api::find_path(revision.json(), "data.spec.template");
  json::value pod_template = held == nullptr ? json::value(json::object()) : *held;
  if (pod_template.is_object()) {
    pod_template.get_object().stable_erase("$patch");
  }
  const std::string name = stateful_name(set, ordinal);
  json::object pod =
      pod_from_template(pod_template, set, set.meta().name + "-", fmt::to_string(ordinal));
  json::object& labels = api::object_at(api::object_at(pod, "metadata"), "labels");
  labels[kPodName] = name;
  labels[kPodIndex] = fmt::to_string(ordinal);
  labels[kRevisionHashLabel] = revision.meta().name;
  json::object& spec = api::object_at(pod, "spec");
  spec["hostname"] = name;
  if (const auto service = api::string_at(set.json(), "spec.serviceName"); !service.empty()) {
    spec["subdomain"] = service;
  }
  add_volumes(set, ordinal, spec);
  return pod;
}

json::object missing_identity(const api::Object& set, const api::Object& pod,
                              std::int64_t ordinal) {
  json::object missing;
  for (const auto& [key, value] :
       {std::pair(kPodName, stateful_name(set, ordinal)), {kPodIndex, fmt::to_string(ordinal)}}) {
    const auto held = pod.meta().labels.find(key);
    if (held == pod.meta().labels.end() || held->second != value) {
      missing[key] = value;
    }
  }
  return missing;
}

std::vector<api::Object> stateful_claims(const api::Object& set, std::int64_t ordinal) {
  std::vector<api::Object> out;
  for (const json::value& claim : array_at(set.json(), "spec.volumeClaimTemplates")) {
    if (!claim.is_object()) {
      continue;
    }
    json::object document = claim.get_object();
    document.stable_erase("status");
    document["apiVersion"] = "v1";
    document["kind"] = "PersistentVolumeClaim";
    json::object& meta = api::object_at(document, "metadata");
    meta["name"] = claim_name(set, claim, ordinal);
    meta["namespace"] = set.meta().ns;
    const json::value* labels = api::find_path(set.json(), "spec.selector.matchLabels");
    if (labels != nullptr && labels->is_object()) {
      json::object& own = api::object_at(meta, "labels");
      for (const auto& [key, value] : labels->get_object()) {
        own[key] = value;
      }
    }
    if (auto made = api::Object::from_json(std::move(document))) {
      out.push_back(*std::move(made));
    }
  }
  return out;
}

} // namespace berth::controllers
