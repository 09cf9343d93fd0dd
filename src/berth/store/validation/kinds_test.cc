// What is said of objects of every kind that the API server refuses.
#include "berth/store/admission_fixture.h"

namespace berth::store {
namespace {

struct Refused {
  std::string name;
  std::string object; ///< apiVersion, kind and what differs from a name alone
  std::string want;   ///< after: KIND "a" is invalid:
};
class RefusedObject : public AdmissionTest, public ::testing::WithParamInterface<Refused> {};

TEST_P(RefusedObject, InKubernetesWords) {
  api::json::value document = api::parse_json("{" + GetParam().object + "}").value();
  api::object_at(document.as_object(), "metadata")["name"] = "a";
  const auto object = api::Object::from_json(std::move(document)).value();
  EXPECT_EQ(complaint(object),
            fmt::format("{} \"a\" is invalid: {}", kind_text(group_kind(object)), GetParam().want));
}

std::string of(std::string_view version, std::string_view kind, std::string_view rest) {
  return fmt::format(R"("apiVersion":"{}","kind":"{}",{})", version, kind, rest);
}
std::string service(std::string_view spec) {
  return of("v1", "Service", fmt::format(R"("spec":{{{}}})", spec));
}
std::string deployment(std::string_view spec, std::string_view labels = R"({"a":"b"})",
                       std::string_view pod = R"("containers":[{"name":"c","image":"x"}])") {
  return of("apps/v1", "Deployment",
            fmt::format(R"("spec":{{{}"template":{{"metadata":{{"labels":{}}},"spec":{{{}}}}}}})",
                        spec, labels, pod));
}
std::string job(std::string_view spec) {
  return of(
      "batch/v1", "Job",
      fmt::format(
          R"("spec":{{{},"template":{{"spec":{{"restartPolicy":"Never","containers":[{{"name":"c","image":"x"}}]}}}}}})",
          spec));
}
const std::string kSelector = R"("selector":{"matchLabels":{"a":"b"}},)";

INSTANTIATE_TEST_SUITE_P(
    Metadata, RefusedObject,
    ::testing::Values(
        Refused{"finalizer", of("v1", "ConfigMap", R"("metadata":{"finalizers":["mine"]})"),
                "metadata.finalizers[0]: Invalid value: \"mine\": name is neither a standard "
                "finalizer name nor is it fully qualified"},
        Refused{
            "owner",
            of("v1", "ConfigMap",
               R"("metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"p","uid":""}]})"),
            "metadata.ownerReferences.uid: Invalid value: \"\": must not be empty"},
        Refused{
            "two_controllers",
            of("v1", "ConfigMap",
               R"("metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"p","uid":"1","controller":true},{"apiVersion":"v1","kind":"Pod","name":"q","uid":"2","controller":true}]})"),
            "metadata.ownerReferences: Invalid value: "
            R"([{"apiVersion":"v1","kind":"Pod","name":"p","uid":"1","controller":true},{"apiVersion":"v1","kind":"Pod","name":"q","uid":"2","controller":true}])"
            ": Only one reference can have Controller set to true. Found \"true\" in "
            "references for Pod/p and Pod/q"}),
    [](const auto& one) { return one.param.name; });

std::string event(std::string_view rest) {
  return of("v1", "Event",
            fmt::format(R"("involvedObject":{{"kind":"Pod","namespace":"default"}},{})", rest));
}

INSTANTIATE_TEST_SUITE_P(
    Events, RefusedObject,
    ::testing::Values(
        Refused{"new_form",
                event(R"("eventTime":"2026-01-01T00:00:00.000000Z","reportingComponent":"a b")"),
                "[reportingComponent: Invalid value: \"a b\": name part must consist of "
                "alphanumeric characters, '-', '_' or '.', and must start and end with an "
                "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used "
                "for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]'), "
                "reportingInstance: Required value, action: Required value, reason: Required "
                "value]"},
        Refused{"elsewhere", of("v1", "Event", R"("involvedObject":{"namespace":"b"})"),
                "involvedObject.namespace: Invalid value: \"b\": does not match "
                "event.namespace"}),
    [](const auto& one) { return one.param.name; });

