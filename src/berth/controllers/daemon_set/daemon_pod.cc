#include "berth/controllers/daemon_set/daemon_pod.h"

#include <algorithm>
#include <array>
#include <utility>

#include <boost/json/array.hpp>

#include "berth/api/json.h"
#include "berth/controllers/fields.h"
#include "berth/controllers/pod_from_template.h"
#include "berth/controllers/pod_status.h"
#include "berth/controllers/revision/revision.h"
#include "berth/model/node.h"
#include "berth/model/node_affinity.h"

namespace berth::controllers {
namespace {

namespace json = api::json;

constexpr std::string_view kGeneration = "deprecated.daemonset.template.generation";

struct Tolerated {
  std::string_view taint;
  std::string_view effect;
};
constexpr std::array<Tolerated, 7> kTolerated = {
    {{"node.kubernetes.io/not-ready", "NoExecute"},
     {"node.kubernetes.io/unreachable", "NoExecute"},
     {"node.kubernetes.io/disk-pressure", "NoSchedule"},
     {"node.kubernetes.io/memory-pressure", "NoSchedule"},
     {"node.kubernetes.io/pid-pressure", "NoSchedule"},
     {"node.kubernetes.io/unschedulable", "NoSchedule"},
     {"node.kubernetes.io/network-unavailable", "NoSchedule"}}};

void add_tolerations(json::object& spec) {
  const json::value* host = spec.if_contains("hostNetwork");
  const bool on_host = host != nullptr && host->is_bool() && host->get_bool();
  json::value& list = spec["tolerations"];
  json::array& tolerations = list.is_array() ? list.get_array() : list.emplace_array();
  for (const Tolerated& one : kTolerated) {
    if (one.taint == "node.kubernetes.io/network-unavailable" && !on_host) {
      continue;
    }
    json::object toleration{{"key", one.taint}, {"operator", "Exists"}, {"effect", one.effect}};
    if (std::ranges::find(tolerations, json::value(toleration)) == tolerations.end()) {
      tolerations.push_back(std::move(toleration));
    }
  }
}

/// Replaces what the template requires of nodes: the set has judged that already.
void set_target(json::object& spec, std::string_view node) {
  json::array fields{
      json::object{{"key", "metadata.name"}, {"operator", "In"}, {"values", json::array{node}}}};
  json::object& affinity = api::object_at(spec, "affinity");
  api::object_at(affinity, "nodeAffinity")["requiredDuringSchedulingIgnoredDuringExecution"] =
      json::object{
          {"nodeSelectorTerms", json::array{json::object{{"matchFields", std::move(fields)}}}}};
}

json::value template_of(const api::Object& set) {
  const json::value* held = api::find_path(set.json(), "spec.template");
  return held == nullptr ? json::value(json::object()) : *held;
}

bool untolerated(const model::Pod& pod, const model::Node& node, std::string_view effect) {
  return std::ranges::any_of(node.taints, [&](const model::Taint& taint) {
    return taint.effect == effect && !model::tolerates(pod.spec.tolerations, taint);
  });
}

} // namespace

json::object daemon_pod(const api::Object& set, std::string_view node, std::string_view hash,
                        const std::string& suffix) {
  json::object pod =
      pod_from_template(template_of(set), set, generate_name(set.meta().name, "-"), suffix);
  json::object& labels = api::object_at(api::object_at(pod, "metadata"), "labels");
  labels[kRevisionHashLabel] = hash;
  if (const auto found = set.meta().annotations.find(kGeneration);
      found != set.meta().annotations.end()) {
    labels["pod-template-generation"] = found->second;
  }
  json::object& spec = api::object_at(pod, "spec");
  set_target(spec, node);
  add_tolerations(spec);
  return pod;
}

NodeJudge::NodeJudge(const api::Object& set) {
  json::object pod = pod_from_template(template_of(set), set, "", "x");
  add_tolerations(api::object_at(pod, "spec"));
  if (auto decoded = model::decode_pod(json::value(std::move(pod)))) {
    pod_ = *std::move(decoded);
  }
}

DaemonNode NodeJudge::judge(const api::Object& node) const {
  const auto view = model::node_view(node);
  DaemonNode out{.name = node.meta().name};
  if (pod_ == nullptr || !view) {
    return out;
  }
  const model::PodSpec& spec = pod_->spec;
  if ((!spec.node_name.empty() && spec.node_name != out.name) ||
      !model::matches_required_affinity(spec, **view)) {
    return out;
  }
  out.may_stay = !untolerated(*pod_, **view, "NoExecute");
  out.should_run = out.may_stay && !untolerated(*pod_, **view, "NoSchedule");
  return out;
}

std::string target_node(const api::Object& pod) {
  if (const std::string_view bound = node_name(pod); !bound.empty()) {
    return std::string(bound);
  }
  for (const json::value& term :
       array_at(pod.json(), "spec.affinity.nodeAffinity."
                            "requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms")) {
    for (const json::value& field : array_at(term, "matchFields")) {
      const json::array& values = array_at(field, "values");
      if (api::string_at(field, "key") == "metadata.name" &&
          api::string_at(field, "operator") == "In" && values.size() == 1 &&
          values.front().is_string()) {
        return std::string(values.front().get_string());
      }
    }
  }
  return "";
}

} // namespace berth::controllers
