#include "berth/node/node_reporter.h"

#include <gtest/gtest.h>

#include "berth/api/json.h"
#include "berth/base/virtual_loop.h"
#include "berth/client/local_client.h"
#include "berth/node/node_status.h"
#include "berth/store/memory_store.h"

namespace berth::node {
namespace {

namespace json = boost::json;

/// Counts patches, and takes the addresses out of every status: a server that knows better.
class Opinionated final : public client::Client {
 public:
  Opinionated(store::Registry& registry, Loop& loop) : inner_(registry, loop) {}
  void patch(const client::GroupKind& kind, const api::Key& key, json::value patch,
             client::Subresource subresource, client::Done<api::Object> done) override {
    ++patches;
    if (subresource == client::Subresource::Status) {
      patch.at("status").get_object().erase("addresses");
    }
    inner_.patch(kind, key, std::move(patch), subresource, std::move(done));
  }
  void get(const client::GroupKind& kind, const api::Key& key,
           client::Done<api::Object> done) override {
    inner_.get(kind, key, std::move(done));
  }
  void list(const client::ListOptions& what, client::Done<client::ObjectList> done) override {
    inner_.list(what, std::move(done));
  }
  void create(api::Object object, client::Done<api::Object> done) override {
    inner_.create(std::move(object), std::move(done));
  }
  void update(api::Object object, client::Subresource subresource,
              client::Done<api::Object> done) override {
    inner_.update(std::move(object), subresource, std::move(done));
  }
  void remove(const client::GroupKind& kind, const api::Key& key,
              const client::DeleteOptions& options, client::Done<api::Object> done) override {
    inner_.remove(kind, key, options, std::move(done));
  }
  void bind(const client::Binding& binding, client::Done<api::Object> done) override {
    inner_.bind(binding, std::move(done));
  }
  std::unique_ptr<client::Watch>
  watch(const client::WatchOptions& options,
        std::function<void(Result<client::WatchEvent>)> on_event) override {
    return inner_.watch(options, std::move(on_event));
  }
  std::unique_ptr<client::StandingLease> hold_lease(const client::LeaseSpec& lease) override {
    return inner_.hold_lease(lease);
  }
  int patches = 0;

 private:
  client::LocalClient inner_;
};

TEST(NodeReporter, DoesNotInsistOnWhatChangesNothing) {
  VirtualLoop loop{TimePoint::from_unix_seconds(1'700'000'000)};
  store::MemoryStore store;
  store::Registry registry(store, Rng(1));
  Opinionated client(registry, loop);
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
