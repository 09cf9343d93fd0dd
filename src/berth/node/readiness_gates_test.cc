#include "berth/node/readiness_gates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::node {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(ReadinessGates, AreOpenOnceTheirConditionsAreTrue) {
  const auto pod = api::parse_json(R"({"spec": {"readinessGates": [
      {"conditionType": "a"}, {"conditionType": "b"}, {"conditionType": "c"}]}})");
  const auto status = api::parse_json(R"({"conditions": [{"type": "a", "status": "True"},
                                                         {"type": "b", "status": "False"}]})");
  EXPECT_THAT(missing_gates(*pod, &*status),
              ElementsAre("the status of pod readiness gate \"b\" is not \"True\", but False",
                          "corresponding condition of pod readiness gate \"c\" does not exist."));
  EXPECT_EQ(missing_gates(*pod, nullptr).size(), 3u);
  EXPECT_THAT(missing_gates(*api::parse_json(R"({"spec": {}})"), &*status), IsEmpty());
}

} // namespace
} // namespace berth::node