std::string stateful_set(std::string_view spec) {
  return of("apps/v1", "StatefulSet",
            fmt::format(R"("spec":{{"selector":{{"matchLabels":{{"a":"b"}}}},"template":)"
                        R"({{"metadata":{{"labels":{{"a":"b"}}}},"spec":{{"containers":[)"
                        R"({{"name":"c","image":"x"}}]}}}},{}}})",
                        spec));
}

INSTANTIATE_TEST_SUITE_P(
    MoreWorkloads, RefusedObject,
    ::testing::Values(
        Refused{"stateful_set",
                stateful_set(R"("replicas":-1,"updateStrategy":{"type":"Sideways"},)"
                             R"("persistentVolumeClaimRetentionPolicy":{"whenDeleted":"Keep"})"),
                "[spec.updateStrategy: Invalid value: "
                R"({"Type":"Sideways","RollingUpdate":null})"
                ": must be 'RollingUpdate' or 'OnDelete', "
                "spec.persistentVolumeClaimRetentionPolicy.whenDeleted: Unsupported value: "
                "\"Keep\": supported values: \"Retain\", \"Delete\", spec.replicas: Invalid "
                "value: -1: must be greater than or equal to 0]"},
        Refused{"daemon_set",
                of("apps/v1", "DaemonSet",
                   R"("spec":{"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[)"
                   R"({"name":"c","image":"x"}]}},"updateStrategy":{"rollingUpdate":)"
                   R"({"maxUnavailable":0}}})"),
                "[spec.template.metadata.labels: Invalid value: {\"a\":\"b\"}: `selector` does "
                "not match template `labels`, spec.updateStrategy.rollingUpdate.maxUnavailable: "
                "Required value: cannot be 0 when maxSurge is 0]"},
        Refused{"budget",
                of("policy/v1", "PodDisruptionBudget",
                   R"("spec":{"minAvailable":1,"maxUnavailable":"5%"})"),
                "spec: Invalid value: "
                R"({"MinAvailable":1,"Selector":null,"MaxUnavailable":"5%",)"
                R"("UnhealthyPodEvictionPolicy":null})"
                ": minAvailable and maxUnavailable cannot be both set"},
        Refused{"kubelet_port", service(R"("type":"LoadBalancer","ports":[{"port":10250}])"),
                "spec.ports[0]: Invalid value: 10250: may not expose port 10250 externally since "
                "it is used by kubelet"}),
    [](const auto& one) { return one.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Config, RefusedObject,
    ::testing::Values(
        Refused{"key", of("v1", "ConfigMap", R"("data":{"a b":"c"})"),
                "data[a b]: Invalid value: \"a b\": a valid config key must consist of "
                "alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or "
                "'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"},
        Refused{"both", of("v1", "ConfigMap", R"("data":{"k":"c"},"binaryData":{"k":"Yw=="})"),
                "data[k]: Invalid value: \"k\": duplicate of key present in binaryData"},
        Refused{"tls", of("v1", "Secret", R"("type":"kubernetes.io/tls")"),
                "[data[tls.crt]: Required value, data[tls.key]: Required value]"},
        Refused{"account_token",
                of("v1", "Secret", R"("type":"kubernetes.io/service-account-token")"),
                "metadata.annotations[kubernetes.io/service-account.name]: Required value"},
        Refused{"docker", of("v1", "Secret", R"("type":"kubernetes.io/dockerconfigjson")"),
                "data[.dockerconfigjson]: Required value"}),
    [](const auto& one) { return one.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Services, RefusedObject,
    ::testing::Values(
        Refused{"no_ports", service(R"("selector":{"a":"b"})"), "spec.ports: Required value"},
        Refused{"port", service(R"("ports":[{"port":0}])"),
                "[spec.ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive, "
                "spec.ports[0].targetPort: Invalid value: 0: must be between 1 and 65535, "
                "inclusive]"},
        Refused{"names", service(R"("ports":[{"port":1},{"port":2}])"),
                "[spec.ports[0].name: Required value, spec.ports[1].name: Required value]"},
        Refused{"type", service(R"("type":"Nope","ports":[{"port":1}])"),
                "spec.type: Unsupported value: \"Nope\": supported values: \"ClusterIP\", "
                "\"ExternalName\", \"LoadBalancer\", \"NodePort\""},
        Refused{"external_name", service(R"("type":"ExternalName")"),
                "spec.externalName: Required value"},
        Refused{"node_port_of_cluster_ip", service(R"("ports":[{"port":1,"nodePort":30001}])"),
                "spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'"},
        Refused{"node_port_range",
                service(R"("type":"NodePort","ports":[{"port":1,"nodePort":80}])"),
                "spec.ports[0].nodePort: Invalid value: 80: provided port is not in the valid "
                "range. The range of valid ports is 30000-32767"},
        Refused{"affinity", service(R"("sessionAffinity":"Some","ports":[{"port":1}])"),
                "spec.sessionAffinity: Unsupported value: \"Some\": supported values: "
                "\"ClientIP\", \"None\""},
        Refused{
            "same_port", service(R"("ports":[{"name":"a","port":1},{"name":"b","port":1}])"),
            "spec.ports[1]: Duplicate value: "
            R"({"Name":"","Protocol":"TCP","AppProtocol":null,"Port":1,"TargetPort":0,"NodePort":0})"}),
    [](const auto& one) { return one.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Workloads, RefusedObject,
    ::testing::Values(
        Refused{"no_selector", deployment(""),
                "[spec.selector: Required value, spec.template.metadata.labels: Invalid value: "
                "{\"a\":\"b\"}: `selector` does not match template `labels`]"},
        Refused{"other_labels", deployment(kSelector, R"({"a":"c"})"),
                "spec.template.metadata.labels: Invalid value: {\"a\":\"c\"}: `selector` does not "
                "match template `labels`"},
        Refused{"replicas", deployment(kSelector + R"("replicas":-1,)"),
                "spec.replicas: Invalid value: -1: must be greater than or equal to 0"},
        Refused{"restart_policy",
                deployment(kSelector, R"({"a":"b"})",
                           R"("restartPolicy":"Never","containers":[{"name":"c","image":"x"}])"),
                "spec.template.spec.restartPolicy: Unsupported value: \"Never\": supported values: "
                "\"Always\""},
        Refused{"strategy", deployment(kSelector + R"("strategy":{"type":"Blue"},)"),
                "spec.strategy: Unsupported value: {\"Type\":\"Blue\",\"RollingUpdate\":null}: "
                "supported values: \"Recreate\", \"RollingUpdate\""},
        Refused{
            "stuck",
            deployment(
                kSelector +
                R"("strategy":{"type":"RollingUpdate","rollingUpdate":{"maxSurge":0,"maxUnavailable":0}},)"),
            "spec.strategy.rollingUpdate.maxUnavailable: Invalid value: 0: may not be 0 when "
            "`maxSurge` is 0"},
        Refused{"deadline",
                deployment(kSelector + R"("progressDeadlineSeconds":1,"minReadySeconds":5,)"),
                "spec.progressDeadlineSeconds: Invalid value: 1: must be greater than "
                "minReadySeconds"},
        Refused{"per_index", job(R"("backoffLimitPerIndex":1)"),
                "spec.backoffLimitPerIndex: Invalid value: 1: requires indexed completion mode"},
        Refused{"managed_by", job(R"("managedBy":"me")"),
                "spec.managedBy: Invalid value: \"me\": must be a domain-prefixed path (such as "
                "\"acme.io/foo\")"},
        Refused{"failure_rule", job(R"("podFailurePolicy":{"rules":[{"action":"Ignore"}]})"),
                "spec.podFailurePolicy.rules[0]: Invalid value: specifying one of OnExitCodes and "
                "OnPodConditions is required"},
        Refused{
            "exit_code",
            job(R"("podFailurePolicy":{"rules":[{"action":"FailJob","onExitCodes":{"operator":"In","values":[3,0]}}]})"),
            "[spec.podFailurePolicy.rules[0].onExitCodes.values[1]: Invalid value: 0: must not "
            "be 0 for the In operator, spec.podFailurePolicy.rules[0].onExitCodes.values: "
            "Invalid value: [3,0]: must be ordered]"}),
    [](const auto& one) { return one.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Limits, RefusedObject,
    ::testing::Values(
        Refused{"quota", of("v1", "ResourceQuota", R"("spec":{"hard":{"gpus":"1"}})"),
                "[spec.hard[gpus]: Invalid value: \"gpus\": must be a standard resource type or "
                "fully qualified, spec.hard[gpus]: Invalid value: \"gpus\": must be a standard "
                "resource for quota]"},
        Refused{"scope", of("v1", "ResourceQuota", R"("spec":{"scopes":["Best"]})"),
                "spec.scopes: Invalid value: [\"Best\"]: unsupported scope"},
        Refused{"range_type", of("v1", "LimitRange", R"("spec":{"limits":[{"type":"Box"}]})"),
                "spec.limits[0].type: Invalid value: \"Box\": must be a standard limit type or "
                "fully qualified"},
        Refused{"range_order",
                of("v1", "LimitRange",
                   R"("spec":{"limits":[{"type":"Pod","min":{"cpu":"2"},"max":{"cpu":"1"}}]})"),
                "spec.limits[0].min[cpu]: Invalid value: \"2\": min value 2 is greater than max "
                "value 1"}),
    [](const auto& one) { return one.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Others, RefusedObject,
    ::testing::Values(
        Refused{"taint", of("v1", "Node", R"("spec":{"taints":[{"key":"k","effect":"Never"}]})"),
                "metadata.taints[0].effect: Unsupported value: \"Never\": supported values: "
                "\"NoSchedule\", \"PreferNoSchedule\", \"NoExecute\""},
        Refused{"claim", of("v1", "PersistentVolumeClaim", R"("spec":{})"),
                "[spec.accessModes: Required value: at least 1 access mode is required, "
                "spec.resources[storage]: Required value]"},
        Refused{"volume",
                of("v1", "PersistentVolume",
                   R"("spec":{"capacity":{"storage":"1Gi"},"accessModes":["ReadWriteOnce"]})"),
                "spec: Required value: must specify a volume type"},
        Refused{"class", of("storage.k8s.io/v1", "StorageClass", R"("provisioner":"")"),
                "provisioner: Required value"},
        Refused{"ingress", of("networking.k8s.io/v1", "Ingress", R"("spec":{})"),
                "spec: Invalid value: null: either `defaultBackend` or `rules` must be specified"},
        Refused{"peer",
                of("networking.k8s.io/v1", "NetworkPolicy",
                   R"("spec":{"podSelector":{},"ingress":[{"from":[{}]}]})"),
                "spec.ingress[0].from[0]: Required value: must specify a peer"},
        Refused{
            "autoscaler",
            of("autoscaling/v2", "HorizontalPodAutoscaler",
               R"("spec":{"maxReplicas":1,"minReplicas":2,"scaleTargetRef":{"kind":"Deployment","name":"d"}})"),
            "spec.maxReplicas: Invalid value: 1: must be greater than or equal to "
            "`minReplicas`"}),
    [](const auto& one) { return one.param.name; });

std::string hook(std::string_view rest) {
  return of("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration",
            fmt::format(R"("webhooks":[{{{}}}])", rest));
}
const std::string kClient = R"("clientConfig":{"service":{"name":"s","namespace":"n"}})";
const std::string kHead =
    R"("name":"a.b.c","sideEffects":"None","admissionReviewVersions":["v1"],)";

INSTANTIATE_TEST_SUITE_P(
    Admission, RefusedObject,
    ::testing::Values(
        Refused{"nothing", hook(""),
                "[webhooks[0].name: Required value, webhooks[0].sideEffects: Required value: must "
                "specify one of None, NoneOnDryRun, webhooks[0].clientConfig: Required value: "
                "exactly one of url or service is required, webhooks[0].admissionReviewVersions: "
                "Required value: must specify one of v1, v1beta1]"},
        Refused{"short_name",
                hook(R"("name":"a.b","sideEffects":"None","admissionReviewVersions":["v1"],)" +
                     kClient),
                "webhooks[0].name: Invalid value: \"a.b\": should be a domain with at least three "
                "segments separated by dots"},
        Refused{"operation",
                hook(kHead + kClient +
                     R"(,"rules":[{"operations":["READ"],"apiGroups":[""],"apiVersions":["v1"],)"
                     R"("resources":["pods","*"]}])"),
                "webhooks[0].rules[0].operations[0]: Unsupported value: \"READ\": supported "
                "values: \"*\", \"CONNECT\", \"CREATE\", \"DELETE\", \"UPDATE\""},
        Refused{"url", hook(kHead + R"("clientConfig":{"url":"http://h/p?q"})"),
                "[webhooks[0].clientConfig.url: Invalid value: \"http\": 'https' is the only "
                "allowed URL scheme; desired format: https://host[/path], "
                "webhooks[0].clientConfig.url: Invalid value: \"q\": query parameters are not "
                "permitted in the URL]"},
        Refused{"policy",
                of("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy",
                   R"("spec":{"failurePolicy":"Maybe"})"),
                "[spec.failurePolicy: Unsupported value: \"Maybe\": supported values: \"Fail\", "
                "\"Ignore\", spec.matchConstraints: Required value, spec.validations: Required "
                "value: validations or auditAnnotations must contain at least one item, "
                "spec.auditAnnotations: Required value: validations or auditAnnotations must "
                "contain at least one item]"},
        Refused{"policy_binding",
                of("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicyBinding",
                   R"("spec":{"policyName":"p","validationActions":["Deny","Warn"]})"),
                "spec.validationActions: Invalid value: [\"Deny\",\"Warn\"]: must not contain both "
                "Deny and Warn (repeating the same validation failure information in the API "
                "response and headers serves no purpose)"},
        Refused{"signing_request",
                of("certificates.k8s.io/v1", "CertificateSigningRequest",
                   R"("spec":{"request":"eA==","signerName":"mine","usages":["fly"]})"),
                "[spec.request: Invalid value: \"eA==\": PEM block type must be CERTIFICATE "
                "REQUEST, spec.usages[0]: Unsupported value: \"fly\": supported values: \"any\", "
                "\"cert sign\", \"client auth\", \"code signing\", \"content commitment\", \"crl "
                "sign\", \"data encipherment\", \"decipher only\", \"digital signature\", \"email "
                "protection\", \"encipher only\", \"ipsec end system\", \"ipsec tunnel\", \"ipsec "
                "user\", \"key agreement\", \"key encipherment\", \"microsoft sgc\", \"netscape "
                "sgc\", \"ocsp signing\", \"s/mime\", \"server auth\", \"signing\", "
                "\"timestamping\", spec.signerName: Invalid value: \"mine\": must be a fully "
                "qualified domain and path of the form 'example.com/signer-name']"},
        Refused{"driver",
                of("storage.k8s.io/v1", "CSIDriver",
                   R"("spec":{"fsGroupPolicy":"Some","volumeLifecycleModes":["Long"]})"),
                "[spec.fsGroupPolicy: Unsupported value: \"Some\": supported values: \"File\", "
                "\"None\", \"ReadWriteOnceWithFSType\", spec.volumeLifecycleModes: Unsupported "
                "value: \"Long\": supported values: \"Persistent\", \"Ephemeral\"]"}),
    [](const auto& one) { return one.param.name; });

class RefusedChange : public AdmissionTest {
 protected:
  /// What is said of the merge patch `change`; "" if it is accepted.
  std::string after(const std::string& object, const std::string& change) {
    const auto made = create(parsed(object)).value();
    const auto changed = patch(made, change);
    return changed ? "" : changed.error().message;
  }
};

TEST_F(RefusedChange, OfWhatIsFrozen) {
  EXPECT_EQ(
      after(
          R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"immutable":true,"data":{"k":"v"}})",
          R"({"data":{"k":"w"}})"),
      "ConfigMap \"a\" is invalid: data: Forbidden: field is immutable when `immutable` is "
      "set");
  EXPECT_EQ(after(R"({"apiVersion":"v1","kind":"Secret","metadata":{"name":"a"},"type":"Opaque"})",
                  R"({"type":"mine"})"),
            "Secret \"a\" is invalid: type: Invalid value: \"mine\": field is immutable");
  EXPECT_EQ(
      after(
          R"({"apiVersion":"storage.k8s.io/v1","kind":"StorageClass","metadata":{"name":"a"},"provisioner":"p"})",
          R"({"provisioner":"q"})"),
      "StorageClass.storage.k8s.io \"a\" is invalid: provisioner: Forbidden: updates to "
      "provisioner are forbidden.");
  EXPECT_EQ(
      after(
          "{" + deployment(kSelector + R"("replicas":1,)") + R"(,"metadata":{"name":"a"}})",
          R"({"spec":{"selector":{"matchLabels":{"a":"b","c":"d"}},"template":{"metadata":{"labels":{"c":"d"}}}}})"),
      "Deployment.apps \"a\" is invalid: spec.selector: Invalid value: "
      "{\"matchLabels\":{\"a\":\"b\",\"c\":\"d\"}}: field is immutable");
}

TEST_F(RefusedChange, OfStorageShowsWhatDiffers) {
  EXPECT_EQ(
      after(R"({"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"a"},"spec":)"
            R"({"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}})",
            R"({"spec":{"accessModes":["ReadWriteMany"]}})"),
      "PersistentVolumeClaim \"a\" is invalid: spec: Forbidden: spec is immutable after creation "
      "except resources.requests and volumeAttributesClassName for bound claims\n"
      "@@ -1,6 +1,6 @@\n"
      " {\n"
      "  \"AccessModes\": [\n"
      "-  \"ReadWriteOnce\"\n"
      "+  \"ReadWriteMany\"\n"
      "  ],\n"
      "  \"Selector\": null,\n"
      "  \"Resources\": {\n");
  EXPECT_EQ(
      after(R"({"apiVersion":"v1","kind":"PersistentVolume","metadata":{"name":"a"},"spec":)"
            R"({"accessModes":["ReadWriteOnce"],"capacity":{"storage":"1Gi"},"nfs":{"server":"s",)"
            R"("path":"/p"}}})",
            R"({"spec":{"nfs":{"path":"/q"}}})"),
      "PersistentVolume \"a\" is invalid: spec.persistentvolumesource: Forbidden: "
      "spec.persistentvolumesource is immutable after creation\n"
      "@@ -5,7 +5,7 @@\n"
      "  \"Glusterfs\": null,\n"
      "  \"NFS\": {\n"
      "   \"Server\": \"s\",\n"
      "-  \"Path\": \"/p\",\n"
      "+  \"Path\": \"/q\",\n"
      "   \"ReadOnly\": false\n"
      "  },\n"
      "  \"RBD\": null,\n");
}

