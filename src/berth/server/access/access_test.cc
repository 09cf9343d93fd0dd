#include "berth/server/access/access.h"

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "berth/base/virtual_loop.h"
#include "berth/server/access/access_fixture.h"
#include "berth/server/access/bootstrap_policy.h"
#include "berth/server/access/cluster_role_aggregation.h"
#include "berth/server/access/escalation.h"

namespace berth::server {
namespace {

using api::json::value;

/// A cluster with the roles it begins with, and its access.
class WholeAccess : public AccessTest {
 protected:
  void SetUp() override {
    aggregation = ClusterRoleAggregation::open(loop, registry).value();
    ASSERT_TRUE(ensure_bootstrap_policy(registry, now).has_value());
    ASSERT_TRUE(loop.run_to_idle(1000));
    AccessOptions options;
    options.tokens.add("user-token", {.name = "user", .uid = "u-1", .groups = {}, .extra = {}});
    access =
        Access::open(registry, TokenKey::generate().value(), std::move(options), Rng(2)).value();
  }

  struct Asked {
    net::HttpRequest request;
    net::HttpHeaders query;
    RequestInfo info;
  };
  static Asked asked(std::string_view who, std::string method, std::string target,
                     const net::HttpHeaders& headers = {}) {
    Asked out;
    out.request.method = std::move(method);
    out.request.target = std::move(target);
    out.request.headers = headers;
    if (who.starts_with("system:node:")) {
      out.request.peer =
          net::Peer{.common_name = std::string(who), .organizations = {"system:nodes"}};
    } else if (who == "admin") {
      out.request.peer = net::Peer{.common_name = "admin", .organizations = {kMasters}};
    } else if (who == "user" || who == "wrong") {
      out.request.headers.emplace_back("Authorization", fmt::format("Bearer {}-token", who));
    }
    out.query = out.request.parameters();
    out.info = request_info(out.request, out.query);
    return out;
  }
  Access::Passage admit(const Asked& what) const {
    return access->admit(what.request, what.info, what.query, now);
  }

