#include "berth/node/node_reporter.h"

#include <gtest/gtest.h>

#include "berth/api/json.h"
#include "berth/base/virtual_loop.h"
#include "berth/client/local_client.h"
#include "berth/node/node_status.h"
#include "berth/store/memory_store.h"
#include "berth/testing/passing_client.h"

namespace berth::node {
namespace {

namespace json = boost::json;

/// Counts patches, and takes the addresses out of every status: a server that knows better.
class Opinionated final : public test::PassingClient {
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
