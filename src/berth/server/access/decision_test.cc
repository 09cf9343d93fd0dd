#include "berth/server/access/access_fixture.h"
#include "berth/server/access/decision.h"

namespace berth::server {
namespace {

using DecisionTest = AccessTest;

struct Refusal {
  const char* what;
  const char* reason;
  const char* message;
  const char* details;
};

TEST_F(DecisionTest, RefusesInKubernetesWords) {
  for (
      const Refusal& want : std::initializer_list<Refusal>{
          {"delete pods ns/x", "",
           R"(pods "x" is forbidden: User "u" cannot delete resource "pods" in API group "" in the namespace "ns")",
           R"({"name":"x","kind":"pods"})"},
          {"list nodes", "",
           R"(nodes is forbidden: User "u" cannot list resource "nodes" in API group "" at the cluster scope)",
           R"({"kind":"nodes"})"},
          {"patch deployments.apps/scale ns/x", R"(RBAC: role "r" not found)",
           R"(deployments.apps "x" is forbidden: User "u" cannot patch resource "deployments/scale" in API group "apps" in the namespace "ns": RBAC: role "r" not found)",
           R"({"name":"x","group":"apps","kind":"deployments"})"},
          {"get /foo", "", R"(forbidden: User "u" cannot get path "/foo")", "{}"},
          {"get /<b>&", "", R"(forbidden: User "u" cannot get path "/&lt;b&gt;&amp;")", "{}"},
      }) {
    SCOPED_TRACE(want.what);
    const Status status = forbidden(user("u"), asks(want.what), want.reason);
    EXPECT_EQ(status.code, 403);
    EXPECT_EQ(status.reason, "Forbidden");
    EXPECT_EQ(status.message, want.message);
    EXPECT_EQ(api::to_json(status.details), want.details);
  }
}

struct Selected {
  const char* what;
  const char* selector;
  const char* name;
};

TEST_F(DecisionTest, ListsAndWatchesOfOneNameNameIt) {
  for (const Selected& want : std::initializer_list<Selected>{
           {"list pods ns/", "metadata.name=a", "a"},
           {"watch pods ns/", "status.phase=Running,metadata.name==a", "a"},
           {"list pods ns/", "metadata.name!=a", ""},
           {"list pods ns/", "metadata.name in (a,b)", ""},
           {"list pods ns/", "metadata.name=..", ""},
           {"list pods ns/", "metadata.name=a,metadata.name=b", "a"},
           {"list pods ns/", R"(metadata.name=a\,b)", "a,b"},
           {"list pods ns/", "metadata.name=system:node", "system:node"},
           {"list pods ns/", "metadata.name=a,x", ""},
           {"list pods ns/", "((", ""},
           {"list pods ns/", "", ""},
           {"deletecollection pods ns/", "metadata.name=a", ""},
           {"get pods ns/b", "metadata.name=a", "b"},
       }) {
    SCOPED_TRACE(std::string(want.what) + " " + want.selector);
    EXPECT_EQ(named_by_selector(asks(want.what), {{"fieldSelector", want.selector}}).name,
              want.name);
  }
}

} // namespace
} // namespace berth::server