  VirtualLoop loop{now};
  std::unique_ptr<ClusterRoleAggregation> aggregation;
  std::unique_ptr<Access> access;
};

TEST_F(WholeAccess, OneWhoActsAsAnotherHasTheOthersRights) {
  create(role("ns/r", R"({"verbs":["list"],"apiGroups":[""],"resources":["pods"]})"));
  create(binding("ns/rb", "Role/r", {"User/user"}));
  const auto passage =
      admit(asked("admin", "GET", "/api/v1/namespaces/ns/pods", {{"Impersonate-User", "user"}}));
  EXPECT_FALSE(passage.refusal.has_value());
  EXPECT_EQ(passage.user.name, "admin");
  EXPECT_EQ(passage.effective().name, "user");
  EXPECT_EQ(
      admit(asked("admin", "GET", "/api/v1/nodes", {{"Impersonate-User", "user"}})).refusal->code,
      403);
  EXPECT_FALSE(admit(asked("user", "GET", "/api/v1/namespaces/ns/pods")).refusal.has_value());
}

TEST_F(WholeAccess, ANodeGetsTokensOfItsOwnPodsAlone) {
  create(account("ns", "bot"));
  const api::Object pod = create(parsed(
      R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"ns"},"spec":{)"
      R"("nodeName":"n1","serviceAccountName":"bot","containers":[{"name":"c","image":"x"}],)"
      R"("volumes":[{"name":"v","projected":{"sources":[{"serviceAccountToken":{"path":"a"}}]}}]}})"));
  const value body = api::parse_json(fmt::format(R"({{"spec":{{"boundObjectRef":{{"kind":"Pod",)"
                                                 R"("apiVersion":"v1","name":"p","uid":"{}"}}}}}})",
                                                 pod.meta().uid))
                         .value();
  const auto code = [&](std::string_view who) {
    const Asked issue = asked(who, "POST", "/api/v1/namespaces/ns/serviceaccounts/bot/token");
    const auto passage = admit(issue);
    EXPECT_FALSE(passage.refusal.has_value()) << "the role system:node lets it ask";
    const auto got = access->answer(issue.info, passage.effective(), body, now);
    return got ? 201 : got.error().code;
  };
  EXPECT_EQ(code("system:node:n1"), 201);
  EXPECT_EQ(code("system:node:n2"), 403);
}

TEST_F(WholeAccess, NamesInSelectorsCountAsNames) {
  create(role("ns/r", R"({"verbs":["list"],"apiGroups":[""],"resources":["pods"],)"
                      R"("resourceNames":["a"]})"));
  create(binding("ns/rb", "Role/r", {"User/user"}));
  EXPECT_FALSE(
      admit(asked("user", "GET", "/api/v1/namespaces/ns/pods?fieldSelector=metadata.name%3Da"))
          .refusal.has_value());
  EXPECT_EQ(
      admit(asked("user", "GET", "/api/v1/namespaces/ns/pods?fieldSelector=metadata.name%3Db"))
          .refusal->message,
      R"(pods "b" is forbidden: User "user" cannot list resource "pods" in API group "" in the )"
      R"(namespace "ns")");
}

TEST_F(WholeAccess, KnowsItsQuestions) {
  for (const char* path : {"/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
                           "/apis/authorization.k8s.io/v1/subjectaccessreviews",
                           "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews",
                           "/apis/authorization.k8s.io/v1/namespaces/ns/localsubjectaccessreviews",
                           "/apis/authentication.k8s.io/v1/tokenreviews",
                           "/apis/authentication.k8s.io/v1/selfsubjectreviews",
                           "/api/v1/namespaces/ns/serviceaccounts/bot/token"}) {
    EXPECT_TRUE(Access::answers(asked("user", "POST", path).info)) << path;
    EXPECT_FALSE(Access::answers(asked("user", "GET", path).info)) << path;
  }
  EXPECT_FALSE(Access::answers(asked("user", "POST", "/api/v1/namespaces/ns/pods").info));
  EXPECT_FALSE(Access::answers(asked("user", "POST", "/apis/x.io/v1/reviews").info));
}

TEST_F(WholeAccess, ATokenThatItIssuesIsTakenBack) {
  create(account("ns", "bot"));
  create(binding("ns/rb", "ClusterRole/view", {"ServiceAccount/bot"}));
  const Asked issue = asked("admin", "POST", "/api/v1/namespaces/ns/serviceaccounts/bot/token");
  ASSERT_FALSE(admit(issue).refusal.has_value());
  const auto answer =
      access->answer(issue.info, admit(issue).effective(), api::json::object(), now).value();
  Asked use = asked("nobody", "GET", "/api/v1/namespaces/ns/pods");
  use.request.headers.emplace_back(
      "Authorization", "Bearer " + std::string(answer.at("status").at("token").as_string()));
  const auto passage = admit(use);
  EXPECT_FALSE(passage.refusal.has_value());
  EXPECT_EQ(passage.decision->reason,
            R"(RBAC: allowed by RoleBinding "rb/ns" of ClusterRole "view" to ServiceAccount )"
            R"("bot/ns")");
}

std::optional<std::string> recorded() {
  const char* named = std::getenv("BERTH_SHARED");
  const std::string folder =
      named != nullptr ? named : std::string(BERTH_SOURCE_DIR) + "/../shared";
  std::ifstream in(folder + "/golden-api/rbac.json", std::ios::binary);
  if (!in) {
    return std::nullopt;
  }
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

std::string with_namespace(std::string text) {
  constexpr std::string_view kMark = "<ns>";
  for (std::size_t at = text.find(kMark); at != std::string::npos; at = text.find(kMark)) {
    text.replace(at, kMark.size(), "talk");
  }
  return text;
}

/// Without what differs each time and what field managers record.
value comparable(const value& document) {
  if (document.is_array()) {
    api::json::array out;
    for (const value& one : document.get_array()) {
      out.push_back(comparable(one));
    }
    return out;
  }
  if (!document.is_object()) {
    return document;
  }
  std::map<std::string, value> sorted;
  for (const auto& member : document.get_object()) {
    if (member.key() != "managedFields" && member.key() != "uid" &&
        member.key() != "resourceVersion" && member.key() != "creationTimestamp") {
      sorted[std::string(member.key())] = comparable(member.value());
    }
  }
  api::json::object out;
  for (const auto& [key, one] : sorted) {
    out[key] = one;
  }
  return out;
}

class RecordedRbac : public WholeAccess {
 protected:
  /// What an API server over this access would answer; nothing for a list.
  Answer<value> answer(const Asked& what, const value* body) {
    const auto passage = admit(what);
    if (passage.refusal) {
      return tl::unexpected(*passage.refusal);
    }
    if (Access::answers(what.info)) {
      auto answered = access->answer(what.info, passage.effective(), *body, now);
      return answered ? Answer<value>(*answered) : tl::unexpected(answered.error());
    }
    if (what.request.method == "GET") {
      return value(nullptr);
    }
    return write(what, passage.effective(), *body);
  }
  Answer<value> write(const Asked& what, const User& who, const value& body) {
    Result<api::Object> written = api::Object();
    if (what.request.method == "PATCH") {
      const bool pod = what.info.resource == "pods";
      written =
          registry.patch(pod ? store::kPods : kRoleBindings, {what.info.ns, what.info.name}, body,
                         pod ? store::Subresource::Status : store::Subresource::None, now);
    } else {
      value document = body;
      document.at("metadata").as_object()["namespace"] = what.info.ns;
      const api::Object object = api::Object::from_json(document).value();
      const auto checked = check_escalation(
          access->rbac(), {.user = who, .info = what.info, .object = object, .before = nullptr});
      if (!checked) {
        return tl::unexpected(checked.error());
      }
      written = registry.create(object, now);
    }
    return written ? Answer<value>(written->json()) : tl::unexpected(status_of(written.error()));
  }
};

TEST_F(RecordedRbac, AnswersAsKubeApiserverDid) {
  const auto text = recorded();
  if (!text) {
    GTEST_SKIP() << "no recorded conversation rbac.json beside the source tree";
  }
  const value steps = api::parse_json(with_namespace(*text)).value();
  int compared = 0;
  for (const value& step : steps.get_array()) {
    net::HttpHeaders headers;
    if (const value* given = api::find(step, "headers")) {
      for (const auto& header : given->get_object()) {
        headers.emplace_back(header.key(), header.value().get_string());
      }
    }
    const std::string path(api::string_at(step, "path"));
    const std::string method(api::string_at(step, "method"));
    const Asked what = asked(api::string_at(step, "as"), method, path, headers);
    SCOPED_TRACE(fmt::format("{} {} {}", api::string_at(step, "as"), method, path));
    const auto got = answer(what, api::find(step, "body"));
    const std::int64_t want = step.at("status").to_number<std::int64_t>();
    ++compared;
    if (!got) {
      EXPECT_EQ(got.error().code, want);
      EXPECT_EQ(api::to_json(comparable(to_document(got.error()))),
                api::to_json(comparable(step.at("response"))));
      continue;
    }
    EXPECT_LT(want, 300);
    if (!got->is_null()) {
      EXPECT_EQ(api::to_json(comparable(*got)), api::to_json(comparable(step.at("response"))));
    }
  }
  EXPECT_EQ(compared, 23);
}

} // namespace
} // namespace berth::server
