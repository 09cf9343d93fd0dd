// Requests that are refused before anything is looked up, in kube-apiserver's words.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/server/asking_fixture.h"

namespace berth::server {
namespace {

class Asked : public Asking {
 protected:
  /// "STATUS MESSAGE".
  std::string ask(const std::string& method, const std::string& target, std::string body = {},
                  std::string type = "application/json") {
    const net::HttpResponse given = answer(method, target, std::move(body), type);
    const auto status = api::parse_json(given.body);
    return fmt::format("{} {}", given.status, status ? api::string_at(*status, "message") : "");
  }
};

struct Refusal {
  std::string name;
  std::string target;
  std::string want;
};
class RefusedRead : public Asked, public testing::WithParamInterface<Refusal> {};

TEST_P(RefusedRead, SaysWhy) {
  EXPECT_EQ(ask("GET", GetParam().target), GetParam().want);
}

const std::string kPods = "/api/v1/namespaces/default/pods";

INSTANTIATE_TEST_SUITE_P(
    All, RefusedRead,
    testing::Values(
        Refusal{"version", kPods + "?resourceVersion=abc",
                "400 invalid resource version: resourceVersion: Invalid value: \"abc\": "
                "strconv.ParseUint: parsing \"abc\": invalid syntax"},
        Refusal{"token_and_version", kPods + "?resourceVersion=5&continue=e30",
                "400 specifying resource version is not allowed when using continue"},
        Refusal{"token_bytes", kPods + "?continue=garbage",
                "400 invalid continue token: continue key is not valid: invalid character "
                "'\\u0081' looking for beginning of value"},
        Refusal{"token_letters", kPods + "?continue=a.b",
                "400 invalid continue token: continue key is not valid: illegal base64 data at "
                "input byte 1"},
        Refusal{"token_version", kPods + "?continue=e30",
                "400 invalid continue token: continue key is not valid: server does not recognize "
                "this encoded version \"\""},
        Refusal{"get_version", kPods + "/x?resourceVersion=abc",
                "500 resourceVersion: Invalid value: \"abc\": strconv.ParseUint: parsing \"abc\": "
                "invalid syntax"},
        Refusal{"field_of_maps", "/api/v1/namespaces/default/configmaps?fieldSelector=data.x%3D1",
                "400 \"data.x\" is not a known field selector: only \"metadata.name\", "
                "\"metadata.namespace\""},
        Refusal{"field_of_nodes", "/api/v1/nodes?fieldSelector=metadata.namespace%3Dx",
                "400 field label not supported: metadata.namespace"},
        Refusal{"field_of_jobs", "/apis/batch/v1/namespaces/default/jobs?fieldSelector=x%3D1",
                "400 field label \"x\" not supported for batchv1.Job"},
        Refusal{"field_of_slices", "/apis/resource.k8s.io/v1/resourceslices?fieldSelector=x%3D1",
                "400 field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: x"}),
    [](const auto& one) { return one.param.name; });

TEST_F(Asked, AVersionThatHasNotComeIsWaitedForElsewhere) {
  EXPECT_THAT(ask("GET", kPods + "?resourceVersion=99999999"),
              testing::StartsWith("504 Timeout: Too large resource version: 99999999, current: "));
}

TEST_F(Asked, ADeletionsBodyIsAllThatItSays) {
  const std::string maps = "/api/v1/namespaces/default/configmaps";
  ask("POST", maps, R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"m"}})");
  EXPECT_EQ(ask("DELETE", maps + "/m?propagationPolicy=Sideways",
                R"({"kind":"DeleteOptions","apiVersion":"v1","dryRun":["All"]})"),
            "200 ");
  EXPECT_EQ(ask("GET", maps + "/m"), "200 ") << "it was a dry run";
}

TEST_F(Asked, NewObjectsHaveNoVersion) {
  EXPECT_EQ(ask("POST", "/api/v1/namespaces/default/configmaps",
                R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"m",)"
                R"("resourceVersion":"5"}})"),
            "500 resourceVersion should not be set on objects to be created");
}

