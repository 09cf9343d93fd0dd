#include "berth/schema/decode.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/api/json.h"
#include "berth/schema/catalogue.h"
#include "berth/schema/go_json.h"

namespace berth::schema {
namespace {

namespace json = boost::json;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

const Type& type_of(const api::GroupVersionKind& gvk) {
  return *Catalogue::builtin().type(gvk);
}
const Type& pod() {
  return type_of({"", "v1", "Pod"});
}

struct Case {
  const char* name;
  const char* given;
  const char* want;
};
std::string name_of(const ::testing::TestParamInfo<Case>& info) {
  return info.param.name;
}

// ---- forms --------------------------------------------------------------------------------------

class PodError : public ::testing::TestWithParam<Case> {};

TEST_P(PodError, IsInTheWordsOfGo) {
  const auto decoded = decode_text(GetParam().given, pod());
  ASSERT_FALSE(decoded);
  EXPECT_EQ(decoded.error().message, GetParam().want);
  EXPECT_EQ(decoded.error().code, Code::BadRequest);
  // Text and value are read alike.
  const auto value = decode_value(*api::parse_json(GetParam().given), pod());
  ASSERT_FALSE(value);
  EXPECT_EQ(value.error().message, GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(
    Forms, PodError,
    ::testing::Values(
        Case{"List", R"({"spec":{"containers":"x"}})",
             "json: cannot unmarshal string into Go struct field PodSpec.spec.containers of type "
             "[]v1.Container"},
        Case{"ElementOfAList", R"({"spec":{"containers":[1]}})",
             "json: cannot unmarshal number into Go struct field PodSpec.spec.containers of type "
             "v1.Container"},
        Case{"Integer", R"({"spec":{"containers":[{"ports":[{"containerPort":"80"}]}]}})",
             "json: cannot unmarshal string into Go struct field "
             "ContainerPort.spec.containers.ports.containerPort of type int32"},
        Case{"IntegerTooLarge", R"({"spec":{"priority":3000000000}})",
             "json: cannot unmarshal number 3000000000 into Go struct field "
             "PodSpec.spec.priority of type int32"},
        Case{"IntegerWithAFraction", R"({"spec":{"terminationGracePeriodSeconds":1.5}})",
             "json: cannot unmarshal number 1.5 into Go struct field "
             "PodSpec.spec.terminationGracePeriodSeconds of type int64"},
        Case{"NamedString", R"({"spec":{"restartPolicy":1}})",
             "json: cannot unmarshal number into Go struct field PodSpec.spec.restartPolicy of "
             "type v1.RestartPolicy"},
        Case{"Boolean", R"({"spec":{"hostNetwork":"true"}})",
             "json: cannot unmarshal string into Go struct field PodSpec.spec.hostNetwork of type "
             "bool"},
        Case{"ValueOfAMap", R"({"metadata":{"labels":{"a":1}}})",
             "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.labels of "
             "type string"},
        Case{"Map", R"({"metadata":{"labels":[]}})",
             "json: cannot unmarshal array into Go struct field ObjectMeta.metadata.labels of type "
             "map[string]string"},
        Case{"Struct", R"({"spec":[]})",
             "json: cannot unmarshal array into Go struct field Pod.spec of type v1.PodSpec"},
        Case{"TheFirstOneCounts", R"({"spec":{"hostNetwork":1,"nodeName":2}})",
             "json: cannot unmarshal number into Go struct field PodSpec.spec.hostNetwork of type "
             "bool"},
        Case{"ResourceList", R"({"spec":{"containers":[{"resources":{"limits":1}}]}})",
             "json: cannot unmarshal number into Go struct field "
             "ResourceRequirements.spec.containers.resources.limits of type v1.ResourceList"},
        Case{"Quantity", R"({"spec":{"containers":[{"resources":{"limits":{"cpu":"x"}}}]}})",
             "quantities must match the regular expression "
             "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"},
        Case{"QuantitysSuffix", R"({"spec":{"overhead":{"cpu":"1iM"}}})",
             "unable to parse quantity's suffix"},
        Case{"QuantityStopsEverything", R"({"spec":{"hostNetwork":1,"overhead":{"cpu":true}}})",
             "quantities must match the regular expression "
             "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"},
        Case{"Time", R"({"metadata":{"creationTimestamp":"yesterday"}})",
             "parsing time \"yesterday\" as \"2006-01-02T15:04:05Z07:00\": cannot parse "
             "\"yesterday\" as \"2006\""},
        Case{"TimeWithoutZone", R"({"metadata":{"creationTimestamp":"2026-01-02T03:04:05"}})",
             "parsing time \"2026-01-02T03:04:05\" as \"2006-01-02T15:04:05Z07:00\": cannot parse "
             "\"\" as \"Z07:00\""},
        Case{"TimeOutOfRange", R"({"metadata":{"creationTimestamp":"2026-13-02T03:04:05Z"}})",
             "parsing time \"2026-13-02T03:04:05Z\": month out of range"},
        Case{"TimeOfAnotherForm", R"({"metadata":{"creationTimestamp":5}})",
             "json: cannot unmarshal number into Go struct field "
             "ObjectMeta.metadata.creationTimestamp of type string"},
        Case{"IntOrString",
             R"({"spec":{"containers":[{"livenessProbe":{"httpGet":{"port":true}}}]}})",
             "json: cannot unmarshal bool into Go struct field "
             "HTTPGetAction.spec.containers.livenessProbe.httpGet.port of type int32"}),
    name_of);

TEST(Decode, RefusesBytesThatAreNoBase64) {
  const Type& secret = type_of({"", "v1", "Secret"});
  const auto bad = decode_text(R"({"data":{"a":"ab?="}})", secret);
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().message, "illegal base64 data at input byte 2");
  EXPECT_TRUE(decode_text(R"({"data":{"a":"YWI=","b":"","c":"YWJj"}})", secret));
  EXPECT_FALSE(decode_text(R"({"data":{"a":"YWI"}})", secret));
  EXPECT_FALSE(decode_text(R"({"data":{"a":"YWI=YWJj"}})", secret));
}

// ---- unknown and duplicate fields
// ----------------------------------------------------------------

TEST(Decode, ReportsUnknownAndDuplicateFieldsAsTheyAreMet) {
  const auto decoded =
      decode_text(R"({"metadata":{"name":"a","name":"b","labels":{"x.y/z":"1","x.y/z":"2"}},)"
                  R"("spec":{"containers":[{"name":"c","gpu":1},{"gpu":2,"gpu":{"a":1,"a":2}}],)"
                  R"("gpus":8},"Spec":{}})",
                  pod());
  ASSERT_TRUE(decoded) << decoded.error().message;
  EXPECT_THAT(decoded->strict,
              ElementsAre(R"(duplicate field "metadata.name")",
                          R"(duplicate field "metadata.labels.x.y/z")",
                          R"(unknown field "spec.containers[0].gpu")",
                          R"(unknown field "spec.containers[1].gpu")",
                          R"(unknown field "spec.gpus")", R"(unknown field "Spec")"));
  EXPECT_EQ(api::string_at(decoded->value, "metadata.name"), "b");
  EXPECT_EQ(api::find_path(decoded->value, "spec.gpus"), nullptr);
  EXPECT_EQ(decoded->value.as_object().if_contains("Spec"), nullptr);
}

// ---- what is written ----------------------------------------------------------------------------

class PodValue : public ::testing::TestWithParam<Case> {};

TEST_P(PodValue, IsWrittenAsGoWritesIt) {
  const auto decoded = decode_text(GetParam().given, pod());
  ASSERT_TRUE(decoded) << decoded.error().message;
  EXPECT_THAT(decoded->strict, IsEmpty());
  EXPECT_EQ(api::to_json(decoded->value), GetParam().want);
  const auto again = decode_value(decoded->value, pod());
  ASSERT_TRUE(again);
  EXPECT_EQ(api::to_json(again->value), GetParam().want) << "decoding twice changes nothing";
}

INSTANTIATE_TEST_SUITE_P(
    Forms, PodValue,
    ::testing::Values(
        Case{"Empty", "{}", R"({"metadata":{},"spec":{"containers":null},"status":{}})"},
        Case{"NullsVanish",
             R"({"metadata":{"labels":null,"creationTimestamp":null},"spec":{"containers":[],)"
             R"("nodeName":null,"affinity":null,"priority":null},"status":null})",
             R"({"metadata":{},"spec":{"containers":[]},"status":{}})"},
        Case{"EmptyOnesVanish",
             R"({"metadata":{"labels":{},"finalizers":[],"generateName":""},)"
             R"("spec":{"containers":[],"tolerations":[],"hostNetwork":false,"nodeSelector":{}},)"
             R"("status":{}})",
             R"({"metadata":{},"spec":{"containers":[]},"status":{}})"},
        Case{"WhatAPointerHoldsStays",
             R"({"metadata":{},"spec":{"containers":[],"priority":0,"enableServiceLinks":false,)"
             R"("runtimeClassName":"","affinity":{},"volumes":[{"name":"v","emptyDir":{}}]},)"
             R"("status":{}})",
             R"({"metadata":{},"spec":{"containers":[],"priority":0,"enableServiceLinks":false,)"
             R"("runtimeClassName":"","affinity":{},"volumes":[{"name":"v","emptyDir":{}}]},)"
             R"("status":{}})"},
        Case{"Containers",
             R"({"metadata":{},"spec":{"containers":[{"name":"c","resources":null},null]},)"
             R"("status":{}})",
             R"({"metadata":{},"spec":{"containers":[{"name":"c","resources":{}},)"
             R"({"name":"","resources":{}}]},"status":{}})"},
        Case{"Quantities",
             R"({"metadata":{},"spec":{"containers":[],"overhead":{"cpu":"1000m","memory":)"
             R"("1024Mi","nvidia.com/gpu":8,"x":0.5,"y":null}},"status":{}})",
             R"({"metadata":{},"spec":{"containers":[],"overhead":{"cpu":"1","memory":)"
             R"("1Gi","nvidia.com/gpu":"8","x":"500m","y":"0"}},"status":{}})"},
        Case{"Times",
             R"({"metadata":{"creationTimestamp":"2026-01-02T03:04:05.678+01:00"},)"
             R"("spec":{"containers":[]},"status":{}})",
             R"({"metadata":{"creationTimestamp":"2026-01-02T02:04:05Z"},)"
             R"("spec":{"containers":[]},"status":{}})"},
        Case{"ConditionsShowTimesThatAreNotSet",
             R"({"metadata":{},"spec":{"containers":[]},)"
             R"("status":{"conditions":[{"type":"Ready","status":"True"}]}})",
             R"({"metadata":{},"spec":{"containers":[]},"status":{"conditions":[{"type":"Ready",)"
             R"("status":"True","lastProbeTime":null,"lastTransitionTime":null}]}})"},
        Case{"Escapes",
             R"({"metadata":{"annotations":{"a":"\u00e9\ud83d\ude00\n"}},)"
             R"("spec":{"containers":[]},"status":{}})",
             "{\"metadata\":{\"annotations\":{\"a\":\"\xC3\xA9\xF0\x9F\x98\x80\\n\"}},"
             R"("spec":{"containers":[]},"status":{}})"}),
    name_of);

TEST(Decode, ReadsTextAsGoDoes) {
  const auto decoded =
      decode_text("{\"metadata\":{\"annotations\":{\"a\":\"\xff\\ud800x\"}}}", pod());
  ASSERT_TRUE(decoded);
  EXPECT_EQ(api::string_at(decoded->value, "metadata.annotations.a"), "\xEF\xBF\xBD\xEF\xBF\xBDx");
}

TEST(Decode, ALeaseKeepsMicroseconds) {
  const auto decoded = decode_text(R"({"spec":{"renewTime":"2026-01-02T03:04:05Z"}})",
                                   type_of({"coordination.k8s.io", "v1", "Lease"}));
  ASSERT_TRUE(decoded);
  EXPECT_EQ(api::string_at(decoded->value, "spec.renewTime"), "2026-01-02T03:04:05.000000Z");
}

TEST(Decode, ANodeWithoutStatusShowsItsZeros) {
  const auto decoded = decode_text("{}", type_of({"", "v1", "Node"}));
  ASSERT_TRUE(decoded);
  EXPECT_EQ(api::to_json(decoded->value),
            R"({"metadata":{},"spec":{},"status":{"daemonEndpoints":{"kubeletEndpoint":)"
            R"({"Port":0}},"nodeInfo":{"architecture":"","bootID":"","containerRuntimeVersion":)"
            R"("","kernelVersion":"","kubeProxyVersion":"","kubeletVersion":"","machineID":"",)"
            R"("operatingSystem":"","osImage":"","systemUUID":""}}})");
}

// ---- syntax -------------------------------------------------------------------------------------

class Syntax : public ::testing::TestWithParam<Case> {};

TEST_P(Syntax, IsToldInTheWordsOfGo) {
  EXPECT_EQ(json_syntax_error(GetParam().given).value_or("sound"), GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(
    Texts, Syntax,
    ::testing::Values(
        Case{"Empty", "", "unexpected end of JSON input"},
        Case{"Sound", R"( {"a":[1,-2.5e+3,true,null,"\u00e9\n",{}],"b":{}} )", "sound"},
        Case{"Word", "not json", "invalid character 'o' in literal null (expecting 'u')"},
        Case{"NoValue", "{\"a\":x}", "invalid character 'x' looking for beginning of value"},
        Case{"NoKey", "{1:2}", "invalid character '1' looking for beginning of object key string"},
        Case{"CommaAtTheEnd", "{\"a\":1,}",
             "invalid character '}' looking for beginning of object key string"},
        Case{"NoColon", "{\"a\" 1}", "invalid character '1' after object key"},
        Case{"NoComma", "{\"a\":1 \"b\":2}", "invalid character '\"' after object key:value pair"},
        Case{"NoCommaInAList", "[1 2]", "invalid character '2' after array element"},
        Case{"TwoValues", "{} {}", "invalid character '{' after top-level value"},
        Case{"LeadingZero", "01", "invalid character '1' after top-level value"},
        Case{"Minus", "-x", "invalid character 'x' in numeric literal"},
        Case{"Point", "1.x", "invalid character 'x' after decimal point in numeric literal"},
        Case{"Exponent", "1e+", "unexpected end of JSON input"},
        Case{"LineInAString", "\"a\nb\"", "invalid character '\\n' in string literal"},
        Case{"Escape", "\"\\q\"", "invalid character 'q' in string escape code"},
        Case{"Hexadecimal", "\"\\u00g0\"",
             "invalid character 'g' in \\u hexadecimal character escape"},
        Case{"BeyondAscii", "\xC3\xA9",
             "invalid character '\xC3\x83' looking for beginning of "
             "value"}),
    name_of);

TEST(JsonSyntax, RefusesWhatIsTooDeep) {
  EXPECT_EQ(json_syntax_error(std::string(1000, '[') + std::string(1000, ']')), std::nullopt);
  EXPECT_EQ(json_syntax_error(std::string(1001, '[')), "exceeded max depth");
}

} // namespace
} // namespace berth::schema
