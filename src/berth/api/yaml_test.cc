#include "berth/api/yaml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/api/json.h"
#include "berth/base/rng.h"

namespace berth::api {
namespace {

using testing::HasSubstr;

/// The documents of a stream as JSON, one a line; or the error.
std::string read(std::string_view text) {
  const auto documents = parse_yaml(text, "f.yaml");
  if (!documents) {
    return berth::to_string(documents.error());
  }
  std::string out;
  for (const YamlDocument& document : *documents) {
    out += (out.empty() ? "" : "\n") + to_json(document.value);
  }
  return out;
}

struct Case {
  std::string given;
  std::string want;
};

class YamlScalar : public testing::TestWithParam<Case> {};

TEST_P(YamlScalar, MeansWhatItMeansToKubectl) {
  EXPECT_EQ(read("a: " + GetParam().given), "{\"a\":" + GetParam().want + "}") << GetParam().given;
}

INSTANTIATE_TEST_SUITE_P(
    Table, YamlScalar,
    testing::Values(
        Case{"yes", "true"}, Case{"Yes", "true"}, Case{"y", "true"}, Case{"on", "true"},
        Case{"TRUE", "true"}, Case{"no", "false"}, Case{"n", "false"}, Case{"OFF", "false"},
        Case{"False", "false"}, Case{"yEs", "\"yEs\""}, Case{"'yes'", "\"yes\""},
        Case{"\"no\"", "\"no\""}, Case{"yes please", "\"yes please\""}, Case{"", "null"},
        Case{"~", "null"}, Case{"null", "null"}, Case{"Null", "null"}, Case{"nUll", "\"nUll\""},
        Case{"''", "\"\""}, Case{"8", "8"}, Case{"\"8\"", "\"8\""}, Case{"-8", "-8"},
        Case{"+8", "8"}, Case{"0", "0"}, Case{"0777", "511"}, Case{"0o777", "511"},
        Case{"0888", "888"}, Case{"0x1F", "31"}, Case{"0b101", "5"}, Case{"-0x10", "-16"},
        Case{"1_000_000", "1000000"}, Case{"9223372036854775807", "9223372036854775807"},
        Case{"18446744073709551615", "18446744073709551615"},
        Case{"18446744073709551616", "18446744073709552000"}, Case{"1e3", "1000"},
        Case{"1E3", "1000"}, Case{"1.5e-3", "0.0015"}, Case{"1.0", "1"}, Case{"0.1", "0.1"},
        Case{".5", "0.5"}, Case{"5.", "5"}, Case{"-.5", "-0.5"}, Case{"1e400", "\"1e400\""},
        Case{"1e-400", "0"}, Case{"1.2.3", "\"1.2.3\""}, Case{"1e", "\"1e\""}, Case{"0x", "\"0x\""},
        Case{"2Gi", "\"2Gi\""}, Case{"100m", "\"100m\""}, Case{"1:30", "\"1:30\""},
        Case{"2001-12-14", "\"2001-12-14\""},
        Case{"2024-01-01T00:00:00Z", "\"2024-01-01T00:00:00Z\""}, Case{"!!str 8", "\"8\""},
        Case{"!!str yes", "\"yes\""}, Case{"!!int \"8\"", "8"}, Case{"!!float 1", "1"},
        Case{"!!bool \"yes\"", "true"}, Case{"!!binary aGVsbG8=", "\"hello\""},
        Case{"!Ref thing", "\"thing\""}, Case{"! 8", "\"8\""},
        Case{"|\n  a\n  b\n", "\"a\\nb\\n\""}, Case{">-\n  a\n  b\n", "\"a b\""},
        Case{"[1, two, {c: 3}]", "[1,\"two\",{\"c\":3}]"}));

TEST(YamlScalarDash, AloneIsAListOfNull) {
  EXPECT_EQ(read("- "), "[null]");
}

class YamlDocuments : public testing::TestWithParam<Case> {};

TEST_P(YamlDocuments, AreReadAsKubectlReadsThem) {
  EXPECT_EQ(read(GetParam().given), GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(
    Table, YamlDocuments,
    testing::Values(Case{"", ""}, Case{"# only a comment\n", ""},
                    Case{"---\n---\na: 1\n---\n# none\n", "{\"a\":1}"},
                    Case{"a: 1\n---\nb: 2\n...\n---\nc: 3\n", "{\"a\":1}\n{\"b\":2}\n{\"c\":3}"},
                    Case{"{\"a\": [1, 2.5]}", "{\"a\":[1,2.5]}"},
                    Case{"z: 1\na: 2\n", "{\"z\":1,\"a\":2}"},
                    Case{"8: a\nyes: b\n1.5: c\n", "{\"8\":\"a\",\"true\":\"b\",\"1.5\":\"c\"}"},
                    Case{"\xEF\xBB\xBFy: 1\n", "{\"true\":1}"},
                    Case{"a: &x {b: 1}\nc: *x\n", "{\"a\":{\"b\":1},\"c\":{\"b\":1}}"},
                    Case{"a: &x k\n*x : v\n", "{\"a\":\"k\",\"k\":\"v\"}"},
                    Case{"d: &d {a: 1, b: 2}\ne:\n  <<: *d\n  b: 3\n",
                         "{\"d\":{\"a\":1,\"b\":2},\"e\":{\"a\":1,\"b\":3}}"},
                    Case{"e:\n  b: 3\n  <<: {a: 1, b: 2}\n", "{\"e\":{\"b\":3,\"a\":1}}"},
                    Case{"e:\n  <<: [{a: 1}, {a: 2, c: 3}]\n", "{\"e\":{\"a\":1,\"c\":3}}"},
                    Case{"e:\n  '<<': {a: 1}\n", "{\"e\":{\"<<\":{\"a\":1}}}"}));

TEST(Yaml, Utf16IsRead) {
  std::string text = "\xFF\xFE";
  for (const char c : std::string("a: 1\n")) {
    text += c;
    text += '\0';
  }
  EXPECT_EQ(read(text), "{\"a\":1}");
}

struct BadCase {
  std::string name;
  std::string given;
  std::string want;
};

class YamlBad : public testing::TestWithParam<BadCase> {};

TEST_P(YamlBad, NamesThePlaceAndTheProblem) {
  EXPECT_EQ(read(GetParam().given), GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(
    Table, YamlBad,
    testing::Values(
        BadCase{"MappingInMapping", "a: b: c\n",
                "f.yaml:1:5: mapping values are not allowed in this context"},
        BadCase{"Unclosed", "a: [1,\nb: 2\n",
                "f.yaml:3:1: did not find expected ',' or ']', while parsing a flow sequence at "
                "line 1 column 4"},
        BadCase{"Tab", "a:\n\tb: 1\n",
                "f.yaml:2:1: found character that cannot start any token, while scanning for the "
                "next token; yaml is "
                "not indented with tabs: use blanks"},
        BadCase{"Template", "name: {{ .Values.name }}\n",
                "f.yaml:1:8: a map key must be a string; this looks like a template: render it "
                "first, e.g. with helm "
                "template"},
        BadCase{"TemplateBlock", "a: 1\n{{- if .Values.x }}\nb: 2\n{{- end }}\n",
                "f.yaml:3:1: could not find expected ':', while scanning a simple key at line 2 "
                "column 1; this looks "
                "like a template: render it first, e.g. with helm template"},
        BadCase{"Variables", "a:\n  b: 1\n${MORE}\n  c: 2\n",
                "f.yaml:4:4: could not find expected ':', while scanning a simple key at line 3 "
                "column 1; this looks "
                "like a template: fill in its variables first, e.g. with envsubst"},
        BadCase{"Duplicate", "a: 1\nb:\n  c: 1\n  d: 2\n  c: 3\n",
                "f.yaml:5:3: key \"c\" is given twice, first at line 3 column 3"},
        BadCase{"DuplicateAfterMerge", "a:\n  <<: {x: 1}\n  x: 2\n  x: 3\n",
                "f.yaml:4:3: key \"x\" is given twice, first at line 3 column 3"},
        BadCase{"UnknownAlias", "a: *nobody\n",
                "f.yaml:1:4: there is no anchor \"nobody\" before this alias"},
        BadCase{"SelfAlias", "a: &x [*x]\n", "f.yaml:1:8: anchor \"x\" contains itself"},
        BadCase{"ComplexKey", "? [a]\n: b\n", "f.yaml:1:3: a map key must be a string"},
        BadCase{"NullKey", "~: b\n", "f.yaml:1:1: a map key must be a string"},
        BadCase{"Infinity", "a: .inf\n", "f.yaml:1:4: json has no such number: .inf"},
        BadCase{"BadTag", "a: !!int x\n", "f.yaml:1:4: not of type !!int: x"},
        BadCase{"BinaryBytes", "a: !!binary /w==\n",
                "f.yaml:1:4: !!binary holds bytes that are no text"},
        BadCase{"MergeScalar", "a:\n  <<: 1\n",
                "f.yaml:2:3: a merge key << takes a map or a list of maps"},
        BadCase{"Control", "a: b\nc: \x01\n",
                "f.yaml:2:4: not text: control characters are not allowed"},
        BadCase{"BadUtf8", "a: b\nc: \xFF\n", "f.yaml:2:4: not text: invalid leading UTF-8 octet"},
        BadCase{"SecondDocument", "a: 1\n---\nb: 1\nb: 2\n",
                "f.yaml:4:1: key \"b\" is given twice, first at line 3 column 1"}),
    [](const auto& given) { return given.param.name; });

struct TwiceCase {
  std::string name;
  std::string given;
  std::string want; ///< the document as JSON
  std::vector<DuplicateKey> duplicates;
};

class YamlTwice : public testing::TestWithParam<TwiceCase> {};

TEST_P(YamlTwice, TheLastCountsAndIsReportedOnce) {
  const auto documents = parse_yaml(GetParam().given, "f.yaml", Duplicates::TakeLast);
  ASSERT_TRUE(documents.has_value()) << berth::to_string(documents.error());
  EXPECT_EQ(to_json(documents->back().value), GetParam().want);
  EXPECT_EQ(documents->back().duplicates, GetParam().duplicates);
}

INSTANTIATE_TEST_SUITE_P(
    Table, YamlTwice,
    testing::Values(
        TwiceCase{"None", "a: 1\nb: 2\n", R"({"a":1,"b":2})", {}},
        TwiceCase{"Scalar",
                  "a: 1\nb:\n  c: 1\n  d: 2\n  c: 3\n",
                  R"({"a":1,"b":{"c":3,"d":2}})",
                  {{"b.c", 5, 3, 3, 3}}},
        TwiceCase{"Thrice", "a: 1\na: 2\na: 3\n", R"({"a":3})", {{"a", 3, 1, 1, 1}}},
        TwiceCase{"InAList",
                  "a:\n- b: 0\n- {x.y/z: 1, x.y/z: 2}\n",
                  R"({"a":[{"b":0},{"x.y/z":2}]})",
                  {{"a[1][x.y/z]", 3, 14, 3, 4}}},
        TwiceCase{
            "MapsAreNotMerged", "a: {b: 1}\na: {c: 2}\n", R"({"a":{"c":2}})", {{"a", 2, 1, 1, 1}}},
        TwiceCase{"InWhatIsDropped",
                  "a: {b: 1, b: 2}\na: 0\n",
                  R"({"a":0})",
                  {{"a.b", 1, 11, 1, 5}, {"a", 2, 1, 1, 1}}},
        TwiceCase{"AfterMerge",
                  "a:\n  <<: {x: 1}\n  x: 2\n  x: 3\n",
                  R"({"a":{"x":3}})",
                  {{"a.x", 4, 3, 3, 3}}},
        TwiceCase{"BeforeMerge",
                  "a:\n  x: 2\n  x: 3\n  <<: {x: 1, w: 4}\n",
                  R"({"a":{"x":3,"w":4}})",
                  {{"a.x", 3, 3, 2, 3}}},
        TwiceCase{"SecondDocument", "a: 1\n---\nb: 1\nb: 2\n", R"({"b":2})", {{"b", 4, 1, 3, 1}}}),
    [](const auto& given) { return given.param.name; });

TEST(YamlTwice, PlacesAreThoseOfWhatCounts) {
  const auto documents =
      parse_yaml("a:\n  x: 1\n  w: 2\nb: 0\na:\n  x: 3\nc: 4\n", "f", Duplicates::TakeLast);
  ASSERT_TRUE(documents.has_value());
  const PositionMap& places = documents->front().positions;
  EXPECT_EQ(places.find("/a/x"), (Position{6, 6}));
  EXPECT_EQ(places.find("/a/w"), (Position{6, 3})) << "gone: the map that counts has no w";
  EXPECT_EQ(places.find("/b"), (Position{4, 4}));
  EXPECT_EQ(places.find("/c"), (Position{7, 4}));
}

TEST(YamlLimits, AliasBombsAreRefused) {
  std::string bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n";
  for (int i = 1; i < 12; ++i) {
    const std::string below = "*a" + std::to_string(i - 1);
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int k = 0; k < 10; ++k) {
      bomb += (k == 0 ? "" : ",") + below;
    }
    bomb += "]\n";
  }
  EXPECT_THAT(read(bomb), HasSubstr("aliases expand to more than 1000000 values"));
}

TEST(YamlLimits, DepthIsLimited) {
  const auto nested = [](std::size_t n) { return std::string(n, '[') + std::string(n, ']'); };
  EXPECT_EQ(read(nested(128)), nested(128));
  EXPECT_THAT(read(nested(129)), HasSubstr("nested deeper than 128 levels"));
  EXPECT_THAT(read(std::string(100'000, '[')), HasSubstr("deeper"));
  EXPECT_THAT(
      read("a: &a " + nested(100) + "\nb: " + std::string(50, '[') + "*a" + std::string(50, ']')),
      HasSubstr("deeper"));
}

TEST(YamlPositions, PointToValues) {
  const auto documents = parse_yaml("a: 1\n---\nmetadata:\n  labels:\n    x/y: v\nspec:\n  list:\n "
                                    " - name: one\n  - {name: two}\n",
                                    "f");
  ASSERT_TRUE(documents.has_value());
  const PositionMap& positions = documents->at(1).positions;
  EXPECT_EQ(positions.find(""), (Position{3, 1}));
  EXPECT_EQ(positions.find("/metadata/labels/x~1y"), (Position{5, 10}));
  EXPECT_EQ(positions.find("/spec/list/0/name"), (Position{8, 11}));
  EXPECT_EQ(positions.find("/spec/list/1/name"), (Position{9, 12}));
  EXPECT_EQ(positions.find("/spec/list/1/image/tag"), (Position{9, 5})) << "the nearest parent";
  EXPECT_EQ(positions.find("/nothing"), (Position{3, 1}));
}

TEST(YamlPositions, SetByTextAndByStepsAreTheSame) {
  PositionMap map;
  map.set("/a~0b/3/c~1d", {4, 2});
  EXPECT_EQ(map.find("/a~0b/3/c~1d"), (Position{4, 2}));
  EXPECT_EQ(PositionMap::Pointer().member("a~b").element(3).member("c/d"),
            PositionMap::Pointer::of("/a~0b/3/c~1d"));
  EXPECT_EQ(map.find("/x"), Position());
}

TEST(YamlPositions, AreWalkedInOrder) {
  PositionMap map;
  map.set("", {1, 1});
  map.set("/a", {2, 1});
  map.set("/b", {3, 1});
  std::size_t cursor = 0;
  EXPECT_EQ(map.find_next(PositionMap::Pointer::of("/a"), cursor), (Position{2, 1}));
  EXPECT_EQ(map.find_next(PositionMap::Pointer::of("/c"), cursor), Position());
  EXPECT_EQ(map.find_next(PositionMap::Pointer::of("/b"), cursor), (Position{3, 1}));
  EXPECT_EQ(map.find_next(PositionMap::Pointer::of("/a"), cursor), Position())
      << "it does not look back";
}

class YamlWriterText : public testing::TestWithParam<Case> {};

TEST_P(YamlWriterText, LooksLikeKubectlsOutput) {
  EXPECT_EQ(to_yaml(*parse_json(GetParam().given)), GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(
    Table, YamlWriterText,
    testing::Values(
        Case{R"({"a":1,"b":{"c":"x","d":[]},"e":[{"f":1,"g":2},"h",[1,2]],"i":{}})",
             "a: 1\nb:\n  c: x\n  d: []\ne:\n- f: 1\n  g: 2\n- h\n- - 1\n  - 2\ni: {}\n"},
        Case{R"({"a":"true","b":"8","c":"","d":"yes","e":"null","f":"1e3","y":null})",
             "a: \"true\"\nb: \"8\"\nc: \"\"\nd: \"yes\"\ne: \"null\"\nf: \"1e3\"\n\"y\": null\n"},
        Case{
            R"({"a":"x: y","b":"- z","c":"it's #1","d":"*","e":"a #b","f":"http://x","g":"-v","h":"--all","i":"a:"})",
            "a: 'x: y'\nb: '- z'\nc: 'it''s #1'\nd: '*'\ne: 'a #b'\nf: http://x\ng: -v\nh: "
            "'--all'\ni: 'a:'\n"},
        Case{R"({"a":"one\ntwo\n","b":"one\ntwo","c":"one\n\n\n","d":" lead\nx","e":"tab\there"})",
             "a: |\n  one\n  two\nb: |-\n  one\n  two\nc: |+\n  one\n\n\nd: \" lead\\nx\"\ne: "
             "\"tab\\there\"\n"},
        Case{R"([{"a":["b"]}])", "- a:\n  - b\n"}, Case{R"("x")", "x\n"}, Case{"{}", "{}\n"}));

TEST(YamlWriter, LongKeysStandOnALineOfTheirOwn) {
  const std::string fits(128, 'a');
  const std::string longer(129, 'b');
  const json::value value =
      json::object{{fits, 1},
                   {longer, "x"},
                   {"in", json::array{json::object{{longer, json::object{{"c", 1}, {"d", 2}}}}}},
                   {std::string(3000, '"'), json::array{1, json::object{{longer, json::array()}}}}};
  const std::string text = to_yaml(value);
  EXPECT_THAT(text, HasSubstr(fits + ": 1\n? " + longer + "\n: x\nin:\n- ? " + longer +
                              "\n  : c: 1\n    d: 2\n? '\""));
  EXPECT_THAT(text, HasSubstr("\n: - 1\n  - ? " + longer + "\n    : []\n"));
  EXPECT_EQ(read(text), to_json(value));
}

std::string random_text(Rng& rng) {
  static const std::vector<std::string> kParts = {"a",
                                                  "Z",
                                                  "0",
                                                  "9",
                                                  " ",
                                                  "  ",
                                                  ":",
                                                  ": ",
                                                  "#",
                                                  " #",
                                                  "-",
                                                  "- ",
                                                  "---",
                                                  "...",
                                                  "?",
                                                  "!",
                                                  "&",
                                                  "*",
                                                  "|",
                                                  ">",
                                                  "'",
                                                  "\"",
                                                  "\\",
                                                  "\n",
                                                  "\n\n",
                                                  "\t",
                                                  "%",
                                                  "@",
                                                  "`",
                                                  "{",
                                                  "}",
                                                  "[",
                                                  "]",
                                                  ",",
                                                  "=",
                                                  "<<",
                                                  "~",
                                                  "y",
                                                  "no",
                                                  "null",
                                                  "1e",
                                                  ".",
                                                  "_",
                                                  "0x",
                                                  "+",
                                                  "\r",
                                                  "\x01",
                                                  "\x7F",
                                                  "\xC3\xA9",
                                                  "\xE2\x80\xA8",
                                                  "\xC2\x85",
                                                  "\xEF\xBB\xBF",
                                                  "\xF0\x9F\x98\x80"};
  std::string out;
  for (std::uint64_t n = rng.below(7); n > 0; --n) {
    out += kParts[rng.below(kParts.size())];
  }
  return out;
}

json::value random_value(Rng& rng, int depth) {
  switch (rng.below(depth > 0 ? 7 : 5)) {
  case 0:
    return nullptr;
  case 1:
    return rng.chance(1, 2);
  case 2:
    return static_cast<std::int64_t>(rng.next());
  case 3:
    return static_cast<double>(rng.between(-1000, 1000)) / 7 + 0.001;
  case 4:
    return json::value(random_text(rng));
  case 5: {
    json::array array;
    for (std::uint64_t n = rng.below(4); n > 0; --n) {
      array.push_back(random_value(rng, depth - 1));
    }
    return array;
  }
  default: {
    json::object object;
    for (std::uint64_t n = rng.below(5); n > 0; --n) {
      std::string key = random_text(rng);
      if (rng.chance(1, 20)) {
        key += std::string(rng.below(1500), 'k');
      }
      object[key] = random_value(rng, depth - 1);
    }
    return object;
  }
  }
}

TEST(YamlProperty, WhatIsWrittenReadsBackTheSame) {
  Rng rng(99);
  for (int i = 0; i < 5'000; ++i) {
    json::object root;
    root["k"] = random_value(rng, 4);
    const json::value value = root;
    const std::string text = to_yaml(value);
    ASSERT_EQ(read(text), to_json(value)) << text;
  }
}

TEST(YamlProperty, RandomBytesNeverCrash) {
  Rng rng(3);
  for (int i = 0; i < 5'000; ++i) {
    std::string text;
    for (std::uint64_t n = rng.below(60); n > 0; --n) {
      text +=
          rng.chance(1, 4) ? std::string(1, static_cast<char>(rng.below(256))) : random_text(rng);
    }
    const auto documents = parse_yaml(text, "f");
    if (!documents) {
      ASSERT_GT(documents.error().where->line, 0);
      ASSERT_FALSE(documents.error().message.empty());
    }
  }
}

} // namespace
} // namespace berth::api
