// The API server without sockets: requests in, answers out.
#include "berth/server/api_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include <fmt/format.h>
#include <zlib.h>

#include "berth/api/json.h"
#include "berth/base/virtual_loop.h"
#include "berth/server/access/base64url.h"
#include "berth/server/access/rbac_admission.h"
#include "berth/store/memory_store.h"

namespace berth::server {
namespace {

using testing::HasSubstr;

class Collector final : public net::HttpStream {
 public:
  void send(std::string_view bytes) override { text += bytes; }
  void end() override { ended = true; }
  std::size_t waiting() const override { return 0; }
  void on_gone(std::function<void()> gone) override { on_gone_ = std::move(gone); }
  void leave() {
    if (const auto gone = std::exchange(on_gone_, nullptr)) {
      gone();
    }
  }

  std::string text;
  bool ended = false;

 private:
  std::function<void()> on_gone_;
};

std::string unpacked(const std::string& packed) {
  z_stream stream{};
  inflateInit2(&stream, 15 + 16);
  std::string out(std::size_t{1} << 20, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(inflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  inflateEnd(&stream);
  return out;
}

class Api : public testing::Test {
 protected:
  Api() {
    (void)store::bootstrap(registry, loop.now());
    ApiServerOptions options;
    options.access.tokens.add(
        "admin", {.name = "admin", .uid = {}, .groups = {"system:masters"}, .extra = {}});
    options.access.tokens.add("user", {.name = "user", .uid = {}, .groups = {}, .extra = {}});
    options.audit = [this](std::string_view line) { audited += line; };
    server = *ApiServer::open(loop, registry, std::move(options));
    settle();
  }

  ~Api() override {
    for (const auto& stream : streams) {
      stream->leave();
    }
  }

  void settle() { loop.run_until(loop.now()); }
  net::HttpResponse ask(const std::string& method, const std::string& target, std::string body = {},
                        net::HttpHeaders headers = {}) {
    headers.emplace_back("Authorization", "Bearer " + token);
    std::optional<net::HttpResponse> answer;
    server->handle(
        {.method = method, .target = target, .headers = headers, .body = std::move(body)},
        [&](net::HttpResponse given) { answer = std::move(given); });
    settle();
    EXPECT_TRUE(answer.has_value()) << method << " " << target;
    return answer.value_or(net::HttpResponse());
  }
  api::json::value json(const net::HttpResponse& response) {
    return api::parse_json(response.body).value_or(nullptr);
  }
  static std::string config_map(const std::string& name, const std::string& labels = "{}") {
    return fmt::format(
        R"({{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{}","labels":{}}}}})", name,
        labels);
  }
  std::shared_ptr<Collector> watch(const std::string& target) {
    auto stream = std::make_shared<Collector>();
    const net::HttpResponse response = ask("GET", target);
    EXPECT_TRUE(response.stream);
    if (response.stream) {
      response.stream(stream);
    }
    streams.push_back(stream);
    return stream;
  }

  static constexpr const char* kMaps = "/api/v1/namespaces/default/configmaps";

  VirtualLoop loop{TimePoint::from_unix_seconds(1'700'000'000)};
  store::MemoryStore store;
  store::Registry registry{store,
                           Rng(1),
                           {.namespaces = store::Registry::Namespaces::MustExist,
                            .admission = with_rbac(store::server_admission())}};
  std::unique_ptr<ApiServer> server;
  std::string token = "admin";
  std::string audited;
  std::vector<std::shared_ptr<Collector>> streams;
};

TEST_F(Api, ListsComeInPagesOfOneMoment) {
  for (const char* name : {"a", "b", "c"}) {
    EXPECT_EQ(ask("POST", kMaps, config_map(name)).status, 201);
  }
  const auto first = json(ask("GET", std::string(kMaps) + "?limit=2"));
  EXPECT_EQ(api::find(first, "items")->as_array().size(), 2U);
  EXPECT_EQ(api::to_json(*api::find_path(first, "metadata.remainingItemCount")), "1");
  ask("DELETE", std::string(kMaps) + "/c");
  const std::string next(api::string_at(first, "metadata.continue"));
  const auto second = json(ask("GET", std::string(kMaps) + "?limit=2&continue=" + next));
  ASSERT_EQ(api::find(second, "items")->as_array().size(), 1U) << "as it was when the list began";
  EXPECT_EQ(api::find_path(second, "metadata.continue"), nullptr);
  const std::string elsewhere = to_base64url(R"({"v":"meta.k8s.io/v1","rv":5,"start":"99"})");
  EXPECT_EQ(ask("GET", std::string(kMaps) + "?continue=" + elsewhere).status, 410);
}

TEST_F(Api, AWatchShowsWhatComesAndEndsInTime) {
  ask("POST", kMaps, config_map("a"));
  const auto stream = watch(std::string(kMaps) + "?watch=true&timeoutSeconds=5");
  EXPECT_THAT(stream->text, HasSubstr(R"({"type":"ADDED","object":{"kind":"ConfigMap")"));
  ask("POST", kMaps, config_map("b"));
  ask("DELETE", std::string(kMaps) + "/a");
  EXPECT_THAT(stream->text, HasSubstr(R"("name":"b")"));
  EXPECT_THAT(stream->text, HasSubstr(R"("type":"DELETED")"));
  EXPECT_FALSE(stream->ended);
  loop.run_until(loop.now() + Duration::seconds(6));
  EXPECT_TRUE(stream->ended);
}

TEST_F(Api, AWatchWhoseReaderLeavesIsForgotten) {
  const auto stream = watch(std::string(kMaps) + "?watch=true");
  stream->leave();
  ask("POST", kMaps, config_map("a"));
  EXPECT_EQ(stream->text, "");
}

TEST_F(Api, AWatchByLabelsShowsLeavingAsDeleted) {
  ask("POST", kMaps, config_map("a", R"({"x":"y"})"));
  const auto stream = watch(std::string(kMaps) + "?watch=true&labelSelector=x%3Dy");
  ask("PATCH", std::string(kMaps) + "/a", R"({"metadata":{"labels":{"x":null}}})",
      {{"Content-Type", "application/merge-patch+json"}});
  EXPECT_THAT(stream->text, HasSubstr(R"("type":"DELETED")"));
}

TEST_F(Api, WhatIsNotThereIsNotThere) {
  EXPECT_EQ(ask("GET", "/nope").status, 404);
  EXPECT_EQ(ask("GET", "/api/v1/nope").status, 404);
  EXPECT_EQ(ask("PUT", "/api/v1/nodes").status, 405);
  EXPECT_EQ(ask("GET", "/api/v1/namespaces/default/pods/a/log").status, 501);
  EXPECT_EQ(ask("GET", kMaps, "", {{"Accept", "application/vnd.kubernetes.protobuf"}}).status, 406);
  EXPECT_EQ(ask("POST", kMaps, "x", {{"Content-Type", "text/plain"}}).status, 415);
}

TEST_F(Api, SomeKindsAreReplacedByVersionOnly) {
  constexpr std::string_view kLeasePath =
      "/apis/coordination.k8s.io/v1/namespaces/default/leases/l";
  const std::string lease =
      R"({"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"l"}})";
  EXPECT_EQ(ask("PUT", std::string(kLeasePath), lease).status, 201);
  const auto refused = ask("PUT", std::string(kLeasePath), lease);
  EXPECT_EQ(refused.status, 422);
  EXPECT_THAT(refused.body,
              HasSubstr(R"(leases.coordination.k8s.io \"l\" is invalid: )"
                        "metadata.resourceVersion: Invalid value: 0: must be specified for an "
                        "update"));
}

