#include "berth/controllers/endpoints/backends.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include <boost/json/array.hpp>

#include "berth/api/json.h"
#include "berth/api/same.h"
#include "berth/base/assert.h"
#include "berth/controllers/fields.h"
#include "berth/controllers/pod_status.h"
#include "berth/model/pod_selector.h"

namespace berth::controllers {

using api::Object;

namespace {

namespace json = api::json;

struct Backend {
  const Object* pod;
  std::string ip;
  bool serving = false;
  bool terminating = false;
};

bool headless(const Object& service) {
  return api::string_at(service.json(), "spec.clusterIP") == "None";
}

bool publishes_unready(const Object& service) {
  return flag_at(service, "spec.publishNotReadyAddresses");
}

std::vector<Backend> backends_of(const Object& service, const std::vector<Object>& pods) {
  std::vector<Backend> out;
  for (const Object& pod : pods) {
    const std::string_view ip = api::string_at(pod.json(), "status.podIP");
    if (!ip.empty() && !terminal(pod) && serves(service, pod)) {
      out.push_back({.pod = &pod,
                     .ip = std::string(ip),
                     .serving = pod_ready(pod),
                     .terminating = pod.meta().deletion_timestamp.has_value()});
    }
  }
  std::ranges::sort(out, {}, [](const Backend& one) { return one.pod->meta().name; });
  return out;
}

/// The number of a pod's container port of this name.
std::optional<std::int64_t> named_port(const Object& pod, std::string_view name,
                                       std::string_view protocol) {
  for (const char* list : {"spec.containers", "spec.initContainers"}) {
    for (const json::value& container : array_at(pod.json(), list)) {
      for (const json::value& port : array_at(container, "ports")) {
        const std::string_view own = api::string_at(port, "protocol");
        if (api::string_at(port, "name") == name && (own.empty() ? "TCP" : own) == protocol) {
          return number_at(port, "containerPort", 0);
        }
      }
    }
  }
  return std::nullopt;
}

/// The Service's ports as this pod serves them; those that it does not are left out.
json::array ports_of(const Object& service, const Object& pod) {
  json::array out;
  for (const json::value& port : array_at(service.json(), "spec.ports")) {
    const std::string_view given = api::string_at(port, "protocol");
    const std::string_view protocol = given.empty() ? "TCP" : given;
    const json::value* target = api::find(port, "targetPort");
    std::optional<std::int64_t> number = number_at(port, "targetPort", number_at(port, "port", 0));
    if (target != nullptr && target->is_string()) {
      number = named_port(pod, target->get_string(), protocol);
    }
    if (!number) {
      continue;
    }
    json::object served;
    if (const std::string_view name = api::string_at(port, "name"); !name.empty()) {
      served["name"] = name;
    }
    served["port"] = *number;
    served["protocol"] = protocol;
    if (const std::string_view app = api::string_at(port, "appProtocol"); !app.empty()) {
      served["appProtocol"] = app;
    }
    out.push_back(std::move(served));
  }
  return out;
}

json::object target_of(const Object& pod) {
  return {{"kind", "Pod"},
          {"namespace", pod.meta().ns},
          {"name", pod.meta().name},
          {"uid", pod.meta().uid}};
}

/// The pod's own name in the Service's domain.
std::string_view hostname_in(const Object& service, const Object& pod) {
  return api::string_at(pod.json(), "spec.subdomain") == service.meta().name
             ? api::string_at(pod.json(), "spec.hostname")
             : std::string_view();
}

/// Backends by the ports they serve; a text of the ports makes the order.
using ByPorts = std::map<std::string, std::pair<json::array, std::vector<Backend>>>;

ByPorts by_ports(const Object& service, std::vector<Backend> backends) {
  ByPorts out;
  for (Backend& backend : backends) {
    json::array ports = ports_of(service, *backend.pod);
    if (ports.empty() && !headless(service)) {
      continue;
    }
    auto& group = out[api::to_json(ports)];
    group.first = std::move(ports);
    group.second.push_back(std::move(backend));
  }
  return out;
}

json::object slice_endpoint(const Object& service, const Backend& backend) {
  const bool ready = publishes_unready(service) || (backend.serving && !backend.terminating);
  json::object out{{"addresses", json::array{backend.ip}},
                   {"conditions", json::object{{"ready", ready},
                                               {"serving", backend.serving},
                                               {"terminating", backend.terminating}}}};
  if (const auto name = hostname_in(service, *backend.pod); !name.empty()) {
    out["hostname"] = name;
  }
  if (const auto node = node_name(*backend.pod); !node.empty()) {
    out["nodeName"] = node;
  }
  out["targetRef"] = target_of(*backend.pod);
  return out;
}

Object document(json::object text) {
  auto made = Object::from_json(std::move(text));
  BERTH_ASSERT(made.has_value(), to_string(made.error()));
  return *std::move(made);
}

json::object service_labels(const Object& service) {
  json::object labels;
  for (const auto& [key, value] : service.meta().labels) {
    labels[key] = value;
  }
  if (headless(service)) {
    labels["service.kubernetes.io/headless"] = "";
  }
  return labels;
}

Object new_slice(const Object& service, json::array ports, json::array endpoints) {
  json::object labels = service_labels(service);
  labels["endpointslice.kubernetes.io/managed-by"] = "endpointslice-controller.k8s.io";
  labels["kubernetes.io/service-name"] = service.meta().name;
  json::object slice{{"apiVersion", "discovery.k8s.io/v1"},
                     {"kind", "EndpointSlice"},
                     {"metadata", json::object{{"generateName", service.meta().name + "-"},
                                               {"namespace", service.meta().ns},
                                               {"labels", std::move(labels)}}},
                     {"addressType", "IPv4"},
                     {"endpoints", std::move(endpoints)},
                     {"ports", std::move(ports)}};
  api::set_controller(slice, service);
  return document(std::move(slice));
}

bool same_member(const Object& a, const Object& b, std::string_view member) {
  const json::value* one = api::find(a.json(), member);
  const json::value* other = api::find(b.json(), member);
  return one == other || (one != nullptr && other != nullptr && *one == *other);
}

} // namespace

bool has_backends(const Object& service) {
  const auto view = model::label_map_view(service);
  return view && (*view)->selector && api::string_at(service.json(), "spec.type") != "ExternalName";
}

bool serves(const Object& service, const Object& pod) {
  const auto view = model::label_map_view(service);
  return view && (*view)->selector && (*view)->selector->matches(pod.meta().labels);
}

Object endpoints_of(const Object& service, const std::vector<Object>& pods) {
  json::array subsets;
  for (const auto& [text, group] : by_ports(service, backends_of(service, pods))) {
    json::array ready;
    json::array waiting;
    for (const Backend& backend : group.second) {
      if (backend.terminating && !publishes_unready(service)) {
        continue;
      }
      json::object address{{"ip", backend.ip}};
      if (const auto name = hostname_in(service, *backend.pod); !name.empty()) {
        address["hostname"] = name;
      }
      if (const auto node = node_name(*backend.pod); !node.empty()) {
        address["nodeName"] = node;
      }
      address["targetRef"] = target_of(*backend.pod);
      (backend.serving || publishes_unready(service) ? ready : waiting)
          .push_back(std::move(address));
    }
    json::object subset;
    if (!ready.empty()) {
      subset["addresses"] = std::move(ready);
    }
    if (!waiting.empty()) {
      subset["notReadyAddresses"] = std::move(waiting);
    }
    if (!subset.empty()) {
      if (!group.first.empty()) {
        subset["ports"] = group.first;
      }
      subsets.push_back(std::move(subset));
    }
  }
  json::object labels = service_labels(service);
  labels["endpoints.kubernetes.io/managed-by"] = "endpoint-controller";
  json::object out{{"apiVersion", "v1"},
                   {"kind", "Endpoints"},
                   {"metadata", json::object{{"name", service.meta().name},
                                             {"namespace", service.meta().ns},
                                             {"labels", std::move(labels)}}}};
  if (!subsets.empty()) {
    out["subsets"] = std::move(subsets);
  }
  return document(std::move(out));
}

SliceChanges plan_slices(const Object& service, const std::vector<Object>& pods,
                         const std::vector<Object>& held) {
  std::vector<Object> wanted;
  for (const auto& [text, group] : by_ports(service, backends_of(service, pods))) {
    for (std::size_t first = 0; first < group.second.size(); first += kSliceSize) {
      json::array endpoints;
      for (std::size_t i = first; i < std::min(first + kSliceSize, group.second.size()); ++i) {
        endpoints.push_back(slice_endpoint(service, group.second[i]));
      }
      wanted.push_back(new_slice(service, group.first, std::move(endpoints)));
    }
  }
  if (wanted.empty()) {
    wanted.push_back(new_slice(service, {}, {}));
  }
  SliceChanges changes;
  std::vector<Object> left = held;
  for (Object& slice : wanted) {
    auto match = std::ranges::find_if(
        left, [&](const Object& one) { return same_member(one, slice, "ports"); });
    if (match == left.end()) {
      match = left.begin();
    }
    if (match == left.end()) {
      changes.create.push_back(std::move(slice));
      continue;
    }
    const Object next = match->edit([&](json::object& text) {
      text["endpoints"] = *api::find(slice.json(), "endpoints");
      text["ports"] = *api::find(slice.json(), "ports");
      api::object_at(text, "metadata")["labels"] = *api::find_path(slice.json(), "metadata.labels");
    });
    if (!api::same(next.json(), match->json())) {
      changes.update.push_back(next);
    }
    left.erase(match);
  }
  changes.remove = std::move(left);
  return changes;
}

} // namespace berth::controllers
