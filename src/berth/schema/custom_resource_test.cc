#include "berth/schema/custom_resource.h"

#include <algorithm>
#include <map>
#include <regex>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/api/json.h"
#include "berth/api/manifest.h"
#include "berth/schema/body.h"
#include "berth/schema/catalogue.h"
#include "berth/schema/cel_rules.h"
#include "berth/schema/inputs_fixture.h"
#include "berth/schema/validate.h"

namespace berth::schema {
namespace {

namespace json = boost::json;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> texts(const FieldErrors& errors) {
  std::vector<std::string> out;
  for (const FieldError& error : errors) {
    out.push_back(to_string(error));
  }
  return out;
}

json::value definition(std::string_view schema) {
  json::value out = *api::parse_json(
      R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",)"
      R"("metadata":{"name":"gangs.example.com"},"spec":{"group":"example.com",)"
      R"("scope":"Namespaced","names":{"plural":"gangs","kind":"Gang","shortNames":["gg"]},)"
      R"("versions":[{"name":"v1","served":true,"storage":true,"subresources":{"status":{},)"
      R"("scale":{"specReplicasPath":".spec.replicas","statusReplicasPath":".status.replicas"}},)"
      R"("schema":{"openAPIV3Schema":)" +
      std::string(schema) + "}}]}}");
  default_definition(out.as_object());
  return out;
}

// ---- definitions --------------------------------------------------------------------------------

TEST(CustomResource, DefinesAResourceOfEachServedVersion) {
  const json::value crd = definition(R"({"type":"object"})");
  EXPECT_THAT(check_definition(crd), IsEmpty());
  EXPECT_EQ(api::string_at(crd, "spec.names.singular"), "gang");
  EXPECT_EQ(api::string_at(crd, "spec.names.listKind"), "GangList");
  EXPECT_EQ(api::string_at(crd, "spec.conversion.strategy"), "None");
  EXPECT_EQ(api::to_json(*api::find_path(crd, "status.storedVersions")), R"(["v1"])");
  const auto resources = resources_of(crd);
  ASSERT_TRUE(resources);
  ASSERT_EQ(resources->size(), 1U);
  const Resource& gangs = resources->front();
  EXPECT_EQ(gangs.gvk(), (api::GroupVersionKind{"example.com", "v1", "Gang"}));
  EXPECT_EQ(gangs.singular, "gang");
  EXPECT_THAT(gangs.short_names, ElementsAre("gg"));
  EXPECT_TRUE(gangs.custom);
  EXPECT_TRUE(gangs.can("deletecollection"));
  EXPECT_EQ(gangs.subresource("scale")->kind.group, "autoscaling");
  EXPECT_EQ(gangs.subresource("status")->kind, gangs.gvk());
  EXPECT_EQ(gangs.type->name, "com.example.v1.Gang");
}

TEST(CustomResource, IsNotHeldToWhatAChangeLeavesAlone) {
  const json::value crd = definition(
      R"({"type":"object","properties":{"spec":{"type":"object","properties":{)"
      R"("size":{"type":"integer","maximum":5},"name":{"type":"string","maxLength":3},)"
      R"("parts":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":)"
      R"(["key"],"items":{"type":"object","required":["key"],"properties":{"key":)"
      R"({"type":"string"},"weight":{"type":"integer","maximum":5}}}}}}}})");
  const auto gang = resources_of(crd)->front();
  const auto wrong = [&](std::string_view before, std::string_view now) {
    const json::value old = *api::parse_json(std::string(before));
    return texts(validate(*api::parse_json(std::string(now)), *gang.type, &old));
  };
  EXPECT_THAT(wrong(R"({"spec":{"size":9,"name":"a"}})", R"({"spec":{"size":9,"name":"b"}})"),
              IsEmpty());
  EXPECT_THAT(wrong(R"({"spec":{"size":9,"name":"a"}})", R"({"spec":{"size":8,"name":"abcd"}})"),
              ElementsAre("spec.name: Too long: may not be more than 3 bytes",
                          "spec.size: Invalid value: 8: spec.size in body should be less than or "
                          "equal to 5"));
  EXPECT_THAT(wrong(R"({"spec":{"parts":[{"key":"a","weight":9},{"key":"b"}]}})",
                    R"({"spec":{"parts":[{"key":"b","weight":9},{"key":"a","weight":9}]}})"),
              ElementsAre("spec.parts[0].weight: Invalid value: 9: spec.parts[0].weight in body "
                          "should be less than or equal to 5"));
  EXPECT_THAT(wrong(R"({"spec":{"parts":[{"key":"a"},{"key":"a"}]}})",
                    R"({"spec":{"parts":[{"key":"a"},{"key":"a"},{"key":"a"}]}})"),
              IsEmpty())
      << "there were duplicates before";
}

TEST(CustomResource, WarnsOfDeprecatedVersions) {
  json::value crd = definition(R"({"type":"object"})");
  json::array& versions = crd.as_object()["spec"].as_object()["versions"].as_array();
  for (const char* name : {"v1beta1", "v2alpha1", "v2"}) {
    versions.push_back(versions[0]);
    versions.back().as_object()["name"] = name;
    versions.back().as_object()["storage"] = false;
  }
  versions[1].as_object()["deprecated"] = true;
  versions[2].as_object()["deprecated"] = true;
  versions[2].as_object()["deprecationWarning"] = "do not";
  const auto resources = resources_of(crd);
  ASSERT_TRUE(resources);
  EXPECT_EQ((*resources)[0].deprecation, "");
  EXPECT_EQ((*resources)[1].deprecation,
            "example.com/v1beta1 Gang is deprecated; use example.com/v2 Gang");
  EXPECT_EQ((*resources)[2].deprecation, "do not");
}

TEST(CustomResource, RefusesDefinitionsThatDoNotHoldTogether) {
  json::value crd = definition(R"({"type":"object"})");
  json::object& spec = crd.as_object()["spec"].as_object();
  crd.as_object()["metadata"].as_object()["name"] = "wrong";
  spec["scope"] = "Everywhere";
  spec["group"] = "example";
  spec["names"].as_object()["kind"] = "";
  spec["versions"].as_array()[0].as_object()["storage"] = false;
  const auto errors = texts(check_definition(crd));
  ASSERT_EQ(errors.size(), 5U) << fmt::format("{}", fmt::join(errors, "\n"));
  EXPECT_EQ(errors[0], "metadata.name: Invalid value: \"wrong\": must be "
                       "spec.names.plural+\".\"+spec.group");
  EXPECT_EQ(errors[1], "spec.group: Invalid value: \"example\": should be a domain with at least "
                       "one dot");
  EXPECT_EQ(errors[2], "spec.scope: Unsupported value: \"Everywhere\": supported values: "
                       "\"Cluster\", \"Namespaced\"");
  EXPECT_THAT(errors[3], ::testing::EndsWith("must have exactly one version marked as storage "
                                             "version"));
  EXPECT_EQ(errors[4], "spec.names.kind: Required value");
}

struct Case {
  const char* name;
  const char* schema;
  const char* want;
};
std::string name_of(const ::testing::TestParamInfo<Case>& info) {
  return info.param.name;
}

class NotStructural : public ::testing::TestWithParam<Case> {};

TEST_P(NotStructural, IsRefused) {
  EXPECT_THAT(texts(check_definition(definition(GetParam().schema))), ElementsAre(GetParam().want));
}

INSTANTIATE_TEST_SUITE_P(
    Schemas, NotStructural,
    ::testing::Values(
        Case{"NoTypeAtTheRoot", R"({"properties":{"a":{"type":"string"}}})",
             "spec.validation.openAPIV3Schema.type: Required value: must not be empty at the root"},
        Case{"NoType",
             R"({"type":"object","properties":{"spec":{"type":"object","properties":)"
             R"({"a":{"description":"x"}}}}})",
             "spec.validation.openAPIV3Schema.properties[spec].properties[a].type: Required value: "
             "must not be empty for specified object fields"},
        Case{"NoTypeOfItems",
             R"({"type":"object","properties":{"a":{"type":"array","items":{"maxLength":1}}}})",
             "spec.validation.openAPIV3Schema.properties[a].items.type: Required value: must not "
             "be empty for specified array items"},
        Case{"NoItems", R"({"type":"object","properties":{"a":{"type":"array"}}})",
             "spec.validation.openAPIV3Schema.properties[a].items: Required value: must be "
             "specified"},
        Case{"UnknownType", R"({"type":"object","properties":{"a":{"type":"text"}}})",
             "spec.validation.openAPIV3Schema.properties[a].type: Unsupported value: \"text\": "
             "supported values: \"array\", \"boolean\", \"integer\", \"number\", \"object\", "
             "\"string\""},
        Case{"UniqueItems",
             R"({"type":"object","properties":{"a":{"type":"array","uniqueItems":true,)"
             R"("items":{"type":"string"}}}})",
             "spec.validation.openAPIV3Schema.properties[a].uniqueItems: Forbidden: uniqueItems "
             "cannot be set to true since the runtime complexity becomes quadratic"},
        Case{"Both",
             R"({"type":"object","properties":{"a":{"type":"object","properties":{},)"
             R"("additionalProperties":{"type":"string"}}}})",
             "spec.validation.openAPIV3Schema.properties[a].additionalProperties: Forbidden: "
             "additionalProperties and properties are mutual exclusive"},
        Case{"Reference", R"({"type":"object","properties":{"a":{"type":"object","$ref":"#/b"}}})",
             "spec.validation.openAPIV3Schema.properties[a].$ref: Forbidden: $ref is not "
             "supported"},
        Case{"TypeInAJunctor",
             R"({"type":"object","properties":{"a":{"type":"string"}},)"
             R"("anyOf":[{"properties":{"a":{"type":"string"}}}]})",
             "spec.validation.openAPIV3Schema.anyOf[0].properties[a].type: Forbidden: must be "
             "empty to be structural"},
        Case{"UnknownInAJunctor", R"({"type":"object","not":{"properties":{"a":{"minimum":1}}}})",
             "spec.validation.openAPIV3Schema.properties[a]: Required value: because it is defined "
             "in spec.validation.openAPIV3Schema.not.properties[a]"},
        Case{"ListKeys",
             R"({"type":"object","properties":{"a":{"type":"array","x-kubernetes-list-type":)"
             R"("map","items":{"type":"object"}}}})",
             "spec.validation.openAPIV3Schema.properties[a].x-kubernetes-list-map-keys: Required "
             "value: must not be empty if x-kubernetes-list-type is map"},
        Case{"Default", R"({"type":"object","properties":{"a":{"type":"integer","default":"x"}}})",
             "spec.validation.openAPIV3Schema.properties[a].default: Invalid value: \"string\": "
             "default in body must be of type integer: \"string\""},
        Case{
            "Pattern", R"({"type":"object","properties":{"a":{"type":"string","pattern":"(a"}}})",
            "spec.validation.openAPIV3Schema.properties[a].pattern: Invalid value: \"(a\": must be "
            "a valid regular expression, but isn't: error parsing regexp: missing closing ): `(a`"},
        Case{"Metadata",
             R"({"type":"object","properties":{"metadata":{"type":"object","properties":)"
             R"({"labels":{"type":"object"}}}}})",
             "spec.validation.openAPIV3Schema.properties[metadata].properties: Forbidden: must not "
             "specify anything other than name and generateName, but metadata is implicitly "
             "specified"}),
    name_of);

TEST(CustomResource, IntOrStringMaySayWhatItIs) {
  const json::value crd =
      definition(R"({"type":"object","properties":{"a":{"x-kubernetes-int-or-string":true,)"
                 R"("anyOf":[{"type":"integer"},{"type":"string"}],"pattern":"^[0-9]+$"}}})");
  EXPECT_THAT(texts(check_definition(crd)), IsEmpty());
}

// ---- objects ------------------------------------------------------------------------------------

class Value : public ::testing::TestWithParam<Case> {
 protected:
  static FieldErrors errors_of(std::string_view spec) {
    const auto resources = resources_of(definition(
        R"({"type":"object","properties":{"spec":{"type":"object","required":["n"],"properties":{)"
        R"("n":{"type":"integer","minimum":1,"maximum":3},)"
        R"("ratio":{"type":"number","exclusiveMinimum":true,"minimum":0,"multipleOf":0.5},)"
        R"("text":{"type":"string","minLength":2,"maxLength":4},)"
        R"("when":{"type":"string","format":"date-time"},)"
        R"("port":{"x-kubernetes-int-or-string":true},)"
        R"("maybe":{"type":"string","nullable":true},)"
        R"("labels":{"type":"object","maxProperties":2,"additionalProperties":{"type":"string"}},)"
        R"("some":{"type":"array","minItems":1,"items":{"type":"string","enum":["a","b"]}},)"
        R"("keyed":{"type":"array","x-kubernetes-list-type":"map",)"
        R"("x-kubernetes-list-map-keys":["name","at"],"items":{"type":"object",)"
        R"("required":["name"],"properties":{"name":{"type":"string"},)"
        R"("at":{"type":"integer","default":1}}}},)"
        R"("choice":{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"},)"
        R"("c":{"type":"integer"}},"oneOf":[{"required":["a"]},{"required":["b"]}],)"
        R"("anyOf":[{"properties":{"c":{"minimum":5}}},{"properties":{"c":{"maximum":1}}}],)"
        R"("allOf":[{"properties":{"c":{"maximum":9}}}],)"
        R"("not":{"properties":{"a":{"enum":["never"]}},"required":["a"]}})"
        R"(}}}})"));
    EXPECT_TRUE(resources) << resources.error().message;
    const Resource& gangs = resources->front();
    const auto body = decode_body(R"({"metadata":{"name":"g"},"spec":)" + std::string(spec) + "}",
                                  {gangs.gvk(), *gangs.type}, FieldValidation::Strict);
    EXPECT_TRUE(body) << body.error().message;
    json::value object = body->object;
    apply_defaults(object, *gangs.type);
    return validate(object, *gangs.type);
  }
};

