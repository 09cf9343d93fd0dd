// Admission policies over the API: what they refuse, warn of and write down, in kube-apiserver's
// words.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/server/asking_fixture.h"

namespace berth::server {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class Policies : public Asking {
 protected:
  /// "STATUS BODY", then a line for each warning.
  std::string ask(const std::string& method, const std::string& target, std::string body = {},
                  std::string type = "application/yaml") {
    const net::HttpResponse given = answer(method, target, std::move(body), type);
    const auto parsed = api::parse_json(given.body);
    const bool refused = parsed && api::string_at(*parsed, "kind") == "Status";
    std::string out =
        fmt::format("{} {}", given.status,
                    refused ? std::string(api::string_at(*parsed, "message")) : std::string("ok"));
    for (const auto& [name, value] : given.headers) {
      out += name == "Warning" ? "\n" + value : "";
    }
    return out;
  }

  /// A policy `limit` of Deployments and ConfigMaps whose spec ends with `spec`, bound by `b`.
  void bind(const std::string& spec, const std::string& binding = "validationActions: [Deny]",
            const std::string& rule = "{apiGroups: [apps, ''], apiVersions: [v1], operations: "
                                      "[CREATE, UPDATE, DELETE], resources: [deployments, "
                                      "deployments/scale, configmaps]}") {
    ASSERT_THAT(ask("POST", kAdmission + "validatingadmissionpolicies",
                    fmt::format("apiVersion: admissionregistration.k8s.io/v1\n"
                                "kind: ValidatingAdmissionPolicy\n"
                                "metadata: {{name: limit}}\n"
                                "spec:\n"
                                "  matchConstraints: {{resourceRules: [{}]}}\n{}",
                                rule, spec)),
                StartsWith("201"));
    ASSERT_THAT(ask("POST", kAdmission + "validatingadmissionpolicybindings",
                    fmt::format("apiVersion: admissionregistration.k8s.io/v1\n"
                                "kind: ValidatingAdmissionPolicyBinding\n"
                                "metadata: {{name: b}}\n"
                                "spec: {{policyName: limit, {}}}\n",
                                binding)),
                StartsWith("201"));
  }

  std::string deploy(int replicas, const std::string& name = "d", const std::string& more = "") {
    return ask("POST", "/apis/apps/v1/namespaces/default/deployments" + more,
               fmt::format("apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: {}, labels: "
                           "{{tier: web}}}}\n"
                           "spec: {{replicas: {}, selector: {{matchLabels: {{a: b}}}}, template: "
                           "{{metadata: {{labels: {{a: b}}}}, spec: {{containers: [{{name: c, "
                           "image: x}}]}}}}}}\n",
                           name, replicas));
  }

  const std::string kAdmission = "/apis/admissionregistration.k8s.io/v1/";
  const std::string kDeployments = "/apis/apps/v1/namespaces/default/deployments";
  const std::string kMaps = "/api/v1/namespaces/default/configmaps";
};

TEST_F(Policies, Deny) {
  bind("  validations: [{expression: 'object.spec.replicas <= 5'}]\n");
  EXPECT_EQ(deploy(6),
            "422 deployments.apps \"d\" is forbidden: ValidatingAdmissionPolicy 'limit' with "
            "binding 'b' denied request: failed expression: object.spec.replicas <= 5");
  EXPECT_EQ(deploy(5), "201 ok");
  EXPECT_THAT(ask("PATCH", kDeployments + "/d", R"({"spec":{"replicas":7}})",
                  "application/merge-patch+json"),
              StartsWith("422 deployments.apps \"d\" is forbidden: "));
  EXPECT_EQ(ask("PATCH", kDeployments + "/d", R"({"spec":{"replicas":4}})",
                "application/merge-patch+json"),
            "200 ok");
}

TEST_F(Policies, TellDetails) {
  bind("  validations: [{expression: 'false', message: no more, reason: Forbidden}]\n");
  const net::HttpResponse refused =
      answer("POST", kMaps, R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"m"}})",
             "application/json");
  EXPECT_EQ(
      refused.body,
      R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":)"
      R"("configmaps \"m\" is forbidden: ValidatingAdmissionPolicy 'limit' with binding 'b' )"
      R"(denied request: no more","reason":"Forbidden","details":{"name":"m","kind":"configmaps",)"
      R"("causes":[{"message":"ValidatingAdmissionPolicy 'limit' with binding 'b' denied request: )"
      R"(no more"}]},"code":403})"
      "\n");
}

TEST_F(Policies, AreEvaluatedWithVariables) {
  bind("  variables:\n"
       "  - {name: count, expression: 'object.spec.replicas'}\n"
       "  - {name: broken, expression: 'object.spec.missing'}\n"
       "  - {name: twice, expression: 'int(variables.count) * 2'}\n"
       "  validations:\n"
       "  - expression: 'variables.twice <= 4 || variables.broken'\n"
       "    messageExpression: \"'twice is ' + string(variables.twice)\"\n");
  EXPECT_EQ(deploy(2), "201 ok") << "what is broken is not asked";
  EXPECT_EQ(deploy(3, "e"),
            "422 deployments.apps \"e\" is forbidden: ValidatingAdmissionPolicy 'limit' with "
            "binding 'b' denied request: expression 'variables.twice <= 4 || variables.broken' "
            "resulted in error: composited variable \"broken\" fails to evaluate: no such key: "
            "missing");
}

