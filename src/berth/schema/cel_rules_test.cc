#include "berth/schema/cel_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/api/json.h"
#include "berth/schema/structural.h"

namespace berth::schema {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

boost::json::value json(const std::string& text) {
  return *api::parse_json(text);
}

/// A schema whose spec has these properties, and these rules of its own.
std::shared_ptr<const CelRules> rules(const std::string& properties,
                                      const std::string& of_spec = "[]",
                                      const std::string& of_root = "[]") {
  const auto type = structural_type(
      json(R"j({"type": "object", "x-kubernetes-validations": )j" + of_root +
           R"j(, "properties": {"spec": {"type": "object", "x-kubernetes-validations": )j" +
           of_spec + R"j(, "properties": )j" + properties + "}}}"),
      "example.com.v1.Gang");
  return rules_of(*type);
}

std::vector<std::string> texts(const FieldErrors& errors) {
  std::vector<std::string> out;
  for (const FieldError& error : errors) {
    out.push_back(to_string(error));
  }
  return out;
}

/// What an object with such a spec violates, after one with such.
std::vector<std::string> violations(const CelRules& of, const std::string& spec,
                                    const std::string& before = "") {
  const std::string head =
      R"j({"apiVersion": "example.com/v1", "kind": "Gang", "metadata": {"name": "g"}, "spec": )j";
  const auto object = json(head + spec + "}");
  if (before.empty()) {
    return texts(validate_by_rules(of, object, nullptr));
  }
  const auto old = json(head + before + "}");
  return texts(validate_by_rules(of, object, &old));
}

constexpr const char* kReplicas =
    R"j({"min": {"type": "integer"}, "replicas": {"type": "integer"}})j";

TEST(CelRules, SayWhatIsWrongInTheirOwnWordsOrTheRules) {
  const auto given = rules(kReplicas, R"j([{"rule": "self.min <= self.replicas"},
      {"rule": "self.replicas < 10", "message": "too many"},
      {"rule": "self.replicas < 20", "messageExpression": "'at most 20, not ' + string(self.replicas)"},
      {"rule": "self.replicas < 30", "reason": "FieldValueForbidden", "fieldPath": ".replicas",
       "message": "really"}])j");
  EXPECT_THAT(violations(*given, R"j({"min": 1, "replicas": 2})j"), IsEmpty());
  EXPECT_THAT(violations(*given, R"j({"min": 50, "replicas": 40})j"),
              ElementsAre("spec: Invalid value: \"object\": failed rule: self.min <= self.replicas",
                          "spec: Invalid value: \"object\": too many",
                          "spec: Invalid value: \"object\": at most 20, not 40",
                          "spec.replicas: Forbidden: really"));
  EXPECT_THAT(violations(*given, R"j({"replicas": 2})j"),
              ElementsAre("spec: Invalid value: \"object\": no such key: min evaluating rule: "
                          "self.min <= self.replicas"));
}

TEST(CelRules, StandAnywhereBelow) {
  const auto given =
      rules(R"j({
      "names": {"type": "array", "items": {"type": "string",
                "x-kubernetes-validations": [{"rule": "self != ''", "message": "no name"}]}},
      "labels": {"type": "object", "additionalProperties": {"type": "integer",
                 "x-kubernetes-validations": [{"rule": "self > 0", "message": "positive"}]}},
      "port": {"x-kubernetes-int-or-string": true,
               "x-kubernetes-validations": [{"rule": "type(self) == int ? self > 0 : self != ''"}]}
      })j",
            "[]", R"j([{"rule": "self.metadata.name.startsWith('x')", "message": "x"}])j");
  EXPECT_THAT(
      violations(*given, R"j({"names": ["a", ""], "labels": {"a": 1, "b": 0}, "port": 0})j"),
      ElementsAre("<nil>: Invalid value: \"object\": x",
                  "spec.labels[b]: Invalid value: \"integer\": positive",
                  "spec.names[1]: Invalid value: \"string\": no name",
                  "spec.port: Invalid value: \"\": failed rule: type(self) == int ? self > 0 : "
                  "self != ''"));
}

TEST(CelRules, OfAllOfCountToo) {
  const auto type = structural_type(json(R"j({"type": "object", "properties": {"spec": {
      "type": "object", "properties": {"a": {"type": "integer"}},
      "allOf": [{"properties": {"a": {"x-kubernetes-validations": [
          {"rule": "self > 0", "message": "positive"}]}}}]}}})j"),
                                    "T");
  EXPECT_THAT(violations(*rules_of(*type), R"j({"a": 0})j"),
              ElementsAre("spec.a: Invalid value: \"integer\": positive"));
}