TEST_P(Value, IsJudgedInTheWordsOfKubernetes) {
  EXPECT_EQ(fmt::format("{}", fmt::join(texts(errors_of(GetParam().schema)), " & ")),
            GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(
    Specs, Value,
    ::testing::Values(
        Case{"Sound",
             R"({"n":2,"ratio":1.5,"text":"abc","when":"2026-01-02T03:04:05Z","port":"http",)"
             R"("maybe":null,"labels":{"a":"b"},"some":["a"],"keyed":[{"name":"x"},)"
             R"({"name":"x","at":2}],"choice":{"a":"x","c":7}})",
             ""},
        Case{"Required", "{}", "spec.n: Required value"},
        Case{"Minimum", R"({"n":0})",
             "spec.n: Invalid value: 0: spec.n in body should be greater than or equal to 1"},
        Case{"Maximum", R"({"n":5})",
             "spec.n: Invalid value: 5: spec.n in body should be less than or equal to 3"},
        Case{"WholeNumber", R"({"n":2.0})", ""},
        Case{"Fraction", R"({"n":1.5})",
             "spec.n: Invalid value: \"number\": spec.n in body must be of type integer: "
             "\"number\""},
        Case{"Exclusive", R"({"n":1,"ratio":0})",
             "spec.ratio: Invalid value: 0: spec.ratio in body should be greater than 0"},
        Case{"Multiple", R"({"n":1,"ratio":0.75})",
             "spec.ratio: Invalid value: 0.75: spec.ratio in body should be a multiple of 0.5"},
        Case{"TooShort", R"({"n":1,"text":"\u00e9"})",
             "spec.text: Invalid value: \"\xC3\xA9\": spec.text in body should be at least 2 chars "
             "long"},
        Case{"TooLong", R"({"n":1,"text":"abcde"})",
             "spec.text: Too long: may not be more than 4 bytes"},
        Case{"Format", R"({"n":1,"when":"noon"})",
             "spec.when: Invalid value: \"noon\": spec.when in body must be of type date-time: "
             "\"noon\""},
        Case{"IntOrString", R"({"n":1,"port":true})",
             "spec.port: Invalid value: \"boolean\": spec.port in body must be of type "
             "integer,string: \"boolean\""},
        Case{"ValueOfAMap", R"({"n":1,"labels":{"a":1}})",
             "spec.labels.a: Invalid value: \"integer\": spec.labels.a in body must be of type "
             "string: \"integer\""},
        Case{"TooManyMembers", R"({"n":1,"labels":{"a":"","b":"","c":""}})",
             "spec.labels: Too many: 3: must have at most 2 items"},
        Case{"TooFewItems", R"({"n":1,"some":[]})",
             "spec.some: Invalid value: 0: spec.some in body should have at least 1 items"},
        Case{"EnumInAList", R"({"n":1,"some":["a","c"]})",
             "spec.some[1]: Unsupported value: \"c\": supported values: \"a\", \"b\""},
        Case{"KeysOfAList", R"({"n":1,"keyed":[{"name":"x"},{"name":"x","at":1}]})",
             "spec.keyed[1]: Duplicate value: {\"name\":\"x\",\"at\":1}"},
        Case{"OneOf", R"({"n":1,"choice":{"a":"","b":""}})",
             "<nil>: Invalid value: \"\": \"spec.choice\" must validate one and only one schema "
             "(oneOf). Found 2 valid alternatives"},
        Case{"NoneOf", R"({"n":1,"choice":{}})",
             "<nil>: Invalid value: \"\": \"spec.choice\" must validate one and only one schema "
             "(oneOf). Found none valid & spec.choice.a: Required value"},
        Case{"AnyOf", R"({"n":1,"choice":{"a":"","c":3}})",
             "<nil>: Invalid value: \"\": \"spec.choice\" must validate at least one schema "
             "(anyOf) & spec.choice.c: Invalid value: 3: spec.choice.c in body should be greater "
             "than or equal to 5"},
        Case{"AllOf", R"({"n":1,"choice":{"a":"","c":10}})",
             "spec.choice.c: Invalid value: 10: spec.choice.c in body should be less than or equal "
             "to 9 & <nil>: Invalid value: \"\": \"spec.choice\" must validate all the schemas "
             "(allOf). None validated"},
        Case{"Not", R"({"n":1,"choice":{"a":"never"}})",
             "<nil>: Invalid value: \"\": \"spec.choice\" must not validate the schema (not)"}),
    name_of);

TEST(CustomResource, CarriesTheColumnsOfItsVersion) {
  json::value crd = definition(R"({"type":"object"})");
  crd.at("spec").at("versions").at(0).as_object()["additionalPrinterColumns"] = *api::parse_json(
      R"([{"name":"A","type":"integer","format":"int32","description":"d","priority":1,"jsonPath":".a"},)"
      R"({"name":"B","type":"date","jsonPath":".b"}])");
  const auto resources = resources_of(crd);
  ASSERT_TRUE(resources);
  const std::vector<PrinterColumn>& columns = resources->front().columns;
  ASSERT_EQ(columns.size(), 2U);
  EXPECT_EQ(columns[0].name + columns[0].type + columns[0].format + columns[0].description,
            "Aintegerint32d");
  EXPECT_EQ(columns[0].priority, 1);
  EXPECT_EQ(columns[0].json_path, ".a");
  EXPECT_EQ(columns[1].type, "date");
  EXPECT_EQ(columns[1].priority, 0);
}

TEST(CustomResource, DefaultsFillAbsentFieldsAndWrongNulls) {
  const auto resources = resources_of(definition(
      R"({"type":"object","properties":{"spec":{"type":"object","default":{},"properties":{)"
      R"("a":{"type":"string","default":"x"},"b":{"type":"string"},)"
      R"("c":{"type":"string","nullable":true},"d":{"type":"object","additionalProperties":)"
      R"({"type":"object","properties":{"e":{"type":"integer","default":3}}}}}}}})"));
  ASSERT_TRUE(resources);
  const Type& type = *resources->front().type;
  json::value absent = json::object();
  apply_defaults(absent, type);
  EXPECT_EQ(api::to_json(absent), R"({"spec":{"a":"x"}})");
  json::value nulls =
      *api::parse_json(R"({"spec":{"a":null,"b":null,"c":null,"d":{"k":{},"l":{"e":null}}}})");
  apply_defaults(nulls, type);
  EXPECT_EQ(api::to_json(nulls), R"({"spec":{"a":"x","c":null,"d":{"k":{"e":3},"l":{"e":3}}}})");
}

TEST(CustomResource, UnknownFieldsArePrunedUnlessTheyArePreserved) {
  const auto resources = resources_of(definition(
      R"({"type":"object","properties":{"spec":{"type":"object","properties":{"a":)"
      R"({"type":"object","x-kubernetes-preserve-unknown-fields":true,"properties":{"b":)"
      R"({"type":"object","properties":{"c":{"type":"string"}}}}},"t":{"type":"object",)"
      R"("x-kubernetes-embedded-resource":true,"properties":{"spec":{"type":"object"}}}}}}})"));
  ASSERT_TRUE(resources);
  const Resource& gangs = resources->front();
  const auto body = decode_body(
      R"({"metadata":{"name":"g","x":1},"spec":{"a":{"y":{"z":1},"b":{"c":"","d":1}},"e":2,)"
      R"("t":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","labels":{"a":"b"}},"f":1}},)"
      R"("status":{}})",
      {gangs.gvk(), *gangs.type}, FieldValidation::Warn);
  ASSERT_TRUE(body) << body.error().message;
  EXPECT_THAT(body->warnings,
              ElementsAre("unknown field \"metadata.x\"", "unknown field \"spec.a.b.d\"",
                          "unknown field \"spec.e\"", "unknown field \"spec.t.f\"",
                          "unknown field \"status\""));
  EXPECT_EQ(api::to_json(*api::find(body->object, "spec")),
            R"({"a":{"y":{"z":1},"b":{"c":""}},"t":{"apiVersion":"v1","kind":"Pod","metadata":)"
            R"({"name":"p","labels":{"a":"b"}}}})");
}

