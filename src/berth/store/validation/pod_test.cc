#include "berth/store/validation/pod.h"

#include "berth/store/admission_fixture.h"

namespace berth::store {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

struct InvalidCase {
  std::string name;
  std::string spec;
  std::string want; ///< after: Pod "a" is invalid: spec.
};
class InvalidPod : public AdmissionTest, public ::testing::WithParamInterface<InvalidCase> {};

TEST_P(InvalidPod, IsRefusedInKubernetesWords) {
  EXPECT_EQ(complaint(pod_with(GetParam().spec)), "Pod \"a\" is invalid: " + GetParam().want);
}

std::string asking(std::string_view resources) {
  return fmt::format(R"("containers":[{{"name":"c","image":"x","resources":{}}}])", resources);
}
std::string with(std::string_view more) {
  return fmt::format(R"("containers":[{{"name":"c","image":"x"}}],{})", more);
}

constexpr std::string_view kQualified =
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end "
    "with an alphanumeric "
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";

INSTANTIATE_TEST_SUITE_P(
    Containers, InvalidPod,
    ::testing::Values(
        InvalidCase{"none", "", "spec.containers: Required value"},
        InvalidCase{"empty", R"("containers":[])", "spec.containers: Required value"},
        InvalidCase{"nameless", R"("containers":[{"image":"x"}])",
                    "spec.containers[0].name: Required value"},
        InvalidCase{"imageless", R"("containers":[{"name":"c"}])",
                    "spec.containers[0].image: Required value"},
        InvalidCase{"twice", R"("containers":[{"name":"c","image":"x"},{"name":"c","image":"y"}])",
                    "spec.containers[1].name: Duplicate value: \"c\""},
        InvalidCase{"padded_image", R"("containers":[{"name":"c","image":" x"}])",
                    "spec.containers[0].image: Invalid value: \" x\": must not have leading or "
                    "trailing whitespace"},
        InvalidCase{"port",
                    R"("containers":[{"name":"c","image":"x","ports":[{"containerPort":70000}]}])",
                    "spec.containers[0].ports[0].containerPort: Invalid value: 70000: must be "
                    "between 1 and 65535, "
                    "inclusive"},
        InvalidCase{
            "protocol",
            R"("containers":[{"name":"c","image":"x","ports":[{"containerPort":7,"protocol":"QUIC"}]}])",
            "spec.containers[0].ports[0].protocol: Unsupported value: \"QUIC\": supported values: "
            "\"SCTP\", "
            "\"TCP\", \"UDP\""},
        InvalidCase{"env", R"("containers":[{"name":"c","image":"x","env":[{"name":"1=2"}]}])",
                    "spec.containers[0].env[0].name: Invalid value: \"1=2\": a valid environment "
                    "variable name must "
                    "consist only of printable ASCII characters other than '='"},
        InvalidCase{
            "mount",
            R"("containers":[{"name":"c","image":"x","volumeMounts":[{"name":"no","mountPath":"/x"}]}])",
            "spec.containers[0].volumeMounts[0].name: Not found: \"no\""}),
    [](const auto& one) { return one.param.name; });

std::string container(std::string_view more) {
  return fmt::format(R"("containers":[{{"name":"c","image":"x",{}}}])", more);
}

INSTANTIATE_TEST_SUITE_P(
    Parts, InvalidPod,
    ::testing::Values(
        InvalidCase{
            "probe", container(R"("livenessProbe":{})"),
            "spec.containers[0].livenessProbe: Required value: must specify a handler type"},
        InvalidCase{
            "two_handlers",
            container(R"("readinessProbe":{"exec":{"command":["a"]},"tcpSocket":{"port":1}})"),
            "spec.containers[0].readinessProbe.tcpSocket: Forbidden: may not specify more "
            "than 1 handler type"},
        InvalidCase{
            "probe_port", container(R"("startupProbe":{"httpGet":{"port":"Bad Port"}})"),
            "spec.containers[0].startupProbe.httpGet.port: Invalid value: \"Bad Port\": must "
            "contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)"},
        InvalidCase{
            "success_threshold",
            container(R"("livenessProbe":{"exec":{"command":["a"]},"successThreshold":2})"),
            "spec.containers[0].livenessProbe.successThreshold: Invalid value: 2: must be 1"},
        InvalidCase{"pull_policy", container(R"("imagePullPolicy":"Later")"),
                    "spec.containers[0].imagePullPolicy: Unsupported value: \"Later\": supported "
                    "values: \"Always\", \"IfNotPresent\", \"Never\""},
        InvalidCase{
            "field_path",
            container(R"("env":[{"name":"N","valueFrom":{"fieldRef":{"fieldPath":"spec.x"}}}])"),
            "spec.containers[0].env[0].valueFrom.fieldRef.fieldPath: Invalid value: "
            "\"spec.x\": error converting fieldPath: field label not supported: spec.x"},
        InvalidCase{
            "two_values",
            container(
                R"("env":[{"name":"N","value":"v","valueFrom":{"configMapKeyRef":{"name":"a","key":"k"}}}])"),
            "spec.containers[0].env[0].valueFrom: Invalid value: \"\": may not be specified "
            "when `value` is not empty"},
        InvalidCase{
            "port_twice",
            container(R"("ports":[{"name":"p","containerPort":1},{"name":"p","containerPort":2}])"),
            "spec.containers[0].ports[1].name: Duplicate value: \"p\""},
        InvalidCase{"run_as_user", container(R"("securityContext":{"runAsUser":-1})"),
                    "spec.containers[0].securityContext.runAsUser: Invalid value: -1: must be "
                    "between 0 and 2147483647, inclusive"},
        InvalidCase{
            "claim", container(R"("resources":{"claims":[{"name":"gpu"}]})"),
            "spec.containers[0].resources.claims[0]: Not found: \"gpu\": must be one of the "
            "names in pod.spec.resourceClaims which is empty"},
        InvalidCase{"volume_twice",
                    with(R"("volumes":[{"name":"v","emptyDir":{}},{"name":"v","emptyDir":{}}])"),
                    "spec.volumes[1].name: Duplicate value: \"v\""},
        InvalidCase{"two_sources",
                    with(R"("volumes":[{"name":"v","emptyDir":{},"hostPath":{"path":"/x"}}])"),
                    "spec.volumes[0].hostPath: Forbidden: may not specify more than 1 volume type"},
        InvalidCase{"secret_name", with(R"("volumes":[{"name":"v","secret":{}}])"),
                    "spec.volumes[0].secret.secretName: Required value"},
        InvalidCase{"back_steps", with(R"("volumes":[{"name":"v","hostPath":{"path":"/a/../b"}}])"),
                    "spec.volumes[0].hostPath.path: Invalid value: \"/a/../b\": must not contain "
                    "'..'"},
        InvalidCase{"dns_policy", with(R"("dnsPolicy":"None")"),
                    "spec.dnsConfig: Required value: must provide `dnsConfig` when `dnsPolicy` is "
                    "None"},
        InvalidCase{
            "host_port",
            R"("hostNetwork":true,"containers":[{"name":"c","image":"x","ports":[{"containerPort":80,"hostPort":81}]}])",
            "spec.containers[0].ports[0].hostPort: Invalid value: 81: must match "
            "`containerPort` when `hostNetwork` is true"},
        InvalidCase{
            "hostname", with(R"("hostname":"A")"),
            "spec.hostname: Invalid value: \"A\": a lowercase RFC 1123 label must consist of "
            "lower case alphanumeric characters or '-', and must start and end with an "
            "alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for "
            "validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"},
        InvalidCase{
            "init_probe",
            with(
                R"("initContainers":[{"name":"i","image":"x","livenessProbe":{"exec":{"command":["a"]}}}])"),
            "spec.initContainers[0].livenessProbe: Forbidden: may not be set for init "
            "containers without restartPolicy=Always"},
        InvalidCase{"restart_of_container", container(R"("restartPolicy":"Always")"),
                    "spec.containers[0].restartPolicy: Forbidden: may not be set for non-init "
                    "containers"},
        InvalidCase{
            "expression",
            with(
                R"("affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"a","operator":"In"}]}]}}})"),
            "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution."
            "nodeSelectorTerms[0].matchExpressions[0].values: Required value: must be "
            "specified when `operator` is 'In' or 'NotIn'"},
        InvalidCase{
            "min_domains",
            with(
                R"("topologySpreadConstraints":[{"maxSkew":1,"topologyKey":"z","whenUnsatisfiable":"ScheduleAnyway","minDomains":2}])"),
            "spec.topologySpreadConstraints[0].minDomains: Invalid value: 2: can only use "
            "minDomains if whenUnsatisfiable=DoNotSchedule, not ScheduleAnyway"},
        InvalidCase{"own_users", with(R"("hostUsers":false,"hostNetwork":true,"hostPID":true)"),
                    "[spec.hostNetwork: Forbidden: when `pod.Spec.HostUsers` is false, "
                    "spec.HostPID: Forbidden: when `pod.Spec.HostUsers` is false]"},
        InvalidCase{"overhead", with(R"("overhead":{"gpu":"1"})"),
                    "[spec.overhead.limits[gpu]: Invalid value: \"gpu\": must be a standard "
                    "resource type or fully qualified, spec.overhead.limits[gpu]: Invalid value: "
                    "\"gpu\": must be a standard resource for containers]"},
        InvalidCase{"ephemeral", with(R"("ephemeralContainers":[{"name":"e","image":"x"}])"),
                    "spec.ephemeralContainers: Forbidden: cannot be set on create"}),
    [](const auto& one) { return one.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Amounts, InvalidPod,
    ::testing::Values(
        InvalidCase{
            "gpu_request_below_limit",
            asking(R"({"limits":{"nvidia.com/gpu":"2"},"requests":{"nvidia.com/gpu":"1"}})"),
            "spec.containers[0].resources.requests: Invalid value: \"1\": must be equal to "
            "nvidia.com/gpu "
            "limit of 2"},
        InvalidCase{"gpu_without_limit", asking(R"({"requests":{"nvidia.com/gpu":"1"}})"),
                    "spec.containers[0].resources.limits: Required value: Limit must be set for "
                    "non overcommitable "
                    "resources"},
        InvalidCase{"half_a_gpu", asking(R"({"limits":{"nvidia.com/gpu":"500m"}})"),
                    "[spec.containers[0].resources.limits[nvidia.com/gpu]: Invalid value: "
                    "\"500m\": must be an "
                    "integer, spec.containers[0].resources.requests[nvidia.com/gpu]: Invalid "
                    "value: \"500m\": must be "
                    "an integer]"},
        InvalidCase{"negative", asking(R"({"limits":{"nvidia.com/gpu":"-1"}})"),
                    "[spec.containers[0].resources.limits[nvidia.com/gpu]: Invalid value: \"-1\": "
                    "must be greater "
                    "than or equal to 0, spec.containers[0].resources.requests[nvidia.com/gpu]: "
                    "Invalid value: "
                    "\"-1\": must be greater than or equal to 0]"},
        InvalidCase{"cpu_over_limit", asking(R"({"limits":{"cpu":"1"},"requests":{"cpu":"2"}})"),
                    "spec.containers[0].resources.requests: Invalid value: \"2\": must be less "
                    "than or equal to cpu "
                    "limit of 1"},
        InvalidCase{"unqualified", asking(R"({"requests":{"gpu":"1"},"limits":{"gpu":"1"}})"),
                    "[spec.containers[0].resources.limits[gpu]: Invalid value: \"gpu\": must be a "
                    "standard resource "
                    "type or fully qualified, spec.containers[0].resources.limits[gpu]: Invalid "
                    "value: \"gpu\": must "
                    "be a standard resource for containers, "
                    "spec.containers[0].resources.requests[gpu]: Invalid "
                    "value: \"gpu\": must be a standard resource type or fully qualified, "
                    "spec.containers[0].resources.requests[gpu]: Invalid value: \"gpu\": must be a "
                    "standard resource "
                    "for containers]"}),
    [](const auto& one) { return one.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Scheduling, InvalidPod,
    ::testing::Values(
        InvalidCase{
            "restart", with(R"("restartPolicy":"Sometimes")"),
            "spec.restartPolicy: Unsupported value: \"Sometimes\": supported values: \"Always\", "
            "\"OnFailure\", \"Never\""},
        InvalidCase{"node_selector", with(R"("nodeSelector":{"a b":"c"})"),
                    fmt::format("spec.nodeSelector: Invalid value: \"a b\": {}", kQualified)},
        InvalidCase{"exists_with_value",
                    with(R"("tolerations":[{"key":"a","operator":"Exists","value":"b"}])"),
                    "spec.tolerations[0].operator: Invalid value: \"b\": value must be empty when "
                    "`operator` is "
                    "'Exists'"},
        InvalidCase{"keyless", with(R"("tolerations":[{"operator":"Equal","value":"x"}])"),
                    "spec.tolerations[0].operator: Invalid value: \"Equal\": operator must be "
                    "Exists when `key` is "
                    "empty, which means \"match all values and all keys\""},
        InvalidCase{
            "seconds",
            with(R"("tolerations":[{"key":"k","effect":"NoSchedule","tolerationSeconds":3}])"),
            "spec.tolerations[0].effect: Invalid value: \"NoSchedule\": effect must be 'NoExecute' "
            "when "
            "`tolerationSeconds` is set"},
        InvalidCase{"operator", with(R"("tolerations":[{"key":"k","operator":"Like"}])"),
                    "spec.tolerations[0].operator: Unsupported value: \"Like\": supported values: "
                    "\"Equal\", "
                    "\"Exists\""},
        InvalidCase{"effect", with(R"("tolerations":[{"key":"k","effect":"Maybe"}])"),
                    "spec.tolerations[0].effect: Unsupported value: \"Maybe\": supported values: "
                    "\"NoSchedule\", "
                    "\"PreferNoSchedule\", \"NoExecute\""},
        InvalidCase{
            "no_terms",
            with(
                R"("affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[]}}})"),
            "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution."
            "nodeSelectorTerms: "
            "Required value: must have at least one node selector term"},
        InvalidCase{
            "weight",
            with(
                R"("affinity":{"nodeAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[{"weight":101,"preference":{}}]}})"),
            "spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight: "
            "Invalid "
            "value: 101: must be in the range 1-100"},
        InvalidCase{
            "skew",
            with(
                R"("topologySpreadConstraints":[{"maxSkew":0,"topologyKey":"z","whenUnsatisfiable":"DoNotSchedule"}])"),
            "spec.topologySpreadConstraints[0].maxSkew: Invalid value: 0: must be greater than "
            "zero"},
        InvalidCase{
            "gate", with(R"("schedulingGates":[{"name":"bad gate"}])"),
            fmt::format("spec.schedulingGates[0]: Invalid value: \"bad gate\": {}", kQualified)},
        InvalidCase{"gate_twice", with(R"("schedulingGates":[{"name":"g"},{"name":"g"}])"),
                    "spec.schedulingGates[1]: Duplicate value: \"g\""},
        InvalidCase{
            "gated_and_bound", with(R"("nodeName":"n","schedulingGates":[{"name":"g"}])"),
            "spec.nodeName: Forbidden: cannot be set until all schedulingGates have been cleared"},
        InvalidCase{"deadline", with(R"("activeDeadlineSeconds":0)"),
                    "spec.activeDeadlineSeconds: Invalid value: 0: must be between 1 and "
                    "2147483647, inclusive"},
        InvalidCase{
            "claim", with(R"("resourceClaims":[{"name":"r"}])"),
            "spec.resourceClaims[0]: Invalid value: {\"Name\":\"r\",\"ResourceClaimName\":null,"
            "\"ResourceClaimTemplateName\":null}: must specify one of: `resourceClaimName`, "
            "`resourceClaimTemplateName`"}),
    [](const auto& one) { return one.param.name; });

