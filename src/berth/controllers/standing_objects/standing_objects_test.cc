// What every namespace has, over the embedded registry.
#include "berth/controllers/standing_objects/standing_objects.h"

#include <gtest/gtest.h>

#include <string>

#include "berth/api/json.h"
#include "berth/testing/control_plane.h"

namespace berth::controllers {
namespace {

const client::GroupKind kAccounts{"", "ServiceAccount"};
const client::GroupKind kMaps{"", "ConfigMap"};
const api::Key kCertificate{"team", "kube-root-ca.crt"};

class Standing : public testing::Test {
 protected:
  Standing() : objects(plane.client, plane.loop, "PEM") {
    plane.create(
        *api::parse_json(R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"team"}})"));
    plane.run_for(Duration::seconds(1));
  }
  std::string certificate() const {
    const api::Object held = plane.find(kMaps, kCertificate);
    const api::json::value* data = held ? api::find(held.json(), "data") : nullptr;
    return data == nullptr ? "" : api::to_json(*data);
  }

  test::ControlPlane plane;
  StandingObjects objects;
};

TEST_F(Standing, EveryNamespaceHasThem) {
  EXPECT_TRUE(plane.find(kAccounts, {"team", "default"}));
  EXPECT_EQ(certificate(), R"({"ca.crt":"PEM"})");
  EXPECT_TRUE(objects.idle());
}

TEST_F(Standing, TheyComeAgain) {
  plane.remove(kAccounts, {"team", "default"});
  plane.remove(kMaps, kCertificate);
  plane.run_for(Duration::seconds(1));
  EXPECT_TRUE(plane.find(kAccounts, {"team", "default"}));
  plane.patch(kMaps, kCertificate, *api::parse_json(R"({"data":{"ca.crt":"x","more":"y"}})"));
  plane.run_for(Duration::seconds(1));
  EXPECT_EQ(certificate(), R"({"ca.crt":"PEM"})");
}

} // namespace
} // namespace berth::controllers
