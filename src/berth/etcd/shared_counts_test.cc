// What registries count in together, though each is behind the others when it decides: quotas are
// not exceeded, addresses are not given twice.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/etcd/endpoints.h"
#include "berth/etcd/etcd_store.h"
#include "berth/store/admission.h"
#include "berth/store/registry.h"
#include "berth/testing/etcd_server.h"

namespace berth::etcd {
namespace {

using ::testing::HasSubstr;

api::Object object(const std::string& text) {
  return *api::Object::parse(text);
}

api::Object pod(const std::string& name) {
  return object(fmt::format(
      R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{}","namespace":"default"}},)"
      R"("spec":{{"containers":[{{"name":"c","image":"i","resources":{{"limits":)"
      R"({{"nvidia.com/gpu":"2"}}}}}}]}}}})",
      name));
}

api::Object service(const std::string& ns) {
  return object(fmt::format(
      R"({{"apiVersion":"v1","kind":"Service","metadata":{{"name":"web","namespace":"{}"}},)"
      R"("spec":{{"type":"NodePort","ports":[{{"port":80}}]}}}})",
      ns));
}

/// Replicas of one cluster. The loop does not run: nobody hears of others' writes by himself.
class SharedCounts : public ::testing::Test {
 protected:
  struct Replica {
    Replica(net::AsioLoop& loop, const std::string& url, std::uint64_t seed)
        : store(*EtcdStore::open(loop, {.endpoints = *parse_endpoints(url)})),
          registry(*store, Rng(seed), {.admission = store::server_admission()}) {}

    std::unique_ptr<EtcdStore> store;
    store::Registry registry;
  };

  void SetUp() override {
    if (!berth::testing::EtcdServer::at_hand()) {
      GTEST_SKIP() << "there is no etcd on the PATH (Debian: etcd-server)";
    }
    ASSERT_TRUE(server.start()) << "etcd does not come up";
    one.emplace(loop, server.url(), 1);
    for (const std::string ns : {"default", "a", "b"}) {
      ASSERT_TRUE(one->registry.create(
          object(fmt::format(
              R"({{"apiVersion":"v1","kind":"Namespace","metadata":{{"name":"{}"}}}})", ns)),
          loop.now()));
    }
  }

  std::string used(const Replica& replica) const {
    const auto quota = replica.registry.get(store::kResourceQuotas, {"default", "gpus"});
    const api::json::value* used = quota ? api::find_path(quota->json(), "status.used") : nullptr;
    return used == nullptr ? "" : std::string(used->at("requests.nvidia.com/gpu").as_string());
  }

  berth::testing::EtcdServer server{::testing::UnitTest::GetInstance()->current_test_info()->name(),
                                    ::testing::TempDir()};
  net::AsioLoop loop;
  std::optional<Replica> one;
};

TEST_F(SharedCounts, AQuotaIsNotExceededByReplicasThatDoNotKnowOfEachOthersPods) {
  ASSERT_TRUE(one->registry.create(
      object(R"({"apiVersion":"v1","kind":"ResourceQuota","metadata":{"name":"gpus","namespace":)"
             R"("default"},"spec":{"hard":{"requests.nvidia.com/gpu":"6"}}})"),
      loop.now()));
  Replica two(loop, server.url(), 2);
  ASSERT_TRUE(one->registry.create(pod("a"), loop.now()));
  const auto second = two.registry.create(pod("b"), loop.now());
  ASSERT_TRUE(second) << to_string(second.error());
  ASSERT_TRUE(one->registry.create(pod("c"), loop.now()));
  const auto refused = two.registry.create(pod("d"), loop.now());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::Forbidden);
  EXPECT_THAT(refused.error().message, HasSubstr("used: requests.nvidia.com/gpu=6"));
  EXPECT_EQ(used(two), "6");
  ASSERT_TRUE(one->registry.remove(store::kPods, {"default", "a"}, {.grace_period_seconds = 0},
                                   loop.now()));
  ASSERT_TRUE(
      two.registry.remove(store::kPods, {"default", "b"}, {.grace_period_seconds = 0}, loop.now()));
  EXPECT_EQ(used(two), "2") << "of those that both deleted none is left in the count";
}

TEST_F(SharedCounts, NoAddressOrNodePortIsGivenTwice) {
  Replica two(loop, server.url(), 2);
  std::set<std::string> addresses;
  std::set<std::int64_t> ports;
  for (const auto& [replica, ns] :
       {std::pair(&*one, "default"), std::pair(&two, "a"), std::pair(&*one, "b")}) {
    const auto made = replica->registry.create(service(ns), loop.now());
    ASSERT_TRUE(made) << to_string(made.error());
    addresses.emplace(api::string_at(made->json(), "spec.clusterIP"));
    ports.insert(api::find_path(made->json(), "spec.ports")->at(0).at("nodePort").to_number<int>());
  }
  EXPECT_EQ(addresses.size(), 3u);
  EXPECT_EQ(ports.size(), 3u);
}

} // namespace
} // namespace berth::etcd