TEST_F(Policies, WarnAndAudit) {
  bind("  validations: [{expression: 'object.spec.replicas <= 5', messageExpression: \"'too many: "
       "' + string(object.spec.replicas)\"}]\n"
       "  auditAnnotations: [{key: count, valueExpression: 'string(object.spec.replicas)'}]\n",
       "validationActions: [Warn, Audit]",
       "{apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: [deployments]}");
  EXPECT_EQ(deploy(6), "201 ok\n299 - \"Validation failed for ValidatingAdmissionPolicy 'limit' "
                       "with binding 'b': too many: 6\"");
  const auto event = api::parse_json(audit_lines.back());
  ASSERT_TRUE(event);
  const auto& annotations = api::find(*event, "annotations")->as_object();
  EXPECT_EQ(annotations.at("limit/count"), "6");
  EXPECT_EQ(annotations.at("validation.policy.admission.k8s.io/validation_failure"),
            R"([{"message":"too many: 6","policy":"limit","binding":"b","expressionIndex":0,)"
            R"("validationActions":["Warn","Audit"]}])");
}

TEST_F(Policies, JudgeDeletionsAndScales) {
  bind("  validations:\n"
       "  - {expression: \"request.operation != 'DELETE' || oldObject.metadata.name != 'kept'\"}\n"
       "  - {expression: \"request.subResource != 'scale' || object.spec.replicas < 3\"}\n");
  EXPECT_EQ(deploy(1, "kept"), "201 ok");
  EXPECT_THAT(ask("DELETE", kDeployments + "/kept"), StartsWith("422"));
  EXPECT_THAT(ask("DELETE", kDeployments), StartsWith("422"));
  EXPECT_THAT(ask("PATCH", kDeployments + "/kept/scale", R"({"spec":{"replicas":3}})",
                  "application/merge-patch+json"),
              HasSubstr("denied request: failed expression: request.subResource"));
  EXPECT_EQ(ask("PATCH", kDeployments + "/kept/scale", R"({"spec":{"replicas":2}})",
                "application/merge-patch+json"),
            "200 ok");
  EXPECT_EQ(deploy(1, "gone"), "201 ok");
  EXPECT_EQ(ask("DELETE", kDeployments + "/gone?dryRun=All"), "200 ");
  EXPECT_EQ(ask("DELETE", kDeployments + "/gone"), "200 ");
}

TEST_F(Policies, TakeParameters) {
  bind("  paramKind: {apiVersion: v1, kind: ConfigMap}\n"
       "  validations: [{expression: \"object.kind != 'Deployment' || object.spec.replicas <= "
       "int(params.data.most)\", messageExpression: \"'at most ' + params.data.most\"}]\n",
       "validationActions: [Deny], paramRef: {name: most, parameterNotFoundAction: Deny}");
  EXPECT_EQ(deploy(1),
            "422 deployments.apps \"d\" is forbidden: ValidatingAdmissionPolicy 'limit' with "
            "binding 'b' denied request: failed to configure binding: no params found for policy "
            "binding with `Deny` parameterNotFoundAction");
  store::Registry& direct = registry;
  ASSERT_TRUE(
      direct.create(*api::Object::parse(R"({"apiVersion":"v1","kind":"ConfigMap",)"
                                        R"("metadata":{"name":"most","namespace":"default"},)"
                                        R"("data":{"most":"2"}})"),
                    loop.now()));
  EXPECT_EQ(deploy(2), "201 ok");
  EXPECT_THAT(deploy(3, "e"), HasSubstr("denied request: at most 2"));
}

TEST_F(Policies, OfAnUnknownKindOfParametersFail) {
  bind("  paramKind: {apiVersion: rules.example.com/v1, kind: Limit}\n"
       "  validations: [{expression: 'true'}]\n");
  EXPECT_EQ(deploy(1),
            "422 deployments.apps \"d\" is forbidden: ValidatingAdmissionPolicy 'limit' denied "
            "request: failed to configure policy: failed to find resource referenced by paramKind: "
            "'rules.example.com/v1, Kind=Limit'");
}

TEST_F(Policies, AskForRights) {
  bind("  validations:\n"
       "  - expression: \"authorizer.group('apps').resource('deployments').namespace('default')."
       "check('delete').allowed() && authorizer.path('/healthz').check('get').allowed() && "
       "authorizer.requestResource.check('create').allowed()\"\n"
       "  - expression: \"authorizer.serviceAccount('default', 'nobody').group('')"
       ".resource('pods').namespace('default').check('list').allowed()\"\n"
       "    message: nobody may not\n");
  EXPECT_THAT(deploy(1), HasSubstr("denied request: nobody may not"));
}

