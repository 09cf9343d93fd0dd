#include "berth/store/validation/spec_text.h"

#include <algorithm>
#include <map>
#include <span>
#include <string_view>

namespace berth::store {
namespace {

namespace json = api::json;

/// How a field is shown: of a plain one an absent value is its zero, of others null.
enum class Form { Text, Number, Flag, Pointer, Texts, Amounts, Structs, Struct, Unknown };

struct Member {
  std::string_view name;
  std::string_view json_name;
  Form form;
  std::span<const Member> inner = {};
};

constexpr Member kName[] = {{"Name", "name", Form::Text}};
constexpr Member kToleration[] = {{"Key", "key", Form::Text},
                                  {"Operator", "operator", Form::Text},
                                  {"Value", "value", Form::Text},
                                  {"Effect", "effect", Form::Text},
                                  {"TolerationSeconds", "tolerationSeconds", Form::Pointer}};
constexpr Member kPort[] = {{"Name", "name", Form::Text},
                            {"HostPort", "hostPort", Form::Number},
                            {"ContainerPort", "containerPort", Form::Number},
                            {"Protocol", "protocol", Form::Text},
                            {"HostIP", "hostIP", Form::Text}};
constexpr Member kVariable[] = {{"Name", "name", Form::Text},
                                {"Value", "value", Form::Text},
                                {"ValueFrom", "valueFrom", Form::Unknown}};
constexpr Member kMount[] = {{"Name", "name", Form::Text},
                             {"ReadOnly", "readOnly", Form::Flag},
                             {"RecursiveReadOnly", "recursiveReadOnly", Form::Pointer},
                             {"MountPath", "mountPath", Form::Text},
                             {"SubPath", "subPath", Form::Text},
                             {"MountPropagation", "mountPropagation", Form::Pointer},
                             {"SubPathExpr", "subPathExpr", Form::Text}};
constexpr Member kResources[] = {{"Limits", "limits", Form::Amounts},
                                 {"Requests", "requests", Form::Amounts},
                                 {"Claims", "claims", Form::Unknown}};
constexpr Member kContainer[] = {
    {"Name", "name", Form::Text},
    {"Image", "image", Form::Text},
    {"Command", "command", Form::Texts},
    {"Args", "args", Form::Texts},
    {"WorkingDir", "workingDir", Form::Text},
    {"Ports", "ports", Form::Structs, kPort},
    {"EnvFrom", "envFrom", Form::Unknown},
    {"Env", "env", Form::Structs, kVariable},
    {"Resources", "resources", Form::Struct, kResources},
    {"ResizePolicy", "resizePolicy", Form::Unknown},
    {"RestartPolicy", "restartPolicy", Form::Pointer},
    {"RestartPolicyRules", "restartPolicyRules", Form::Unknown},
    {"VolumeMounts", "volumeMounts", Form::Structs, kMount},
    {"VolumeDevices", "volumeDevices", Form::Unknown},
    {"LivenessProbe", "livenessProbe", Form::Unknown},
    {"ReadinessProbe", "readinessProbe", Form::Unknown},
    {"StartupProbe", "startupProbe", Form::Unknown},
    {"Lifecycle", "lifecycle", Form::Unknown},
    {"TerminationMessagePath", "terminationMessagePath", Form::Text},
    {"TerminationMessagePolicy", "terminationMessagePolicy", Form::Text},
    {"ImagePullPolicy", "imagePullPolicy", Form::Text},
    {"SecurityContext", "securityContext", Form::Unknown},
    {"Stdin", "stdin", Form::Flag},
    {"StdinOnce", "stdinOnce", Form::Flag},
    {"TTY", "tty", Form::Flag}};
constexpr Member kSecurity[] = {
    {"HostNetwork", "hostNetwork", Form::Flag},
    {"HostPID", "hostPID", Form::Flag},
    {"HostIPC", "hostIPC", Form::Flag},
    {"ShareProcessNamespace", "shareProcessNamespace", Form::Pointer},
    {"HostUsers", "hostUsers", Form::Pointer},
    {"SELinuxOptions", "seLinuxOptions", Form::Unknown},
    {"WindowsOptions", "windowsOptions", Form::Unknown},
    {"RunAsUser", "runAsUser", Form::Pointer},
    {"RunAsGroup", "runAsGroup", Form::Pointer},
    {"RunAsNonRoot", "runAsNonRoot", Form::Pointer},
    {"SupplementalGroups", "supplementalGroups", Form::Texts},
    {"SupplementalGroupsPolicy", "supplementalGroupsPolicy", Form::Pointer},
    {"FSGroup", "fsGroup", Form::Pointer},
    {"FSGroupChangePolicy", "fsGroupChangePolicy", Form::Pointer},
    {"Sysctls", "sysctls", Form::Unknown},
    {"SeccompProfile", "seccompProfile", Form::Unknown},
    {"AppArmorProfile", "appArmorProfile", Form::Unknown},
    {"SELinuxChangePolicy", "seLinuxChangePolicy", Form::Pointer}};
constexpr Member kSpec[] = {
    {"Volumes", "volumes", Form::Unknown},
    {"InitContainers", "initContainers", Form::Structs, kContainer},
    {"Containers", "containers", Form::Structs, kContainer},
    {"EphemeralContainers", "ephemeralContainers", Form::Unknown},
    {"RestartPolicy", "restartPolicy", Form::Text},
    {"TerminationGracePeriodSeconds", "terminationGracePeriodSeconds", Form::Pointer},
    {"ActiveDeadlineSeconds", "activeDeadlineSeconds", Form::Pointer},
    {"DNSPolicy", "dnsPolicy", Form::Text},
    {"NodeSelector", "nodeSelector", Form::Amounts},
    {"ServiceAccountName", "serviceAccountName", Form::Text},
    {"AutomountServiceAccountToken", "automountServiceAccountToken", Form::Pointer},
    {"NodeName", "nodeName", Form::Text},
    {"SecurityContext", "securityContext", Form::Struct, kSecurity},
    {"ImagePullSecrets", "imagePullSecrets", Form::Structs, kName},
    {"Hostname", "hostname", Form::Text},
    {"Subdomain", "subdomain", Form::Text},
    {"SetHostnameAsFQDN", "setHostnameAsFQDN", Form::Pointer},
    {"Affinity", "affinity", Form::Unknown},
    {"SchedulerName", "schedulerName", Form::Text},
    {"Tolerations", "tolerations", Form::Structs, kToleration},
    {"HostAliases", "hostAliases", Form::Unknown},
    {"PriorityClassName", "priorityClassName", Form::Text},
    {"Priority", "priority", Form::Pointer},
    {"PreemptionPolicy", "preemptionPolicy", Form::Pointer},
    {"DNSConfig", "dnsConfig", Form::Unknown},
    {"ReadinessGates", "readinessGates", Form::Unknown},
    {"RuntimeClassName", "runtimeClassName", Form::Pointer},
    {"Overhead", "overhead", Form::Amounts},
    {"EnableServiceLinks", "enableServiceLinks", Form::Pointer},
    {"TopologySpreadConstraints", "topologySpreadConstraints", Form::Unknown},
    {"OS", "os", Form::Unknown},
    {"SchedulingGates", "schedulingGates", Form::Structs, kName},
    {"ResourceClaims", "resourceClaims", Form::Unknown},
    {"Resources", "resources", Form::Unknown},
    {"HostnameOverride", "hostnameOverride", Form::Pointer}};

class Writer {
 public:
  bool complete() const { return complete_; }
  std::vector<std::string> take() { return std::move(lines_); }

