#include "berth/store/pod_defaults.h"

#include <array>

#include "berth/api/quantity.h"
#include "berth/model/pod.h"
#include "berth/model/requests.h"
#include "berth/store/document.h"

namespace berth::store {
namespace {

using api::json::array;
using api::json::object;

constexpr std::int64_t kDefaultMode = 0644;
constexpr std::int64_t kTolerationSeconds = 300;
constexpr std::int64_t kTokenSeconds = 3600;

/// Always for :latest and untagged images, else IfNotPresent.
std::string_view pull_policy(std::string_view image) {
  if (image.find('@') != std::string_view::npos) {
    return "IfNotPresent";
  }
  const std::size_t slash = image.rfind('/');
  const std::string_view name = slash == std::string_view::npos ? image : image.substr(slash + 1);
  const std::size_t colon = name.find(':');
  return colon == std::string_view::npos || name.substr(colon + 1) == "latest" ? "Always"
                                                                               : "IfNotPresent";
}

/// "1.5" becomes "1500m"; what does not parse stays for decoding to refuse.
void canonical_quantities(object& resources, std::string_view member) {
  object* list = object_in(resources, member);
  if (list == nullptr) {
    return;
  }
  for (auto& entry : *list) {
    api::json::value& value = entry.value();
    const std::string text =
        value.is_string() ? std::string(value.get_string()) : api::to_json(value);
    if (value.is_string() || value.is_number()) {
      if (const auto quantity = api::Quantity::parse(text)) {
        value = quantity->to_string();
      }
    }
  }
}

void default_resources(object& container) {
  set_default(container, "resources", object());
  if (object* resources = object_in(container, "resources")) {
    canonical_quantities(*resources, "limits");
    canonical_quantities(*resources, "requests");
  }
}

void default_http_get(object& action) {
  if (object* http = object_in(action, "httpGet")) {
    set_default(*http, "path", "/");
    set_default(*http, "scheme", "HTTP");
  }
}

void default_probe(object& container, std::string_view member) {
  object* probe = object_in(container, member);
  if (probe == nullptr) {
    return;
  }
  default_http_get(*probe);
  if (object* grpc = object_in(*probe, "grpc")) {
    set_default(*grpc, "service", "");
  }
  set_default(*probe, "timeoutSeconds", 1);
  set_default(*probe, "periodSeconds", 10);
  set_default(*probe, "successThreshold", 1);
  set_default(*probe, "failureThreshold", 3);
}

/// What the downward API is asked for.
void default_reference(object& of) {
  if (object* field = object_in(of, "fieldRef")) {
    set_default(*field, "apiVersion", "v1");
  }
  if (object* resource = object_in(of, "resourceFieldRef")) {
    set_default(*resource, "divisor", "0");
  }
}

void default_environment(object& container) {
  each_in(container, "env", [](object& variable) {
    if (object* from = object_in(variable, "valueFrom")) {
      default_reference(*from);
    }
  });
}

enum class Network { Pod, Host };

void default_container(object& container, Network network) {
  each_in(container, "ports", [&](object& port) {
    if (network == Network::Host && has(port, "containerPort")) {
      set_default(port, "hostPort", port["containerPort"]);
    }
    set_default(port, "protocol", "TCP");
  });
  default_environment(container);
  default_resources(container);
  for (const std::string_view probe : {"livenessProbe", "readinessProbe", "startupProbe"}) {
    default_probe(container, probe);
  }
  if (object* lifecycle = object_in(container, "lifecycle")) {
    for (const std::string_view hook : {"postStart", "preStop"}) {
      if (object* action = object_in(*lifecycle, hook)) {
        default_http_get(*action);
      }
    }
  }
  set_default(container, "terminationMessagePath", "/dev/termination-log");
  set_default(container, "terminationMessagePolicy", "File");
  set_default(container, "imagePullPolicy",
              api::json::value(pull_policy(text_at(container, "image"))));
}

void default_projection(object& source) {
  if (object* token = object_in(source, "serviceAccountToken")) {
    set_default(*token, "expirationSeconds", kTokenSeconds);
  }
  if (object* downward = object_in(source, "downwardAPI")) {
    each_in(*downward, "items", &default_reference);
  }
}

/// The account has an older name too.
void keep_accounts_in_step(object& spec) {
  const std::string name(text_at(spec, "serviceAccountName"));
  const std::string older(text_at(spec, "serviceAccount"));
  if (!name.empty()) {
    spec["serviceAccount"] = name;
  } else if (!older.empty()) {
    spec["serviceAccountName"] = older;
  }
}

void default_volume(object& volume) {
  if (volume.size() == 1 && has(volume, "name")) {
    volume["emptyDir"] = object();
  }
  for (const std::string_view source : {"configMap", "secret", "downwardAPI", "projected"}) {
    if (object* files = object_in(volume, source)) {
      set_default(*files, "defaultMode", kDefaultMode);
    }
  }
  if (object* downward = object_in(volume, "downwardAPI")) {
    each_in(*downward, "items", &default_reference);
  }
  if (object* projected = object_in(volume, "projected")) {
    each_in(*projected, "sources", &default_projection);
  }
  if (object* claim = object_in(volume, "ephemeral")) {
    if (object* made = object_in(*claim, "volumeClaimTemplate")) {
      set_default(api::object_at(*made, "spec"), "volumeMode", "Filesystem");
    }
  }
  if (object* host = object_in(volume, "hostPath")) {
    set_default(*host, "type", "");
  }
}

/// Limits without requests are requests too; in a pod, not in a template.
void request_what_is_limited(object& container) {
  object* resources = object_in(container, "resources");
  object* limits = resources == nullptr ? nullptr : object_in(*resources, "limits");
  if (limits == nullptr || limits->empty()) {
    return;
  }
  const object given = *limits;
  object& requests = api::object_at(*resources, "requests");
  for (const auto& limit : given) {
    set_default(requests, limit.key(), limit.value());
  }
}

void first_status(const AdmissionRequest& request, api::json::value& document) {
  const auto pod = model::decode_pod(document);
  if (!pod) {
    return; // check_decodable says why
  }
  object status{{"phase", "Pending"}};
  if (!(*pod)->spec.scheduling_gates.empty()) {
    status["conditions"] =
        array{object{{"type", "PodScheduled"},
                     {"status", "False"},
                     {"lastProbeTime", nullptr},
                     {"lastTransitionTime", to_rfc3339(request.now)},
                     {"reason", "SchedulingGated"},
                     {"message", "Scheduling is blocked due to non-empty scheduling gates"}}};
  }
  status["qosClass"] = model::qos_class((*pod)->spec);
  document.as_object()["status"] = std::move(status);
}

} // namespace

void default_pod_spec(object& spec) {
  each_in(spec, "volumes", default_volume);
  const api::json::value* host = spec.if_contains("hostNetwork");
  const Network network =
      host != nullptr && host->is_bool() && host->get_bool() ? Network::Host : Network::Pod;
  for (const std::string_view list : {"initContainers", "containers", "ephemeralContainers"}) {
    each_in(spec, list, [&](object& container) { default_container(container, network); });
  }
  set_default(spec, "restartPolicy", "Always");
  set_default(spec, "terminationGracePeriodSeconds", 30);
  set_default(spec, "dnsPolicy", "ClusterFirst");
  set_default(spec, "securityContext", object());
  set_default(spec, "schedulerName", "default-scheduler");
  keep_accounts_in_step(spec);
  if (object* resources = object_in(spec, "resources")) {
    canonical_quantities(*resources, "limits");
    canonical_quantities(*resources, "requests");
  }
}

Result<void> default_pod(const AdmissionRequest& request, api::json::value& document) {
  object* spec = object_in(document.as_object(), "spec");
  if (request.kind != kPods || spec == nullptr) {
    return {};
  }
  default_pod_spec(*spec);
  for (const std::string_view list : {"initContainers", "containers"}) {
    each_in(*spec, list, request_what_is_limited);
  }
  set_default(*spec, "enableServiceLinks", true);
  if (request.operation == AdmissionRequest::Operation::Create) {
    first_status(request, document);
  }
  return {};
}

Result<void> default_tolerations(const AdmissionRequest& request, api::json::value& document) {
  object* spec = object_in(document.as_object(), "spec");
  if (request.kind != kPods || spec == nullptr) {
    return {};
  }
  const auto tolerates = [&](std::string_view key) {
    bool found = false;
    each_in(*spec, "tolerations", [&](object& toleration) {
      const std::string_view tolerated = text_at(toleration, "key");
      const std::string_view effect = text_at(toleration, "effect");
      found = found || ((tolerated == key || tolerated.empty()) &&
                        (effect == "NoExecute" || effect.empty()));
    });
    return found;
  };
  for (const std::string_view key :
       {"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"}) {
    if (tolerates(key)) {
      continue;
    }
    api::json::value& list = (*spec)["tolerations"];
    if (list.is_null()) {
      list.emplace_array();
    }
    if (array* tolerations = list.if_array()) {
      tolerations->push_back(object{{"key", key},
                                    {"operator", "Exists"},
                                    {"effect", "NoExecute"},
                                    {"tolerationSeconds", kTolerationSeconds}});
    }
  }
  return {};
}

} // namespace berth::store