// ---- a recorded conversation --------------------------------------------------------------------

std::string with_namespace(const std::string& text) {
  return std::regex_replace(text, std::regex("<ns>"), "n1");
}

/// What an API server would answer a creation with.
std::string answer(const Resource& gangs, const std::string& bytes, const std::string& path) {
  const auto validation = path.find("fieldValidation=Strict") != std::string::npos
                              ? FieldValidation::Strict
                              : FieldValidation::Warn;
  const auto body = decode_body(bytes, {gangs.gvk(), *gangs.type}, validation);
  if (!body) {
    return body.error().message;
  }
  json::value object = body->object;
  apply_defaults(object, *gangs.type);
  const FieldErrors errors = validate(object, *gangs.type);
  if (errors.empty()) {
    return fmt::format("{} {}", api::to_json(*api::find(object, "spec")),
                       fmt::join(body->warnings, ","));
  }
  std::string out =
      fmt::format("Gang.n1.example.com \"{}\" is invalid: {} |",
                  api::string_at(object, "metadata.name"), fmt::join(texts(errors), ", "));
  for (const FieldError& error : errors) {
    out += fmt::format(" {} {}: {}", error.reason, error.field, error.message);
  }
  return out;
}

/// The same of what was recorded.
std::string recorded(const json::value& step) {
  const json::value& response = step.at("response");
  if (step.at("status") == 201) {
    const json::value* warnings = api::find(step, "warning");
    const std::string warning =
        warnings == nullptr ? "\"\"" : std::string(warnings->at(0).as_string()).substr(6);
    return fmt::format("{} {}", api::to_json(*api::find(response, "spec")),
                       std::string(api::parse_json(warning)->as_string()));
  }
  std::string out(api::string_at(response, "message"));
  if (const json::value* causes = api::find_path(response, "details.causes")) {
    out += " |";
    for (const json::value& cause : causes->as_array()) {
      out += fmt::format(" {} {}: {}", api::string_at(cause, "reason"),
                         api::string_at(cause, "field"), api::string_at(cause, "message"));
    }
  }
  return out;
}