TEST_F(RefusedChange, OfWhereAResourceClaimLies) {
  const auto claim =
      create(
          parsed(R"({"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaim","metadata":{"name":)"
                 R"("a"},"spec":{"devices":{"requests":[{"name":"r","exactly":{"deviceClassName":)"
                 R"("gpu","allocationMode":"ExactCount","count":1}}]}}})"))
          .value();
  const auto said = [&](const std::string& status) {
    const auto written = patch(claim, R"({"status":)" + status + "}", Subresource::Status);
    return written ? "" : written.error().message;
  };
  const std::string head = "ResourceClaim.resource.k8s.io \"a\" is invalid: status.";
  EXPECT_EQ(said(R"({"reservedFor":[{"resource":"pods","name":"p","uid":"1"}]})"),
            head + "reservedFor: Forbidden: may not be specified when `allocated` is not set");
  EXPECT_EQ(
      said(
          R"({"allocation":{"devices":{"results":[{"request":"q","driver":"d.x","pool":"p","device":"g"}]}}})"),
      head + "allocation.devices.results[0].request: Invalid value: \"q\": must be the name of a "
             "request in the claim or the name of a request and a subrequest separated by '/'");
  const std::string placed =
      R"({"allocation":{"devices":{"results":[{"request":"r","driver":"d.x","pool":"p","device":"DEV"}]}}})";
  EXPECT_EQ(said(std::string(placed).replace(placed.find("DEV"), 3, "g")), "");
  EXPECT_EQ(said(std::string(placed).replace(placed.find("DEV"), 3, "h")),
            head + R"(allocation: Invalid value: {"Devices":{"Results":[{"Request":"r","Driver":)"
                   R"("d.x","Pool":"p","Device":"h","AdminAccess":null,"Tolerations":null,)"
                   R"("BindingConditions":null,"BindingFailureConditions":null,"ShareID":null,)"
                   R"("ConsumedCapacity":null}],"Config":null},"NodeSelector":null,)"
                   R"("AllocationTimestamp":null}: field is immutable)");
}

