#include "berth/store/validation/spec_text.h"

#include <map>
#include <string_view>

#include "berth/store/validation/internal_text.h"
#include "berth/store/validation/internal_volumes.h"

namespace berth::store {
namespace {

namespace json = api::json;

using internal::kField;
using internal::kName;
using internal::kResourceField;

constexpr Member kToleration[] = {{"Key", "key", Form::Text},
                                  {"Operator", "operator", Form::Text},
                                  {"Value", "value", Form::Text},
                                  {"Effect", "effect", Form::Text},
                                  {"TolerationSeconds", "tolerationSeconds", Form::Pointer}};

// ---- containers
constexpr Member kPort[] = {{"Name", "name", Form::Text},
                            {"HostPort", "hostPort", Form::Number},
                            {"ContainerPort", "containerPort", Form::Number},
                            {"Protocol", "protocol", Form::Text},
                            {"HostIP", "hostIP", Form::Text}};
constexpr Member kKey[] = {{"Name", "name", Form::Text},
                           {"Key", "key", Form::Text},
                           {"Optional", "optional", Form::Pointer}};
constexpr Member kValueSource[] = {
    {"FieldRef", "fieldRef", Form::StructPointer, kField},
    {"ResourceFieldRef", "resourceFieldRef", Form::StructPointer, kResourceField},
    {"ConfigMapKeyRef", "configMapKeyRef", Form::StructPointer, kKey},
    {"SecretKeyRef", "secretKeyRef", Form::StructPointer, kKey},
    {"FileKeyRef", "fileKeyRef", Form::Unknown}};
constexpr Member kVariable[] = {{"Name", "name", Form::Text},
                                {"Value", "value", Form::Text},
                                {"ValueFrom", "valueFrom", Form::StructPointer, kValueSource}};
constexpr Member kAllKeys[] = {{"Name", "name", Form::Text},
                               {"Optional", "optional", Form::Pointer}};
constexpr Member kVariables[] = {{"Prefix", "prefix", Form::Text},
                                 {"ConfigMapRef", "configMapRef", Form::StructPointer, kAllKeys},
                                 {"SecretRef", "secretRef", Form::StructPointer, kAllKeys}};
constexpr Member kMount[] = {{"Name", "name", Form::Text},
                             {"ReadOnly", "readOnly", Form::Flag},
                             {"RecursiveReadOnly", "recursiveReadOnly", Form::Pointer},
                             {"MountPath", "mountPath", Form::Text},
                             {"SubPath", "subPath", Form::Text},
                             {"MountPropagation", "mountPropagation", Form::Pointer},
                             {"SubPathExpr", "subPathExpr", Form::Text}};
constexpr Member kDevice[] = {{"Name", "name", Form::Text},
                              {"DevicePath", "devicePath", Form::Text}};
constexpr Member kResourceClaim[] = {{"Name", "name", Form::Text},
                                     {"Request", "request", Form::Text}};
constexpr Member kResources[] = {{"Limits", "limits", Form::Amounts},
                                 {"Requests", "requests", Form::Amounts},
                                 {"Claims", "claims", Form::Structs, kResourceClaim}};
constexpr Member kResizePolicy[] = {{"ResourceName", "resourceName", Form::Text},
                                    {"RestartPolicy", "restartPolicy", Form::Text}};
constexpr Member kExec[] = {{"Command", "command", Form::Texts}};
constexpr Member kHeader[] = {{"Name", "name", Form::Text}, {"Value", "value", Form::Text}};
constexpr Member kHttpGet[] = {{"Path", "path", Form::Text},
                               {"Port", "port", Form::Port},
                               {"Host", "host", Form::Text},
                               {"Scheme", "scheme", Form::Text},
                               {"HTTPHeaders", "httpHeaders", Form::Structs, kHeader}};
constexpr Member kTcp[] = {{"Port", "port", Form::Port}, {"Host", "host", Form::Text}};
constexpr Member kGrpc[] = {{"Port", "port", Form::Number}, {"Service", "service", Form::Pointer}};
constexpr Member kSleep[] = {{"Seconds", "seconds", Form::Number}};
constexpr Member kProbe[] = {
    {"Exec", "exec", Form::StructPointer, kExec},
    {"HTTPGet", "httpGet", Form::StructPointer, kHttpGet},
    {"TCPSocket", "tcpSocket", Form::StructPointer, kTcp},
    {"GRPC", "grpc", Form::StructPointer, kGrpc},
    {"InitialDelaySeconds", "initialDelaySeconds", Form::Number},
    {"TimeoutSeconds", "timeoutSeconds", Form::Number},
    {"PeriodSeconds", "periodSeconds", Form::Number},
    {"SuccessThreshold", "successThreshold", Form::Number},
    {"FailureThreshold", "failureThreshold", Form::Number},
    {"TerminationGracePeriodSeconds", "terminationGracePeriodSeconds", Form::Pointer}};
constexpr Member kHook[] = {{"Exec", "exec", Form::StructPointer, kExec},
                            {"HTTPGet", "httpGet", Form::StructPointer, kHttpGet},
                            {"TCPSocket", "tcpSocket", Form::StructPointer, kTcp},
                            {"Sleep", "sleep", Form::StructPointer, kSleep}};
constexpr Member kLifecycle[] = {{"PostStart", "postStart", Form::StructPointer, kHook},
                                 {"PreStop", "preStop", Form::StructPointer, kHook},
                                 {"StopSignal", "stopSignal", Form::Pointer}};
constexpr Member kCapabilities[] = {{"Add", "add", Form::Texts}, {"Drop", "drop", Form::Texts}};
constexpr Member kSeLinux[] = {{"User", "user", Form::Text},
                               {"Role", "role", Form::Text},
                               {"Type", "type", Form::Text},
                               {"Level", "level", Form::Text}};
constexpr Member kProfile[] = {{"Type", "type", Form::Text},
                               {"LocalhostProfile", "localhostProfile", Form::Pointer}};
constexpr Member kContainerSecurity[] = {
    {"Capabilities", "capabilities", Form::StructPointer, kCapabilities},
    {"Privileged", "privileged", Form::Pointer},
    {"SELinuxOptions", "seLinuxOptions", Form::StructPointer, kSeLinux},
    {"WindowsOptions", "windowsOptions", Form::Unknown},
    {"RunAsUser", "runAsUser", Form::Pointer},
    {"RunAsGroup", "runAsGroup", Form::Pointer},
    {"RunAsNonRoot", "runAsNonRoot", Form::Pointer},
    {"ReadOnlyRootFilesystem", "readOnlyRootFilesystem", Form::Pointer},
    {"AllowPrivilegeEscalation", "allowPrivilegeEscalation", Form::Pointer},
    {"ProcMount", "procMount", Form::Pointer},
    {"SeccompProfile", "seccompProfile", Form::StructPointer, kProfile},
    {"AppArmorProfile", "appArmorProfile", Form::StructPointer, kProfile}};
constexpr Member kContainer[] = {
    {"Name", "name", Form::Text},
    {"Image", "image", Form::Text},
    {"Command", "command", Form::Texts},
    {"Args", "args", Form::Texts},
    {"WorkingDir", "workingDir", Form::Text},
    {"Ports", "ports", Form::Structs, kPort},
    {"EnvFrom", "envFrom", Form::Structs, kVariables},
    {"Env", "env", Form::Structs, kVariable},
    {"Resources", "resources", Form::Struct, kResources},
    {"ResizePolicy", "resizePolicy", Form::Structs, kResizePolicy},
    {"RestartPolicy", "restartPolicy", Form::Pointer},
    {"RestartPolicyRules", "restartPolicyRules", Form::Unknown},
    {"VolumeMounts", "volumeMounts", Form::Structs, kMount},
    {"VolumeDevices", "volumeDevices", Form::Structs, kDevice},
    {"LivenessProbe", "livenessProbe", Form::StructPointer, kProbe},
    {"ReadinessProbe", "readinessProbe", Form::StructPointer, kProbe},
    {"StartupProbe", "startupProbe", Form::StructPointer, kProbe},
    {"Lifecycle", "lifecycle", Form::StructPointer, kLifecycle},
    {"TerminationMessagePath", "terminationMessagePath", Form::Text},
    {"TerminationMessagePolicy", "terminationMessagePolicy", Form::Text},
    {"ImagePullPolicy", "imagePullPolicy", Form::Text},
    {"SecurityContext", "securityContext", Form::StructPointer, kContainerSecurity},
    {"Stdin", "stdin", Form::Flag},
    {"StdinOnce", "stdinOnce", Form::Flag},
    {"TTY", "tty", Form::Flag}};
// ---- what the whole pod asks for
constexpr Member kSysctl[] = {{"Name", "name", Form::Text}, {"Value", "value", Form::Text}};
constexpr Member kSecurity[] = {
    {"HostNetwork", "hostNetwork", Form::Flag},
    {"HostPID", "hostPID", Form::Flag},
    {"HostIPC", "hostIPC", Form::Flag},
    {"ShareProcessNamespace", "shareProcessNamespace", Form::Pointer},
    {"HostUsers", "hostUsers", Form::Pointer},
    {"SELinuxOptions", "seLinuxOptions", Form::StructPointer, kSeLinux},
    {"WindowsOptions", "windowsOptions", Form::Unknown},
    {"RunAsUser", "runAsUser", Form::Pointer},
    {"RunAsGroup", "runAsGroup", Form::Pointer},
    {"RunAsNonRoot", "runAsNonRoot", Form::Pointer},
    {"SupplementalGroups", "supplementalGroups", Form::Texts},
    {"SupplementalGroupsPolicy", "supplementalGroupsPolicy", Form::Pointer},
    {"FSGroup", "fsGroup", Form::Pointer},
    {"FSGroupChangePolicy", "fsGroupChangePolicy", Form::Pointer},
    {"Sysctls", "sysctls", Form::Structs, kSysctl},
    {"SeccompProfile", "seccompProfile", Form::StructPointer, kProfile},
    {"AppArmorProfile", "appArmorProfile", Form::StructPointer, kProfile},
    {"SELinuxChangePolicy", "seLinuxChangePolicy", Form::Pointer}};
constexpr Member kExpression[] = {{"Key", "key", Form::Text},
                                  {"Operator", "operator", Form::Text},
                                  {"Values", "values", Form::Texts}};
constexpr Member kNodeTerm[] = {
    {"MatchExpressions", "matchExpressions", Form::Structs, kExpression},
    {"MatchFields", "matchFields", Form::Structs, kExpression}};
constexpr Member kNodeSelector[] = {
    {"NodeSelectorTerms", "nodeSelectorTerms", Form::Structs, kNodeTerm}};
constexpr Member kPreferredNodes[] = {{"Weight", "weight", Form::Number},
                                      {"Preference", "preference", Form::Struct, kNodeTerm}};
constexpr std::string_view kRequired = "RequiredDuringSchedulingIgnoredDuringExecution";
constexpr std::string_view kRequiredJson = "requiredDuringSchedulingIgnoredDuringExecution";
constexpr std::string_view kPreferred = "PreferredDuringSchedulingIgnoredDuringExecution";
constexpr std::string_view kPreferredJson = "preferredDuringSchedulingIgnoredDuringExecution";
constexpr Member kNodeAffinity[] = {{kRequired, kRequiredJson, Form::StructPointer, kNodeSelector},
                                    {kPreferred, kPreferredJson, Form::Structs, kPreferredNodes}};
constexpr Member kPodTerm[] = {{"LabelSelector", "labelSelector", Form::Plain},
                               {"Namespaces", "namespaces", Form::Texts},
                               {"TopologyKey", "topologyKey", Form::Text},
                               {"NamespaceSelector", "namespaceSelector", Form::Plain},
                               {"MatchLabelKeys", "matchLabelKeys", Form::Texts},
                               {"MismatchLabelKeys", "mismatchLabelKeys", Form::Texts}};
constexpr Member kWeightedPodTerm[] = {
    {"Weight", "weight", Form::Number},
    {"PodAffinityTerm", "podAffinityTerm", Form::Struct, kPodTerm}};
constexpr Member kPodAffinity[] = {{kRequired, kRequiredJson, Form::Structs, kPodTerm},
                                   {kPreferred, kPreferredJson, Form::Structs, kWeightedPodTerm}};
constexpr Member kAffinity[] = {
    {"NodeAffinity", "nodeAffinity", Form::StructPointer, kNodeAffinity},
    {"PodAffinity", "podAffinity", Form::StructPointer, kPodAffinity},
    {"PodAntiAffinity", "podAntiAffinity", Form::StructPointer, kPodAffinity}};
constexpr Member kSpread[] = {{"MaxSkew", "maxSkew", Form::Number},
                              {"TopologyKey", "topologyKey", Form::Text},
                              {"WhenUnsatisfiable", "whenUnsatisfiable", Form::Text},
                              {"LabelSelector", "labelSelector", Form::Plain},
                              {"MinDomains", "minDomains", Form::Pointer},
                              {"NodeAffinityPolicy", "nodeAffinityPolicy", Form::Pointer},
                              {"NodeTaintsPolicy", "nodeTaintsPolicy", Form::Pointer},
                              {"MatchLabelKeys", "matchLabelKeys", Form::Texts}};
constexpr Member kAlias[] = {{"IP", "ip", Form::Text}, {"Hostnames", "hostnames", Form::Texts}};
constexpr Member kDnsOption[] = {{"Name", "name", Form::Text}, {"Value", "value", Form::Pointer}};
constexpr Member kDns[] = {{"Nameservers", "nameservers", Form::Texts},
                           {"Searches", "searches", Form::Texts},
                           {"Options", "options", Form::Structs, kDnsOption}};
constexpr Member kReadinessGate[] = {{"ConditionType", "conditionType", Form::Text}};
constexpr Member kClaim[] = {
    {"Name", "name", Form::Text},
    {"ResourceClaimName", "resourceClaimName", Form::Pointer},
    {"ResourceClaimTemplateName", "resourceClaimTemplateName", Form::Pointer}};
constexpr Member kSpec[] = {
    {"Volumes", "volumes", Form::Structs, internal::kVolume},
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
    {"Affinity", "affinity", Form::StructPointer, kAffinity},
    {"SchedulerName", "schedulerName", Form::Text},
    {"Tolerations", "tolerations", Form::Structs, kToleration},
    {"HostAliases", "hostAliases", Form::Structs, kAlias},
    {"PriorityClassName", "priorityClassName", Form::Text},
    {"Priority", "priority", Form::Pointer},
    {"PreemptionPolicy", "preemptionPolicy", Form::Pointer},
    {"DNSConfig", "dnsConfig", Form::StructPointer, kDns},
    {"ReadinessGates", "readinessGates", Form::Structs, kReadinessGate},
    {"RuntimeClassName", "runtimeClassName", Form::Pointer},
    {"Overhead", "overhead", Form::Amounts},
    {"EnableServiceLinks", "enableServiceLinks", Form::Pointer},
    {"TopologySpreadConstraints", "topologySpreadConstraints", Form::Structs, kSpread},
    {"OS", "os", Form::StructPointer, kName},
    {"SchedulingGates", "schedulingGates", Form::Structs, kName},
    {"ResourceClaims", "resourceClaims", Form::Structs, kClaim},
    {"Resources", "resources", Form::StructPointer, kResources},
    {"HostnameOverride", "hostnameOverride", Form::Pointer}};

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
  return out + "\"Spec\":" + on_one_line(*lines) + "}";
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
  return internal_lines(whole, kSpec);
}

} // namespace berth::store
