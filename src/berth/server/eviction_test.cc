// Evictions as clients ask for them: budgets that let go and budgets that do not.
#include "berth/server/eviction.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/base/virtual_loop.h"
#include "berth/server/api_server.h"
#include "berth/store/memory_store.h"

namespace berth::server {
namespace {

using testing::HasSubstr;
using testing::Not;

class Evictions : public testing::Test {
 protected:
  Evictions() {
    (void)store::bootstrap(registry, loop.now());
    ApiServerOptions options;
    options.access.tokens.add(
        "admin", {.name = "admin", .uid = {}, .groups = {"system:masters"}, .extra = {}});
    server = *ApiServer::open(loop, registry, std::move(options));
    create(R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"web","namespace":"default",)"
           R"("labels":{"app":"web"}},"spec":{"containers":[{"name":"c","image":"i"}]}})");
    bind();
    be("Running", "True");
  }

  static api::Object object(const std::string& text) {
    return *api::Object::from_json(*api::parse_json(text));
  }
  void create(const std::string& text) {
    const auto made = registry.create(object(text), loop.now());
    ASSERT_TRUE(made) << made.error().message;
  }
  void bind() {
    ASSERT_TRUE(
        registry.bind({.pod = kPod, .uid = {}, .node = "n", .annotations = {}}, loop.now()));
  }
  void set_status(const store::GroupKind& kind, const api::Key& key, const std::string& status) {
    ASSERT_TRUE(registry.patch(kind, key, *api::parse_json(R"({"status":)" + status + "}"),
                               store::Subresource::Status, loop.now()));
  }
  void be(const std::string& phase, const std::string& ready) {
    set_status(store::kPods, kPod,
               fmt::format(R"({{"phase":"{}","conditions":[{{"type":"Ready","status":"{}"}}]}})",
                           phase, ready));
  }
  void budget(const std::string& name, const std::string& status, const std::string& more = "") {
    create(fmt::format(R"({{"apiVersion":"policy/v1","kind":"PodDisruptionBudget","metadata":)"
                       R"({{"name":"{}","namespace":"default"}},"spec":{{"minAvailable":1,)"
                       R"("selector":{{"matchLabels":{{"app":"web"}}}}{}}}}})",
                       name, more));
    set_status({"policy", "PodDisruptionBudget"}, {"default", name}, status);
  }

  net::HttpResponse evict(const std::string& options = "", const std::string& name = "web") {
    std::optional<net::HttpResponse> answer;
    server->handle(
        {.method = "POST",
         .target = "/api/v1/namespaces/default/pods/web/eviction",
         .headers = {{"Authorization", "Bearer admin"}, {"Content-Type", "application/json"}},
         .body = fmt::format(R"({{"apiVersion":"policy/v1","kind":"Eviction",)"
                             R"("metadata":{{"name":"{}","namespace":"default"}}{}}})",
                             name, options)},
        [&](net::HttpResponse given) { answer = std::move(given); });
    loop.run_until(loop.now());
    return answer.value_or(net::HttpResponse());
  }
  bool deleted() const {
    const auto pod = registry.get(store::kPods, kPod);
    return !pod || pod->meta().deletion_timestamp.has_value();
  }
  std::string status_of_budget(std::string_view path) const {
    const auto held = registry.get({"policy", "PodDisruptionBudget"}, {"default", "b"});
    const api::json::value* value = api::find_path(held->json(), "status." + std::string(path));
    return value == nullptr ? "" : api::to_json(*value);
  }

