// The client against answers as a Kubernetes API gives them, over real loopback sockets: paths,
// bodies, pages, watches that end and go on, errors.
#include "berth/client/remote_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>

#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/net/http_server.h"

namespace berth::client {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// Answers requests from a script, and keeps what was asked.
class Remote : public testing::Test {
 protected:
  void SetUp() override {
    auto listening = net::HttpServer::listen(
        loop, {}, [this](const net::HttpRequest& request, const net::HttpRespond& respond) {
          asked.push_back(request.method + " " + request.target +
                          (request.body.empty() ? "" : " " + request.body));
          headers = request.headers;
          if (script.empty()) {
            respond(net::json_response(500, "{}"));
            return;
          }
          net::HttpResponse response = std::move(script.front());
          script.pop_front();
          respond(std::move(response));
        });
    ASSERT_TRUE(listening.has_value());
    server = *std::move(listening);
    client = *RemoteClient::make(
        loop,
        {.url = *net::HttpUrl::parse(fmt::format("http://127.0.0.1:{}", server->port())),
         .tls = {},
         .token = "secret",
         .token_file = {}},
        {.page = 2, .absent_retry = Duration::millis(1)});
  }

  void answers(int status, std::string body) {
    script.push_back(net::json_response(status, std::move(body)));
  }
  /// A watch that sends these lines and ends.
  void streams(std::vector<std::string> lines) {
    net::HttpResponse response = net::json_response(200, "");
    response.stream = [lines = std::move(lines)](const std::shared_ptr<net::HttpStream>& stream) {
      for (const std::string& line : lines) {
        stream->send(line + "\n");
      }
      stream->end();
    };
    script.push_back(std::move(response));
  }
  template <class T> Done<T> into(std::optional<Result<T>>& answer) {
    return [this, &answer](Result<T> got) {
      answer = std::move(got);
      loop.stop();
    };
  }
  static std::string pod(const std::string& name, int version) {
    return fmt::format(
        R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{}","namespace":"x",)"
        R"("resourceVersion":"{}"}}}})",
        name, version);
  }

  net::AsioLoop loop;
  std::unique_ptr<net::HttpServer> server;
  std::unique_ptr<RemoteClient> client;
  std::deque<net::HttpResponse> script;
  std::vector<std::string> asked;
  net::HttpHeaders headers;
};

TEST_F(Remote, ObjectsAreReadByPath) {
  answers(200, pod("a", 7));
  std::optional<Result<api::Object>> got;
  client->get(kPods, {"x", "a"}, into(got));
  loop.run();
  ASSERT_TRUE(got->has_value()) << to_string(got->error());
  EXPECT_EQ((*got)->meta().resource_version, 7U);
  EXPECT_THAT(asked, ElementsAre("GET /api/v1/namespaces/x/pods/a"));
  EXPECT_EQ(net::header_of(headers, "Authorization"), "Bearer secret");
}

TEST_F(Remote, ListsComePageByPageAndItemsAreWhole) {
  answers(200,
          R"({"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"9",)"
          R"("continue":"more"},"items":[{"metadata":{"name":"a"}},{"metadata":{"name":"b"}}]})");
  answers(200, R"({"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"9"},)"
               R"("items":[{"metadata":{"name":"c"}}]})");
  std::optional<Result<ObjectList>> got;
  client->list(
      {.kind = kPods, .ns = "", .labels = *api::parse_selector_text("app in (x,y)"), .node = "n1"},
      into(got));
  loop.run();
  ASSERT_TRUE(got->has_value()) << to_string(got->error());
  EXPECT_EQ((*got)->resource_version, 9U);
  ASSERT_EQ((*got)->items.size(), 3U);
  EXPECT_EQ((*got)->items[2].gvk().kind, "Pod");
  EXPECT_THAT(asked, ElementsAre("GET /api/v1/pods?limit=2&labelSelector=app%20in%20%28x%2Cy%29&"
                                 "fieldSelector=spec.nodeName%3Dn1",
                                 testing::EndsWith("&continue=more")));
}

TEST_F(Remote, ErrorsHaveTheirReasonsAsCodes) {
  answers(409, R"({"kind":"Status","status":"Failure","reason":"AlreadyExists","code":409,)"
               R"("message":"pods \"a\" already exists"})");
  std::optional<Result<api::Object>> got;
  client->create(*api::Object::parse(pod("a", 0)), into(got));
  loop.run();
  EXPECT_EQ(got->error().code, Code::AlreadyExists);
  EXPECT_EQ(got->error().message, "pods \"a\" already exists");
}

TEST_F(Remote, AKindThatIsNotServedHasNoObjects) {
  script.push_back(net::text_response(404, "404 page not found"));
  std::optional<Result<ObjectList>> got;
  client->list({.kind = kPodGroups, .ns = "", .labels = {}}, into(got));
  loop.run();
  ASSERT_TRUE(got->has_value());
  EXPECT_TRUE((*got)->items.empty());
}

