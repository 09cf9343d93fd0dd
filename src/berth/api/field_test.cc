#include "berth/api/field.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/api/json.h"
#include "berth/api/quantity.h"

namespace berth::api {

struct Part {
  std::string name;
  std::int64_t count = 7;
};

struct Whole {
  std::optional<std::string> text;
  std::vector<Part> parts;
  std::map<std::string, Part, std::less<>> named;
  std::optional<bool> flag;
  std::optional<TimePoint> at;
  Quantity quantity;
  int small = 0;
  json::value raw;
};

void decode(const Field& in, Part& out) {
  in.read("name", out.name);
  in.read("count", out.count);
}

void decode(const Field& in, Whole& out) {
  in.read("text", out.text);
  in.read("parts", out.parts);
  in.read("named", out.named);
  in.read("flag", out.flag);
  in.read("at", out.at);
  in.read("quantity", out.quantity);
  in.read("small", out.small);
  in.read("raw", out.raw);
}

namespace {

Result<Whole> whole(std::string_view text) {
  return decode_document<Whole>(*parse_json(text));
}

TEST(Field, ReadsNestedValues) {
  const auto read = whole(
      R"({"text":"t","parts":[{"name":"a"},{"count":2}],"named":{"x":{"name":"b"}},"flag":false,
          "at":"2026-01-02T03:04:05Z","quantity":1.5,"small":-5,"raw":{"k":[1]},"unknown":{}})");
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->text, "t");
  EXPECT_EQ(read->parts[0].name, "a");
  EXPECT_EQ(read->parts[0].count, 7) << "defaults stay";
  EXPECT_EQ(read->parts[1].count, 2);
  EXPECT_EQ(read->named.at("x").name, "b");
  EXPECT_EQ(read->flag, false);
  EXPECT_EQ(read->at, TimePoint::from_unix_seconds(1767323045));
  EXPECT_EQ(read->quantity.to_string(), "1500m");
  EXPECT_EQ(read->small, -5);
  EXPECT_EQ(to_json(read->raw), R"({"k":[1]})");
}

TEST(Field, NullIsAbsentEverywhere) {
  const auto read = whole(
      R"({"text":null,"parts":[null],"named":{"x":null},"flag":null,"raw":null,"quantity":null})");
  ASSERT_TRUE(read.has_value());
  EXPECT_FALSE(read->text.has_value());
  EXPECT_EQ(read->parts.at(0).count, 7);
  EXPECT_EQ(read->named.at("x").count, 7);
  EXPECT_TRUE(read->quantity.is_zero());
}

struct BadCase {
  std::string given;
  std::string want;
};

class FieldBad : public testing::TestWithParam<BadCase> {};

TEST_P(FieldBad, SpellsOutThePath) {
  const auto read = whole(GetParam().given);
  ASSERT_FALSE(read.has_value());
  EXPECT_EQ(berth::to_string(read.error()), GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(
    Table, FieldBad,
    testing::Values(
        BadCase{R"({"parts":[{},{"count":"2"}]})",
                "parts[1].count: expected an integer, got a string: \"2\""},
        BadCase{R"({"named":{"a.b/c":{"name":[]}}})",
                "named[a.b/c].name: expected a string, got a list"},
        BadCase{R"({"named":{"":{"name":true}}})",
                "named[].name: expected a string, got a boolean: true"},
        BadCase{R"({"text":1,"flag":2})", "text: expected a string, got a number: 1"},
        BadCase{R"({"small":3000000000})", "small: number does not fit 32 bits: 3000000000"},
        BadCase{R"({"small":0.5})", "small: expected an integer, got a number: 0.5"},
        BadCase{R"({"at":5})",
                "at: expected a time such as \"2026-01-02T03:04:05Z\", got a number: 5"},
        BadCase{"3", "expected a map, got a number: 3"}));

TEST(Field, LongValuesAreNotRepeated) {
  const auto read = whole(R"({"flag":")" + std::string(1000, 'x') + R"("})");
  ASSERT_FALSE(read.has_value());
  EXPECT_EQ(read.error().message, "expected true or false, got a string");
}

TEST(Field, WholeNumbersFromYamlFloatsAreIntegers) {
  const auto read = whole(R"({"parts":[{"count":1e3}]})");
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->parts[0].count, 1000);
}

} // namespace
} // namespace berth::api
