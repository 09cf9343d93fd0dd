#include "berth/cel/program.h"

#include <gtest/gtest.h>

#include "berth/cel/expression_fixture.h"

namespace berth::cel {
namespace {

TypeRef self_type() {
  return std::make_shared<const Type>(
      Type{.kind = Kind::Object,
           .name = "self",
           .fields = {{"replicas", simple(Kind::Int)},
                      {"name", simple(Kind::String)},
                      {"names", list_of(simple(Kind::String))},
                      {"labels", map_of(simple(Kind::String), simple(Kind::String))}}});
}

struct Case {
  const char* expression;
  const char* wrong; ///< behind "compilation failed: ERROR: <input>:"
};

class Refusal : public testing::TestWithParam<Case> {};

TEST_P(Refusal, SaysWhatAndWhere) {
  const Variable variables[] = {{.name = "self", .type = self_type()}};
  const auto made = Program::compile(GetParam().expression, variables);
  ASSERT_FALSE(made) << GetParam().expression;
  EXPECT_EQ(made.error().message,
            std::string("compilation failed: ERROR: <input>:") + GetParam().wrong);
}

INSTANTIATE_TEST_SUITE_P(
    Syntax, Refusal,
    testing::Values(
        Case{
            "device.driver ==",
            "1:17: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', "
            "'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}\n | "
            "device.driver ==\n | ................^"},
        Case{"self.name self", "1:11: Syntax error: extraneous input 'self' expecting <EOF>\n | "
                               "self.name self\n | ..........^"},
        Case{"(1", "1:3: Syntax error: missing ')' at '<EOF>'\n | (1\n | ..^"},
        Case{"1 @ 2", "1:3: Syntax error: token recognition error at: '@'\n | 1 @ 2\n | ..^\n"
                      "ERROR: <input>:1:5: Syntax error: extraneous input '2' expecting <EOF>\n"
                      " | 1 @ 2\n | ....^"},
        Case{"for == 1", "1:1: reserved identifier: for\n | for == 1\n | ^"},
        Case{"has(self)", "1:5: invalid argument to has() macro\n | has(self)\n | ....^"},
        Case{"[1].all(1, true)",
             "1:9: argument must be a simple name\n | [1].all(1, true)\n | ........^"}));

INSTANTIATE_TEST_SUITE_P(
    Types, Refusal,
    testing::Values(
        Case{"self.x > 1", "1:5: undefined field 'x'\n | self.x > 1\n | ....^"},
        Case{"x", "1:1: undeclared reference to 'x' (in container '')\n | x\n | ^"},
        Case{"f(1)", "1:2: undeclared reference to 'f' (in container '')\n | f(1)\n | .^"},
        Case{"self.replicas == 'a'", "1:15: found no matching overload for '_==_' applied to "
                                     "'(int, string)'\n | self.replicas == 'a'\n | "
                                     "..............^"},
        Case{"self.name.contains(1)",
             "1:19: found no matching overload for 'contains' applied to 'string.(int)'\n | "
             "self.name.contains(1)\n | ..................^"},
        Case{"self.name.x", "1:10: type 'string' does not support field selection\n | "
                            "self.name.x\n | .........^"},
        Case{"self.names.all(n, n > 1)",
             "1:21: found no matching overload for '_>_' applied to '(string, int)'\n | "
             "self.names.all(n, n > 1)\n | ....................^"},
        Case{"[1, 'a']", "1:5: expected type 'int' but found 'string'\n | [1, 'a']\n | ....^"},
        Case{"self.replicas.all(x, true)",
             "1:5: expression of type 'int' cannot be range of a comprehension (must be list, map, "
             "or dynamic)\n | self.replicas.all(x, true)\n | ....^"},
        Case{"true ? 1 : 'a'", "1:6: found no matching overload for '_?_:_' applied to '(bool, "
                               "int, string)'\n | true ? 1 : 'a'\n | .....^"},
        Case{"1 in self.names", "1:3: found no matching overload for '@in' applied to '(int, "
                                "list(string))'\n | 1 in self.names\n | ..^"},
        Case{"self.a &&\nself.b", "1:5: undefined field 'a'\n | self.a &&\n | ....^\nERROR: "
                                  "<input>:2:5: undefined field 'b'\n | self.b\n | ....^"}));

TEST(Program, KnowsItsTypeAndItsVariables) {
  const Variable variables[] = {{.name = "self", .type = self_type()},
                                {.name = "oldSelf", .type = self_type()}};
  const auto type = [&](const char* expression) {
    const auto made = Program::compile(expression, variables);
    return made ? to_string(*(*made)->type()) : made.error().message;
  };
  EXPECT_EQ(type("self.names.map(n, size(n))"), "list(int)");
  EXPECT_EQ(type("self.labels"), "map(string, string)");
  EXPECT_EQ(type("self.?name"), "optional_type(string)");
  EXPECT_EQ(type("self.names[0] + 'a'"), "string");
  EXPECT_EQ(type("self == oldSelf"), "bool");
  EXPECT_EQ(type("quantity('1')"), "kubernetes.Quantity");
  EXPECT_EQ(type("dyn(1) + 1"), "int");

  const auto uses = [&](const char* expression) {
    return (*Program::compile(expression, variables))->uses("oldSelf");
  };
  EXPECT_TRUE(uses("self.replicas >= oldSelf.replicas"));
  EXPECT_FALSE(uses("self.names.all(oldSelf, oldSelf != '')"));
  EXPECT_TRUE(uses("oldSelf.names.all(n, n != '')"));
}

TEST(Program, RefusesWhatIsNestedTooDeep) {
  const std::string parentheses = std::string(300, '(') + "1" + std::string(300, ')');
  EXPECT_FALSE(Program::compile(parentheses, {}));
  std::string sum = "1";
  for (int i = 0; i < 100'000; ++i) {
    sum += "+1";
  }
  EXPECT_FALSE(Program::compile(sum, {}));
  EXPECT_TRUE(Program::compile(std::string(100, '(') + "1" + std::string(100, ')'), {}));
}

TEST(Type, EscapesFieldNamesThatAreNoIdentifiers) {
  for (const char* name : {"a", "namespace", "a-b", "a.b/c", "x__y", "in"}) {
    EXPECT_EQ(unescaped(escaped(name)), name);
  }
  EXPECT_EQ(escaped("a-b"), "a__dash__b");
  EXPECT_EQ(escaped("namespace"), "__namespace__");
  EXPECT_EQ(escaped("a b"), "");
  EXPECT_EQ(escaped("1a"), "");
}

} // namespace
} // namespace berth::cel