TEST_F(Api, TheServersOwnNamespacesStay) {
  const auto refused = ask("DELETE", "/api/v1/namespaces/default");
  EXPECT_EQ(refused.status, 403);
  EXPECT_THAT(
      refused.body,
      HasSubstr(R"(namespaces \"default\" is forbidden: this namespace may not be deleted)"));
}

TEST_F(Api, OddPodsAreAcceptedWithAWarning) {
  const auto made = ask(
      "POST", "/api/v1/namespaces/default/pods",
      R"({"metadata":{"name":"a.b"},"spec":{"containers":[{"name":"c","image":"x","env":[{"name":"A"},{"name":"A"}]}]}})");
  EXPECT_EQ(made.status, 201);
  std::string warnings;
  for (const auto& [name, value] : made.headers) {
    warnings += name == "Warning" ? value : "";
  }
  EXPECT_THAT(warnings, HasSubstr("metadata.name: this is used in the Pod's hostname"));
  EXPECT_THAT(warnings, HasSubstr("spec.containers[0].env[1]: hides previous definition of"));
}

TEST_F(Api, RightsAreAskedForFirst) {
  token = "user";
  EXPECT_EQ(ask("GET", kMaps).status, 403);
  EXPECT_EQ(ask("GET", "/version").status, 200);
  token = "wrong";
  EXPECT_EQ(ask("GET", kMaps).status, 401);
  EXPECT_THAT(audited, HasSubstr("\"code\":403"));
}

TEST_F(Api, ADryRunChangesNothing) {
  EXPECT_EQ(ask("POST", std::string(kMaps) + "?dryRun=All", config_map("a")).status, 201);
  EXPECT_EQ(ask("GET", std::string(kMaps) + "/a").status, 404);
}

