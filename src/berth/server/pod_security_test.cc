// Pod Security admission over the API, in kube-apiserver's words.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/server/asking_fixture.h"

namespace berth::server {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class PodSecurity : public Asking {
 protected:
  /// "STATUS MESSAGE", then a line for each warning.
  std::string ask(const std::string& method, const std::string& target, std::string body = {},
                  std::string type = "application/yaml") {
    const net::HttpResponse given = answer(method, target, std::move(body), type);
    const auto parsed = api::parse_json(given.body);
    std::string out =
        fmt::format("{} {}", given.status, parsed ? api::string_at(*parsed, "message") : "");
    for (const auto& [name, value] : given.headers) {
      out += name == "Warning" ? "\n" + value : "";
    }
    return out;
  }

  std::string make_namespace(const std::string& labels) {
    return ask("POST", "/api/v1/namespaces",
               fmt::format("apiVersion: v1\nkind: Namespace\nmetadata: {{name: s, labels: {{{}}}}}",
                           labels));
  }
  std::string pod(const std::string& name, const std::string& spec) {
    return ask(
        "POST", "/api/v1/namespaces/s/pods",
        fmt::format("apiVersion: v1\nkind: Pod\nmetadata: {{name: {}}}\nspec: {{{}}}", name, spec));
  }
  static constexpr const char* kPlain = "containers: [{name: c, image: x}]";
};

TEST_F(PodSecurity, RefusesPods) {
  EXPECT_EQ(make_namespace("pod-security.kubernetes.io/enforce: baseline"), "201 ");
  EXPECT_EQ(pod("a", kPlain), "201 ");
  const std::string refused =
      "403 pods \"b\" is forbidden: violates PodSecurity \"baseline:latest\": host namespaces "
      "(hostNetwork=true)";
  EXPECT_EQ(pod("b", fmt::format("hostNetwork: true, {}", kPlain)), refused);
  const auto event = api::parse_json(audit_lines.back());
  EXPECT_EQ(
      api::find(*event, "annotations")->as_object().at("pod-security.kubernetes.io/enforce-policy"),
      "baseline:latest");
}

TEST_F(PodSecurity, WarnsOfTemplates) {
  EXPECT_EQ(make_namespace("pod-security.kubernetes.io/enforce: baseline"), "201 ");
  EXPECT_EQ(ask("POST", "/apis/apps/v1/namespaces/s/deployments",
                "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\nspec: {selector: "
                "{matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {hostPID: "
                "true, containers: [{name: c, image: x}]}}}"),
            "201 \n299 - \"would violate PodSecurity \\\"baseline:latest\\\": host namespaces "
            "(hostPID=true)\"");
}

TEST_F(PodSecurity, ReadsLabels) {
  EXPECT_EQ(make_namespace("pod-security.kubernetes.io/enforce: strict"),
            "422 Namespace \"s\" is invalid: metadata.labels[pod-security.kubernetes.io/enforce]: "
            "Invalid value: \"strict\": must be one of privileged, baseline, restricted");
}

TEST_F(PodSecurity, WarnsOfPodsThatAreThere) {
  EXPECT_EQ(make_namespace(""), "201 ");
  EXPECT_EQ(pod("b", fmt::format("hostNetwork: true, {}", kPlain)), "201 ");
  EXPECT_EQ(pod("a", fmt::format("hostNetwork: true, {}", kPlain)), "201 ");
  EXPECT_EQ(pod("c", fmt::format("hostPID: true, hostNetwork: true, {}", kPlain)), "201 ");
  EXPECT_EQ(pod("d", "hostNetwork: true, containers: [{name: c, image: x, securityContext: "
                     "{privileged: true}}]"),
            "201 ");
  EXPECT_EQ(
      ask("PATCH", "/api/v1/namespaces/s",
          R"({"metadata":{"labels":{"pod-security.kubernetes.io/enforce":"baseline"}}})",
          "application/merge-patch+json"),
      "200 \n299 - \"existing pods in namespace \\\"s\\\" violate the new PodSecurity enforce "
      "level \\\"baseline:latest\\\"\"\n299 - \"a (and 2 other pods): host namespaces\"\n299 "
      "- \"d: host namespaces, privileged\"");
  EXPECT_EQ(ask("PATCH", "/api/v1/namespaces/s/pods/b", R"({"metadata":{"labels":{"x":"y"}}})",
                "application/merge-patch+json"),
            "200 ")
      << "what the standards are about did not change";
  EXPECT_THAT(ask("PATCH", "/api/v1/namespaces/s/pods/b",
                  R"({"spec":{"containers":[{"name":"c","image":"z"}]}})",
                  "application/strategic-merge-patch+json"),
              StartsWith("403 pods \"b\" is forbidden: violates PodSecurity"));
}

} // namespace
} // namespace berth::server