TEST_F(RefusedChange, OfHowAJobStands) {
  const std::string spec =
      R"("completions":3,"parallelism":2,"template":{"spec":{"restartPolicy":"Never",)"
      R"("containers":[{"name":"c","image":"i"}]}})";
  int made = 0;
  /// What is said of a status that follows one, of a Job with such a specification besides.
  const auto said = [&](const std::string& more, const std::string& first,
                        const std::string& second) {
    const auto job =
        create(parsed(fmt::format(R"({{"apiVersion":"batch/v1","kind":"Job","metadata":{{"name":)"
                                  R"("j{}"}},"spec":{{{}{}}}}})",
                                  ++made, more, spec)))
            .value();
    const auto begun = first.empty()
                           ? Result<api::Object>(job)
                           : patch(job, R"({"status":)" + first + "}", Subresource::Status);
    if (!begun) {
      return "first: " + begun.error().message;
    }
    const auto written = patch(*begun, R"({"status":)" + second + "}", Subresource::Status);
    const std::string head = fmt::format("Job.batch \"j{}\" is invalid: status.", made);
    return written ? std::string() : written.error().message.substr(head.size());
  };
  const std::string start = R"("startTime":"2026-01-01T00:00:00Z")";
  const auto is = [](const std::string& type) {
    return R"({"type":")" + type + R"(","status":"True"})";
  };
  EXPECT_EQ(said("", "", R"({"active":2,"ready":1})"), "");
  EXPECT_EQ(said("", "", R"({"active":1,"ready":2})"),
            "ready: Invalid value: 2: cannot set more ready pods than active");
  EXPECT_EQ(said("", "", R"({"ready":-1})"),
            "ready: Invalid value: -1: must be greater than or equal to 0");
  EXPECT_EQ(said("", R"({"failed":2})", R"({"failed":1})"),
            "failed: Invalid value: 1: cannot decrease the failed counter");
  EXPECT_EQ(said("", R"({"succeeded":2})", R"({"succeeded":1})"),
            "succeeded: Invalid value: 1: cannot decrease the succeeded counter");
  EXPECT_EQ(said("", "", "{" + start + R"(,"conditions":[)" + is("Failed") + "]}"),
            "conditions: Invalid value: cannot set Failed=True condition without the "
            "FailureTarget=true condition");
  EXPECT_EQ(said("", "",
                 "{" + start + R"(,"conditions":[)" + is("SuccessCriteriaMet") + "," +
                     is("Complete") + "]}"),
            "completionTime: Required value: completionTime is required for Complete jobs");
  const std::string complete = "{" + start + R"(,"completionTime":"2026-01-01T01:00:00Z",)" +
                               R"("conditions":[)" + is("SuccessCriteriaMet") + "," +
                               is("Complete") + "]}";
  EXPECT_EQ(said("", "", complete), "");
  EXPECT_EQ(said("", complete, R"({"active":1})"),
            "active: Invalid value: 1: active>0 is invalid for finished job");
  EXPECT_EQ(said("", complete, R"({"completionTime":"2026-01-01T02:00:00Z"})"),
            "completionTime: Invalid value: \"2026-01-01T02:00:00Z\": completionTime cannot be "
            "mutated");
  EXPECT_EQ(said("", "{" + start + "}", R"({"startTime":null})"),
            "startTime: Required value: startTime cannot be removed for unsuspended job");
  EXPECT_EQ(said("", "", R"({"completedIndexes":"0"})"),
            "completedIndexes: Invalid value: \"0\": cannot set non-empty completedIndexes when "
            "non-indexed completion mode");
  const std::string indexed = R"("completionMode":"Indexed",)";
  EXPECT_EQ(said(indexed, "", R"({"completedIndexes":"0,2"})"), "");
  EXPECT_EQ(said(indexed, "", R"({"completedIndexes":"0-3"})"),
            "completedIndexes: Invalid value: \"0-3\": error parsing completedIndexes: too large "
            "index: \"3\"");
  EXPECT_EQ(said(indexed, "", R"({"completedIndexes":"2,1"})"),
            "completedIndexes: Invalid value: \"2,1\": error parsing completedIndexes: "
            "non-increasing order, previous: 2, current: 1");
  EXPECT_EQ(said(indexed + R"("backoffLimitPerIndex":1,)", "",
                 R"({"completedIndexes":"0-1","failedIndexes":"1-2"})"),
            "failedIndexes: Invalid value: \"1-2\": failedIndexes and completedIndexes overlap at "
            "index: 1");
  EXPECT_EQ(said("", "", R"({"uncountedTerminatedPods":{"succeeded":["a"],"failed":["a"]}})"),
            "uncountedTerminatedPods.failed[0]: Duplicate value: \"a\"");
}

