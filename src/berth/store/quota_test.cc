#include "berth/store/quota.h"

#include "berth/store/admission_fixture.h"

namespace berth::store {
namespace {

using ::testing::HasSubstr;

class Quota : public AdmissionTest {
 protected:
  static api::Object quota(std::string_view hard, std::string_view more = "",
                           std::string_view name = "q") {
    return parsed(fmt::format(
        R"({{"apiVersion":"v1","kind":"ResourceQuota","metadata":{{"name":"{}","namespace":"default"}},"spec":{{"hard":{}{}}}}})",
        name, hard, more));
  }
  static api::Object gpus(int count, std::string_view name) {
    return pod_asking(fmt::format(R"({{"limits":{{"nvidia.com/gpu":"{}"}}}})", count), name);
  }
  std::string used(std::string_view name = "q") {
    const auto object = registry.get(kResourceQuotas, {"default", std::string(name)}).value();
    const api::json::value* found = api::find_path(object.json(), "status.used");
    return found == nullptr ? "absent" : api::to_json(*found);
  }
  void finish(std::string_view name, std::string_view phase) {
    ASSERT_TRUE(registry.patch(
        kPods, {"default", std::string(name)},
        api::parse_json(fmt::format(R"({{"status":{{"phase":"{}"}}}})", phase)).value(),
        Subresource::Status, now));
  }
  void erase(std::string_view name) {
    ASSERT_TRUE(
        registry.remove(kPods, {"default", std::string(name)}, {.grace_period_seconds = 0}, now));
  }
};

TEST_F(Quota, BoundsWhatANamespaceRequests) {
  ASSERT_TRUE(create(quota(R"({"requests.nvidia.com/gpu":"10","pods":"3"})")));
  EXPECT_EQ(used(), R"({"pods":"0","requests.nvidia.com/gpu":"0"})");
  EXPECT_EQ(complaint(gpus(8, "a")), "");
  EXPECT_EQ(
      complaint(gpus(8, "b")),
      "pods \"b\" is forbidden: exceeded quota: q, requested: requests.nvidia.com/gpu=8, used: "
      "requests.nvidia.com/gpu=8, limited: requests.nvidia.com/gpu=10");
  EXPECT_EQ(complaint(gpus(2, "c")), "");
  EXPECT_EQ(complaint(pod_asking("{}", "d")), "");
  EXPECT_EQ(used(), R"({"pods":"3","requests.nvidia.com/gpu":"10"})");
  EXPECT_EQ(complaint(gpus(1, "e")),
            "pods \"e\" is forbidden: exceeded quota: q, requested: "
            "pods=1,requests.nvidia.com/gpu=1, used: "
            "pods=3,requests.nvidia.com/gpu=10, limited: pods=3,requests.nvidia.com/gpu=10");
}

TEST_F(Quota, GivesBackWhatFinishesOrGoes) {
  ASSERT_TRUE(create(quota(R"({"requests.nvidia.com/gpu":"8","count/pods":"5"})")));
  ASSERT_TRUE(create(gpus(8, "a")));
  finish("a", "Succeeded");
  EXPECT_EQ(used(), R"({"count/pods":"1","requests.nvidia.com/gpu":"0"})");
  ASSERT_TRUE(create(gpus(8, "b")));
  erase("b");
  erase("a");
  EXPECT_EQ(used(), R"({"count/pods":"0","requests.nvidia.com/gpu":"0"})");
}

TEST_F(Quota, CountsWhatIsThereWhenItComes) {
  ASSERT_TRUE(create(gpus(3, "a")));
  ASSERT_TRUE(create(gpus(4, "b")));
  finish("b", "Failed");
  ASSERT_TRUE(create(quota(R"({"requests.nvidia.com/gpu":"4"})")));
  EXPECT_EQ(used(), R"({"requests.nvidia.com/gpu":"3"})");
  EXPECT_THAT(complaint(gpus(2, "c")), HasSubstr("used: requests.nvidia.com/gpu=3"));
}

TEST_F(Quota, ChangesWithItsSpecAndEndsWithIt) {
  const auto q = create(quota(R"({"pods":"1"})")).value();
  ASSERT_TRUE(create(gpus(1, "a")));
  EXPECT_FALSE(create(gpus(1, "b")));
  ASSERT_TRUE(patch(q, R"({"spec":{"hard":{"pods":"2"}}})"));
  ASSERT_TRUE(create(gpus(1, "b")));
  EXPECT_FALSE(create(gpus(1, "c")));
  ASSERT_TRUE(registry.remove(kResourceQuotas, q.key(), {}, now));
  EXPECT_TRUE(create(gpus(1, "c")));
}

TEST_F(Quota, ItsStatusCannotBeTalkedAway) {
  const auto q = create(quota(R"({"pods":"1"})")).value();
  ASSERT_TRUE(create(gpus(1, "a")));
  ASSERT_TRUE(patch(q, R"({"status":{"used":{"pods":"0"}}})", Subresource::Status));
  EXPECT_EQ(used(), R"({"pods":"1"})");
}

TEST_F(Quota, ComputeResourcesMustBeNamed) {
  ASSERT_TRUE(create(quota(R"({"limits.memory":"4Gi","requests.cpu":"2"})")));
  EXPECT_EQ(complaint(pod_asking("{}", "a")), "pods \"a\" is forbidden: failed quota: q: must "
                                              "specify limits.memory for: c; requests.cpu for: c");
  EXPECT_EQ(complaint(pod_asking(R"({"limits":{"cpu":"500m","memory":"1Gi"}})", "b")), "");
  EXPECT_EQ(used(), R"({"limits.memory":"1Gi","requests.cpu":"500m"})");
  EXPECT_EQ(complaint(pod_asking(R"({"limits":{"cpu":"2","memory":"1Gi"}})", "c")),
            "pods \"c\" is forbidden: exceeded quota: q, requested: requests.cpu=2, used: "
            "requests.cpu=500m, limited: "
            "requests.cpu=2");
}

TEST_F(Quota, OtherNamespacesAreFree) {
  ASSERT_TRUE(create(quota(R"({"pods":"0"})")));
  EXPECT_FALSE(create(gpus(1, "a")));
  const auto elsewhere = gpus(1, "a").edit(
      [](api::json::object& document) { document["metadata"].as_object()["namespace"] = "other"; });
  EXPECT_TRUE(create(elsewhere));
}

struct ScopeCase {
  std::string name;
  std::string scope; ///< more of the quota's spec
  std::string covered;
  std::string free;
};
class QuotaScope : public Quota, public ::testing::WithParamInterface<ScopeCase> {};

TEST_P(QuotaScope, SelectsPods) {
  ASSERT_TRUE(create(quota(R"({"pods":"0"})", GetParam().scope)));
  ASSERT_TRUE(create(parsed(
      R"({"apiVersion":"scheduling.k8s.io/v1","kind":"PriorityClass","metadata":{"name":"high"},"value":9})")));
  const auto pod = [](std::string_view more, std::string_view name) {
    return pod_with(fmt::format(R"("containers":[{{"name":"c","image":"x"{}}}]{})",
                                more.starts_with("!") ? more.substr(1) : "",
                                more.starts_with("!") ? "" : more),
                    name);
  };
  EXPECT_THAT(complaint(pod(GetParam().covered, "a")), HasSubstr("exceeded quota"));
  EXPECT_EQ(complaint(pod(GetParam().free, "b")), "");
}

const std::string kBurstable = R"(!,"resources":{"requests":{"cpu":"1"}})";
const std::string kDeadline = R"(,"activeDeadlineSeconds":9)";
const std::string kHigh = R"(,"priorityClassName":"high")";

INSTANTIATE_TEST_SUITE_P(
    Scopes, QuotaScope,
    ::testing::Values(
        ScopeCase{"best_effort", R"(,"scopes":["BestEffort"])", "", kBurstable},
        ScopeCase{"not_best_effort", R"(,"scopes":["NotBestEffort"])", kBurstable, ""},
        ScopeCase{"terminating", R"(,"scopes":["Terminating"])", kDeadline, ""},
        ScopeCase{"not_terminating", R"(,"scopes":["NotTerminating"])", "", kDeadline},
        ScopeCase{
            "class_in",
            R"(,"scopeSelector":{"matchExpressions":[{"scopeName":"PriorityClass","operator":"In","values":["high"]}]})",
            kHigh, ""},
        ScopeCase{
            "class_exists",
            R"(,"scopeSelector":{"matchExpressions":[{"scopeName":"PriorityClass","operator":"Exists"}]})",
            kHigh, ""},
        ScopeCase{
            "class_absent",
            R"(,"scopeSelector":{"matchExpressions":[{"scopeName":"PriorityClass","operator":"DoesNotExist"}]})",
            "", kHigh}),
    [](const auto& one) { return one.param.name; });

TEST_F(Quota, CountsOfOtherObjectsAreSomebodyElses) {
  const auto q = create(quota(R"({"pods":"3","count/jobs.batch":"5","configmaps":"5"})")).value();
  EXPECT_EQ(used(), R"({"configmaps":"0","count/jobs.batch":"0","pods":"0"})");
  ASSERT_TRUE(
      patch(q, R"({"status":{"used":{"count/jobs.batch":"2","pods":"9"}}})", Subresource::Status));
  EXPECT_EQ(used(), R"({"configmaps":"0","count/jobs.batch":"2","pods":"0"})")
      << "pods are the ledger's";
  ASSERT_TRUE(create(gpus(1, "a")));
  EXPECT_EQ(used(), R"({"configmaps":"0","count/jobs.batch":"2","pods":"1"})");
  ASSERT_TRUE(patch(q, R"({"spec":{"hard":{"count/jobs.batch":null}}})"));
  EXPECT_EQ(used(), R"({"configmaps":"0","pods":"1"})") << "no limit, no count";
}

/// The slow truth: after any history the ledger equals a recount.
TEST_F(Quota, AlwaysEqualsARecount) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Rng rng(seed);
    MemoryStore objects;
    Registry rules(objects, Rng(seed));
    const auto q =
        rules.create(quota(R"({"requests.nvidia.com/gpu":"20","pods":"6","count/pods":"9"})"), now)
            .value();
    for (int i = 0; i < 80; ++i) {
      const api::Key key{"default", fmt::format("p{}", rng.below(8))};
      switch (rng.below(5)) {
      case 0:
        (void)rules.remove(kPods, key, {.grace_period_seconds = 0}, now);
        break;
      case 1:
        (void)rules.patch(kPods, key, api::parse_json(R"({"status":{"phase":"Failed"}})").value(),
                          Subresource::Status, now);
        break;
      case 2:
        (void)rules.bind({.pod = key, .node = "n"}, now);
        break;
      default:
        (void)rules.create(gpus(static_cast<int>(rng.below(6)), key.name), now);
      }
      std::int64_t pods = 0;
      std::int64_t all = 0;
      std::int64_t held = 0;
      for (const api::Object& object : rules.list({.kind = kPods}).items) {
        const auto pod = model::pod_view(object).value();
        ++all;
        pods += pod->terminal() ? 0 : 1;
        const auto& limits = pod->spec.containers[0].resources.limits;
        held += pod->terminal() ? 0 : limits.find("nvidia.com/gpu")->second.value();
      }
      const auto now_stored = rules.get(kResourceQuotas, q.key()).value();
      EXPECT_EQ(api::to_json(*api::find_path(now_stored.json(), "status.used")),
                fmt::format(R"({{"count/pods":"{}","pods":"{}","requests.nvidia.com/gpu":"{}"}})",
                            all, pods, held))
          << "seed " << seed << " step " << i;
      EXPECT_LE(held, 20);
      EXPECT_LE(pods, 6);
    }
  }
}

} // namespace
} // namespace berth::store