  void object(const json::object& of, std::span<const Member> members, std::string_view head,
              std::string_view tail) {
    add(std::string(head) + "{");
    ++depth_;
    for (std::size_t i = 0; i < members.size(); ++i) {
      member(of, members[i], i + 1 < members.size() ? "," : "");
    }
    --depth_;
    add("}" + std::string(tail));
  }

 private:
  void add(const std::string& text) { lines_.push_back(std::string(depth_, ' ') + text); }

  static std::string absent(Form form) {
    switch (form) {
    case Form::Text:
      return "\"\"";
    case Form::Number:
      return "0";
    case Form::Flag:
      return "false";
    default:
      return "null";
    }
  }

  void member(const json::object& of, const Member& field, std::string_view tail) {
    const std::string head = "\"" + std::string(field.name) + "\": ";
    const json::value* value = of.if_contains(field.json_name);
    const bool empty =
        value == nullptr || value->is_null() || (value->is_array() && value->get_array().empty());
    if (field.form == Form::Struct) {
      static const json::object kNone;
      object(value != nullptr && value->is_object() ? value->get_object() : kNone, field.inner,
             head, tail);
    } else if (empty) {
      add(head + absent(field.form) + std::string(tail));
    } else if (field.form == Form::Unknown) {
      complete_ = false;
    } else if (field.form == Form::Amounts && value->is_object()) {
      map(value->get_object(), head, tail);
    } else if (value->is_array()) {
      list(value->get_array(), field, head, tail);
    } else {
      add(head + api::to_json(*value) + std::string(tail));
    }
  }

