#include "berth/controllers/volume/protection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "berth/api/json.h"

namespace berth::controllers {
namespace {

api::Object parsed(const std::string& text) {
  return api::Object::parse(text).value();
}

TEST(Protection, APodHoldsItsClaimsFromItsNodeOn) {
  const auto pod = [](std::string_view node) {
    return parsed(fmt::format(
        R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"p","namespace":"n"}},"spec":{{{})"
        R"("containers":[{{"name":"c","image":"x"}}],"volumes":[{{"name":"v",)"
        R"("persistentVolumeClaim":{{"claimName":"c"}}}},{{"name":"w","emptyDir":{{}}}}]}}}})",
        node));
  };
  EXPECT_TRUE(claims_held_by(pod("")).empty());
  EXPECT_THAT(claims_held_by(pod(R"("nodeName":"m",)")), testing::ElementsAre("n/c"));
}

std::string meta(std::string_view finalizer) {
  return fmt::format(
      R"("metadata":{{"name":"a","deletionTimestamp":"2024-01-01T00:00:00Z","finalizers":["{}"]}})",
      finalizer);
}

TEST(Protection, GoesWhenNothingIsProtected) {
  const auto claim = parsed(R"({"apiVersion":"v1","kind":"PersistentVolumeClaim",)" +
                            meta("kubernetes.io/pvc-protection") + "}");
  EXPECT_TRUE(protected_for_nothing(claim, false));
  EXPECT_FALSE(protected_for_nothing(claim, true));
  const auto other =
      parsed(R"({"apiVersion":"v1","kind":"PersistentVolumeClaim",)" + meta("mine/x") + "}");
  EXPECT_FALSE(protected_for_nothing(other, false));
  const auto volume = [](std::string_view phase) {
    return parsed(fmt::format(R"({{"apiVersion":"v1","kind":"PersistentVolume",{},"status":{{)"
                              R"("phase":"{}"}}}})",
                              meta("kubernetes.io/pv-protection"), phase));
  };
  EXPECT_TRUE(protected_for_nothing(volume("Released")));
  EXPECT_FALSE(protected_for_nothing(volume("Bound")));
}

} // namespace
} // namespace berth::controllers