class PodUpdate : public AdmissionTest {
 protected:
  api::Object pod =
      create(
          pod_with(
              R"("containers":[{"name":"c","image":"x"}],"tolerations":[{"key":"k","operator":"Exists","effect":"NoExecute","tolerationSeconds":9}])"))
          .value();
};

TEST_F(PodUpdate, AFewFieldsMayChange) {
  EXPECT_TRUE(patch(pod, R"({"spec":{"containers":[{"name":"c","image":"y"}]}})"));
  EXPECT_TRUE(patch(pod, R"({"spec":{"activeDeadlineSeconds":5}})"));
  api::json::value more =
      *api::find_path(registry.get(kPods, pod.key())->json(), "spec.tolerations");
  more.as_array().push_back({{"key", "new"}, {"operator", "Exists"}});
  more.as_array().at(0).as_object()["tolerationSeconds"] = 60;
  EXPECT_TRUE(patch(pod, R"({"spec":{"tolerations":)" + api::to_json(more) + "}}"));
}

TEST_F(PodUpdate, TheRestMayNot) {
  for (const std::string_view spec :
       {R"({"nodeSelector":{"a":"b"}})", R"({"priority":7})",
        R"({"terminationGracePeriodSeconds":1})",
        R"({"containers":[{"name":"c","image":"x","args":["a"]}]})"}) {
    const auto changed = patch(pod, fmt::format(R"({{"spec":{}}})", spec));
    ASSERT_FALSE(changed) << spec;
    EXPECT_THAT(changed.error().message,
                HasSubstr("spec: Forbidden: pod updates may not change fields other than"));
  }
  EXPECT_THAT(
      patch(pod, R"({"spec":{"containers":[{"name":"c","image":"x"},{"name":"d","image":"x"}]}})")
          .error()
          .message,
      EndsWith("spec.containers: Forbidden: pod updates may not add or remove containers"));
  EXPECT_THAT(
      patch(pod, R"({"spec":{"tolerations":[]}})").error().message,
      EndsWith("spec.tolerations: Forbidden: existing toleration can not be modified except its "
               "tolerationSeconds"));
}

