#include "berth/patch/request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/patch/go_text.h"
#include "berth/patch/random_objects.h"

namespace berth::patch {
namespace {

using test::from;

TEST(PatchKind, IsTheContentType) {
  EXPECT_EQ(patch_kind("application/json-patch+json", KindOf::BuiltIn), PatchKind::Json);
  EXPECT_EQ(patch_kind("application/merge-patch+json; charset=utf-8", KindOf::BuiltIn),
            PatchKind::Merge);
  EXPECT_EQ(patch_kind(" application/strategic-merge-patch+json ;q=1", KindOf::BuiltIn),
            PatchKind::StrategicMerge);
  EXPECT_EQ(patch_kind("application/apply-patch+yaml", KindOf::CustomResource), PatchKind::Apply);
  EXPECT_EQ(patch_kind("application/apply-patch+json", KindOf::BuiltIn), PatchKind::Apply);
}

TEST(PatchKind, OthersAreRefused) {
  for (const char* type : {"", "text/plain", "application/json", "application/yaml"}) {
    const auto kind = patch_kind(type, KindOf::BuiltIn);
    ASSERT_FALSE(kind) << type;
    EXPECT_EQ(http_status(kind.error().code), 415);
    EXPECT_EQ(kind.error().message, "415: Unsupported Media Type");
  }
  for (const char* type : {"", "text/plain", "application/strategic-merge-patch+json"}) {
    const auto kind = patch_kind(type, KindOf::CustomResource);
    ASSERT_FALSE(kind) << type;
    EXPECT_EQ(http_status(kind.error().code), 415);
    EXPECT_EQ(kind.error().message,
              "the body of the request was in an unknown format - accepted media types include: "
              "application/json-patch+json, application/merge-patch+json, "
              "application/apply-patch+yaml");
  }
}

struct Options {
  std::string name;
  PatchOptions options;
  PatchKind kind;
  std::string want;
};

class CheckOptions : public ::testing::TestWithParam<Options> {};

TEST_P(CheckOptions, SaysWhatIsWrong) {
  const auto done = check_options(GetParam().options, GetParam().kind);
  EXPECT_EQ(done ? "" : done.error().message, GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(
    Request, CheckOptions,
    ::testing::Values(
        Options{"Nothing", {}, PatchKind::Merge, ""},
        Options{"Applied", {.field_manager = "m", .force = true}, PatchKind::Apply, ""},
        Options{"NoManager",
                {},
                PatchKind::Apply,
                "PatchOptions.meta.k8s.io \"\" is invalid: fieldManager: Required value: is "
                "required for apply patch"},
        Options{"Forced",
                {.field_manager = "m", .force = false},
                PatchKind::Json,
                "PatchOptions.meta.k8s.io \"\" is invalid: force: Forbidden: may not be specified "
                "for non-apply patch"},
        Options{"Long",
                {.field_manager = std::string(129, 'm')},
                PatchKind::Apply,
                "PatchOptions.meta.k8s.io \"\" is invalid: fieldManager: Too long: may not be more "
                "than 128 bytes"},
        Options{"Unprintable",
                {.field_manager = "a\x01\n"},
                PatchKind::Apply,
                "PatchOptions.meta.k8s.io \"\" is invalid: fieldManager: Invalid value: "
                "\"a\\x01\\n\": invalid character U+0001 (at position 1)"},
        Options{"Two",
                {.field_manager = std::string(129, 'm'), .force = true},
                PatchKind::Merge,
                "PatchOptions.meta.k8s.io \"\" is invalid: [force: Forbidden: may not be specified "
                "for non-apply patch, fieldManager: Too long: may not be more than 128 bytes]"}),
    [](const auto& param) { return param.param.name; });

struct Body {
  std::string name;
  PatchKind kind;
  std::string body;
  std::string want;
};

class Patched : public ::testing::TestWithParam<Body> {};

TEST_P(Patched, AnswersAsKubeApiserver) {
  const schema::TypePtr type = test::toy_type();
  const auto done = patched(GetParam().kind, from(R"({"name":"a","items":[{"name":"x"}]})"),
                            GetParam().body, *type);
  EXPECT_EQ(done ? api::to_json(*done)
                 : std::string(to_string(done.error().code)) + " " + done.error().message,
            GetParam().want);
}

constexpr const char* kRejected =
    "Invalid the server rejected our request due to an error in our request";

INSTANTIATE_TEST_SUITE_P(
    Request, Patched,
    ::testing::Values(
        Body{"Json", PatchKind::Json, R"([{"op":"remove","path":"/items"}])", R"({"name":"a"})"},
        Body{"JsonRejected", PatchKind::Json, R"([{"op":"remove","path":"/frob"}])", kRejected},
        Body{"JsonCut", PatchKind::Json, "[",
             "BadRequest error decoding patch: unexpected end of JSON input"},
        Body{"JsonObject", PatchKind::Json, "{}",
             "BadRequest error decoding patch: json: cannot unmarshal object into Go value of type "
             "[]interface {}"},
        Body{"JsonNoOperation", PatchKind::Json, "[1]",
             "BadRequest json: cannot unmarshal number into Go value of type jsonpatch.Operation"},
        Body{"Merge", PatchKind::Merge, R"({"name":null,"count":1})",
             R"({"items":[{"name":"x"}],"count":1})"},
        Body{"MergeList", PatchKind::Merge, "[]",
             "BadRequest error decoding patch: json: cannot unmarshal array into Go value of type "
             "map[string]interface {}"},
        Body{"MergeBroken", PatchKind::Merge, R"({"a":tru})",
             "BadRequest error decoding patch: invalid character '}' in literal true (expecting "
             "'e')"},
        Body{"Strategic", PatchKind::StrategicMerge, R"({"items":[{"name":"x","image":"1"}]})",
             R"({"name":"a","items":[{"name":"x","image":"1"}]})"},
        Body{"StrategicBroken", PatchKind::StrategicMerge, "x",
             "BadRequest invalid character 'x' looking for beginning of value"},
        Body{"StrategicUnknown", PatchKind::StrategicMerge, R"({"items":[{"$patch":"x"}]})",
             "InternalError unknown patch type: x in map: map[$patch:x]"},
        Body{"StrategicLists", PatchKind::StrategicMerge, R"({"tags":[["a"]],"items":[[1]]})",
             "InternalError list element types are not identical: [[map[name:x]] [[1]]]"}),
    [](const auto& param) { return param.param.name; });

TEST(AppliedObject, IsYamlOrJson) {
  EXPECT_EQ(applied_object("a: 1\nb: [x]\n"), from(R"({"a":1,"b":["x"]})"));
  EXPECT_EQ(applied_object(R"({"a":1})"), from(R"({"a":1})"));
  for (const char* body : {"", "[1]", "a: [", "x"}) {
    const auto done = applied_object(body);
    ASSERT_FALSE(done) << body;
    EXPECT_EQ(done.error().code, Code::BadRequest);
    EXPECT_THAT(done.error().message, ::testing::StartsWith("error decoding YAML: "));
  }
}

TEST(GoText, ShowsValuesAsGoDoes) {
  const json::value value = from(R"({"b":[1,"x",null,true,1.5],"a":{}})");
  EXPECT_EQ(go_value(value), "map[a:map[] b:[1 x <nil> true 1.5]]");
  EXPECT_EQ(go_syntax(value),
            "map[string]interface {}{\"a\":map[string]interface {}{}, \"b\":[]interface {}{1, "
            "\"x\", interface {}(nil), true, 1.5}}");
  EXPECT_EQ(go_type(value), "map[string]interface {}");
  EXPECT_EQ(go_type(json::value(1.5)), "float64");
  EXPECT_EQ(go_type(json::value(nullptr)), "<nil>");
}

} // namespace
} // namespace berth::patch
