#include "berth/server/live_resources.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/base/assert.h"
#include "berth/schema/custom_resource.h"
#include "berth/server/gpu_page.h"
#include "berth/server/list_query.h"
#include "berth/server/reading.h"
#include "berth/server/render.h"

namespace berth::server {
namespace {

namespace json = api::json;

constexpr std::string_view kMetrics = "metrics.k8s.io";
constexpr std::string_view kGpuMetrics = "metrics.berth.dev";

constexpr std::string_view kNodeMetrics = R"({"spec": {"group": "metrics.k8s.io",
  "scope": "Cluster", "names": {"plural": "nodes", "singular": "node", "kind": "NodeMetrics",
  "listKind": "NodeMetricsList"}, "versions": [{"name": "v1beta1", "served": true, "storage": true,
  "additionalPrinterColumns": [
    {"name": "cpu", "type": "string", "jsonPath": ".usage.cpu"},
    {"name": "memory", "type": "string", "jsonPath": ".usage.memory"},
    {"name": "Window", "type": "string", "jsonPath": ".window"}],
  "schema": {"openAPIV3Schema": {"type": "object",
    "description": "NodeMetrics sets resource usage metrics of a node.", "properties": {
    "timestamp": {"type": "string", "format": "date-time"}, "window": {"type": "string"},
    "usage": {"type": "object", "additionalProperties": {"type": "string"}}}}}}]}})";

constexpr std::string_view kPodMetrics = R"({"spec": {"group": "metrics.k8s.io",
  "scope": "Namespaced", "names": {"plural": "pods", "singular": "pod", "kind": "PodMetrics",
  "listKind": "PodMetricsList"}, "versions": [{"name": "v1beta1", "served": true, "storage": true,
  "additionalPrinterColumns": [
    {"name": "Window", "type": "string", "jsonPath": ".window"}],
  "schema": {"openAPIV3Schema": {"type": "object",
    "description": "PodMetrics sets resource usage metrics of a pod.", "properties": {
    "timestamp": {"type": "string", "format": "date-time"}, "window": {"type": "string"},
    "containers": {"type": "array", "items": {"type": "object", "properties": {
      "name": {"type": "string"},
      "usage": {"type": "object", "additionalProperties": {"type": "string"}}}}}}}}}]}})";

constexpr std::string_view kGpus = R"({"spec": {"group": "metrics.berth.dev",
  "scope": "Cluster", "names": {"plural": "gpus", "singular": "gpu", "kind": "GPU",
  "listKind": "GPUList"}, "versions": [{"name": "v1alpha1", "served": true, "storage": true,
  "additionalPrinterColumns": [
    {"name": "Product", "type": "string", "jsonPath": ".product"},
    {"name": "Utilization", "type": "integer", "jsonPath": ".utilization",
     "description": "Percent of the time that it computed."},
    {"name": "Memory-Used", "type": "string", "jsonPath": ".memory.used"},
    {"name": "Memory", "type": "string", "jsonPath": ".memory.capacity"},
    {"name": "Health", "type": "string", "jsonPath": ".health"},
    {"name": "Namespace", "type": "string", "jsonPath": ".pod.namespace"},
    {"name": "Pod", "type": "string", "jsonPath": ".pod.name"},
    {"name": "Reason", "type": "string", "jsonPath": ".reason", "priority": 1},
    {"name": "UUID", "type": "string", "jsonPath": ".uuid", "priority": 1}],
  "schema": {"openAPIV3Schema": {"type": "object",
    "description": "GPU is one GPU of a node: how busy it is, how it is, and who has it.",
    "properties": {
    "node": {"type": "string"}, "index": {"type": "integer"}, "uuid": {"type": "string"},
    "product": {"type": "string"},
    "utilization": {"type": "integer", "description": "Percent of the time that it computed."},
    "memory": {"type": "object", "properties": {"capacity": {"type": "string"},
      "used": {"type": "string"}}},
    "health": {"type": "string", "description": "Healthy or Unhealthy."},
    "reason": {"type": "string", "description": "Why it is unhealthy."},
    "pod": {"type": "object", "description": "Who has it.", "properties": {
      "namespace": {"type": "string"}, "name": {"type": "string"}, "uid": {"type": "string"},
      "container": {"type": "string"}}},
    "sharedBy": {"type": "array", "description": "Who has parts, replicas or MIG devices of it.",
      "items": {"type": "object", "properties": {"namespace": {"type": "string"},
      "name": {"type": "string"}, "uid": {"type": "string"}, "container": {"type": "string"},
      "has": {"type": "string", "description": "500m, 2 replicas, 1g.10gb."}}}},
    "instances": {"type": "array", "description": "The MIG devices that it is cut into.",
      "items": {"type": "object", "properties": {"uuid": {"type": "string"},
      "profile": {"type": "string"}, "gpuInstance": {"type": "integer"},
      "utilization": {"type": "integer"},
      "memory": {"type": "object", "properties": {"capacity": {"type": "string"},
        "used": {"type": "string"}}},
      "pod": {"type": "object", "properties": {"namespace": {"type": "string"},
        "name": {"type": "string"}, "uid": {"type": "string"},
        "container": {"type": "string"}}}}}},
    "processes": {"type": "array", "description": "Who computes on it, as its driver tells.",
      "items": {"type": "object", "properties": {
      "pid": {"type": "integer", "format": "int64", "description": "On the node."},
      "name": {"type": "string"}, "memory": {"type": "string"},
      "gpuInstance": {"type": "integer", "description": "The MIG instance that it computes on."},
      "pod": {"type": "object", "properties": {"namespace": {"type": "string"},
        "name": {"type": "string"}, "uid": {"type": "string"},
        "container": {"type": "string"}}}}}},
    "timestamp": {"type": "string", "format": "date-time"}, "window": {"type": "string"}}}}}]}})";

