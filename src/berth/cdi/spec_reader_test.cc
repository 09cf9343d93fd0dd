#include "berth/cdi/spec_reader.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::cdi {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

json::value document(std::string_view text) {
  auto parsed = api::parse_json(text);
  EXPECT_TRUE(parsed) << text;
  return parsed ? *std::move(parsed) : json::value();
}

struct Thing {
  std::string text = "before";
  bool flag = false;
  std::vector<std::string> texts;
  api::Labels labels;
  std::optional<std::int64_t> wide;
  std::optional<std::uint32_t> narrow;
  std::vector<std::uint32_t> numbers;
  std::vector<std::string> inner;
};

Result<Thing> read(const json::value& value, Scalars scalars = Scalars::Strict) {
  Thing thing;
  StrictReader in(value, "f.json", "", scalars);
  in.text("text", thing.text);
  in.flag("flag", thing.flag);
  in.texts("texts", thing.texts);
  in.labels("labels", thing.labels);
  in.number("wide", thing.wide);
  in.number("narrow", thing.narrow);
  in.numbers("numbers", thing.numbers);
  in.objects("list", [&](StrictReader& item) {
    item.text("name", thing.inner.emplace_back());
    item.object("deep", [&](StrictReader& deep) { deep.flag("flag", thing.flag); });
  });
  BERTH_CHECK(in.finish());
  return thing;
}

TEST(StrictReader, ReadsEveryKind) {
  const auto thing = read(document(R"({
    "text": "t", "flag": true, "texts": ["a", "b"], "labels": {"k": "v"}, "wide": -5,
    "narrow": 4294967295, "numbers": [0, 7], "list": [{"name": "x"}, {"name": "y"}]})"));
  ASSERT_TRUE(thing) << to_string(thing.error());
  EXPECT_EQ(thing->text, "t");
  EXPECT_TRUE(thing->flag);
  EXPECT_THAT(thing->texts, ElementsAre("a", "b"));
  EXPECT_THAT(thing->labels, ElementsAre(Pair("k", "v")));
  EXPECT_EQ(thing->wide, -5);
  EXPECT_EQ(thing->narrow, 4294967295U);
  EXPECT_THAT(thing->numbers, ElementsAre(0u, 7u));
  EXPECT_THAT(thing->inner, ElementsAre("x", "y"));
}

TEST(StrictReader, WhatIsAbsentOrNullStaysAsItIs) {
  for (const char* text : {"{}", R"({"text": null, "flag": null, "texts": null, "labels": null,
                                     "wide": null, "narrow": null, "numbers": null,
                                     "list": null})"}) {
    const auto thing = read(document(text));
    ASSERT_TRUE(thing) << to_string(thing.error());
    EXPECT_EQ(thing->text, "before");
    EXPECT_FALSE(thing->wide);
    EXPECT_FALSE(thing->narrow);
  }
}

TEST(StrictReader, ScalarsBecomeTextAsInGo) {
  const auto thing =
      read(document(R"({"text": 1234567.5, "texts": [100000.5, 0.0001, 0.00001, true],
                                       "labels": {"a": -7}, "list": [{"name": 0}]})"),
           Scalars::BecomeText);
  ASSERT_TRUE(thing) << to_string(thing.error());
  EXPECT_EQ(thing->text, "1.2345675e+06");
  EXPECT_THAT(thing->texts, ElementsAre("100000.5", "0.0001", "1e-05", "true"));
  EXPECT_THAT(thing->labels, ElementsAre(Pair("a", "-7")));
  EXPECT_THAT(thing->inner, ElementsAre("0"));
}

struct Bad {
  const char* name;
  const char* text;
  const char* want;
};

class Refused : public ::testing::TestWithParam<Bad> {};

TEST_P(Refused, NamesFileAndField) {
  const auto thing = read(document(GetParam().text));
  ASSERT_FALSE(thing);
  EXPECT_EQ(thing.error().code, Code::Invalid);
  EXPECT_EQ(to_string(thing.error()), GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(
    Cases, Refused,
    ::testing::Values(
        Bad{"NoObject", "[]", "f.json: must be an object"},
        Bad{"Text", R"({"text": 1})", "f.json: text: must be a string"},
        Bad{"Flag", R"({"flag": "yes"})", "f.json: flag: must be true or false"},
        Bad{"List", R"({"texts": "a"})", "f.json: texts: must be a list"},
        Bad{"ListItem", R"({"texts": ["a", 1]})", "f.json: texts: must be a list of strings"},
        Bad{"Labels", R"({"labels": []})", "f.json: labels: must be an object of strings"},
        Bad{"LabelValue", R"({"labels": {"a": "b", "c": 1}})",
            "f.json: labels: must be an object of strings, is not at \"c\""},
        Bad{"Fraction", R"({"wide": 1.5})",
            "f.json: wide: must be an integer from -9223372036854775808 to 9223372036854775807"},
        Bad{"TooWide", R"({"wide": 9223372036854775808})",
            "f.json: wide: must be an integer from -9223372036854775808 to 9223372036854775807"},
        Bad{"Negative", R"({"narrow": -1})",
            "f.json: narrow: must be an integer from 0 to 4294967295"},
        Bad{"TooNarrow", R"({"narrow": 4294967296})",
            "f.json: narrow: must be an integer from 0 to 4294967295"},
        Bad{"NumberItem", R"({"numbers": [1, -2]})",
            "f.json: numbers: must be an integer from 0 to 4294967295"},
        Bad{"Unknown", R"({"txt": "a"})", "f.json: txt: unknown field"},
        Bad{"ObjectItem", R"({"list": [{"name": "a"}, 3]})", "f.json: list[1]: must be an object"},
        Bad{"UnknownInside", R"({"list": [{"name": "a", "nam": "b"}]})",
            "f.json: list[0].nam: unknown field"},
        Bad{"Deep", R"({"list": [{}, {"deep": {"flag": 0}}]})",
            "f.json: list[1].deep.flag: must be true or false"},
        Bad{"TheFirstOfTwo", R"({"text": 1, "flag": 2, "unknown": 3})",
            "f.json: text: must be a string"}),
    [](const auto& test) { return test.param.name; });

} // namespace
} // namespace berth::cdi
