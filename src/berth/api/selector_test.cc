#include "berth/api/selector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/api/field.h"
#include "berth/api/json.h"
#include "berth/base/rng.h"

namespace berth::api {
namespace {

using testing::HasSubstr;

struct MatchCase {
  std::string name;
  Requirement requirement;
  std::map<std::string, std::string> labels;
  bool want;
};

class RequirementMatches : public testing::TestWithParam<MatchCase> {};

TEST_P(RequirementMatches, FollowsKubernetes) {
  const Labels labels(GetParam().labels.begin(), GetParam().labels.end());
  EXPECT_EQ(GetParam().requirement.matches(labels), GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(
    Table, RequirementMatches,
    testing::Values(
        MatchCase{"In", {"k", Operator::In, {"a", "b"}}, {{"k", "b"}}, true},
        MatchCase{"InOther", {"k", Operator::In, {"a", "b"}}, {{"k", "c"}}, false},
        MatchCase{"InAbsent", {"k", Operator::In, {"a"}}, {{"j", "a"}}, false},
        MatchCase{"InEmptyValue", {"k", Operator::In, {""}}, {{"k", ""}}, true},
        MatchCase{"NotIn", {"k", Operator::NotIn, {"a"}}, {{"k", "b"}}, true},
        MatchCase{"NotInListed", {"k", Operator::NotIn, {"a"}}, {{"k", "a"}}, false},
        MatchCase{"NotInAbsent", {"k", Operator::NotIn, {"a"}}, {}, true},
        MatchCase{"Exists", {"k", Operator::Exists, {}}, {{"k", ""}}, true},
        MatchCase{"ExistsAbsent", {"k", Operator::Exists, {}}, {}, false},
        MatchCase{"DoesNotExist", {"k", Operator::DoesNotExist, {}}, {}, true},
        MatchCase{"DoesNotExistPresent", {"k", Operator::DoesNotExist, {}}, {{"k", "a"}}, false},
        MatchCase{"Gt", {"k", Operator::Gt, {"3"}}, {{"k", "4"}}, true},
        MatchCase{"GtEqual", {"k", Operator::Gt, {"3"}}, {{"k", "3"}}, false},
        MatchCase{"GtNegative", {"k", Operator::Gt, {"-5"}}, {{"k", "-4"}}, true},
        MatchCase{"GtPlus", {"k", Operator::Gt, {"+3"}}, {{"k", "4"}}, true},
        MatchCase{"GtText", {"k", Operator::Gt, {"3"}}, {{"k", "many"}}, false},
        MatchCase{"GtQuantity", {"k", Operator::Gt, {"3"}}, {{"k", "4Gi"}}, false},
        MatchCase{"GtAbsent", {"k", Operator::Gt, {"3"}}, {}, false},
        MatchCase{"GtBadBound", {"k", Operator::Gt, {"x"}}, {{"k", "4"}}, false},
        MatchCase{
            "GtBeyondInt64", {"k", Operator::Gt, {"3"}}, {{"k", "9223372036854775808"}}, false},
        MatchCase{"Lt", {"k", Operator::Lt, {"3"}}, {{"k", "2"}}, true},
        MatchCase{"LtAbsent", {"k", Operator::Lt, {"3"}}, {}, false}),
    [](const auto& given) { return given.param.name; });

TEST(NodeSelector, TermsAreAlternatives) {
  const NodeSelectorTerm label_term{.match_expressions = {{"gpu", Operator::In, {"h100"}}},
                                    .match_fields = {}};
  const NodeSelectorTerm name_term{.match_expressions = {},
                                   .match_fields = {{"metadata.name", Operator::In, {"n1"}}}};
  const NodeSelectorTerm both{.match_expressions = label_term.match_expressions,
                              .match_fields = name_term.match_fields};
  const Labels h100 = {{"gpu", "h100"}};
  EXPECT_TRUE(label_term.matches(h100, "n2"));
  EXPECT_TRUE(name_term.matches({}, "n1"));
  EXPECT_FALSE(name_term.matches({}, "n2"));
  EXPECT_TRUE(both.matches(h100, "n1"));
  EXPECT_FALSE(both.matches(h100, "n2"));
  EXPECT_FALSE(NodeSelectorTerm{}.matches(h100, "n1")) << "an empty term matches nothing";
  EXPECT_TRUE((NodeSelector{{label_term, name_term}}).matches({}, "n1"));
  EXPECT_FALSE((NodeSelector{{label_term, name_term}}).matches({}, "n2"));
  EXPECT_FALSE(NodeSelector{}.matches(h100, "n1")) << "no terms match nothing";
  const NodeSelectorTerm not_named{.match_expressions = {},
                                   .match_fields = {{"metadata.name", Operator::NotIn, {"n1"}}}};
  EXPECT_TRUE(not_named.matches({}, "n2"));
  EXPECT_FALSE(not_named.matches({}, "n1"));
  const NodeSelectorTerm unknown_field{.match_expressions = {},
                                       .match_fields = {{"spec.x", Operator::NotIn, {"n1"}}}};
  EXPECT_FALSE(unknown_field.matches({}, "n2"));
}

TEST(LabelSelector, IsReadFromJson) {
  const auto selector = parse_label_selector(*parse_json(
      R"({"matchLabels":{"b":"2","a":"1"},"matchExpressions":[{"key":"c","operator":"In","values":["x","y"]},
          {"key":"d","operator":"DoesNotExist"}]})"));
  ASSERT_TRUE(selector.has_value());
  EXPECT_EQ(to_string(*selector), "a=1,b=2,c in (x,y),!d");
  EXPECT_TRUE(selector->matches({{"a", "1"}, {"b", "2"}, {"c", "y"}}));
  EXPECT_FALSE(selector->matches({{"a", "1"}, {"b", "2"}, {"c", "y"}, {"d", ""}}));
  EXPECT_TRUE(parse_label_selector(*parse_json("{}"))->matches({}))
      << "an empty selector matches everything";
  EXPECT_TRUE(parse_label_selector(nullptr)->empty());
}

struct BadCase {
  std::string given;
  std::string want;
};

class LabelSelectorBad : public testing::TestWithParam<BadCase> {};

TEST_P(LabelSelectorBad, NamesTheExpression) {
  const auto selector = parse_label_selector(*parse_json(GetParam().given));
  ASSERT_FALSE(selector.has_value());
  EXPECT_EQ(berth::to_string(selector.error()), GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(
    Table, LabelSelectorBad,
    testing::Values(
        BadCase{R"({"matchLabels":{"a":1}})", "matchLabels.a: expected a string, got a number: 1"},
        BadCase{R"({"matchExpressions":[{"operator":"Exists"}]})",
                "matchExpressions[0]: an expression needs a key"},
        BadCase{R"({"matchExpressions":[{"key":"a","operator":"In"}]})",
                "matchExpressions[0]: operator In needs values"},
        BadCase{R"({"matchExpressions":[{"key":"a","operator":"Exists","values":["b"]}]})",
                "matchExpressions[0]: operator Exists takes no values"},
        BadCase{
            R"({"matchExpressions":[{"key":"a","operator":"Lt","values":["1"]}]})",
            "matchExpressions[0]: operator must be In, NotIn, Exists or DoesNotExist, not \"Lt\""},
        BadCase{R"([])", "expected a map, got a list"}));

TEST(NodeSelectorJson, TakesComparisonsOfOneInteger) {
  const auto good = decode_document<NodeSelector>(*parse_json(
      R"({"nodeSelectorTerms":[{"matchExpressions":[{"key":"gpus","operator":"Gt","values":["7"]}]},null]})"));
  ASSERT_TRUE(good.has_value());
  EXPECT_TRUE(good->matches({{"gpus", "8"}}, "n"));
  const auto bad = decode_document<NodeSelector>(*parse_json(
      R"({"nodeSelectorTerms":[{"matchExpressions":[{"key":"gpus","operator":"Gt","values":["7","8"]}]}]})"));
  ASSERT_FALSE(bad.has_value());
  EXPECT_THAT(berth::to_string(bad.error()),
              HasSubstr("nodeSelectorTerms[0].matchExpressions[0]: operator Gt needs "
                        "exactly one value"));
}

class SelectorText : public testing::TestWithParam<BadCase> {};

TEST_P(SelectorText, ReadsWhatKubectlReads) {
  const auto selector = parse_selector_text(GetParam().given);
  ASSERT_TRUE(selector.has_value()) << berth::to_string(selector.error());
  EXPECT_EQ(to_string(*selector), GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(
    Good, SelectorText,
    testing::Values(BadCase{"", ""}, BadCase{"  ", ""}, BadCase{"a=b", "a=b"},
                    BadCase{"a==b", "a=b"}, BadCase{"a = b , c!=d", "a=b,c!=d"},
                    BadCase{"b,a", "a,b"}, BadCase{"!a", "!a"}, BadCase{"! a", "!a"},
                    BadCase{"a=", "a="}, BadCase{"a!=", "a!="},
                    BadCase{"a in (y, x)", "a in (x,y)"}, BadCase{"a in (x)", "a=x"},
                    BadCase{"a notin (x,y)", "a notin (x,y)"}, BadCase{"a in (x,)", "a in (,x)"},
                    BadCase{"x/y.z-1=A_b.c", "x/y.z-1=A_b.c"}, BadCase{"gpus>4", "gpus>4"},
                    BadCase{"gpus < 4,a", "a,gpus<4"}, BadCase{"in in (in)", "in=in"}));

class SelectorTextBad : public testing::TestWithParam<BadCase> {};

TEST_P(SelectorTextBad, NamesTheCharacter) {
  const auto selector = parse_selector_text(GetParam().given);
  ASSERT_FALSE(selector.has_value()) << to_string(*selector);
  EXPECT_THAT(selector.error().message, HasSubstr(GetParam().want));
}

INSTANTIATE_TEST_SUITE_P(
    Bad, SelectorTextBad,
    testing::Values(BadCase{"a=b,", "found '', expected: identifier after ','"},
                    BadCase{"=b", "found '=', expected: identifier"},
                    BadCase{"a b", "found 'b', expected: in, notin, =, ==, !=, gt, lt"},
                    BadCase{"a in x", "found 'x', expected: '('"},
                    BadCase{"a in (x", "found '', expected: ',', ')' or identifier"},
                    BadCase{"a=b c=d", "found 'c', expected: ',' or 'end of string'"},
                    BadCase{"a>many", "the value must be an integer"},
                    BadCase{"a>", "the value must be an integer"},
                    BadCase{"-a=b", "Invalid value: \"-a\": name part must"},
                    BadCase{"a=b!c", "found '!', expected: ',' or 'end of string'"},
                    BadCase{"a=b@c", "Invalid value: \"b@c\": a valid label"},
                    BadCase{"a=-b", "a valid label"},
                    BadCase{"a in (x y)", "found 'y', expected: ',', ')' or identifier"},
                    BadCase{"!a=b", "found '=', expected: ',' or 'end of string'"}));

TEST(SelectorProperty, TextRoundTripsAndMatchesTheSame) {
  Rng rng(17);
  const std::vector<std::string> words = {"a", "b", "c1", "d.e", "f_g"};
  const auto word = [&] { return words[rng.below(words.size())]; };
  for (int i = 0; i < 3'000; ++i) {
    Selector selector;
    for (std::uint64_t n = rng.below(4); n > 0; --n) {
      Requirement requirement{
          .key = word(), .op = static_cast<Operator>(rng.below(4)), .values = {}};
      if (requirement.op == Operator::In || requirement.op == Operator::NotIn) {
        for (std::uint64_t k = 1 + rng.below(3); k > 0; --k) {
          requirement.values.push_back(word());
        }
      }
      selector.requirements.push_back(std::move(requirement));
    }
    const auto back = parse_selector_text(to_string(selector));
    ASSERT_TRUE(back.has_value()) << to_string(selector);
    for (int k = 0; k < 5; ++k) {
      Labels labels;
      for (std::uint64_t n = rng.below(5); n > 0; --n) {
        labels[word()] = word();
      }
      ASSERT_EQ(back->matches(labels), selector.matches(labels)) << to_string(selector);
    }
  }
}

TEST(SelectorProperty, RandomTextNeverCrashes) {
  Rng rng(23);
  const std::string alphabet = "ab=!(),<> in notin-./_\t\"";
  for (int i = 0; i < 20'000; ++i) {
    std::string text;
    for (std::uint64_t n = rng.below(16); n > 0; --n) {
      text += alphabet[rng.below(alphabet.size())];
    }
    if (const auto selector = parse_selector_text(text)) {
      ASSERT_TRUE(parse_selector_text(to_string(*selector)).has_value()) << text;
    }
  }
}

TEST(Operator, NamesRoundTrip) {
  for (const std::string_view name : {"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"}) {
    EXPECT_EQ(to_string(*parse_operator(name)), name);
  }
  EXPECT_FALSE(parse_operator("in").has_value());
}

} // namespace
} // namespace berth::api