/// {"b":..,"a":..} -> {"a":..,"b":..}: a typed server sorts the members of untyped objects.
std::string sorted_members(const std::string& text) {
  const std::size_t end = text.rfind("} ");
  const auto parsed = api::parse_json(text.substr(0, end + 1));
  if (end == std::string::npos || !parsed) {
    return text;
  }
  std::map<std::string, std::string> members;
  for (const auto& [key, value] : parsed->as_object()) {
    members[key] = api::to_json(value);
  }
  return fmt::format("{} {}", fmt::join(members, ","), text.substr(end + 2));
}

TEST(CustomResource, AnswersAsARecordedServerDid) {
  BERTH_NEED_SHARED("golden-api/crd.json");
  const json::value steps = *api::parse_json(
      with_namespace(test::read_text(test::shared_folder() / "golden-api" / "crd.json")));
  const Resource& definitions =
      *Catalogue::builtin().resource("apiextensions.k8s.io", "v1", "customresourcedefinitions");
  std::vector<Resource> made;
  int creations = 0;
  for (const json::value& step : steps.as_array()) {
    if (step.at("method") != "POST") {
      continue;
    }
    const std::string path(step.at("path").as_string());
    const std::string bytes = api::to_json(step.at("body"));
    if (path.find("customresourcedefinitions") == std::string::npos) {
      ASSERT_EQ(made.size(), 1U);
      EXPECT_EQ(sorted_members(answer(made[0], bytes, path)), sorted_members(recorded(step)));
      ++creations;
      continue;
    }
    const auto body =
        decode_body(bytes, {definitions.gvk(), *definitions.type}, FieldValidation::Strict);
    ASSERT_TRUE(body) << body.error().message;
    json::value crd = body->object;
    default_definition(crd.as_object());
    const FieldErrors errors = check_definition(crd);
    if (step.at("status") == 201) {
      ASSERT_THAT(texts(errors), IsEmpty());
      made = *resources_of(crd);
      EXPECT_EQ(*api::find(crd, "status"), *api::find(step.at("response"), "status"));
      EXPECT_EQ(*api::find_path(crd, "spec.names"),
                *api::find_path(step.at("response"), "spec.names"));
      EXPECT_EQ(*api::find_path(crd, "spec.conversion"),
                *api::find_path(step.at("response"), "spec.conversion"));
    } else {
      ASSERT_EQ(errors.size(), 1U);
      EXPECT_EQ("CustomResourceDefinition.apiextensions.k8s.io \"wrong\" is invalid: " +
                    to_string(errors[0]),
                api::string_at(step.at("response"), "message"));
    }
  }
  EXPECT_GT(creations, 8);
}