TEST_F(PodUpdate, GatesMayOnlyGo) {
  const auto gated =
      create(
          pod_with(
              R"("containers":[{"name":"c","image":"x"}],"schedulingGates":[{"name":"a"},{"name":"b"}])",
              "gated"))
          .value();
  EXPECT_THAT(
      patch(gated, R"({"spec":{"schedulingGates":[{"name":"a"},{"name":"z"}]}})").error().message,
      HasSubstr("spec.schedulingGates[1].name: Forbidden: only deletion is allowed, but found new "
                "scheduling "
                "gate 'z'"));
  EXPECT_TRUE(
      patch(gated, R"({"spec":{"schedulingGates":[{"name":"b"}],"nodeSelector":{"x":"y"}}})"));
  EXPECT_TRUE(patch(gated, R"({"spec":{"schedulingGates":null}})"));
  EXPECT_FALSE(patch(gated, R"({"spec":{"nodeSelector":{"x":"z"}}})"));
}

TEST_F(PodUpdate, ManyFaultsAreToldAtOnce) {
  const auto made = create(
      pod_with(R"("containers":[{"name":"c"}],"nodeName":"x y","restartPolicy":"No")", "many"));
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, Code::Invalid);
  ASSERT_EQ(made.error().causes.size(), 3u);
  EXPECT_EQ(made.error().causes[0].where->field, "spec.containers[0].image");
  EXPECT_EQ(made.error().causes[1].where->field, "spec.restartPolicy");
  EXPECT_EQ(made.error().causes[2].where->field, "spec.nodeName");
}

} // namespace
} // namespace berth::store