std::string memory_text(std::int64_t bytes) {
  return fmt::format("{}Ki", bytes / 1024);
}

json::object usage_of(std::int64_t nanocores, std::int64_t bytes) {
  return {{"cpu", fmt::format("{}n", nanocores)}, {"memory", memory_text(bytes)}};
}

/// The beginning of an object that is measured now, named and labelled like what it is of.
json::object measured(const schema::Resource& resource, json::object meta, const NodeUsage& usage) {
  meta["creationTimestamp"] = to_rfc3339(usage.at);
  return {{"kind", resource.kind},
          {"apiVersion", resource.gvk().api_version()},
          {"metadata", std::move(meta)},
          {"timestamp", to_rfc3339(usage.at)},
          {"window", fmt::format("{}s", usage.window.count_seconds())}};
}

json::object meta_like(const api::Object& original) {
  json::object meta{{"name", original.meta().name}};
  if (!original.meta().ns.empty()) {
    meta["namespace"] = original.meta().ns;
  }
  if (const json::value* labels = api::find_path(original.json(), "metadata.labels")) {
    meta["labels"] = *labels;
  }
  return meta;
}

void add(std::vector<api::Object>& to, json::object document) {
  if (auto object = api::Object::from_json(std::move(document))) {
    to.push_back(*std::move(object));
  }
}

/// What nodes say, each asked once.
class Measurements {
 public:
  explicit Measurements(const Nodes& nodes) : nodes_(nodes) {}

  const NodeUsage* of(const std::string& node) {
    const auto [at, fresh] = known_.try_emplace(node);
    if (fresh) {
      at->second = nodes_.usage(node);
    }
    return at->second ? &*at->second : nullptr;
  }

 private:
  const Nodes& nodes_;
  std::map<std::string, std::optional<NodeUsage>> known_;
};

std::vector<api::Object> node_metrics(const Shared& shared, const schema::Resource& resource,
                                      store::ListOptions what) {
  std::vector<api::Object> out;
  what.kind = store::kNodes;
  for (const api::Object& node : shared.registry->list(what).items) {
    if (const auto usage = shared.nodes->usage(node.meta().name)) {
      json::object document = measured(resource, meta_like(node), *usage);
      document["usage"] = usage_of(usage->cpu_nanocores, usage->memory_bytes);
      add(out, std::move(document));
    }
  }
  return out;
}

