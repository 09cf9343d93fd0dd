#include "berth/node/node_reporter.h"

#include <gtest/gtest.h>

#include "berth/api/json.h"
#include "berth/base/log.h"
#include "berth/base/virtual_loop.h"
#include "berth/client/local_client.h"
#include "berth/client/passing_client.h"
#include "berth/node/node_status.h"
#include "berth/store/memory_store.h"

namespace berth::node {
namespace {

namespace json = boost::json;

/// Counts patches, and takes the addresses out of every status: a server that knows better.
class Opinionated final : public client::PassingClient {
 public:
  using PassingClient::PassingClient;
  void patch(const client::GroupKind& kind, const api::Key& key, json::value patch,
             client::Subresource subresource, client::Done<api::Object> done) override {
    if (++patches > 1000) {
      return; // or a reporter that insists would do so at this very moment, for ever
    }
    if (subresource == client::Subresource::Status) {
      patch.at("status").get_object().erase("addresses");
    }
    PassingClient::patch(kind, key, std::move(patch), subresource, std::move(done));
  }
  int patches = 0;
};

/// An API server that lets no node change its taints, as the admission plugin NodeRestriction.
class Restricting final : public client::PassingClient {
 public:
  using PassingClient::PassingClient;
  void patch(const client::GroupKind& kind, const api::Key& key, json::value patch,
             client::Subresource subresource, client::Done<api::Object> done) override {
    if (api::find(patch, "spec")) {
      ++refused;
      done(fail(Code::Forbidden, "node \"n\" is not allowed to modify taints"));
      return;
    }
    PassingClient::patch(kind, key, std::move(patch), subresource, std::move(done));
  }
  int refused = 0;
};

TEST(NodeReporter, AsksOnceForTaintsThatItMayNotChangeAndGoesOn) {
  set_log_level(LogLevel::Off);
  VirtualLoop loop{TimePoint::from_unix_seconds(1'700'000'000)};
  store::MemoryStore store;
  store::Registry registry(store, Rng(1));
  client::LocalClient direct(registry, loop);
  Restricting client(direct);
  NodeFacts facts{.awaits_gpus = true, .now = loop.now()};
  NodeReporter reporter(
      loop, client,
      make_base_node(
          *api::parse_json(R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"n"}})"), {}, {},
          {}),
      [&] { return facts; }, [](const api::Object&) {});
  reporter.open();
  loop.run_until(loop.now() + Duration::minutes(1));
  EXPECT_TRUE(api::find_path(reporter.node().json(), "spec.taints"));
  EXPECT_EQ(client.refused, 0) << "it waits for them";
  for (int gpus = 1; gpus < 4; ++gpus) {
    facts.awaits_gpus = false;
    facts.devices["nvidia.com/gpu"] = {.capacity = gpus, .allocatable = gpus};
    reporter.poke();
    loop.run_until(loop.now() + Duration::minutes(1));
    EXPECT_EQ(node_resources(reporter.node().json(), "allocatable").at("nvidia.com/gpu").value(),
              gpus);
  }
  EXPECT_EQ(client.refused, 1);
  EXPECT_TRUE(reporter.clean());
  set_log_level(LogLevel::Warn);
}

TEST(NodeReporter, DoesNotInsistOnWhatChangesNothing) {
  VirtualLoop loop{TimePoint::from_unix_seconds(1'700'000'000)};
  store::MemoryStore store;
  store::Registry registry(store, Rng(1));
  client::LocalClient direct(registry, loop);
  Opinionated client(direct);
  const json::value first = *api::parse_json(
      R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"n"},"status":{
          "capacity":{"cpu":"4"},"addresses":[{"type":"InternalIP","address":"10.0.0.1"}]}})");
  json::value moved = first;
  moved.at("status").at("addresses").as_array()[0].as_object()["address"] = "10.0.0.2";
  for (const json::value& document : {first, moved}) {
    client.patches = 0;
    NodeReporter reporter(
        loop, client, make_base_node(document, {{"zone", "a"}}, {}, {}),
        [&] { return NodeFacts{.now = loop.now()}; }, [](const api::Object&) {});
    reporter.open();
    loop.run_until(loop.now() + Duration::minutes(10));
    EXPECT_LT(client.patches, 100) << "of an address that is never taken";
  }
  EXPECT_GT(client.patches, 1) << "but it is tried again";
}

} // namespace
} // namespace berth::node
