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
  ResourceList max_ratio; ///< of limits to requests
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
                     .default_requests = read_list(item, "defaultRequest"),
                     .max_ratio = read_list(item, "maxLimitRequestRatio")});
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

/// How far limits may be above requests. The ratio is compared as kube-apiserver does, in doubles.
void check_ratio(const Limits& limits, const model::ResourceRequirements& has,
                 std::vector<std::string>& errors) {
  for (const auto& [name, most] : limits.max_ratio) {
    const auto request = has.requests.find(name);
    const auto limit = has.limits.find(name);
    const std::string rule = fmt::format("{} max limit to request ratio per {} is {}, but ", name,
                                         limits.type, most.to_string());
    const auto amount = [](const api::Quantity& quantity) { // in thousandths while they fit
      return quantity.value() <= INT64_MAX / 1000 ? quantity.milli_value() : quantity.value();
    };
    if (request == has.requests.end() || amount(request->second) == 0) {
      errors.push_back(rule + "no request is specified or request is 0");
    } else if (limit == has.limits.end() || amount(limit->second) == 0) {
      errors.push_back(rule + "no limit is specified or limit is 0");
    } else {
      const double ratio =
          static_cast<double>(amount(limit->second)) / static_cast<double>(amount(request->second));
      if (ratio * 1000 > static_cast<double>(most.milli_value())) {
        errors.push_back(rule + fmt::format("provided ratio is {:f}", ratio));
      }
    }
  }
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
    } else if (const auto limit = has.limits.find(name);
               limit != has.limits.end() && limit->second < least) {
      errors.push_back(fmt::format("minimum {} usage per {} is {}, but limit is {}", name,
                                   limits.type, least.to_string(), limit->second.to_string()));
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
    } else if (const auto request = has.requests.find(name);
               request != has.requests.end() && request->second > most) {
      errors.push_back(fmt::format("maximum {} usage per {} is {}, but request is {}", name,
                                   limits.type, most.to_string(), request->second.to_string()));
    }
  }
  check_ratio(limits, has, errors);
}

Result<void> refuse(const GroupKind& kind, const api::Object& object,
                    const std::vector<std::string>& errors) {
  return forbidden(kind, object.meta().name,
                   errors.size() == 1 ? errors.front()
                                      : fmt::format("[{}]", fmt::join(errors, ", ")));
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

/// A volume claim asks for storage within what the namespace's entries for claims allow.
Result<void> check_claim(const AdmissionRequest& request, const api::Object& object) {
  std::vector<std::string> errors;
  const api::json::value* resources = api::find_path(object.json(), "spec.resources");
  const ResourceList requests =
      resources == nullptr ? ResourceList() : read_list(*resources, "requests");
  for (const Limits& limits : limits_of(*request.store, object.meta().ns)) {
    if (limits.type != "PersistentVolumeClaim") {
      continue;
    }
    check_amounts({.type = limits.type, .min = limits.min}, {.requests = requests}, errors);
    for (const auto& [name, most] : limits.max) {
      const auto asked = requests.find(name);
      const std::string rule =
          fmt::format("maximum {} usage per {} is {}", name, limits.type, most.to_string());
      if (asked == requests.end()) {
        errors.push_back(rule + ".  No request is specified");
      } else if (asked->second > most) {
        errors.push_back(rule + fmt::format(", but request is {}", asked->second.to_string()));
      }
    }
  }
  return errors.empty() ? Result<void>() : refuse(kVolumeClaims, object, errors);
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
  if (request.kind == kVolumeClaims && request.subresource == Subresource::None) {
    return check_claim(request, object);
  }
  if (request.kind != kPods ||
      (request.before != nullptr && request.subresource != Subresource::Resize)) {
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
  return errors.empty() ? Result<void>() : refuse(kPods, object, errors);
}

} // namespace berth::store
