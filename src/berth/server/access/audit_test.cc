#include "berth/server/access/audit.h"

#include <algorithm>

#include "berth/server/access/access_fixture.h"

namespace berth::server {
namespace {

class AuditTest : public AccessTest {
 protected:
  Answered answered(const net::HttpRequest& request, const RequestInfo& info) {
    return {.request = request,
            .info = info,
            .source = "",
            .user = user("u", {"g"}),
            .acting_as = {},
            .decision = {},
            .code = 200,
            .reason = {},
            .message = {},
            .received = now,
            .sent = now + Duration::millis(12)};
  }

  std::string log;
  AuditLog audit{[this](std::string_view line) { log += line; }, Rng(1)};
};

TEST_F(AuditTest, WritesOneLineARequest) {
  net::HttpRequest request;
  request.target = "/api/v1/namespaces/ns/pods/a?x=y";
  request.headers = {{"User-Agent", "kubectl"}, {"Authorization", "Bearer tok-1"}};
  request.body = "body-1";
  const RequestInfo info = asks("delete pods ns/a");
  Answered one = answered(request, info);
  one.source = "10.0.0.7";
  one.acting_as = user("v");
  one.decision = Decision{.allowed = true, .reason = "RBAC: because"};
  audit.write(one);
  ASSERT_TRUE(log.ends_with('\n'));
  EXPECT_EQ(std::ranges::count(log, '\n'), 1);
  const api::json::value event = api::parse_json(log).value();
  EXPECT_EQ(api::string_at(event, "auditID").size(), 36U);
  api::json::object rest = event.as_object();
  rest.stable_erase("auditID");
  EXPECT_EQ(
      api::to_json(rest),
      R"({"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Metadata","stage":"ResponseComplete","requestURI":"/api/v1/namespaces/ns/pods/a?x=y","verb":"delete","user":{"username":"u","groups":["g"]},"impersonatedUser":{"username":"v"},"sourceIPs":["10.0.0.7"],"userAgent":"kubectl","objectRef":{"resource":"pods","namespace":"ns","name":"a","apiVersion":"v1"},"responseStatus":{"metadata":{},"code":200},"requestReceivedTimestamp":"2023-11-14T22:13:20.000000Z","stageTimestamp":"2023-11-14T22:13:20.012000Z","annotations":{"authorization.k8s.io/decision":"allow","authorization.k8s.io/reason":"RBAC: because"}})");
}

TEST_F(AuditTest, NeverHoldsBodiesOrCredentials) {
  for (const char* what : {"create secrets ns/", "create serviceaccounts/token ns/bot",
                           "create tokenreviews.authentication.k8s.io", "create pods ns/"}) {
    net::HttpRequest request;
    request.target = "/x";
    request.headers = {{"Authorization", "Bearer hidden-1"}};
    request.body = R"({"data":"hidden-2"})";
    const RequestInfo info = asks(what);
    Answered refused = answered(request, info);
    refused.code = 422;
    refused.reason = "Invalid";
    refused.message = "Invalid value: shown";
    log.clear();
    audit.write(refused);
    EXPECT_THAT(log, ::testing::Not(::testing::HasSubstr("hidden"))) << what;
    EXPECT_THAT(log, ::testing::HasSubstr(R"("reason":"Invalid")"));
    EXPECT_EQ(log.find("shown") != std::string::npos, info.resource == "pods") << what;
  }
}

TEST_F(AuditTest, PathsHaveNoObject) {
  net::HttpRequest request;
  request.target = "/healthz";
  const RequestInfo info = asks("get /healthz");
  audit.write(answered(request, info));
  EXPECT_THAT(log, ::testing::Not(::testing::HasSubstr("objectRef")));
}

} // namespace
} // namespace berth::server
