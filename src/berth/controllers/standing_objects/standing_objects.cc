#include "berth/controllers/standing_objects/standing_objects.h"

#include <utility>

#include <boost/json/object.hpp>

#include "berth/api/json.h"
#include "berth/base/assert.h"
#include "berth/client/work_queue.h"
#include "berth/controllers/fresh_view.h"
#include "berth/controllers/gather.h"

namespace berth::controllers {

using api::Key;
using api::Object;
using client::Outcome;

namespace {

namespace json = api::json;

constexpr std::string_view kAccount = "default";
constexpr std::string_view kRootCa = "kube-root-ca.crt";
constexpr std::string_view kDescription =
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal "
    "endpoints such as the internal service IP or kubernetes.default.svc. No other usage is "
    "guaranteed across distributions of Kubernetes clusters.";

Object document(json::object text) {
  auto made = Object::from_json(std::move(text));
  BERTH_ASSERT(made.has_value(), to_string(made.error()));
  return *std::move(made);
}

Object account_of(const std::string& ns) {
  return document({{"apiVersion", "v1"},
                   {"kind", "ServiceAccount"},
                   {"metadata", json::object{{"name", kAccount}, {"namespace", ns}}}});
}

Object root_ca_of(const std::string& ns, const std::string& certificate) {
  return document(
      {{"apiVersion", "v1"},
       {"kind", "ConfigMap"},
       {"metadata",
        json::object{{"name", kRootCa},
                     {"namespace", ns},
                     {"annotations", json::object{{"kubernetes.io/description", kDescription}}}}},
       {"data", json::object{{"ca.crt", certificate}}}});
}

} // namespace

struct StandingObjects::State : std::enable_shared_from_this<StandingObjects::State> {
  State(client::Client& c, Loop& l, std::string ca)
      : client(c), root_ca(std::move(ca)),
        queue(l, [this](const Key& key,
                        client::WorkQueue::Finish finish) { reconcile(key, std::move(finish)); }),
        accounts(c, l, spec_of({"", "ServiceAccount"}, kAccount)),
        certificates(c, l, spec_of({"", "ConfigMap"}, kRootCa)),
        namespaces(c, l,
                   {.what = {.kind = client::kNamespaces, .ns = "", .labels = {}},
                    .index_of = {},
                    .on_change = [this](const Object& old, const Object& now) {
                      queue.add((now ? now : old).key());
                    }}) {
    accounts.on_sync([this] { add_all(); });
    certificates.on_sync([this] { add_all(); });
  }

  FreshView::Spec spec_of(const client::GroupKind& kind, std::string_view name) {
    return {.what = {.kind = kind, .ns = "", .labels = {}, .node = {}, .name = std::string(name)},
            .index_of = {},
            .on_change = [this](const Object& old, const Object& now) {
              queue.add({"", (now ? now : old).meta().ns});
            }};
  }

  void add_all() {
    for (const auto& [key, ns] : namespaces.all()) {
      queue.add(key);
    }
  }

  void reconcile(const Key& key, client::WorkQueue::Finish finish) {
    const Object* ns = namespaces.find(key);
    const bool seen = accounts.synced() && certificates.synced();
    if (!seen || ns == nullptr || ns->meta().deletion_timestamp) {
      queue.forget(key);
      finish(Outcome::Done);
      return;
    }
    const auto all = Gather::make(std::move(finish));
    if (accounts.find({key.name, std::string(kAccount)}) == nullptr) {
      create(accounts, account_of(key.name), all->expect());
    }
    const Object wanted = root_ca_of(key.name, root_ca);
    const Object* held = certificates.find(wanted.key());
    if (held == nullptr) {
      create(certificates, wanted, all->expect());
    } else if (api::find(held->json(), "data") == nullptr ||
               *api::find(held->json(), "data") != *api::find(wanted.json(), "data")) {
      mend(*held, wanted, all->expect());
    }
    all->close();
  }

  void create(FreshView& view, const Object& wanted, const std::function<void(Outcome)>& done) {
    client.create(wanted, [weak = weak_from_this(), &view, done](const Result<Object>& made) {
      const auto self = weak.lock();
      if (!self) {
        return;
      }
      if (made) {
        view.wrote(*made);
      }
      const bool enough = made || made.error().code == Code::AlreadyExists ||
                          made.error().code == Code::Forbidden; // it is being terminated
      done(enough ? Outcome::Done : Outcome::Retry);
    });
  }

  void mend(const Object& held, const Object& wanted, const std::function<void(Outcome)>& done) {
    const Object next = held.edit(
        [&](json::object& document) { document["data"] = *api::find(wanted.json(), "data"); });
    client.update(next, client::Subresource::None,
                  [weak = weak_from_this(), done](const Result<Object>& stored) {
                    if (const auto self = weak.lock()) {
                      if (stored) {
                        self->certificates.wrote(*stored);
                      }
                      done(stored ? Outcome::Done : Outcome::Retry);
                    }
                  });
  }

  client::Client& client;
  std::string root_ca;
  client::WorkQueue queue;
  FreshView accounts;
  FreshView certificates;
  FreshView namespaces;
};

StandingObjects::StandingObjects(client::Client& client, Loop& loop, std::string root_ca)
    : state_(std::make_shared<State>(client, loop, std::move(root_ca))) {}

StandingObjects::~StandingObjects() = default;

bool StandingObjects::idle() const {
  return state_->queue.idle();
}

} // namespace berth::controllers
