#include "berth/api/same.h"

#include <gtest/gtest.h>

#include "berth/api/json.h"

namespace berth::api {
namespace {

/// Each beside another one, as Boost.JSON compares them.
TEST(Same, AgreesWithEquality) {
  const std::vector<std::string> texts{"null",
                                       "true",
                                       "false",
                                       "0",
                                       "1",
                                       "-1",
                                       "1.0",
                                       "1.5",
                                       R"("")",
                                       R"("a")",
                                       "[]",
                                       "[1]",
                                       "[1,2]",
                                       "[2,1]",
                                       "{}",
                                       R"({"a":1})",
                                       R"({"a":2})",
                                       R"({"a":1.0})",
                                       R"({"b":1})",
                                       R"({"a":1,"b":2})",
                                       R"({"b":2,"a":1})",
                                       R"({"a":1,"c":2})",
                                       R"({"a":{"b":[{"c":null}]}})",
                                       R"({"a":{"b":[{"c":false}]}})",
                                       R"({"a":{"b":[{}]}})",
                                       R"({"c":3,"a":1,"b":2})",
                                       R"({"a":1,"b":2,"c":3})",
                                       R"([{"b":1,"a":[]},{"a":[],"b":1}])",
                                       R"([{"a":[],"b":1},{"b":1,"a":[]}])",
                                       "18446744073709551615",
                                       "9223372036854775807"};
  for (const std::string& one : texts) {
    for (const std::string& other : texts) {
      const json::value left = parse_json(one).value();
      const json::value right = parse_json(other).value();
      EXPECT_EQ(same(left, right), left == right) << one << " and " << other;
    }
  }
}

} // namespace
} // namespace berth::api