TEST_F(Remote, ABindingCarriesItsAnnotations) {
  answers(201, R"({"kind":"Status","status":"Success","code":201})");
  std::optional<Result<api::Object>> got;
  client->bind({.pod = {"x", "a"}, .uid = "u1", .node = "n1", .annotations = {{"k", "v"}}},
               into(got));
  loop.run();
  ASSERT_TRUE(got->has_value()) << to_string(got->error());
  EXPECT_EQ((*got)->meta().uid, "u1");
  EXPECT_THAT(asked[0], HasSubstr("POST /api/v1/namespaces/x/pods/a/binding"));
  EXPECT_THAT(asked[0], HasSubstr(R"("annotations":{"k":"v"})"));
  EXPECT_THAT(asked[0], HasSubstr(R"("target":{"kind":"Node","name":"n1"})"));
}

TEST_F(Remote, ATokenIsAskedForAPod) {
  answers(201, R"({"kind":"TokenRequest","spec":{"expirationSeconds":900},"status":{"token":"abc",)"
               R"("expirationTimestamp":"2026-01-02T03:04:05Z"}})");
  std::optional<Result<Token>> got;
  client->request_token({.service_account = {"x", "sa"},
                         .audience = "vault",
                         .expiration_seconds = 600,
                         .pod_name = "p",
                         .pod_uid = "u"},
                        into(got));
  loop.run();
  ASSERT_TRUE(got->has_value()) << to_string(got->error());
  EXPECT_EQ((*got)->text, "abc");
  EXPECT_EQ(to_rfc3339((*got)->expires), "2026-01-02T03:04:05Z");
  EXPECT_EQ((*got)->life, Duration::minutes(15)) << "the server has the last word";
  EXPECT_THAT(asked[0], HasSubstr("POST /api/v1/namespaces/x/serviceaccounts/sa/token"));
  EXPECT_THAT(asked[0], HasSubstr(R"("audiences":["vault"])"));
  EXPECT_THAT(asked[0], HasSubstr(R"("boundObjectRef":{"kind":"Pod","apiVersion":"v1",)"
                                  R"("name":"p","uid":"u"})"));
}

TEST_F(Remote, AServerWithoutTokensSaysSo) {
  script.push_back(net::text_response(404, "404 page not found"));
  std::optional<Result<Token>> got;
  client->request_token({.service_account = {"x", "sa"}}, into(got));
  loop.run();
  EXPECT_EQ(got->error().code, Code::NotFound);
  answers(201, R"({"kind":"TokenRequest","status":{}})");
  client->request_token({.service_account = {"x", "sa"}}, into(got));
  loop.run();
  EXPECT_EQ(got->error().code, Code::Internal);
}

TEST_F(Remote, AWatchGoesOnWhereTheServerEndedIt) {
  streams({R"({"type":"ADDED","object":)" + pod("a", 5) + "}",
           R"({"type":"BOOKMARK","object":{"kind":"Pod","metadata":{"resourceVersion":"8"}}})"});
  streams({R"({"type":"DELETED","object":)" + pod("a", 9) + "}"});
  std::vector<std::string> seen;
  const auto watch =
      client->watch({.what = {.kind = kPods, .ns = "", .labels = {}}, .since = 4},
                    [&](const Result<WatchEvent>& event) {
                      seen.push_back(event ? fmt::format("{}", event->resource_version)
                                           : to_string(event.error()));
                      if (seen.size() == 3) {
                        loop.stop();
                      }
                    });
  loop.run();
  EXPECT_THAT(seen, ElementsAre("5", "8", "9"));
  EXPECT_THAT(asked[0], HasSubstr("resourceVersion=4"));
  EXPECT_THAT(asked[1], HasSubstr("resourceVersion=8"));
}

TEST_F(Remote, AnOldWatchIsExpired) {
  streams({R"({"type":"ERROR","object":{"kind":"Status","reason":"Expired","code":410,)"
           R"("message":"too old resource version: 1"}})"});
  std::optional<Error> error;
  const auto watch = client->watch({.what = {.kind = kPods, .ns = "", .labels = {}}, .since = 1},
                                   [&](const Result<WatchEvent>& event) {
                                     error = event.error();
                                     loop.stop();
                                   });
  loop.run();
  EXPECT_EQ(error->code, Code::Expired);
}

TEST_F(Remote, AWatchOfAnAbsentKindWaitsForIt) {
  script.push_back(net::text_response(404, "404 page not found"));
  streams({R"({"type":"ADDED","object":)" + pod("a", 5) + "}"});
  std::optional<WatchEvent> seen;
  const auto watch = client->watch({.what = {.kind = kPodGroups, .ns = "", .labels = {}}},
                                   [&](const Result<WatchEvent>& event) {
                                     seen = *event;
                                     loop.stop();
                                   });
  loop.run();
  EXPECT_EQ(seen->object.meta().name, "a");
}

TEST_F(Remote, ALeaseIsMadeWhenItIsNotThere) {
  answers(404,
          R"({"kind":"Status","reason":"NotFound","code":404,"message":"leases \"l\" not found"})");
  net::HttpResponse made = net::json_response(201, "{}");
  script.push_back(std::move(made));
  const auto lease = client->hold_lease({.name = "l", .holder = "me"});
  while (asked.size() < 2) {
    loop.run_for(Duration::millis(10));
  }
  EXPECT_THAT(asked[0],
              HasSubstr("PATCH /apis/coordination.k8s.io/v1/namespaces/kube-node-lease/"));
  EXPECT_THAT(asked[1], HasSubstr(R"("holderIdentity":"me")"));
}

} // namespace
} // namespace berth::client