TEST(CelRules, OfTransitionsNeedWhatWasBefore) {
  const auto given = rules(R"j({
      "queue": {"type": "string", "x-kubernetes-validations": [
          {"rule": "self == oldSelf", "message": "immutable"}]},
      "sets": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
               "items": {"type": "object", "required": ["name"], "properties": {
                   "name": {"type": "string"},
                   "count": {"type": "integer", "x-kubernetes-validations": [
                       {"rule": "self >= oldSelf", "message": "no shrinking"}]}}}},
      "once": {"type": "string", "x-kubernetes-validations": [
          {"rule": "!oldSelf.hasValue() || oldSelf.value() == self", "optionalOldSelf": true,
           "message": "set once"}]}})j");
  EXPECT_THAT(violations(*given, R"j({"queue": "a", "once": "a"})j"), IsEmpty());
  EXPECT_THAT(violations(*given, R"j({"queue": "b"})j", R"j({"queue": "a"})j"),
              ElementsAre("spec.queue: Invalid value: \"string\": immutable"));
  EXPECT_THAT(violations(*given, R"j({"queue": "b"})j", R"j({"once": "a"})j"), IsEmpty());
  EXPECT_THAT(violations(*given,
                         R"j({"sets": [{"name": "b", "count": 1}, {"name": "a", "count": 1}]})j",
                         R"j({"sets": [{"name": "a", "count": 2}, {"name": "b", "count": 1}]})j"),
              ElementsAre("spec.sets[1].count: Invalid value: \"integer\": no shrinking"));
  EXPECT_THAT(violations(*given, R"j({"once": "b"})j", R"j({"once": "a"})j"),
              ElementsAre("spec.once: Invalid value: \"string\": set once"));
}

TEST(CelRules, AreNotHeldAgainstWhatDoesNotChange) {
  const auto given = rules(R"j({"a": {"type": "integer", "x-kubernetes-validations": [
                                  {"rule": "self > 10", "message": "new rule"}]},
                               "b": {"type": "integer"}})j");
  EXPECT_THAT(violations(*given, R"j({"a": 1, "b": 2})j", R"j({"a": 1, "b": 1})j"), IsEmpty());
  EXPECT_THAT(violations(*given, R"j({"a": 2, "b": 1})j", R"j({"a": 1, "b": 1})j"),
              ElementsAre("spec.a: Invalid value: \"integer\": new rule"));
}

TEST(CelRules, ThatCostTooMuchEndTheValidation) {
  const auto given =
      rules(R"j({"l": {"type": "array", "items": {"type": "integer"}}})j",
            R"j([{"rule": "self.l.all(a, self.l.all(b, self.l.all(c, a + b + c > 0)))"},
                               {"rule": "false"}])j");
  std::string many = R"j({"l": [1)j";
  for (int i = 0; i < 99; ++i) {
    many += ",1";
  }
  EXPECT_THAT(
      violations(*given, many + "]}"),
      ElementsAre(HasSubstr("'operation cancelled: actual cost limit exceeded': no further "
                            "validation rules will be run due to call cost exceeds limit")));
}

TEST(CelRules, AreCheckedWithTheirDefinition) {
  const auto wrong = [](const std::string& of_spec) {
    return texts(check_rules(*rules(kReplicas, of_spec), "spec.validation.openAPIV3Schema"));
  };
  const std::string at =
      "spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-validations[0]";
  EXPECT_THAT(wrong(R"j([{"rule": "self.replicas > 0"}])j"), IsEmpty());
  EXPECT_THAT(wrong(R"j([{"rule": "self.x > 0"}])j"),
              ElementsAre(at +
                          R"j(.rule: Invalid value: {"Rule":"self.x > 0","Message":"",)j"
                          R"j("MessageExpression":"","Reason":null,"FieldPath":"",)j"
                          R"j("OptionalOldSelf":null}: compilation failed: ERROR: <input>:1:5: )j"
                          "undefined field 'x'\n | self.x > 0\n | ....^"));
  EXPECT_THAT(wrong(R"j([{"rule": "self.replicas"}])j"),
              ElementsAre(HasSubstr("cel expression must evaluate to a bool")));
  EXPECT_THAT(wrong(R"j([{"rule": " "}])j"),
              ElementsAre(at + ".rule: Required value: rule is not specified"));
  EXPECT_THAT(wrong(R"j([{"rule": "true", "message": " "}])j"),
              ElementsAre(at + ".message: Invalid value: \" \": message must be non-empty if "
                               "specified"));
  EXPECT_THAT(wrong(R"j([{"rule": "true", "messageExpression": "1"}])j"),
              ElementsAre(HasSubstr("messageExpression must evaluate to a string")));
  EXPECT_THAT(wrong(R"j([{"rule": "true", "reason": "Bad"}])j"),
              ElementsAre(at + ".reason: Unsupported value: \"Bad\": supported values: "
                               "\"FieldValueDuplicate\", \"FieldValueForbidden\", "
                               "\"FieldValueInvalid\", \"FieldValueRequired\""));
  EXPECT_THAT(wrong(R"j([{"rule": "true", "fieldPath": ".x"}])j"),
              ElementsAre(at + ".fieldPath: Invalid value: \".x\": fieldPath must be a valid path: "
                               "does not refer to a valid field"));
  EXPECT_THAT(wrong(R"j([{"rule": "true", "optionalOldSelf": true}])j"),
              ElementsAre(at +
                          ".optionalOldSelf: Invalid value: true: may not be set if oldSelf is "
                          "not used in rule"));
}