// ---- what people have ---------------------------------------------------------------------------

/// Files that a real server refuses too: numbers left open as texts to be replaced; a field that
/// the pod template has not.
constexpr std::array kRefused = {"gke-nccl-a4x-max-jobset.yaml", "elastic-job.yaml"};

TEST(CustomResource, RealDefinitionsLoadAndRealObjectsPass) {
  BERTH_NEED_SHARED("inputs/crds");
  std::map<api::GroupVersionKind, Resource> known;
  const auto folder = test::shared_folder() / "inputs";
  for (const auto& file : test::files_below(folder / "crds")) {
    const auto manifests = api::read_manifests(test::read_text(file), file.string());
    ASSERT_TRUE(manifests) << to_string(manifests.error());
    for (const api::Manifest& manifest : *manifests) {
      if (manifest.object.gvk().kind != "CustomResourceDefinition") {
        continue;
      }
      json::value crd = manifest.object.json();
      default_definition(crd.as_object());
      EXPECT_THAT(texts(check_definition(crd)), IsEmpty()) << file;
      auto resources = resources_of(crd);
      ASSERT_TRUE(resources) << file << ": " << resources.error().message;
      for (Resource& resource : *resources) {
        known[resource.gvk()] = std::move(resource);
      }
    }
  }
  EXPECT_GT(known.size(), 40U);
  int objects = 0;
  for (const auto& file : test::files_below(folder)) {
    if (file.extension() != ".yaml" || file.string().find("/crds/") != std::string::npos) {
      continue;
    }
    const auto manifests = api::read_manifests_leniently(test::read_text(file), file.string());
    if (!manifests) {
      continue; // templates and such
    }
    for (const api::Manifest& manifest : manifests->manifests) {
      const auto at = known.find(manifest.object.gvk());
      if (at == known.end()) {
        continue;
      }
      const auto body = decode_document(manifest.object.json(), {at->first, *at->second.type},
                                        FieldValidation::Strict);
      const std::string where = file.string() + " " + manifest.object.gvk().kind;
      std::vector<std::string> problems;
      if (body) {
        json::value object = body->object;
        apply_defaults(object, *at->second.type);
        problems = texts(validate(object, *at->second.type));
        for (auto& one : texts(validate_by_rules(*at->second.rules, object, nullptr))) {
          problems.push_back(std::move(one));
        }
      } else {
        problems = {body.error().message};
      }
      const bool refused = std::ranges::find(kRefused, file.filename().string()) != kRefused.end();
      EXPECT_EQ(problems.empty(), !refused)
          << where << fmt::format("{}", fmt::join(problems, "\n"));
      ++objects;
    }
  }
  EXPECT_GT(objects, 50);
}

} // namespace
} // namespace berth::schema