  void map(const json::object& of, const std::string& head, std::string_view tail) {
    std::map<std::string, const json::value*> sorted;
    for (const auto& entry : of) {
      sorted.emplace(entry.key(), &entry.value());
    }
    add(head + "{");
    ++depth_;
    std::size_t left = sorted.size();
    for (const auto& [name, value] : sorted) {
      add(api::to_json(json::value(name)) + ": " + api::to_json(*value) + (--left > 0 ? "," : ""));
    }
    --depth_;
    add("}" + std::string(tail));
  }

  void list(const json::array& of, const Member& field, const std::string& head,
            std::string_view tail) {
    add(head + "[");
    ++depth_;
    std::size_t left = of.size();
    for (const json::value& one : of) {
      const std::string_view comma = --left > 0 ? "," : "";
      if (field.form == Form::Structs && one.is_object()) {
        object(one.get_object(), field.inner, "", comma);
      } else {
        add(api::to_json(one) + std::string(comma));
      }
    }
    --depth_;
    add("]" + std::string(tail));
  }

  std::vector<std::string> lines_;
  std::size_t depth_ = 0;
  bool complete_ = true;
};

/// A line without its indentation and the blank after its name.
std::string tight(std::string_view line) {
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  std::string out(line);
  if (out.starts_with('"')) {
    if (const std::size_t colon = out.find("\": "); colon != std::string::npos) {
      out.erase(colon + 2, 1);
    }
  }
  return out;
}

std::string sorted_text(const json::object& of) {
  std::map<std::string, const json::value*> sorted;
  for (const auto& entry : of) {
    sorted.emplace(entry.key(), &entry.value());
  }
  json::object out;
  for (const auto& [name, value] : sorted) {
    out[name] = *value;
  }
  return api::to_json(out);
}

} // namespace

std::optional<std::string> template_text(const json::value& pod) {
  const json::value* spec = api::find(pod, "spec");
  const auto lines = spec == nullptr ? std::nullopt : spec_text(*spec);
  if (!lines) {
    return std::nullopt;
  }
  std::string out = "{";
  for (const std::string_view map : {"labels", "annotations"}) {
    const json::value* meta = api::find(pod, "metadata");
    const json::value* found = meta == nullptr ? nullptr : api::find(*meta, map);
    if (found != nullptr && found->is_object() && !found->get_object().empty()) {
      out += "\"" + std::string(map) + "\":" + sorted_text(found->get_object()) + ",";
    }
  }
  out += "\"Spec\":";
  for (const std::string& line : *lines) {
    out += tight(line);
  }
  return out + "}";
}

std::optional<std::vector<std::string>> spec_text(const json::value& spec) {
  if (!spec.is_object()) {
    return std::nullopt;
  }
  // Internally these belong to the security context.
  json::object whole = spec.get_object();
  json::object& security = api::object_at(whole, "securityContext");
  for (const std::string_view field :
       {"hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace", "hostUsers"}) {
    if (const json::value* value = spec.get_object().if_contains(field)) {
      security[field] = *value;
    }
  }
  Writer writer;
  writer.object(whole, kSpec, "", "");
  return writer.complete() ? std::optional(writer.take()) : std::nullopt;
}

} // namespace berth::store
