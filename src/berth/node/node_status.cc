#include "berth/node/node_status.h"

#include <algorithm>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <fmt/format.h>

#include "berth/node/plugin_endpoints.h"
#include "berth/node/startup_taint.h"

namespace berth::node {
namespace {

namespace json = boost::json;

constexpr std::string_view kHostnameLabel = "kubernetes.io/hostname";

json::object condition(const json::value& wanted, TimePoint transition) {
  json::object made = wanted.get_object();
  made["lastTransitionTime"] = to_rfc3339(transition);
  return made;
}

// Conditions of the base, each with the stored transition time while its status stays; others are
// kept.
json::array merged_conditions(const json::value& stored, const json::value& base, TimePoint now) {
  json::array merged;
  if (const json::value* held = api::find_path(stored, "status.conditions");
      held && held->is_array()) {
    merged = held->get_array();
  }
  const json::value* wanted = api::find_path(base, "status.conditions");
  if (!wanted || !wanted->is_array()) {
    return merged;
  }
  for (const json::value& each : wanted->get_array()) {
    const std::string_view type = api::string_at(each, "type");
    auto* const place = std::ranges::find_if(
        merged, [&](const json::value& other) { return api::string_at(other, "type") == type; });
    if (place == merged.end()) {
      merged.push_back(condition(each, now));
      continue;
    }
    const bool same = api::string_at(*place, "status") == api::string_at(each, "status") &&
                      !api::string_at(*place, "lastTransitionTime").empty();
    if (same && api::string_at(*place, "reason") == api::string_at(each, "reason")) {
      continue;
    }
    json::object made = condition(each, now);
    if (same) {
      made["lastTransitionTime"] = api::string_at(*place, "lastTransitionTime");
    }
    *place = std::move(made);
  }
  return merged;
}

json::object resources(const json::value& base, std::string_view list, const NodeFacts& facts) {
  json::object out;
  const json::value* held = api::find_path(base, fmt::format("status.{}", list));
  if (held && held->is_object()) {
    out = held->get_object();
  }
  for (const auto& [resource, count] : facts.devices) {
    out[resource] = fmt::to_string(list == "capacity" ? count.capacity : count.allocatable);
  }
  return out;
}

// A resource that only a plugin can give, that is stored and that no plugin has given, is nothing.
void zero_forgotten(const json::value& stored, std::string_view list, const NodeFacts& facts,
                    json::object& out) {
  const json::value* held = api::find_path(stored, fmt::format("status.{}", list));
  for (const std::string& resource : facts.plugin_resources) {
    const bool departed = std::ranges::find(facts.departed, resource) != facts.departed.end();
    if (held && api::find(*held, resource) && !out.contains(resource) && !departed) {
      out[resource] = "0";
    }
  }
}

bool same_amount(const json::value& a, const json::value& b) {
  if (!a.is_string() || !b.is_string()) {
    return false;
  }
  const auto one = api::Quantity::parse(std::string_view(a.get_string()));
  const auto other = api::Quantity::parse(std::string_view(b.get_string()));
  return one && other && *one == *other;
}

// What is stored, with the wanted amounts over it and null for what is to go. A server writes
// amounts in its own way ("16Gi" for 16777216Ki): an equal one stays as it is.
json::value over_stored(const json::value& stored, std::string_view list,
                        const json::object& wanted, const NodeFacts& facts) {
  const json::value* held = api::find_path(stored, fmt::format("status.{}", list));
  json::value merged = held && held->is_object() ? *held : json::value(json::object());
  json::object& amounts = merged.get_object();
  for (const auto& [resource, amount] : wanted) {
    const json::value* before = amounts.if_contains(resource);
    if (!before || !same_amount(*before, amount)) {
      amounts[resource] = amount;
    }
  }
  for (const std::string& resource : facts.departed) {
    if (amounts.contains(resource) && !wanted.contains(resource)) {
      amounts[resource] = nullptr;
    }
  }
  return merged;
}

/// What of the texts differs from those that are stored; "" is to be absent.
json::object changed(const json::value* stored, const std::map<std::string, std::string>& texts) {
  json::object changed;
  for (const auto& [key, text] : texts) {
    const json::value* held = stored ? api::find(*stored, key) : nullptr;
    const std::string_view now =
        held && held->is_string() ? std::string_view(held->get_string()) : "";
    if (now != text || (text.empty() && held)) {
      changed[key] = text.empty() ? json::value() : json::value(text);
    }
  }
  return changed;
}

/// Labels of the base and, before these, what was found since.
json::object changed_labels(const json::value& stored, const json::value& base,
                            const NodeFacts& facts) {
  const json::value* held = api::find_path(stored, "metadata.labels");
  json::object out = changed(held, facts.labels);
  const json::value* labels = api::find_path(base, "metadata.labels");
  for (const auto& [key, value] :
       labels && labels->is_object() ? labels->get_object() : json::object()) {
    const json::value* now = held ? api::find(*held, key) : nullptr;
    if (!facts.labels.contains(std::string(key)) && (!now || *now != value)) {
      out[key] = value;
    }
  }
  return out;
}

json::object& member(json::value& document, std::string_view key) {
  return api::object_at(document.get_object(), key);
}

} // namespace

json::value make_base_node(json::value document, const api::Labels& labels,
                           const std::vector<model::Taint>& taints,
                           const std::vector<std::string>& plugin_resources) {
  if (!document.is_object()) {
    document.emplace_object();
  }
  json::object& meta = member(document, "metadata");
  for (const char* server_made :
       {"uid", "resourceVersion", "creationTimestamp", "generation", "managedFields", "selfLink",
        "deletionTimestamp", "deletionGracePeriodSeconds", "ownerReferences"}) {
    meta.erase(server_made);
  }
  json::object& label_map = api::object_at(meta, "labels");
  if (!label_map.contains(kHostnameLabel)) {
    label_map[kHostnameLabel] = api::string_at(document, "metadata.name");
  }
  for (const auto& [key, value] : labels) {
    label_map[key] = value;
  }
  if (!taints.empty()) {
    json::value& list = member(document, "spec")["taints"];
    json::array& array = list.is_array() ? list.get_array() : list.emplace_array();
    for (const model::Taint& taint : taints) {
      json::object made{{"key", taint.key}, {"effect", taint.effect}};
      if (!taint.value.empty()) {
        made["value"] = taint.value;
      }
      array.push_back(std::move(made));
    }
  }
  json::object& status = member(document, "status");
  for (const char* list : {"capacity", "allocatable"}) {
    json::object& amounts = api::object_at(status, list);
    for (const std::string& resource : plugin_resources) {
      amounts.erase(resource);
    }
  }
  return document;
}

json::value make_new_node(const json::value& base, const NodeFacts& facts) {
  json::value node = base;
  json::object& status = member(node, "status");
  status["capacity"] = resources(base, "capacity", facts);
  status["allocatable"] = resources(base, "allocatable", facts);
  status["conditions"] = merged_conditions(json::object(), base, facts.now);
  for (const auto& [key, text] : facts.annotations) {
    if (!text.empty()) {
      api::object_at(member(node, "metadata"), "annotations")[key] = text;
    }
  }
  if (facts.awaits_gpus) {
    add_startup_taint(node);
  }
  return node;
}

NodePatches node_patches(const json::value& stored, const json::value& base,
                         const NodeFacts& facts) {
  NodePatches patches;
  json::object metadata;
  if (json::object differ = changed_labels(stored, base, facts); !differ.empty()) {
    metadata["labels"] = std::move(differ);
  }
  const json::value* annotations = api::find_path(stored, "metadata.annotations");
  if (json::object differ = changed(annotations, facts.annotations); !differ.empty()) {
    metadata["annotations"] = std::move(differ);
  }
  if (!metadata.empty()) {
    patches.metadata = json::object{{"metadata", std::move(metadata)}};
  }

  json::object status;
  const auto put = [&](std::string_view key, json::value wanted) {
    const json::value* held = api::find_path(stored, fmt::format("status.{}", key));
    if (!held || *held != wanted) {
      status[key] = std::move(wanted);
    }
  };
  for (const char* list : {"capacity", "allocatable"}) {
    json::object wanted = resources(base, list, facts);
    zero_forgotten(stored, list, facts, wanted);
    put(list, over_stored(stored, list, wanted, facts));
  }
  put("conditions", merged_conditions(stored, base, facts.now));
  for (const char* key : {"addresses", "nodeInfo", "daemonEndpoints"}) {
    if (const json::value* wanted = api::find_path(base, fmt::format("status.{}", key))) {
      put(key, *wanted);
    }
  }
  if (!status.empty()) {
    patches.status = json::object{{"status", std::move(status)}};
  }
  if (!facts.awaits_gpus) {
    patches.taints = without_startup_taint(stored);
  }
  return patches;
}

model::ResourceList node_resources(const json::value& node, std::string_view list) {
  model::ResourceList resources;
  const json::value* held = api::find_path(node, fmt::format("status.{}", list));
  if (!held || !held->is_object()) {
    return resources;
  }
  for (const auto& [resource, text] : held->get_object()) {
    if (const auto quantity = text.is_string()
                                  ? api::Quantity::parse(std::string_view(text.get_string()))
                                  : Result<api::Quantity>(fail(Code::Invalid, ""))) {
      resources.emplace(resource, *quantity);
    }
  }
  return resources;
}

} // namespace berth::node
