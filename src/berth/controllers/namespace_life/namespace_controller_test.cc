// Namespaces that are deleted, over the embedded registry.
#include "berth/controllers/namespace_life/namespace_controller.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/api/json.h"
#include "berth/testing/control_plane.h"

namespace berth::controllers {
namespace {

using test::FakeKubelet;

const api::Key kTeam{"", "team"};

class NamespaceLife : public testing::Test {
 protected:
  NamespaceLife()
      : namespaces(plane.client, plane.loop), kubelet(plane, "n1", [](const api::Object&) {
          return FakeKubelet::Life{.runs = Duration::max(), .stops = Duration::seconds(20)};
        }) {
    create(R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"team"}})");
  }

  void create(const std::string& text) { plane.create(*api::parse_json(text)); }
  std::string condition(std::string_view type) const {
    const api::Object held = plane.find(client::kNamespaces, kTeam);
    const api::json::value* conditions = api::find_path(held.json(), "status.conditions");
    for (const auto& one : conditions->as_array()) {
      if (api::string_at(one, "type") == type) {
        return std::string(api::string_at(one, "status")) + " " +
               std::string(api::string_at(one, "reason")) + " " +
               std::string(api::string_at(one, "message"));
      }
    }
    return "";
  }

  test::ControlPlane plane;
  NamespaceController namespaces;
  FakeKubelet kubelet;
};

TEST_F(NamespaceLife, AnEmptyOneGoesAtOnce) {
  plane.remove(client::kNamespaces, kTeam);
  plane.run_for(Duration::seconds(1));
  EXPECT_FALSE(plane.find(client::kNamespaces, kTeam));
  EXPECT_TRUE(namespaces.idle());
}

TEST_F(NamespaceLife, TakesItsContentsAlong) {
  create(R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"team"}})");
  create(R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"b","namespace":"default"}})");
  create(R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":)"
         R"({"name":"rings.example.com"},"spec":{"group":"example.com","scope":"Namespaced",)"
         R"("names":{"plural":"rings","kind":"Ring"},"versions":[]}})");
  create(R"({"apiVersion":"example.com/v1","kind":"Ring","metadata":{"name":"r","namespace":)"
         R"("team"}})");
  plane.remove(client::kNamespaces, kTeam);
  plane.run_for(Duration::seconds(1));
  EXPECT_FALSE(plane.find(client::kNamespaces, kTeam));
  EXPECT_EQ(plane.all({"example.com", "Ring"}).size(), 0U);
  EXPECT_THAT(plane.names({"", "ConfigMap"}), testing::ElementsAre("b"));
}

TEST_F(NamespaceLife, SaysWhatIsLeft) {
  create(R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"team"},)"
         R"("spec":{"containers":[{"name":"c"}]}})");
  create(R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"team",)"
         R"("finalizers":["example.com/hold"]}})");
  plane.run_for(Duration::seconds(5));
  plane.remove(client::kNamespaces, kTeam);
  plane.run_for(Duration::seconds(1));
  EXPECT_EQ(condition("NamespaceContentRemaining"),
            "True SomeResourcesRemain Some resources are remaining: configmaps. has 1 resource "
            "instances, pods. has 1 resource instances");
  EXPECT_EQ(condition("NamespaceFinalizersRemaining"),
            "True SomeFinalizersRemain Some content in the namespace has finalizers remaining: "
            "example.com/hold in 1 resource instances");
  EXPECT_EQ(condition("NamespaceDeletionContentFailure"),
            "False ContentDeleted All content successfully deleted, may be waiting on "
            "finalization");
  plane.run_for(Duration::minutes(1));
  EXPECT_EQ(condition("NamespaceContentRemaining"),
            "True SomeResourcesRemain Some resources are remaining: configmaps. has 1 resource "
            "instances");
  plane.patch({"", "ConfigMap"}, {"team", "a"},
              *api::parse_json(R"({"metadata":{"finalizers":null}})"));
  plane.run_for(Duration::seconds(1));
  EXPECT_FALSE(plane.find(client::kNamespaces, kTeam));
}

} // namespace
} // namespace berth::controllers
