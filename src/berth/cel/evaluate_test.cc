#include "berth/cel/evaluate.h"

#include <gtest/gtest.h>

#include "berth/cel/expression_fixture.h"

namespace berth::cel {
namespace {

struct Case {
  const char* expression;
  const char* value;
  const char* self = "null";
};

class Evaluation : public testing::TestWithParam<Case> {};

TEST_P(Evaluation, Comes) {
  EXPECT_EQ(test::evaluated(GetParam().expression, GetParam().self), GetParam().value)
      << GetParam().expression;
}

INSTANTIATE_TEST_SUITE_P(
    Operators, Evaluation,
    testing::Values(Case{"1 + 2 * 3", "7"}, Case{"(1 + 2) * 3", "9"}, Case{"-7 / 2", "-3"},
                    Case{"-7 % 3", "-1"}, Case{"7u % 4u", "3u"}, Case{"1.5 + 2.0", "3.5"},
                    Case{"'a' + 'b'", "'ab'"}, Case{"[1] + [2, 3]", "[1, 2, 3]"},
                    Case{"0x1f", "31"}, Case{"--3", "3"}, Case{"!!true", "true"},
                    Case{"-9223372036854775808", "-9223372036854775808"},
                    Case{"9223372036854775807 + 1", "error: integer overflow"},
                    Case{"-(-9223372036854775807 - 1)", "error: integer overflow"},
                    Case{"0u - 1u", "error: unsigned integer overflow"},
                    Case{"1 / 0", "error: division by zero"},
                    Case{"1 % 0", "error: modulus by zero"}, Case{"1.0 / 0.0", "+Inf"},
                    Case{"1 < 2 && 2u < 3u && 'a' < 'b'", "true"}, Case{"dyn(1) == 1.0", "true"},
                    Case{"dyn(1) == 1u", "true"}, Case{"dyn(1) == 'a'", "false"},
                    Case{"1 < 1.5", "true"}, Case{"9007199254740993 > 9007199254740992.0", "true"},
                    Case{"[1, 2] == [1, 2]", "true"}, Case{"{'a': 1} == {'a': 1}", "true"},
                    Case{"null == null", "true"}, Case{"2 in [1, 2]", "true"},
                    Case{"'b' in {'a': 1}", "false"}, Case{"true ? 1 : 2", "1"},
                    Case{"false ? 1 : true ? 2 : 3", "2"},
                    Case{"type(1) == int && type('') == string && type([]) == list", "true"}));

INSTANTIATE_TEST_SUITE_P(
    ErrorsThatDoNotMatter, Evaluation,
    testing::Values(Case{"true || 1 / 0 > 0", "true"}, Case{"1 / 0 > 0 || true", "true"},
                    Case{"1 / 0 > 0 && false", "false"},
                    Case{"1 / 0 > 0 || false", "error: division by zero"},
                    Case{"[0, 2].exists(x, 4 / x == 2)", "true"},
                    Case{"[0, 2].all(x, 4 / x == 3)", "false"},
                    Case{"[0, 2].all(x, 4 / x == 2)", "error: division by zero"},
                    Case{"true ? 1 : 1 / 0", "1"}));

INSTANTIATE_TEST_SUITE_P(
    Fields, Evaluation,
    testing::Values(Case{"self.a.b", "2", R"({"a": {"b": 2}})"},
                    Case{"self.a.c", "error: no such key: c", R"({"a": {"b": 2}})"},
                    Case{"self['a']['b']", "2", R"({"a": {"b": 2}})"},
                    Case{"self.l[1]", "6", R"({"l": [5, 6]})"},
                    Case{"self.l[2]", "error: index out of bounds: 2", R"({"l": [5, 6]})"},
                    Case{"self['x']", "error: no such key: x", R"({"a": 1})"},
                    Case{"has(self.a) && !has(self.b)", "true", R"({"a": 1})"},
                    Case{"self.?a.?b", "none", R"({"c": 1})"},
                    Case{"self.?a.b.orValue(3)", "4", R"({"a": {"b": 4}})"},
                    Case{"self.?a.orValue(3)", "3", R"({"c": 1})"},
                    Case{"self[?'a'].hasValue()", "true", R"({"a": 1})"},
                    Case{"self.l[?7].hasValue()", "false", R"({"l": []})"},
                    Case{"[?self.?a, 2]", "[2]", R"({"c": 1})"},
                    Case{"{?'a': self.?a, 'b': 2}", "{'b': 2}", R"({"c": 1})"},
                    Case{"self.?a.optMap(x, x + 1)", "some(2)", R"({"a": 1})"},
                    Case{"self.?a.optFlatMap(x, optional.none())", "none", R"({"a": 1})"},
                    Case{"self.`a-b`", "1", R"({"a__dash__b": 1})"},
                    Case{"size(self)", "2", R"({"a": 1, "b": 2})"}));

INSTANTIATE_TEST_SUITE_P(
    Macros, Evaluation,
    testing::Values(Case{"[1, 2, 3].all(x, x > 0)", "true"},
                    Case{"[1, 2, 3].exists(x, x > 2)", "true"},
                    Case{"[1, 2, 2].exists_one(x, x == 2)", "false"},
                    Case{"[1, 2, 3].map(x, x * 2)", "[2, 4, 6]"},
                    Case{"[1, 2, 3].map(x, x > 1, x * 2)", "[4, 6]"},
                    Case{"[1, 2, 3].filter(x, x % 2 == 1)", "[1, 3]"},
                    Case{"{'a': 1, 'b': 2}.all(k, k in ['a', 'b'])", "true"},
                    Case{"{'a': 1, 'b': 2}.exists(k, v, v == 2 && k == 'b')", "true"},
                    Case{"['x', 'y'].all(i, v, (i == 0) == (v == 'x'))", "true"},
                    Case{"['x', 'y'].transformList(i, v, v + string(i))", "['x0', 'y1']"},
                    Case{"{'a': 1}.transformMap(k, v, v + 1)", "{'a': 2}"},
                    Case{"{'a': 1, 'b': 2}.transformMap(k, v, v > 1, v)", "{'b': 2}"},
                    Case{"{'a': 'b'}.transformMapEntry(k, v, {v: k})", "{'b': 'a'}"},
                    Case{"[[1, 2], [3]].all(x, x.exists(y, y > 1))", "true"},
                    Case{"[1].map(x, [2].map(x, x))", "[[2]]"}, Case{"cel.bind(a, 3, a * a)", "9"},
                    Case{"size(self.filter(i, size(self.filter(j, j == i)) > 1)) == 0", "false",
                         R"(["a", "b", "a"])"},
                    Case{"self.all(x, x > 0)", "error: got 'types.Int', expected iterable type",
                         "1"},
                    Case{"self.all(x, x)", "error: no such overload", "[1]"}));

TEST(Evaluation, OverACostThatIsTooHighEnds) {
  const auto program = Program::compile(
      "[1,2,3,4,5,6,7,8,9].all(a, [1,2,3,4,5,6,7,8,9].all(b, [1,2,3,4,5,6,7,8,9].all(c, a+b+c>0)))",
      {});
  ASSERT_TRUE(program);
  const Evaluated enough = (*program)->run({}, 1'000'000);
  EXPECT_TRUE(enough.value);
  EXPECT_GT(enough.cost, 3'000);
  const Evaluated stopped = (*program)->run({}, 500);
  ASSERT_FALSE(stopped.value);
  EXPECT_EQ(stopped.value.error().what, kCostExceeded);
}

TEST(Evaluation, OfTypedJsonHasTimesBytesAndDoubles) {
  const TypeRef object =
      std::make_shared<const Type>(Type{.kind = Kind::Object,
                                        .name = "o",
                                        .fields = {{"t", simple(Kind::Timestamp)},
                                                   {"d", simple(Kind::Duration)},
                                                   {"b", simple(Kind::Bytes)},
                                                   {"n", simple(Kind::Double)},
                                                   {"namespace", simple(Kind::String)},
                                                   {"a-b", simple(Kind::String)}}});
  const auto on = [&](const std::string& expression) {
    return test::evaluated(expression,
                           R"({"t": "2026-01-02T03:04:05Z", "d": "90s", "b": "YWI=", "n": 2,
                               "namespace": "x", "a-b": "y", "other": 1})",
                           object);
  };
  EXPECT_EQ(on("self.t.getFullYear()"), "2026");
  EXPECT_EQ(on("self.d > duration('1m')"), "true");
  EXPECT_EQ(on("self.b == b'ab'"), "true");
  EXPECT_EQ(on("self.n / 4.0"), "0.5");
  EXPECT_EQ(on("self.__namespace__ + self.a__dash__b"), "'xy'");
  EXPECT_EQ(on("self == self"), "true");
}

TEST(Evaluation, ListsThatAreSetsOrMapsCompareInAnyOrder) {
  const auto list = [](bool set, std::vector<std::string> keys, TypeRef element) {
    Type type{.kind = Kind::List, .of = {std::move(element)}};
    type.set = set;
    type.keys = std::move(keys);
    return map_of(simple(Kind::String), std::make_shared<const Type>(std::move(type)));
  };
  const char* expression = "self['a'] == self['b']";
  const char* texts = R"({"a": ["x", "y"], "b": ["y", "x"]})";
  EXPECT_EQ(test::evaluated(expression, texts, list(true, {}, simple(Kind::String))), "true");
  EXPECT_EQ(test::evaluated(expression, texts, list(false, {}, simple(Kind::String))), "false");
  const TypeRef entry = map_of(simple(Kind::String), simple(Kind::Int));
  EXPECT_EQ(test::evaluated(expression, R"({"a": [{"k": 1, "v": 1}, {"k": 2, "v": 2}],
                                            "b": [{"k": 2, "v": 2}, {"k": 1, "v": 1}]})",
                            list(false, {"k"}, entry)),
            "true");
  EXPECT_EQ(test::evaluated(expression, R"({"a": [{"k": 1, "v": 1}], "b": [{"k": 1, "v": 2}]})",
                            list(false, {"k"}, entry)),
            "false");
}

} // namespace
} // namespace berth::cel