std::vector<api::Object> pod_metrics(const Shared& shared, const schema::Resource& resource,
                                     store::ListOptions what) {
  std::vector<api::Object> out;
  Measurements measurements(*shared.nodes);
  what.kind = store::kPods;
  for (const api::Object& pod : shared.registry->list(what).items) {
    const std::string node(store::node_of(pod));
    const NodeUsage* usage = node.empty() ? nullptr : measurements.of(node);
    if (usage == nullptr) {
      continue;
    }
    const auto own = std::ranges::find(usage->pods, pod.meta().uid, &PodUsage::uid);
    if (own == usage->pods.end()) {
      continue;
    }
    json::array containers;
    for (const ContainerUsage& container : own->containers) {
      containers.push_back(
          json::object{{"name", container.name},
                       {"usage", usage_of(container.cpu_nanocores, container.memory_bytes)}});
    }
    json::object document = measured(resource, meta_like(pod), *usage);
    document["containers"] = std::move(containers);
    add(out, std::move(document));
  }
  return out;
}

json::object gpu_document(const schema::Resource& resource, const std::string& node,
                          const NodeUsage& usage, const GpuUsage& gpu) {
  json::object meta{{"name", fmt::format("{}-gpu-{}", node, gpu.index)},
                    {"labels", json::object{{"kubernetes.io/hostname", node}}}};
  json::object document = measured(resource, std::move(meta), usage);
  document["node"] = node;
  document["index"] = gpu.index;
  document["uuid"] = gpu.uuid;
  document["product"] = gpu.product;
  if (gpu.percent) {
    document["utilization"] = *gpu.percent;
  }
  json::object memory{{"capacity", memory_text(gpu.memory_bytes)}};
  if (gpu.used_bytes) {
    memory["used"] = memory_text(*gpu.used_bytes);
  }
  document["memory"] = std::move(memory);
  document["health"] = gpu.sickness.empty() ? "Healthy" : "Unhealthy";
  if (!gpu.sickness.empty()) {
    document["reason"] = gpu.sickness;
  }
  return document;
}

json::array sharers_of(const GpuUsage& gpu, const std::map<std::string, api::Key>& pods) {
  json::array out;
  for (const GpuSharer& sharer : gpu.sharers) {
    if (const auto pod = pods.find(sharer.pod_uid); pod != pods.end()) {
      out.push_back(json::object{{"namespace", pod->second.ns},
                                 {"name", pod->second.name},
                                 {"uid", sharer.pod_uid},
                                 {"container", sharer.container},
                                 {"has", sharer.what}});
    }
  }
  return out;
}

/// Who has or uses something; nothing if the pod is not there.
void put_pod(const std::string& uid, const std::string& container,
             const std::map<std::string, api::Key>& pods, json::object& to) {
  if (const auto pod = pods.find(uid); pod != pods.end()) {
    to["pod"] = json::object{{"namespace", pod->second.ns},
                             {"name", pod->second.name},
                             {"uid", uid},
                             {"container", container}};
  }
}

json::array instances_of(const GpuUsage& gpu, const std::map<std::string, api::Key>& pods) {
  json::array out;
  for (const MigUsage& mig : gpu.instances) {
    json::object one{
        {"uuid", mig.uuid}, {"profile", mig.profile}, {"gpuInstance", mig.gpu_instance}};
    if (mig.percent) {
      one["utilization"] = *mig.percent;
    }
    if (mig.used_bytes && mig.free_bytes) {
      one["memory"] = json::object{{"capacity", memory_text(*mig.used_bytes + *mig.free_bytes)},
                                   {"used", memory_text(*mig.used_bytes)}};
    }
    put_pod(mig.pod_uid, mig.container, pods, one);
    out.push_back(std::move(one));
  }
  return out;
}

json::array processes_of(const GpuUsage& gpu, const std::map<std::string, api::Key>& pods) {
  json::array out;
  for (const GpuProcess& process : gpu.processes) {
    json::object one{{"pid", process.pid}, {"name", process.name}};
    if (process.used_bytes) {
      one["memory"] = memory_text(*process.used_bytes);
    }
    if (process.gpu_instance) {
      one["gpuInstance"] = *process.gpu_instance;
    }
    put_pod(process.pod_uid, process.container, pods, one);
    out.push_back(std::move(one));
  }
  return out;
}