TEST_F(Asked, AWriteNamesAVersionThatIsANumber) {
  const std::string maps = "/api/v1/namespaces/default/configmaps";
  const auto put = [&](const std::string& version) {
    return ask("PUT", maps + "/m",
               R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"m",)"
               R"("resourceVersion":")" +
                   version + "\"}}");
  };
  EXPECT_THAT(put("abc"), testing::StartsWith("404 ")) << "what is not there has no version";
  ask("POST", maps, R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"m"}})");
  EXPECT_EQ(put("abc"), R"(500 strconv.ParseUint: parsing "abc": invalid syntax)");
  EXPECT_EQ(put("-1"), R"(500 strconv.ParseUint: parsing "-1": invalid syntax)");
  EXPECT_EQ(put("99999999999999999999"),
            R"(500 strconv.ParseUint: parsing "99999999999999999999": value out of range)");
  EXPECT_EQ(ask("PATCH", maps + "/m", R"({"metadata":{"resourceVersion":"x"}})",
                "application/merge-patch+json"),
            R"(500 strconv.ParseUint: parsing "x": invalid syntax)");
  EXPECT_THAT(put("00001"), testing::StartsWith("409 ")) << "of an older version";
}

TEST_F(Asked, AnUpdateDoesNotDelete) {
  const std::string maps = "/api/v1/namespaces/default/configmaps";
  ask("POST", maps, R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"m"}})");
  EXPECT_EQ(ask("PUT", maps + "/m",
                R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"m",)"
                R"("deletionTimestamp":"2026-01-02T03:04:05Z"}})"),
            R"(422 ConfigMap "m" is invalid: metadata.deletionTimestamp: Invalid value: )"
            R"("2026-01-02T03:04:05Z": field is immutable)");
}

TEST_F(Asked, ANameThatIsMissingIsToldWithTheRest) {
  EXPECT_THAT(ask("POST", "/api/v1/namespaces/default/configmaps",
                  R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{},"data":{"a b":"1"}})"),
              testing::AllOf(testing::StartsWith(
                                 "422 ConfigMap \"\" is invalid: [metadata.name: Required value: "
                                 "name or generateName is required, data[a b]: "),
                             testing::EndsWith("]")));
}

TEST_F(Asked, APatchLeavesAnObjectInItsNamespace) {
  const std::string maps = "/api/v1/namespaces/default/configmaps";
  ask("POST", maps, R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"m"}})");
  EXPECT_EQ(ask("PATCH", maps + "/m", R"({"metadata":{"namespace":"kube-system"}})",
                "application/merge-patch+json"),
            "400 the namespace of the provided object does not match the namespace sent on the "
            "request");
}

TEST_F(Asked, WhatAPodIsBoundToIsANode) {
  EXPECT_EQ(ask("POST", kPods + "/p/binding",
                R"({"apiVersion":"v1","kind":"Binding","metadata":{"name":"p"},"target":{"kind":)"
                R"("Pod"}})"),
            "500 [target.kind: Unsupported value: \"Pod\": supported values: \"Node\", "
            "\"<empty>\", target.name: Required value]");
}

TEST_F(Asked, DefinitionsKeepWhatObjectsDependOn) {
  const std::string crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
  const std::string definition =
      R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":)"
      R"({"name":"things.example.com"},"spec":{"group":"example.com","scope":"Namespaced",)"
      R"("names":{"plural":"things","kind":"Thing"},"versions":[{"name":"v1","served":true,)"
      R"("storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":)"
      R"({"type":"object","properties":{"color":{"type":"string"}}}}}},)"
      R"("selectableFields":[{"jsonPath":".spec.color"}]}]}})";
  ASSERT_THAT(ask("POST", crds, definition), testing::StartsWith("201"));
  EXPECT_EQ(ask("PATCH", crds + "/things.example.com", R"({"spec":{"scope":"Cluster"}})",
                "application/merge-patch+json"),
            "422 CustomResourceDefinition.apiextensions.k8s.io \"things.example.com\" is invalid: "
            "spec.scope: Invalid value: \"Cluster\": field is immutable");
  EXPECT_EQ(ask("GET", "/apis/example.com/v1/things?fieldSelector=spec.color%3Dred"), "200 ");
  EXPECT_EQ(ask("GET", "/apis/example.com/v1/things?fieldSelector=spec.size%3D1"),
            "400 field label not supported: spec.size");
}

TEST_F(Asked, KubernetesGroupsNeedAnApproval) {
  EXPECT_THAT(
      ask("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
          R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":)"
          R"({"name":"things.x.k8s.io"},"spec":{"group":"x.k8s.io","scope":"Cluster","names":)"
          R"({"plural":"things","kind":"Thing"},"versions":[{"name":"v1","served":true,"storage":)"
          R"(true,"schema":{"openAPIV3Schema":{"type":"object"}}}]}})"),
      testing::HasSubstr("metadata.annotations[api-approved.kubernetes.io]: Required value: "
                         "protected groups must have approval annotation"));
}

} // namespace
} // namespace berth::server