TEST_F(RefusedChange, ClaimsAreProtectedAndGetTheNewestDefaultClass) {
  Registry served(store, Rng(2), {.admission = server_admission()});
  for (const auto& [name, is_default] : {std::pair("slow", "false"), {"fast", "true"}}) {
    ASSERT_TRUE(create(parsed(fmt::format(
        R"({{"apiVersion":"storage.k8s.io/v1","kind":"StorageClass","metadata":{{"name":"{}",)"
        R"("annotations":{{"storageclass.kubernetes.io/is-default-class":"{}"}}}},)"
        R"("provisioner":"p"}})",
        name, is_default))));
  }
  const auto claim =
      served
          .create(
              parsed(R"({"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"c"},)"
                     R"("spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{)"
                     R"("storage":"1Gi"}}}})"),
              now)
          .value();
  EXPECT_EQ(api::string_at(claim.json(), "spec.storageClassName"), "fast");
  EXPECT_EQ(claim.meta().finalizers, std::vector<std::string>{"kubernetes.io/pvc-protection"});
}

TEST_F(RefusedChange, PodsFollowTheirRuntimeClass) {
  Registry served(store, Rng(2), {.admission = server_admission()});
  const auto pod = pod_with(R"("runtimeClassName":"kata","containers":[{"name":"c","image":"x"}])");
  EXPECT_EQ(served.create(pod, now).error().message,
            "pods \"a\" is forbidden: pod rejected: RuntimeClass \"kata\" not found");
  ASSERT_TRUE(served.create(
      parsed(R"({"apiVersion":"node.k8s.io/v1","kind":"RuntimeClass","metadata":{"name":"kata"},)"
             R"("handler":"kata","overhead":{"podFixed":{"cpu":"250m"}},)"
             R"("scheduling":{"nodeSelector":{"vm":"yes"}}})"),
      now));
  const auto made = served.create(pod, now).value();
  EXPECT_EQ(api::string_at(made.json(), "spec.overhead.cpu"), "250m");
  EXPECT_EQ(api::string_at(made.json(), "spec.nodeSelector.vm"), "yes");
}

} // namespace
} // namespace berth::store
