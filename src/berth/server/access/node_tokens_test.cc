#include "berth/server/access/node_tokens.h"

#include "berth/server/access/access_fixture.h"

namespace berth::server {
namespace {

using testing::HasSubstr;

/// Of a pod "p" with uid U on node "n1", which has tokens for the API server and for "vault".
struct Case {
  std::string name;
  std::string user;
  std::string spec; ///< of the request; "U" is the pod's uid
  std::string want; ///< in the refusal; "": granted
};

class NodeTokens : public AccessTest, public testing::WithParamInterface<Case> {
 protected:
  void SetUp() override {
    pod = create(parsed(
        R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"ns"},"spec":{)"
        R"("nodeName":"n1","serviceAccountName":"bot","containers":[{"name":"c","image":"x"}],)"
        R"("volumes":[{"name":"v","projected":{"sources":[{"serviceAccountToken":{"path":"a"}},)"
        R"({"serviceAccountToken":{"path":"b","audience":"vault"}}]}}]}})"));
  }
  Answer<void> ask(const User& who, std::string spec) const {
    for (std::size_t at = 0; (at = spec.find("\"U\"", at)) != std::string::npos;) {
      spec.replace(at, 3, "\"" + pod.meta().uid + "\"");
    }
    return check_node_token(registry, who, {"ns", "bot"},
                            api::parse_json(R"({"spec":)" + spec + "}").value(),
                            [](const RequestInfo& what) {
                              return Decision{.allowed = what.resource == "granted" &&
                                                         what.name == "bot" && what.ns == "ns",
                                              .reason = ""};
                            });
  }
  static User node(const std::string& name) { return user(name, {"system:nodes"}); }

  api::Object pod;
};

const std::string kPod =
    R"("boundObjectRef":{"kind":"Pod","apiVersion":"v1","name":"p","uid":"U"})";

TEST_P(NodeTokens, AreOfPodsThatTheNodeRuns) {
  const auto got = ask(node(GetParam().user), GetParam().spec);
  if (GetParam().want.empty()) {
    EXPECT_TRUE(got.has_value()) << got.error().message;
    return;
  }
  ASSERT_FALSE(got.has_value());
  EXPECT_EQ(got.error().code, 403);
  EXPECT_THAT(got.error().message, HasSubstr(R"(serviceaccounts "bot" is forbidden: )"));
  EXPECT_THAT(got.error().message, HasSubstr(GetParam().want));
}
INSTANTIATE_TEST_SUITE_P(
    Cases, NodeTokens,
    testing::Values(
        Case{"Own", "system:node:n1", "{" + kPod + "}", ""},
        Case{"OwnForAnAudience", "system:node:n1", "{" + kPod + R"(,"audiences":["vault"]})", ""},
        Case{"Anothers", "system:node:n2", "{" + kPod + "}", "scheduled on a different node"},
        Case{"NoNodesName", "somebody", "{" + kPod + "}",
             R"(could not determine node from user "somebody")"},
        Case{"Unbound", "system:node:n1", "{}", "node requested token not bound to a pod"},
        Case{"BoundToANode", "system:node:n1",
             R"({"boundObjectRef":{"kind":"Node","apiVersion":"v1","name":"n1","uid":"U"}})",
             "node requested token not bound to a pod"},
        Case{"WithoutUid", "system:node:n1",
             R"({"boundObjectRef":{"kind":"Pod","apiVersion":"v1","name":"p"}})",
             "a pod binding without a uid"},
        Case{"AnotherLife", "system:node:n1",
             R"({"boundObjectRef":{"kind":"Pod","apiVersion":"v1","name":"p","uid":"old"}})",
             "the UID in the bound object reference (old) does not match"},
        Case{"AudienceThatThePodHasNot", "system:node:n1", "{" + kPod + R"(,"audiences":["bank"]})",
             R"(audience "bank" not found in pod spec volume, system:node:n1 is not authorized)"},
        Case{"AudienceThatIsGranted", "system:node:n1", "{" + kPod + R"(,"audiences":["granted"]})",
             ""},
        Case{"Audiences", "system:node:n1", "{" + kPod + R"(,"audiences":["vault","granted"]})",
             "node may only request 0 or 1 audiences"}),
    [](const auto& each) { return each.param.name; });

TEST_F(NodeTokens, OfAPodThatIsNotThereAreNotFound) {
  const auto got =
      ask(node("system:node:n1"),
          R"({"boundObjectRef":{"kind":"Pod","apiVersion":"v1","name":"q","uid":"U"}})");
  EXPECT_EQ(got.error().code, 404);
}

TEST_F(NodeTokens, OthersAskForWhatTheyMay) {
  EXPECT_TRUE(ask(user("alice"), "{}").has_value());
  EXPECT_TRUE(ask(user("system:node:n1"), "{}").has_value()) << "a name alone makes no node";
}

} // namespace
} // namespace berth::server
