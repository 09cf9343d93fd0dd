#include "berth/store/limit_range.h"

#include <map>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "berth/api/quantity.h"
#include "berth/model/pod.h"
#include "berth/model/requests.h"
#include "berth/store/document.h"
#include "berth/store/errors.h"

namespace berth::store {
namespace {

using api::json::object;
using model::ResourceList;

/// One entry of spec.limits.
struct Limits {
  std::string type;
  ResourceList min;
  ResourceList max;
  ResourceList defaults;
  ResourceList default_requests;
};

ResourceList read_list(const api::json::value& item, std::string_view member) {
  ResourceList out;
  const api::json::value* list = api::find(item, member);
  if (list == nullptr || !list->is_object()) {
    return out;
  }
  for (const auto& entry : list->get_object()) {
    const api::json::value& value = entry.value();
    const auto parsed = api::Quantity::parse(value.is_string() ? std::string(value.get_string())
                                                               : api::to_json(value));
    if (parsed) {
      out.emplace(entry.key(), *parsed);
    }
  }
  return out;
}

/// Every entry of every LimitRange of the namespace.
std::vector<Limits> limits_of(const Store& store, const std::string& ns) {
  std::vector<Limits> out;
  for (const api::Object& range : store.list({.kind = {"", "LimitRange"}, .ns = ns}).items) {
    const api::json::value* items = api::find_path(range.json(), "spec.limits");
    if (items == nullptr || !items->is_array()) {
      continue;
    }
    for (const api::json::value& item : items->get_array()) {
      out.push_back({.type = std::string(api::string_at(item, "type")),
                     .min = read_list(item, "min"),
                     .max = read_list(item, "max"),
                     .defaults = read_list(item, "default"),
                     .default_requests = read_list(item, "defaultRequest")});
    }
  }
  return out;
}

/// Adds what is missing; returns the names added.
std::vector<std::string> fill(object& resources, std::string_view member,
                              const ResourceList& defaults) {
  std::vector<std::string> added;
  for (const auto& [name, quantity] : defaults) {
    object& list = api::object_at(resources, member);
    if (!has(list, name)) {
      list[name] = quantity.to_string();
      added.push_back(name);
    }
  }
  return added;
}

void default_containers(object& spec, std::string_view list, std::string_view title,
                        const Limits& limits, std::vector<std::string>& notes) {
  each_in(spec, list, [&](object& container) {
    object& resources = api::object_at(container, "resources");
    const std::string_view name = text_at(container, "name");
    for (const std::string& resource : fill(resources, "requests", limits.default_requests)) {
      notes.push_back(fmt::format("{} request for {} {}", resource, title, name));
    }
    for (const std::string& resource : fill(resources, "limits", limits.defaults)) {
      notes.push_back(fmt::format("{} limit for {} {}", resource, title, name));
    }
  });
}

/// Judges what one container or pod has against the entry.
void check_amounts(const Limits& limits, const model::ResourceRequirements& has,
                   std::vector<std::string>& errors) {
  for (const auto& [name, least] : limits.min) {
    const auto request = has.requests.find(name);
    if (request == has.requests.end()) {
      errors.push_back(fmt::format("minimum {} usage per {} is {}.  No request is specified", name,
                                   limits.type, least.to_string()));
    } else if (request->second < least) {
      errors.push_back(fmt::format("minimum {} usage per {} is {}, but request is {}", name,
                                   limits.type, least.to_string(), request->second.to_string()));
    }
  }
  for (const auto& [name, most] : limits.max) {
    const auto limit = has.limits.find(name);
    if (limit == has.limits.end()) {
      errors.push_back(fmt::format("maximum {} usage per {} is {}.  No limit is specified", name,
                                   limits.type, most.to_string()));
    } else if (limit->second > most) {
      errors.push_back(fmt::format("maximum {} usage per {} is {}, but limit is {}", name,
                                   limits.type, most.to_string(), limit->second.to_string()));
    }
  }
}

model::ResourceRequirements total(const model::PodSpec& spec) {
  model::ResourceRequirements sum;
  for (const model::Container& container : spec.containers) {
    for (const auto& [name, quantity] : container.resources.requests) {
      sum.requests[name] += quantity;
    }
    for (const auto& [name, quantity] : container.resources.limits) {
      sum.limits[name] += quantity;
    }
  }
  return sum;
}

} // namespace

Result<void> default_limit_range(const AdmissionRequest& request, api::json::value& document) {
  object* spec = object_in(document.as_object(), "spec");
  if (request.kind != GroupKind{"", "LimitRange"} || spec == nullptr) {
    return {};
  }
  each_in(*spec, "limits", [&](object& item) {
    if (text_at(item, "type") != "Container") {
      return;
    }
    const auto copy_missing = [&](std::string_view from, std::string_view to) {
      const object* source = object_in(item, from);
      if (source == nullptr) {
        return;
      }
      const object given = *source;
      for (const auto& entry : given) {
        set_default(api::object_at(item, to), entry.key(), entry.value());
      }
    };
    copy_missing("max", "default");
    copy_missing("default", "defaultRequest");
    copy_missing("min", "defaultRequest");
  });
  return {};
}

Result<void> apply_limit_ranges(const AdmissionRequest& request, api::json::value& document) {
  object* spec = object_in(document.as_object(), "spec");
  if (request.kind != kPods || request.before != nullptr || spec == nullptr) {
    return {};
  }
  std::vector<std::string> notes;
  for (const Limits& limits :
       limits_of(*request.store, std::string(api::string_at(document, "metadata.namespace")))) {
    if (limits.type == "Container") {
      default_containers(*spec, "containers", "container", limits, notes);
      default_containers(*spec, "initContainers", "init container", limits, notes);
    }
  }
  if (!notes.empty()) {
    object& meta = api::object_at(document.as_object(), "metadata");
    api::object_at(meta, "annotations")["kubernetes.io/limit-ranger"] =
        fmt::format("LimitRanger plugin set: {}", fmt::join(notes, "; "));
    // The requests changed, so the quality of service may have.
    if (const auto pod = model::decode_pod(document)) {
      api::object_at(document.as_object(), "status")["qosClass"] = model::qos_class((*pod)->spec);
    }
  }
  return {};
}

Result<void> check_limit_ranges(const AdmissionRequest& request, const api::Object& object) {
  if (request.kind != kPods || request.before != nullptr) {
    return {};
  }
  const auto ranges = limits_of(*request.store, object.meta().ns);
  if (ranges.empty()) {
    return {};
  }
  BERTH_TRY(const auto pod, model::pod_view(object));
  std::vector<std::string> errors;
  for (const Limits& limits : ranges) {
    if (limits.type == "Container") {
      for (const auto* list : {&pod->spec.containers, &pod->spec.init_containers}) {
        for (const model::Container& container : *list) {
          check_amounts(limits, container.resources, errors);
        }
      }
    } else if (limits.type == "Pod") {
      check_amounts(limits, total(pod->spec), errors);
    }
  }
  if (!errors.empty()) {
    return forbidden(kPods, object.meta().name,
                     errors.size() == 1 ? errors.front()
                                        : fmt::format("[{}]", fmt::join(errors, ", ")));
  }
  return {};
}

} // namespace berth::store