TEST_F(Api, YamlIsReadAndWritten) {
  EXPECT_EQ(ask("POST", kMaps,
                "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {k: v}\n",
                {{"Content-Type", "application/yaml"}})
                .status,
            201);
  EXPECT_THAT(ask("GET", std::string(kMaps) + "/a", "", {{"Accept", "application/yaml"}}).body,
              HasSubstr("data:\n  k: v\n"));
}

TEST_F(Api, LargeListsAreCompressedForWhoTakesThem) {
  for (int i = 0; i < 40; ++i) {
    ask("POST", kMaps,
        fmt::format(
            R"({{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"m{}"}},"data":{{"k":"{}"}}}})",
            i, std::string(8000, 'x')));
  }
  auto plain = ask("GET", kMaps);
  ASSERT_NE(plain.pieces, nullptr) << "it never lies in memory whole";
  const std::size_t size = plain.pieces->size();
  const std::string text = net::take_body(plain);
  EXPECT_EQ(text.size(), size);
  const auto list = api::parse_json(text);
  ASSERT_TRUE(list.has_value());
  EXPECT_EQ(api::find(*list, "items")->as_array().size(), 40U);
  const auto packed = ask("GET", kMaps, "", {{"Accept-Encoding", "gzip"}});
  EXPECT_EQ(net::header_of(packed.headers, "Content-Encoding"), "gzip");
  EXPECT_LT(packed.body.size(), 30'000U);
  EXPECT_EQ(unpacked(packed.body), text);
}

TEST_F(Api, ACustomKindMayHaveNoNamespaces) {
  const auto made = ask("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
                        R"({"metadata":{"name":"halls.example.com"},"spec":{
    "group":"example.com","scope":"Cluster","names":{"plural":"halls","kind":"Hall"},
    "versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{
    "type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}})");
  ASSERT_EQ(made.status, 201) << made.body;
  const std::string halls = "/apis/example.com/v1/halls";
  const auto hall = ask("POST", halls,
                        R"({"apiVersion":"example.com/v1","kind":"Hall","metadata":{"name":"h"}})");
  EXPECT_EQ(hall.status, 201) << hall.body;
  EXPECT_EQ(api::string_at(json(hall), "metadata.namespace"), "");
  EXPECT_EQ(ask("GET", halls + "/h").status, 200);
  EXPECT_EQ(ask("PATCH", halls + "/i?fieldManager=m",
                "apiVersion: example.com/v1\nkind: Hall\nmetadata: {name: i}\n",
                {{"Content-Type", "application/apply-patch+yaml"}})
                .status,
            201);
  EXPECT_EQ(ask("DELETE", halls + "/i").status, 200);
}

TEST_F(Api, ADefinitionIsServedAtOnceAndTakesItsObjectsAlong) {
  const std::string definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
  const auto made = ask("POST", definitions, R"({"apiVersion":"apiextensions.k8s.io/v1",
    "kind":"CustomResourceDefinition","metadata":{"name":"rings.example.com"},"spec":{
    "group":"example.com","scope":"Namespaced","names":{"plural":"rings","kind":"Ring"},
    "versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{
    "type":"object","properties":{"spec":{"type":"object","properties":{
    "size":{"type":"integer","minimum":1,"default":3}}}}}}}]}})");
  ASSERT_EQ(made.status, 201) << made.body;
  const std::string rings = "/apis/example.com/v1/namespaces/default/rings";
  const auto ring =
      ask("POST", rings,
          R"({"apiVersion":"example.com/v1","kind":"Ring","metadata":{"name":"r"},"spec":{}})");
  EXPECT_THAT(ring.body, HasSubstr(R"("size":3)"));
  EXPECT_EQ(
      ask("POST", rings,
          R"({"apiVersion":"example.com/v1","kind":"Ring","metadata":{"name":"q"},"spec":{"size":0}})")
          .status,
      422);
  EXPECT_THAT(ask("GET", "/openapi/v3/apis/example.com/v1").body, HasSubstr("Ring"));
  ask("DELETE", definitions + "/rings.example.com");
  loop.run_until(loop.now() + Duration::seconds(5));
  EXPECT_EQ(ask("GET", definitions + "/rings.example.com").status, 404);
  EXPECT_EQ(ask("GET", rings).status, 404);
}