  const api::Key kPod{"default", "web"};
  VirtualLoop loop{TimePoint::from_unix_seconds(1'700'000'000)};
  store::MemoryStore store;
  store::Registry registry{store, Rng(1)};
  std::unique_ptr<ApiServer> server;
};

TEST_F(Evictions, APodWithoutABudgetGoes) {
  EXPECT_EQ(evict().status, 201);
  EXPECT_TRUE(deleted());
  const auto pod = registry.get(store::kPods, kPod);
  ASSERT_TRUE(pod);
  EXPECT_THAT(api::to_json(pod->json()), HasSubstr("EvictionByEvictionAPI"));
}

TEST_F(Evictions, ABudgetCountsWhomItLetsGo) {
  budget("b", R"({"disruptionsAllowed":1,"currentHealthy":2,"desiredHealthy":1,"expectedPods":2,)"
              R"("observedGeneration":1,"conditions":[{"type":"DisruptionAllowed",)"
              R"("status":"True","reason":"SufficientPods","message":"","lastTransitionTime":)"
              R"("2023-11-14T00:00:00Z"}]})");
  EXPECT_EQ(evict().status, 201);
  EXPECT_TRUE(deleted());
  EXPECT_EQ(status_of_budget("disruptionsAllowed"), "0");
  EXPECT_EQ(status_of_budget("disruptedPods"), R"({"web":"2023-11-14T22:13:20Z"})");
  EXPECT_THAT(status_of_budget("conditions"), HasSubstr("InsufficientPods"));
}

TEST_F(Evictions, ABudgetThatAllowsNothingSaysWhatItNeeds) {
  budget("b", R"({"disruptionsAllowed":0,"currentHealthy":1,"desiredHealthy":1,"expectedPods":1,)"
              R"("observedGeneration":1})");
  const auto answer = evict();
  EXPECT_EQ(answer.status, 429);
  EXPECT_THAT(answer.body,
              HasSubstr("Cannot evict pod as it would violate the pod's disruption budget."));
  EXPECT_THAT(answer.body, HasSubstr(R"("reason":"TooManyRequests")"));
  EXPECT_THAT(answer.body, HasSubstr(R"("reason":"DisruptionBudget")"));
  EXPECT_THAT(answer.body,
              HasSubstr("The disruption budget b needs 1 healthy pods and has 1 currently"));
  EXPECT_THAT(answer.body, Not(HasSubstr("retryAfterSeconds")));
  EXPECT_FALSE(deleted());
}

TEST_F(Evictions, ABudgetThatNobodyHasCountedYetIsAskedAgain) {
  budget("b", R"({"disruptionsAllowed":5,"observedGeneration":0})");
  const auto answer = evict();
  EXPECT_EQ(answer.status, 429);
  EXPECT_EQ(net::header_of(answer.headers, "Retry-After"), "10");
  EXPECT_THAT(answer.body, HasSubstr("The disruption budget b is still being processed"));
}

TEST_F(Evictions, AnUnreadyPodGoesWhileEnoughAreHealthy) {
  be("Running", "False");
  budget("b", R"({"disruptionsAllowed":0,"currentHealthy":1,"desiredHealthy":1,)"
              R"("expectedPods":2,"observedGeneration":1})");
  EXPECT_EQ(evict().status, 201);
  EXPECT_TRUE(deleted());
}

TEST_F(Evictions, AnUnreadyPodOfAHurtApplicationStays) {
  be("Running", "False");
  budget("b", R"({"disruptionsAllowed":0,"currentHealthy":0,"desiredHealthy":1,)"
              R"("expectedPods":1,"observedGeneration":1})");
  EXPECT_EQ(evict().status, 429);
  EXPECT_FALSE(deleted());
}

TEST_F(Evictions, AlwaysAllowLetsUnreadyPodsGo) {
  be("Running", "False");
  budget("b",
         R"({"disruptionsAllowed":0,"currentHealthy":0,"desiredHealthy":1,"expectedPods":1,)"
         R"("observedGeneration":1})",
         R"(,"unhealthyPodEvictionPolicy":"AlwaysAllow")");
  EXPECT_EQ(evict().status, 201);
}

TEST_F(Evictions, PodsThatHaveEndedAskNobody) {
  be("Succeeded", "False");
  budget("b", R"({"disruptionsAllowed":0,"currentHealthy":0,"desiredHealthy":1,)"
              R"("expectedPods":1,"observedGeneration":1})");
  EXPECT_EQ(evict().status, 201);
}

TEST_F(Evictions, TwoBudgetsAreOneTooMany) {
  budget("b", R"({"disruptionsAllowed":1,"observedGeneration":1})");
  budget("c", R"({"disruptionsAllowed":1,"observedGeneration":1})");
  const auto answer = evict();
  EXPECT_EQ(answer.status, 500);
  EXPECT_THAT(answer.body, HasSubstr("This pod has more than one PodDisruptionBudget, which the "
                                     "eviction subresource does not support."));
  EXPECT_FALSE(deleted());
}

TEST_F(Evictions, ADryRunChangesNothing) {
  budget("b", R"({"disruptionsAllowed":1,"currentHealthy":2,"desiredHealthy":1,)"
              R"("expectedPods":2,"observedGeneration":1})");
  EXPECT_EQ(evict(R"(,"deleteOptions":{"dryRun":["All"]})").status, 201);
  EXPECT_FALSE(deleted());
  EXPECT_EQ(status_of_budget("disruptionsAllowed"), "1");
}

TEST_F(Evictions, PreconditionsAndNamesAreChecked) {
  EXPECT_EQ(evict(R"(,"deleteOptions":{"preconditions":{"resourceVersion":"1"}})").status, 409);
  EXPECT_EQ(evict("", "other").status, 400);
  EXPECT_FALSE(deleted());
}

} // namespace
} // namespace berth::server
