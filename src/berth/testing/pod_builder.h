// pod("a").gpus(8).tolerates("x").build(): pods for tests, as documents and as typed views.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string_view>

#include "berth/model/pod.h"
#include "berth/testing/object_builder.h"

namespace berth::test {

/// Starts with namespace "default" and one container "main"; resource verbs speak of the container
/// named last.
class PodBuilder : public ObjectBuilder<PodBuilder> {
 public:
  explicit PodBuilder(std::string_view name) : ObjectBuilder("v1", "Pod", name) {
    ns("default");
    container("main");
  }

  /// A further container; the first call after construction with "main" is the default one.
  PodBuilder& container(std::string_view name) { return add_container("containers", name); }
  PodBuilder& init_container(std::string_view name) {
    return add_container("initContainers", name);
  }
  PodBuilder& sidecar(std::string_view name) {
    init_container(name);
    current()["restartPolicy"] = "Always";
    return *this;
  }
  PodBuilder& image(std::string_view image) {
    current()["image"] = text(image);
    return *this;
  }

  PodBuilder& request(std::string_view resource, std::string_view quantity) {
    api::object_at(api::object_at(current(), "resources"), "requests")[text(resource)] =
        text(quantity);
    return *this;
  }
  PodBuilder& limit(std::string_view resource, std::string_view quantity) {
    api::object_at(api::object_at(current(), "resources"), "limits")[text(resource)] =
        text(quantity);
    return *this;
  }
  PodBuilder& cpu(std::string_view quantity) { return request("cpu", quantity); }
  PodBuilder& memory(std::string_view quantity) { return request("memory", quantity); }
  PodBuilder& gpus(int n) { return extended(model::kGpuResource, std::to_string(n)); }
  /// Request and limit, as extended resources need.
  PodBuilder& extended(std::string_view resource, std::string_view quantity) {
    return request(resource, quantity).limit(resource, quantity);
  }
  PodBuilder& overhead(std::string_view resource, std::string_view quantity) {
    api::object_at(spec(), "overhead")[text(resource)] = text(quantity);
    return *this;
  }
  PodBuilder& host_port(int port, std::string_view protocol = "TCP", std::string_view ip = "") {
    list_at(current(), "ports")
        .emplace_back(json::object{{"containerPort", port},
                                   {"hostPort", port},
                                   {"protocol", text(protocol)},
                                   {"hostIP", text(ip)}});
    return *this;
  }

  PodBuilder& scheduler(std::string_view name) { return set_spec("schedulerName", text(name)); }
  PodBuilder& priority(std::int64_t value) { return set_spec("priority", value); }
  PodBuilder& priority_class(std::string_view name) {
    return set_spec("priorityClassName", text(name));
  }
  PodBuilder& preemption_policy(std::string_view policy) {
    return set_spec("preemptionPolicy", text(policy));
  }
  PodBuilder& restart_policy(std::string_view policy) {
    return set_spec("restartPolicy", text(policy));
  }
  PodBuilder& on_node(std::string_view node) { return set_spec("nodeName", text(node)); }
  PodBuilder& node_selector(std::string_view key, std::string_view value) {
    api::object_at(spec(), "nodeSelector")[text(key)] = text(value);
    return *this;
  }
  PodBuilder& gate(std::string_view name) {
    list_at(spec(), "schedulingGates").emplace_back(json::object{{"name", text(name)}});
    return *this;
  }
  /// Exists, any effect.
  PodBuilder& tolerates(std::string_view key) {
    list_at(spec(), "tolerations")
        .emplace_back(json::object{{"key", text(key)}, {"operator", "Exists"}});
    return *this;
  }
  PodBuilder& tolerates(std::string_view key, std::string_view value, std::string_view effect) {
    list_at(spec(), "tolerations")
        .emplace_back(
            json::object{{"key", text(key)}, {"value", text(value)}, {"effect", text(effect)}});
    return *this;
  }
  PodBuilder& tolerates_everything() {
    list_at(spec(), "tolerations").emplace_back(json::object{{"operator", "Exists"}});
    return *this;
  }