TEST_F(Api, AnEventIsOneObjectInBothGroups) {
  const std::string core = "/api/v1/namespaces/default/events";
  const std::string view = "/apis/events.k8s.io/v1/namespaces/default/events";
  const auto made = ask("POST", view, R"({"apiVersion":"events.k8s.io/v1","kind":"Event",
    "metadata":{"name":"e"},"regarding":{"kind":"Pod","name":"p","namespace":"default"},
    "reason":"Scheduled","note":"well","action":"Binding","reportingController":"s",
    "reportingInstance":"s-1","type":"Normal","eventTime":"2026-01-01T00:00:00.000000Z"})");
  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(api::string_at(json(made), "note"), "well");
  EXPECT_EQ(api::string_at(json(made), "apiVersion"), "events.k8s.io/v1");
  const auto read = json(ask("GET", core + "/e"));
  EXPECT_EQ(api::string_at(read, "apiVersion"), "v1");
  EXPECT_EQ(api::string_at(read, "message"), "well");
  EXPECT_EQ(api::string_at(read, "involvedObject.name"), "p");
  EXPECT_EQ(api::string_at(read, "reportingComponent"), "s");
  ask("POST", core, R"({"apiVersion":"v1","kind":"Event","metadata":{"name":"f"},
    "involvedObject":{"kind":"Node","name":"n","namespace":"default"},"message":"m","count":3})");
  const auto list = json(ask("GET", view + "?fieldSelector=regarding.name%3Dn"));
  ASSERT_EQ(api::find(list, "items")->as_array().size(), 1U);
  const auto& item = api::find(list, "items")->as_array()[0];
  EXPECT_EQ(api::string_at(item, "note"), "m");
  EXPECT_EQ(api::to_json(*api::find(item, "deprecatedCount")), "3");
  EXPECT_EQ(api::find(item, "kind"), nullptr);
  const net::HttpHeaders merge{{"Content-Type", "application/merge-patch+json"}};
  const auto refused = ask("PATCH", view + "/f", R"({"note":"other"})", merge);
  EXPECT_EQ(refused.status, 422);
  EXPECT_THAT(refused.body, HasSubstr(R"([{"reason":"FieldValueInvalid","message":)"
                                      R"("Invalid value: \"other\": field is immutable",)"
                                      R"("field":"message"}])"))
      << "of what is told in the new form nothing changes, and nothing else has";
  const auto patched = ask("PATCH", core + "/f", R"({"message":"other"})", merge);
  EXPECT_EQ(patched.status, 200) << patched.body;
  EXPECT_EQ(api::string_at(json(ask("GET", core + "/f")), "message"), "other");
  const auto stream = watch(view + "?watch=true");
  EXPECT_THAT(stream->text, HasSubstr("\"note\":\"other\""));
  const std::string table = "application/json;as=Table;v=v1;g=meta.k8s.io";
  EXPECT_THAT(ask("GET", view, "", {{"Accept", table}}).body, HasSubstr("\"other\""));
  EXPECT_EQ(ask("DELETE", view + "/f").status, 200);
  EXPECT_EQ(ask("GET", core + "/f").status, 404);
}

TEST_F(Api, RequestsAreCounted) {
  ask("POST", kMaps, config_map("a"));
  const auto stream = watch(std::string(kMaps) + "?watch=true");
  const std::string text = ask("GET", "/metrics").body;
  EXPECT_THAT(text, HasSubstr("apiserver_storage_objects{resource=\"configmaps\"} 1"));
  EXPECT_THAT(text, HasSubstr("resource=\"configmaps\",scope=\"namespace\",subresource=\"\","
                              "verb=\"WATCH\",version=\"v1\"} 1"));
  EXPECT_THAT(text, HasSubstr("apiserver_current_inflight_requests{request_kind=\"readOnly\"} 1"))
      << "this one";
  token = "user";
  EXPECT_EQ(ask("GET", "/metrics").status, 403);
  EXPECT_EQ(ask("GET", "/livez").status, 200);
}

TEST_F(Api, AServerThatStopsSaysSoAndEndsItsStreams) {
  EXPECT_EQ(ask("GET", "/readyz").body, "ok");
  const auto stream = watch(std::string(kMaps) + "?watch=true");
  server->drain();
  EXPECT_TRUE(stream->ended);
  EXPECT_THAT(ask("GET", "/readyz?verbose").body, HasSubstr("[-]shutdown failed"));
  EXPECT_EQ(ask("GET", "/livez").status, 200);
  EXPECT_EQ(ask("POST", kMaps, config_map("a")).status, 201) << "what has come is answered";
  EXPECT_EQ(stream->text, "");
}

TEST_F(Api, RequestsThatAreNoRequestsNeverCrash) {
  for (const char* target :
       {"", "/", "//", "/api", "/apis//", "/api/v1/namespaces//pods", "/api/v1/pods?%zz",
        "/api/v1/pods?limit=", "/api/v1/namespaces/a/b/c/d/e/f", "/openapi/v3/",
        "/openapi/v3/apis/x/y"}) {
    for (const char* method : {"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", ""}) {
      for (const char* body : {"", "{", "[]", "null", "{\"metadata\":null}", "{\"metadata\":[]}"}) {
        (void)ask(method, target, body);
      }
    }
  }
}

} // namespace
} // namespace berth::server