TEST(CelRules, OfTransitionsCannotStandInListsWhoseElementsAreLost) {
  const auto given = rules(R"j({"l": {"type": "array", "maxItems": 9, "items": {"type": "string",
      "maxLength": 9, "x-kubernetes-validations": [{"rule": "self == oldSelf"}]}}})j");
  EXPECT_THAT(
      texts(check_rules(*given, "s")),
      ElementsAre("s.properties[spec].properties[l].items.x-kubernetes-validations[0].rule: "
                  "Invalid value: \"self == oldSelf\": oldSelf cannot be used on the "
                  "uncorrelatable portion of the schema within "
                  "s.properties[spec].properties[l]"));
}

struct Cost {
  std::string name;
  std::string list;   ///< properties.l
  std::string rule;   ///< of the spec
  std::string factor; ///< "": it is not too much
};
class RuleCost : public testing::TestWithParam<Cost> {};

TEST_P(RuleCost, IsEstimatedWithTheDefinition) {
  const auto given = rules(R"j({"l": )j" + GetParam().list + "}",
                           R"j([{"rule": ")j" + GetParam().rule + R"j("}])j");
  const auto errors = texts(check_rules(*given, "s"));
  if (GetParam().factor.empty()) {
    EXPECT_THAT(errors, IsEmpty());
    return;
  }
  ASSERT_FALSE(errors.empty());
  EXPECT_EQ(errors.front(),
            "s.properties[spec].x-kubernetes-validations[0].rule: Forbidden: estimated rule cost "
            "exceeds budget by factor of " +
                GetParam().factor +
                " (try simplifying the rule, or adding maxItems, maxProperties, and maxLength "
                "where arrays, maps, and strings are declared)");
}

INSTANTIATE_TEST_SUITE_P(
    All, RuleCost,
    testing::Values(
        // 1048575 elements at 5 each.
        Cost{"one_loop", R"j({"type": "array", "items": {"type": "string"}})j",
             "self.l.all(x, x.startsWith('a'))", ""},
        // Each element is 3145726 bytes at most.
        Cost{"long_texts", R"j({"type": "array", "items": {"type": "string"}})j",
             "self.l.all(x, x.contains('abc'))", "more than 100x"},
        Cost{"nested", R"j({"type": "array", "items": {"type": "integer"}})j",
             "self.l.all(x, self.l.exists_one(y, x == y))", "more than 100x"},
        Cost{"nested_and_bounded",
             R"j({"type": "array", "maxItems": 100, "items": {"type": "integer"}})j",
             "self.l.all(x, self.l.exists_one(y, x == y))", ""},
        // 4000 * (3 + 4 + 4000 * (2 + 2)): 64.0 million.
        Cost{"bounded_too_high",
             R"j({"type": "array", "maxItems": 4000, "items": {"type": "integer"}})j",
             "self.l.all(x, self.l.exists_one(y, x == y))", "6.4x"},
        Cost{"made_texts", R"j({"type": "integer"})j", "string(self.l) + 'a' == 'ba'",
             "more than 100x"},
        Cost{"comparison", R"j({"type": "array", "items": {"type": "string", "maxLength": 63}})j",
             "self.l == ['a']", ""}),
    [](const auto& one) { return one.param.name; });

TEST(RuleCost, OfAllRulesIsLimitedToo) {
  const auto given = rules(R"j({"l": {"type": "array", "items": {"type": "string",
      "x-kubernetes-validations": [{"rule": "self.contains('abc')"}]}}})j");
  const auto errors = texts(check_rules(*given, "s"));
  ASSERT_EQ(errors.size(), 3U);
  EXPECT_THAT(errors[0], HasSubstr("s.properties[spec].properties[l].items.x-kubernetes-"
                                   "validations[0].rule: Forbidden: estimated rule cost exceeds"));
  EXPECT_EQ(errors[1], "s.properties[spec].properties[l].items.x-kubernetes-validations[0].rule: "
                       "Forbidden: contributed to estimated rule cost total exceeding cost limit "
                       "for entire OpenAPIv3 schema");
  EXPECT_THAT(errors[2], HasSubstr("s: Forbidden: x-kubernetes-validations estimated rule cost "
                                   "total for entire OpenAPIv3 schema exceeds budget by factor of "
                                   "more than 100x"));
}

} // namespace
} // namespace berth::schema