  using Values = std::initializer_list<std::string_view>;
  /// One more expression that the node must satisfy (all of them, in one term).
  PodBuilder& requires_node(std::string_view key, std::string_view op, Values values = {}) {
    json::object& required =
        api::object_at(node_affinity(), "requiredDuringSchedulingIgnoredDuringExecution");
    json::array& terms = list_at(required, "nodeSelectorTerms");
    if (terms.empty()) {
      terms.push_back(json::object());
    }
    list_at(terms.at(0).as_object(), "matchExpressions").push_back(expression(key, op, values));
    return *this;
  }
  PodBuilder& prefers_node(std::int64_t weight, std::string_view key, std::string_view op,
                           Values values = {}) {
    json::array expressions;
    expressions.push_back(expression(key, op, values));
    list_at(node_affinity(), "preferredDuringSchedulingIgnoredDuringExecution")
        .push_back(
            {{"weight", weight}, {"preference", json::object{{"matchExpressions", expressions}}}});
    return *this;
  }

  /// A volume of this claim, named as it is; otherwise where the pod has it twice.
  PodBuilder& claim(std::string_view name) {
    std::string volume_name(name);
    for (const json::value& other : list_at(spec(), "volumes")) {
      volume_name += api::string_at(other, "name") == volume_name ? "-again" : "";
    }
    return volume(volume_name, "persistentVolumeClaim", json::object{{"claimName", text(name)}});
  }
  /// A volume whose claim is made for the pod: "<pod>-<name>".
  PodBuilder& ephemeral(std::string_view name) {
    return volume(name, "ephemeral", json::object{{"volumeClaimTemplate", json::object{}}});
  }
  PodBuilder& volume(std::string_view name, std::string_view source, json::object what) {
    list_at(spec(), "volumes")
        .emplace_back(json::object{{"name", text(name)}, {text(source), std::move(what)}});
    return *this;
  }

  /// Member of the PodGroup of scheduling.x-k8s.io.
  PodBuilder& in_group(std::string_view group) { return label(model::kPodGroupLabel, group); }
  PodBuilder& run_for(std::string_view duration) {
    return annotation(model::kRunForAnnotation, duration);
  }

  /// terminationGracePeriodSeconds.
  PodBuilder& grace(std::int64_t seconds) {
    return set_spec("terminationGracePeriodSeconds", seconds);
  }
  /// activeDeadlineSeconds.
  PodBuilder& deadline(std::int64_t seconds) { return set_spec("activeDeadlineSeconds", seconds); }

  PodBuilder& phase(std::string_view phase) {
    status()["phase"] = text(phase);
    return *this;
  }
  PodBuilder& nominated(std::string_view node) {
    status()["nominatedNodeName"] = text(node);
    return *this;
  }

  std::shared_ptr<const model::Pod> build() const {
    return decoded(model::decode_pod(json::value(document())));
  }

 private:
  template <class T> PodBuilder& set_spec(std::string_view key, T value) {
    spec()[text(key)] = value;
    return *this;
  }
  PodBuilder& add_container(std::string_view list, std::string_view name) {
    list_ = list;
    list_at(spec(), list).emplace_back(json::object{{"name", text(name)}});
    return *this;
  }
  json::object& current() { return list_at(spec(), list_).back().as_object(); }
  json::object& node_affinity() {
    return api::object_at(api::object_at(spec(), "affinity"), "nodeAffinity");
  }
  static json::object expression(std::string_view key, std::string_view op, Values values) {
    json::object out{{"key", text(key)}, {"operator", text(op)}};
    if (values.size() > 0) {
      json::array& list = out["values"].emplace_array();
      for (const std::string_view value : values) {
        list.push_back(json::value(text(value)));
      }
    }
    return out;
  }

  std::string_view list_ = "containers"; // a literal
};

inline PodBuilder pod(std::string_view name) {
  return PodBuilder(name);
}

} // namespace berth::test
