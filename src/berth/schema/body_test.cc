// What recorded conversations (recorded_test.cc) do not show of bodies.
#include "berth/schema/body.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/api/json.h"
#include "berth/schema/catalogue.h"
#include "berth/schema/custom_resource.h"

namespace berth::schema {
namespace {

namespace json = boost::json;
using ::testing::ElementsAre;

Result<Body> pod(std::string_view bytes, FieldValidation validation = FieldValidation::Warn) {
  const Resource& pods = *Catalogue::builtin().resource("", "v1", "pods");
  return decode_body(bytes, {pods.gvk(), *pods.type}, validation);
}

TEST(Body, MayLeaveOutItsKindAndComesBackWithIt) {
  const auto body = pod(R"({"spec":{"containers":[]},"metadata":{"name":"a"}})");
  ASSERT_TRUE(body);
  EXPECT_EQ(api::to_json(body->object),
            R"({"kind":"Pod","apiVersion":"v1","spec":{"containers":[]},"metadata":{"name":"a"},)"
            R"("status":{}})");
}

TEST(Body, AnErrorShowsTheFirstThirtyBytes) {
  EXPECT_EQ(pod(R"({"a":"0123456789012345678901234567890"x})").error().message,
            "the object provided is unrecognized (must be of type Pod): couldn't get version/kind; "
            "json parse error: invalid character 'x' after object key:value pair "
            "({\"a\":\"012345678901234567890123 ...)");
  EXPECT_EQ(pod("    0123456789012345678901234567").error().message,
            "the object provided is unrecognized (must be of type Pod): couldn't get version/kind; "
            "json parse error: invalid character '1' after top-level value "
            "(202020203031323334353637383930313233343536373839303132333435 ...)");
  EXPECT_EQ(pod(R"({"kind":1})").error().message,
            "the object provided is unrecognized (must be of type Pod): couldn't get version/kind; "
            "json parse error: json: cannot unmarshal number into Go struct field .kind of type "
            "string ({\"kind\":1})");
}

TEST(Body, StrictListsEverythingThatWarnOnlyTells) {
  constexpr std::string_view kBytes =
      R"({"spec":{"gpus":8,"containers":[{"gpu":1}],"nodeName":"a","nodeName":"b"}})";
  EXPECT_EQ(pod(kBytes, FieldValidation::Strict).error().message,
            "Pod in version \"v1\" cannot be handled as a Pod: strict decoding error: unknown "
            "field \"spec.gpus\", unknown field \"spec.containers[0].gpu\", duplicate field "
            "\"spec.nodeName\"");
  EXPECT_THAT(pod(kBytes)->warnings,
              ElementsAre("unknown field \"spec.gpus\"", "unknown field \"spec.containers[0].gpu\"",
                          "duplicate field \"spec.nodeName\""));
  EXPECT_THAT(pod(kBytes, FieldValidation::Ignore)->warnings, ::testing::IsEmpty());
}

TEST(Body, OfAnotherKindIsRefused) {
  EXPECT_EQ(
      pod(R"({"apiVersion":"apps/v1","kind":"Deployment"})").error().message,
      "Deployment in version \"v1\" cannot be handled as a Pod: converting (v1.Deployment) to "
      "(core.Pod): unknown conversion");
  EXPECT_EQ(pod(R"({"apiVersion":"v1","kind":"Gang"})").error().message,
            "Gang in version \"v1\" cannot be handled as a Pod: no kind \"Gang\" is registered for "
            "version \"v1\" in scheme \"k8s.io/kubernetes/pkg/api/legacyscheme/scheme.go:30\"");
  const Resource& events = *Catalogue::builtin().resource("events.k8s.io", "v1", "events");
  EXPECT_EQ(decode_body(R"({"apiVersion":"v1","kind":"Event"})", {events.gvk(), *events.type},
                        FieldValidation::Warn)
                .error()
                .message,
            "the API version in the data (v1) does not match the expected API version "
            "(events.k8s.io/v1)");
}

TEST(Body, OfACustomResourceKeepsToItsVersionAndKind) {
  json::value crd = *api::parse_json(
      R"({"metadata":{"name":"gangs.example.com"},"spec":{"group":"example.com",)"
      R"("scope":"Namespaced","names":{"plural":"gangs","kind":"Gang"},"versions":[{"name":"v1",)"
      R"("served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}}]}})");
  default_definition(crd.as_object());
  const auto resources = resources_of(crd);
  ASSERT_TRUE(resources);
  const Expected expected{resources->front().gvk(), *resources->front().type};
  EXPECT_EQ(decode_document(*api::parse_json(R"({"apiVersion":"example.com/v2","kind":"Gang"})"),
                            expected, FieldValidation::Warn)
                .error()
                .message,
            "the API version in the data (example.com/v2) does not match the expected API version "
            "(example.com/v1)");
  EXPECT_EQ(decode_document(*api::parse_json(R"({"apiVersion":"example.com/v1","kind":"Herd"})"),
                            expected, FieldValidation::Warn)
                .error()
                .message,
            "Herd in version \"v1\" cannot be handled as a Gang: kind must be Gang");
  const auto sound = decode_document(*api::parse_json(R"({"metadata":{"name":"g"}})"), expected,
                                     FieldValidation::Strict);
  ASSERT_TRUE(sound);
  EXPECT_EQ(api::string_at(sound->object, "apiVersion"), "example.com/v1");
}

} // namespace
} // namespace berth::schema