std::vector<api::Object> gpu_metrics(const Shared& shared, const schema::Resource& resource,
                                     const store::ListOptions& what) {
  const std::map<std::string, api::Key> pods = pods_by_uid(*shared.registry);
  std::vector<api::Object> out;
  for (const api::Object& node :
       shared.registry->list({.kind = store::kNodes, .ns = "", .labels = {}}).items) {
    const auto usage = shared.nodes->usage(node.meta().name);
    for (const GpuUsage& gpu : usage ? usage->gpus : std::vector<GpuUsage>()) {
      json::object document = gpu_document(resource, node.meta().name, *usage, gpu);
      put_pod(gpu.pod_uid, gpu.container, pods, document);
      if (json::array instances = instances_of(gpu, pods); !instances.empty()) {
        document["instances"] = std::move(instances);
      }
      if (json::array sharers = sharers_of(gpu, pods); !sharers.empty()) {
        document["sharedBy"] = std::move(sharers);
      }
      if (json::array processes = processes_of(gpu, pods); !processes.empty()) {
        document["processes"] = std::move(processes);
      }
      add(out, std::move(document));
    }
  }
  std::erase_if(out, [&](const api::Object& gpu) { return !store::covers(what, gpu); });
  return out;
}

std::vector<api::Object> measure(const Shared& shared, const schema::Resource& resource,
                                 const store::ListOptions& what) {
  if (resource.group == kGpuMetrics) {
    return gpu_metrics(shared, resource, what);
  }
  return resource.kind == "PodMetrics" ? pod_metrics(shared, resource, what)
                                       : node_metrics(shared, resource, what);
}

/// In metrics-server's words.
Error nothing_measured(const Call& call, const schema::Resource& resource) {
  const std::string what = resource.group == kGpuMetrics   ? "gpus"
                           : resource.kind == "PodMetrics" ? "podmetrics"
                                                           : "nodemetrics";
  return {.code = Code::NotFound,
          .message = fmt::format("{}.{} \"{}\" not found", what, resource.group,
                                 api::Key{call.info.ns, call.info.name}.to_string())};
}

/// Of one object its node, else all nodes.
std::vector<std::string> nodes_in_question(const Shared& shared, const Call& call,
                                           const schema::Resource& resource) {
  if (call.info.verb == "get" && resource.kind == "NodeMetrics") {
    return {call.info.name};
  }
  if (call.info.verb == "get" && resource.kind == "PodMetrics") {
    const auto pod = shared.registry->get(store::kPods, {call.info.ns, call.info.name});
    return {pod ? std::string(store::node_of(*pod)) : std::string()};
  }
  return node_names(*shared.registry);
}

} // namespace

std::vector<schema::Resource> live_resources() {
  std::vector<schema::Resource> out;
  for (const std::string_view text : {kNodeMetrics, kPodMetrics, kGpus}) {
    const auto definition = api::parse_json(text);
    BERTH_ASSERT(definition.has_value(), std::string(text));
    auto resources = schema::resources_of(*definition);
    BERTH_ASSERT(resources.has_value(), std::string(text));
    for (schema::Resource& resource : *resources) {
      resource.verbs = {"get", "list"};
      out.push_back(std::move(resource));
    }
  }
  return out;
}

bool is_live(const schema::Resource& resource) {
  return resource.group == kMetrics || resource.group == kGpuMetrics;
}

void answer_live_later(const Shared& shared, Call& call, const schema::Resource& resource) {
  // What is asked about lives as long as the call, whose answer this gives.
  call.later = [shared, &call, resource](const net::HttpRespond& respond) {
    shared.nodes->measure(
        nodes_in_question(shared, call, resource), [shared, &call, resource, respond] {
          auto answered = answer_live(shared, call, resource);
          respond(answered ? *std::move(answered) : to_response(std::move(answered).error()));
        });
  };
}

Answer<net::HttpResponse> answer_live(const Shared& shared, const Call& call,
                                      const schema::Resource& resource) {
  const auto options = render_options(shared, call);
  if (!options) {
    return tl::unexpected(options.error());
  }
  auto query = list_query(call.info, resource, call.query);
  if (!query) {
    return tl::unexpected(std::move(query).error());
  }
  const bool one = call.info.verb == "get";
  if (one) {
    query->what = {.kind = query->what.kind,
                   .ns = query->what.ns,
                   .labels = {},
                   .node = {},
                   .name = call.info.name};
  }
  const std::vector<api::Object> found = measure(shared, resource, query->what);
  if (!one) {
    return answer(200, call, render_list(found, {}, resource, *options));
  }
  if (found.empty()) {
    return tl::unexpected(status_of(nothing_measured(call, resource)));
  }
  return answer(200, call, render_object(found.front(), resource, *options));
}

} // namespace berth::server
