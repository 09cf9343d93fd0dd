#include "berth/api/strict.h"

#include <gtest/gtest.h>

#include "berth/api/json.h"

namespace berth::api {
namespace {

std::string error_of(std::string_view document, const std::function<void(const Field&)>& check) {
  std::optional<Error> failure;
  const json::value value = *parse_json(document);
  check(Field(value, failure));
  return failure ? to_string(*failure) : "";
}

TEST(Strict, UnknownFieldsNameTheNearestKnownOne) {
  const auto check = [](const Field& in) { refuse_unknown(in, {"enabled", "disabled"}); };
  EXPECT_EQ(error_of(R"({"enabled": 1, "disabled": 2})", check), "");
  EXPECT_EQ(error_of(R"({"enabeld": 1})", check),
            "enabeld: unknown field; did you mean \"enabled\"?");
  EXPECT_EQ(error_of(R"({"frob": 1})", check), "frob: unknown field");
  EXPECT_EQ(error_of("[]", check), "expected a map, got a list");
}

TEST(Strict, ValuesAreRefusedInKubernetesWords) {
  const auto at_a = [](auto check) { return [check](const Field& in) { in.within("a", check); }; };
  EXPECT_EQ(error_of(R"({"a": 101})", at_a([](const Field& a) { check_range(a, 101, 0, 100); })),
            "a: Invalid value: 101: not in valid range [0, 100]");
  EXPECT_EQ(error_of(R"({"a": 100})", at_a([](const Field& a) { check_range(a, 100, 0, 100); })),
            "");
  EXPECT_EQ(error_of(R"({"a": "x"})", at_a([](const Field& a) { refuse_value(a, "why"); })),
            "a: Invalid value: \"x\": why");
  EXPECT_EQ(error_of(R"({"a": "x"})", at_a([](const Field& a) {
                       check_choice(a, "x", {"A", "B"});
                     })),
            "a: Unsupported value: \"x\": supported values: \"A\", \"B\"");
  EXPECT_EQ(error_of("{}", [](const Field& in) { require(in, "a", "can not be empty"); }),
            "a: Required value: can not be empty");
}

TEST(Strict, DurationsAreTexts) {
  Duration out;
  const auto read = [&](const Field& in) {
    in.within("a", [&](const Field& a) { decode_duration(a, out); });
  };
  EXPECT_EQ(error_of(R"({"a": "1m30s"})", read), "");
  EXPECT_EQ(out, Duration::seconds(90));
  EXPECT_EQ(error_of(R"({"a": 5})", read), "a: expected a string, got a number: 5");
  EXPECT_NE(error_of(R"({"a": "soon"})", read), "");
}

} // namespace
} // namespace berth::api
