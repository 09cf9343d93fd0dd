#include "berth/api/json.h"

#include <bit>
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/base/rng.h"

namespace berth::api {
namespace {

using testing::HasSubstr;

json::value parsed(std::string_view text) {
  auto value = parse_json(text);
  EXPECT_TRUE(value.has_value()) << text << ": " << (value ? "" : berth::to_string(value.error()));
  return value ? *std::move(value) : json::value();
}

class JsonRoundTrip : public testing::TestWithParam<std::string> {};

TEST_P(JsonRoundTrip, KeepsTheBytes) {
  EXPECT_EQ(to_json(parsed(GetParam())), GetParam());
}

INSTANTIATE_TEST_SUITE_P(Table, JsonRoundTrip,
                         testing::Values("null", "true", "false", "0", "-1", "9223372036854775807",
                                         "-9223372036854775808", "18446744073709551615", "0.1",
                                         "1.5", "-0", "1e-7", "0.000001", "1e+21",
                                         "123456789012345680000", "1.7976931348623157e+308",
                                         "5e-324", "\"\"", "\"a\\\"b\\\\c\\n\\t\\u0001\"",
                                         "\"\xC3\xA9\xF0\x9F\x98\x80\"", "[]", "{}",
                                         "[1,[2,[]],{\"z\":1,\"a\":2}]",
                                         R"({"b":{"c":null},"a":[true]})"));

struct NumberCase {
  std::string given;
  std::string want;
};

class JsonNumber : public testing::TestWithParam<NumberCase> {};

TEST_P(JsonNumber, IsPrintedAsGoPrintsIt) {
  EXPECT_EQ(to_json(parsed(GetParam().given)), GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(
    Table, JsonNumber,
    testing::Values(NumberCase{"1.0", "1"}, NumberCase{"1e2", "100"}, NumberCase{"1E-1", "0.1"},
                    NumberCase{"18446744073709551616", "18446744073709552000"},
                    NumberCase{"1e20", "100000000000000000000"}, NumberCase{"1e21", "1e+21"},
                    NumberCase{"0.0000001", "1e-7"}, NumberCase{"1.25e-9", "1.25e-9"},
                    NumberCase{"12.50", "12.5"}, NumberCase{"-1.5e3", "-1500"},
                    NumberCase{"1e-999", "0"}));

TEST(JsonProperty, DoublesRoundTripBitForBit) {
  Rng rng(11);
  for (int i = 0; i < 50'000; ++i) {
    const double value = std::bit_cast<double>(rng.next());
    if (!std::isfinite(value)) {
      continue;
    }
    const std::string text = to_json(json::value(value));
    auto back = parse_json(text);
    ASSERT_TRUE(back.has_value()) << text;
    ASSERT_EQ(std::bit_cast<std::uint64_t>(back->to_number<double>()),
              std::bit_cast<std::uint64_t>(value))
        << text;
  }
}

json::value random_value(Rng& rng, int depth) {
  switch (rng.below(depth > 0 ? 8 : 6)) {
  case 0:
    return nullptr;
  case 1:
    return rng.chance(1, 2);
  case 2:
    return static_cast<std::int64_t>(rng.next());
  case 3:
    return rng.next() | (1ULL << 63U);
  case 4:
    return static_cast<double>(rng.between(-1000, 1000)) / 7 + 0.001;
  case 5: {
    std::string text;
    for (std::uint64_t n = rng.below(8); n > 0; --n) {
      text += static_cast<char>(rng.below(128));
    }
    return json::value(text);
  }
  case 6: {
    json::array array;
    for (std::uint64_t n = rng.below(5); n > 0; --n) {
      array.push_back(random_value(rng, depth - 1));
    }
    return array;
  }
  default: {
    json::object object;
    for (std::uint64_t n = rng.below(25); n > 0; --n) {
      object[rng.name_suffix(2)] = random_value(rng, depth - 1);
    }
    return object;
  }
  }
}

TEST(JsonProperty, AnyDocumentRoundTripsCompactAndPretty) {
  Rng rng(5);
  for (int i = 0; i < 500; ++i) {
    const json::value value = random_value(rng, 4);
    ASSERT_EQ(parsed(to_json(value)), value);
    ASSERT_EQ(parsed(to_pretty_json(value)), value);
    ASSERT_EQ(to_json(parsed(to_pretty_json(value))), to_json(value)) << "members changed order";
  }
}

TEST(JsonProperty, EveryTruncationIsAnErrorOrAValue) {
  const std::string text = R"({"a":[1,2.5,"x\u00e9\n"],"b":{"c":true,"d":null}})";
  for (std::size_t n = 0; n < text.size(); ++n) {
    const auto value = parse_json(text.substr(0, n), "f.json");
    ASSERT_FALSE(value.has_value()) << n;
    ASSERT_THAT(berth::to_string(value.error()), HasSubstr("f.json:1:")) << n;
  }
}

TEST(Json, PrettyPrintsAsKubectl) {
  EXPECT_EQ(
      to_pretty_json(parsed(R"({"a":[1,{}],"b":{"c":[]}})")),
      "{\n    \"a\": [\n        1,\n        {}\n    ],\n    \"b\": {\n        \"c\": []\n    }\n}");
  EXPECT_EQ(to_pretty_json(parsed("[1]"), 2), "[\n  1\n]");
}

struct BadCase {
  std::string name;
  std::string given;
  std::string want;
};

class JsonBad : public testing::TestWithParam<BadCase> {};

TEST_P(JsonBad, NamesThePlaceAndTheProblem) {
  const auto value = parse_json(GetParam().given, "x.json");
  ASSERT_FALSE(value.has_value());
  EXPECT_EQ(value.error().code, Code::Invalid);
  EXPECT_EQ(berth::to_string(value.error()), GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(
    Table, JsonBad,
    testing::Values(
        BadCase{"Empty", "", "x.json:1:1: the json text ends too early"},
        BadCase{"Truncated", "{\"a\":\n [1,", "x.json:2:5: the json text ends too early"},
        BadCase{"TrailingComma", "{\"a\":1,}", "x.json:1:8: not json: unexpected '}'"},
        BadCase{"NotJson", "hello", "x.json:1:1: not json: unexpected 'h'"},
        BadCase{"Binary", std::string("\x7F\x45LF\0\1", 6),
                "x.json:1:1: not json: unexpected byte 0x7f"},
        BadCase{"TwoValues", "{} {}", "x.json:1:4: the json text goes on after its end"},
        BadCase{"DuplicateKey", "{\"a\":1,\n \"b\":2,\n \"a\":3}",
                "x.json:3:2: key \"a\" is given twice, first at line 1 column 2"},
        BadCase{"HugeNumber", "[1e999]", "x.json:1:2: number out of range: 1e999"}),
    [](const auto& given) { return given.param.name; });

TEST(Json, ColumnsCountCharacters) {
  const auto value = parse_json("[\"\xC3\xA9\xC3\xA9\", x]");
  ASSERT_FALSE(value.has_value());
  EXPECT_EQ(value.error().where->column, 8);
}

TEST(Json, DuplicateKeysAreFoundInLargeObjects) {
  std::string text = "{";
  for (int i = 0; i < 200; ++i) {
    text += "\"k" + std::to_string(i) + "\":" + std::to_string(i) + ",";
  }
  EXPECT_TRUE(parse_json(text + "\"last\":0}").has_value());
  EXPECT_FALSE(parse_json(text + "\"k7\":0}").has_value());
}

TEST(Json, InvalidUtf8IsAnError) {
  EXPECT_FALSE(parse_json("\"\xFF\"").has_value());
}

TEST(Json, WhatIsWrittenIsUtf8) {
  EXPECT_EQ(
      to_json(json::value("a\xFF\xC3\xA9\xED\xA0\x80z\xE2\x82")),
      "\"a\xEF\xBF\xBD\xC3\xA9\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBDz\xEF\xBF\xBD\xEF\xBF\xBD\"");
  EXPECT_EQ(to_json(json::object{{"\xC0k", "\xF0\x9F\x98\x80"}}),
            "{\"\xEF\xBF\xBDk\":\"\xF0\x9F\x98\x80\"}");
}

TEST(Json, DepthIsLimited) {
  const auto nested = [](std::size_t n) { return std::string(n, '[') + std::string(n, ']'); };
  EXPECT_TRUE(parse_json(nested(128)).has_value());
  const auto deep = parse_json(nested(129));
  ASSERT_FALSE(deep.has_value());
  EXPECT_THAT(deep.error().message, HasSubstr("deeper than 128"));
  EXPECT_FALSE(parse_json(std::string(5'000'000, '[')).has_value());
}

TEST(Json, FindsMembersAndPaths) {
  json::value value = parsed(R"({"spec":{"template":{"name":"x"},"none":null},"n":3})");
  EXPECT_EQ(string_at(value, "spec.template.name"), "x");
  EXPECT_EQ(string_at(value, "n"), "");
  EXPECT_EQ(find_path(value, "spec.none"), nullptr);
  EXPECT_EQ(find_path(value, "spec.template.name.more"), nullptr);
  EXPECT_EQ(find(value, "gone"), nullptr);
  EXPECT_EQ(find(json::value(3), "a"), nullptr);
  object_at(object_at(value.as_object(), "status"), "deep")["a"] = 1;
  object_at(value.as_object(), "status")["b"] = 2;
  EXPECT_EQ(to_json(*find(value, "status")), R"({"deep":{"a":1},"b":2})");
}

struct MergeCase {
  std::string target;
  std::string patch;
  std::string want;
};

class JsonMerge : public testing::TestWithParam<MergeCase> {};

TEST_P(JsonMerge, FollowsTheTestCasesOfRfc7386) {
  json::value target = parsed(GetParam().target);
  merge_patch(target, parsed(GetParam().patch));
  EXPECT_EQ(target, parsed(GetParam().want));
}

INSTANTIATE_TEST_SUITE_P(
    Rfc7386, JsonMerge,
    testing::Values(MergeCase{R"({"a":"b"})", R"({"a":"c"})", R"({"a":"c"})"},
                    MergeCase{R"({"a":"b"})", R"({"b":"c"})", R"({"a":"b","b":"c"})"},
                    MergeCase{R"({"a":"b"})", R"({"a":null})", R"({})"},
                    MergeCase{R"({"a":"b","b":"c"})", R"({"a":null})", R"({"b":"c"})"},
                    MergeCase{R"({"a":["b"]})", R"({"a":"c"})", R"({"a":"c"})"},
                    MergeCase{R"({"a":"c"})", R"({"a":["b"]})", R"({"a":["b"]})"},
                    MergeCase{R"({"a":{"b":"c"}})", R"({"a":{"b":"d","c":null}})",
                              R"({"a":{"b":"d"}})"},
                    MergeCase{R"({"a":[{"b":"c"}]})", R"({"a":[1]})", R"({"a":[1]})"},
                    MergeCase{R"(["a","b"])", R"(["c","d"])", R"(["c","d"])"},
                    MergeCase{R"({"a":"b"})", R"(["c"])", R"(["c"])"},
                    MergeCase{R"({"a":"foo"})", "null", "null"},
                    MergeCase{R"({"a":"foo"})", R"("bar")", R"("bar")"},
                    MergeCase{R"({"e":null})", R"({"a":1})", R"({"e":null,"a":1})"},
                    MergeCase{R"([1,2])", R"({"a":"b","c":null})", R"({"a":"b"})"},
                    MergeCase{R"({})", R"({"a":{"bb":{"ccc":null}}})", R"({"a":{"bb":{}}})"}));

TEST(Json, MergeKeepsTheOrderOfMembers) {
  json::value target = parsed(R"({"a":1,"b":2,"c":3,"d":4})");
  merge_patch(target, parsed(R"({"b":null,"c":9})"));
  EXPECT_EQ(to_json(target), R"({"a":1,"c":9,"d":4})");
}

TEST(JsonWriter, EscapesWhereverACharacterStands) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"\"", R"(\")"}, {"\\", R"(\\)"},  {"\n", R"(\n)"},      {"\x1f", R"(\u001f)"},
      {" ", " "},      {"\x7f", "\x7f"}, {"\u00e9", "\u00e9"}, {"\x80", "\uFFFD"},
  };
  for (const auto& [raw, written] : cases) {
    for (std::size_t before = 0; before < 20; ++before) {
      for (std::size_t after = 0; after < 20; ++after) {
        const std::string head(before, 'a');
        const std::string tail(after, '~');
        EXPECT_EQ(to_json(json::value(head + raw + tail)), '"' + head + written + tail + '"')
            << before << " before, " << after << " after";
      }
    }
  }
}

} // namespace
} // namespace berth::api