TEST_F(Policies, AreChosenByConditionsAndSelectors) {
  bind("  matchConditions: [{name: not-exempt, expression: \"!has(object.metadata.annotations) || "
       "!('exempt' in object.metadata.annotations)\"}]\n"
       "  validations: [{expression: 'false', message: never}]\n",
       "validationActions: [Deny], matchResources: {namespaceSelector: {matchLabels: {strict: "
       "'yes'}}, objectSelector: {matchExpressions: [{key: loose, operator: DoesNotExist}]}}",
       "{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}");
  const auto map = [&](const std::string& ns, const std::string& meta) {
    return ask("POST", "/api/v1/namespaces/" + ns + "/configmaps",
               fmt::format("apiVersion: v1\nkind: ConfigMap\nmetadata: {{{}}}\n", meta));
  };
  EXPECT_EQ(ask("POST", "/api/v1/namespaces",
                "apiVersion: v1\nkind: Namespace\nmetadata: {name: s, labels: {strict: 'yes'}}\n"),
            "201 ok");
  EXPECT_EQ(map("default", "name: a"), "201 ok");
  EXPECT_EQ(map("s", "name: a"), "422 configmaps \"a\" is forbidden: ValidatingAdmissionPolicy "
                                 "'limit' with binding 'b' denied request: never");
  EXPECT_EQ(map("s", "name: b, annotations: {exempt: ''}"), "201 ok");
  EXPECT_EQ(map("s", "name: c, labels: {loose: ''}"), "201 ok");
}

TEST_F(Policies, MayIgnoreFailures) {
  bind("  failurePolicy: Ignore\n  validations: [{expression: 'object.spec.missing > 1'}]\n");
  EXPECT_EQ(deploy(1), "201 ok");
}

TEST_F(Policies, KnowTheNamespaceAndWhoAsks) {
  bind("  validations:\n"
       "  - expression: \"namespaceObject.metadata.name == 'default' && request.namespace == "
       "'default' && request.userInfo.username == 'admin' && 'system:masters' in "
       "request.userInfo.groups && request.resource.resource in ['deployments', 'configmaps'] && "
       "request.kind.group in ['apps', '']\"\n");
  EXPECT_EQ(deploy(1), "201 ok");
  EXPECT_EQ(deploy(1, "e", "?dryRun=All"), "201 ok");
}

TEST_F(Policies, NeverLockOutThoseWhoChangeThem) {
  bind("  validations: [{expression: 'false'}]\n", "validationActions: [Deny]",
       "{apiGroups: ['*'], apiVersions: ['*'], operations: ['*'], resources: ['*']}");
  EXPECT_THAT(ask("DELETE", kMaps + "/x"), StartsWith("404"));
  EXPECT_THAT(deploy(1), StartsWith("422"));
  EXPECT_EQ(ask("DELETE", kAdmission + "validatingadmissionpolicybindings/b"), "200 ");
  EXPECT_EQ(deploy(1), "201 ok");
}

struct Wrong {
  std::string name;
  std::string spec;
  std::string want;
};
class WrongPolicy : public Policies, public testing::WithParamInterface<Wrong> {};

TEST_P(WrongPolicy, SaysWhy) {
  EXPECT_THAT(ask("POST", kAdmission + "validatingadmissionpolicies",
                  fmt::format("apiVersion: admissionregistration.k8s.io/v1\n"
                              "kind: ValidatingAdmissionPolicy\n"
                              "metadata: {{name: p}}\n"
                              "spec:\n"
                              "  matchConstraints: {{resourceRules: [{{apiGroups: [apps], "
                              "apiVersions: [v1], operations: [CREATE], resources: "
                              "[deployments]}}]}}\n{}",
                              GetParam().spec)),
              HasSubstr(GetParam().want));
}

INSTANTIATE_TEST_SUITE_P(
    All, WrongPolicy,
    testing::Values(
        Wrong{"dynamic", "  validations: [{expression: 'object.spec.paused'}]\n",
              "spec.validations[0].expression: Invalid value: \"object.spec.paused\": must "
              "evaluate to bool but got dyn"},
        Wrong{"params_without_kind", "  validations: [{expression: 'params.x == 1'}]\n",
              "undeclared reference to 'params' (in container '')"},
        Wrong{"unknown_variable", "  validations: [{expression: 'variables.x == 1'}]\n",
              "undefined field 'x'"},
        Wrong{"unknown_request_field", "  validations: [{expression: \"request.verb == ''\"}]\n",
              "undefined field 'verb'"},
        Wrong{
            "variable_name",
            "  variables: [{name: a-b, expression: '1'}]\n  validations: [{expression: 'true'}]\n",
            "spec.variables[0].name: Invalid value: \"a-b\": name is not a valid CEL identifier"},
        Wrong{
            "message", "  validations: [{expression: 'true', messageExpression: '1'}]\n",
            "spec.validations[0].messageExpression: Invalid value: \"1\": must evaluate to string "
            "but got int"},
        Wrong{"annotation",
              "  auditAnnotations: [{key: a, valueExpression: '1'}, {key: a, valueExpression: "
              "'null'}]\n",
              "spec.auditAnnotations[1].key: Duplicate value: \"a\""}),
    [](const auto& one) { return one.param.name; });

} // namespace
} // namespace berth::server
