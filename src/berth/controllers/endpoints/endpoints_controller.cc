#include "berth/controllers/endpoints/endpoints_controller.h"

#include <string>
#include <utility>
#include <vector>

#include "berth/api/json.h"
#include "berth/api/same.h"
#include "berth/client/work_queue.h"
#include "berth/controllers/adoption.h"
#include "berth/controllers/endpoints/backends.h"
#include "berth/controllers/fresh_view.h"
#include "berth/controllers/gather.h"

namespace berth::controllers {

using api::Key;
using api::Object;
using client::GroupKind;
using client::Outcome;

namespace {

const GroupKind kServices{"", "Service"};
const GroupKind kEndpoints{"", "Endpoints"};
const GroupKind kSlices{"discovery.k8s.io", "EndpointSlice"};
constexpr std::string_view kManaged = "endpoints.kubernetes.io/managed-by";

std::vector<std::string> index_by_namespace(const Object& object) {
  return {object.meta().ns};
}

/// Whether the change of a pod may change what a Service says of it.
bool same_for_services(const Object& old, const Object& now) {
  const auto member = [](const Object& pod, std::string_view path) {
    const api::json::value* found = api::find_path(pod.json(), path);
    return found == nullptr ? api::json::value() : *found;
  };
  return old.meta().labels == now.meta().labels &&
         old.meta().deletion_timestamp.has_value() == now.meta().deletion_timestamp.has_value() &&
         member(old, "status.podIP") == member(now, "status.podIP") &&
         member(old, "status.phase") == member(now, "status.phase") &&
         member(old, "status.conditions") == member(now, "status.conditions") &&
         member(old, "spec.nodeName") == member(now, "spec.nodeName");
}

} // namespace

struct EndpointsController::State : std::enable_shared_from_this<EndpointsController::State> {
  State(client::Client& c, Loop& l)
      : client(c), queue(l,
                         [this](const Key& key, client::WorkQueue::Finish finish) {
                           reconcile(key, std::move(finish));
                         },
                         {.workers = 5}),
        pods(c, l,
             {.what = {.kind = client::kPods, .ns = "", .labels = {}},
              .index_of = index_by_namespace,
              .on_change =
                  [this](const Object& old, const Object& now) {
                    if (!old || !now || !same_for_services(old, now)) {
                      add_services_of(old);
                      add_services_of(now);
                    }
                  },
              .start = FreshView::Start::WhenAsked}),
        endpoints(c, l, spec_of(kEndpoints)),
        slices(c, l,
               {.what = {.kind = kSlices, .ns = "", .labels = {}},
                .index_of = index_by_controller("Service"),
                .on_change =
                    [this](const Object& old, const Object& now) {
                      const Object& slice = now ? now : old;
                      const api::OwnerReference* owner = slice.meta().controller();
                      if (owner != nullptr && owner->kind == "Service") {
                        queue.add({slice.meta().ns, owner->name});
                      }
                    },
                .start = FreshView::Start::WhenAsked}),
        services(c, l,
                 {.what = {.kind = kServices, .ns = "", .labels = {}},
                  .index_of = index_by_namespace,
                  .on_change = [this](const Object& old, const Object& now) {
                    if (now && has_backends(now)) {
                      pods.start();
                      endpoints.start();
                      slices.start();
                    }
                    queue.add((now ? now : old).key());
                  }}) {
    for (FreshView* view : {&pods, &endpoints, &slices}) {
      view->on_sync([this] {
        for (const auto& [key, service] : services.all()) {
          queue.add(key);
        }
      });
    }
  }

  FreshView::Spec spec_of(const GroupKind& kind) {
    return {.what = {.kind = kind, .ns = "", .labels = {}},
            .index_of = {},
            .on_change = [this](const Object& old,
                                const Object& now) { queue.add((now ? now : old).key()); },
            .start = FreshView::Start::WhenAsked};
  }

  void add_services_of(const Object& pod) {
    if (!pod) {
      return;
    }
    for (const Key& key : services.keyed(pod.meta().ns)) {
      if (serves(*services.find(key), pod)) {
        queue.add(key);
      }
    }
  }

  void reconcile(const Key& key, client::WorkQueue::Finish finish) {
    if (!services.synced() || !pods.synced() || !endpoints.synced() || !slices.synced()) {
      queue.forget(key);
      finish(Outcome::Done);
      return;
    }
    const auto all = Gather::make(std::move(finish));
    const Object* service = services.find(key);
    if (service == nullptr) {
      forget_endpoints(key, *all);
    } else if (has_backends(*service) && !service->meta().deletion_timestamp) {
      std::vector<Object> chosen;
      for (const Key& at : pods.keyed(key.ns)) {
        chosen.push_back(*pods.find(at));
      }
      queue.looks_at(key, chosen.size());
      keep_endpoints(*service, chosen, *all);
      keep_slices(*service, chosen, *all);
    }
    all->close();
  }

  /// Endpoints that we keep go with their Service; those that somebody else wrote stay.
  void forget_endpoints(const Key& key, Gather& all) {
    const Object* held = endpoints.find(key);
    if (held != nullptr && held->meta().labels.contains(kManaged)) {
      remove(endpoints, kEndpoints, *held, all.expect());
    }
  }

  void keep_endpoints(const Object& service, const std::vector<Object>& chosen, Gather& all) {
    const Object wanted = endpoints_of(service, chosen);
    const Object* held = endpoints.find(service.key());
    if (held == nullptr) {
      create(endpoints, wanted, all.expect());
      return;
    }
    const Object next = held->edit([&](api::json::object& document) {
      api::object_at(document, "metadata")["labels"] =
          *api::find_path(wanted.json(), "metadata.labels");
      if (const api::json::value* subsets = api::find(wanted.json(), "subsets")) {
        document["subsets"] = *subsets;
      } else {
        document.stable_erase("subsets");
      }
    });
    if (!api::same(next.json(), held->json())) {
      update(endpoints, next, all.expect());
    }
  }

  void keep_slices(const Object& service, const std::vector<Object>& chosen, Gather& all) {
    std::vector<Object> held;
    for (const Key& at : slices.keyed(service.key().to_string())) {
      const Object& slice = *slices.find(at);
      if (slice.meta().controller()->uid == service.meta().uid &&
          !slice.meta().deletion_timestamp) {
        held.push_back(slice);
      }
    }
    const SliceChanges changes = plan_slices(service, chosen, held);
    for (const Object& slice : changes.create) {
      create(slices, slice, all.expect());
    }
    for (const Object& slice : changes.update) {
      update(slices, slice, all.expect());
    }
    for (const Object& slice : changes.remove) {
      remove(slices, kSlices, slice, all.expect());
    }
  }

  void create(FreshView& view, const Object& wanted, std::function<void(Outcome)> done) {
    client.create(wanted, answer(view, std::move(done)));
  }
  void update(FreshView& view, const Object& wanted, std::function<void(Outcome)> done) {
    client.update(wanted, client::Subresource::None, answer(view, std::move(done)));
  }
  client::Done<Object> answer(FreshView& view, std::function<void(Outcome)> done) {
    return [weak = weak_from_this(), &view, done = std::move(done)](const Result<Object>& stored) {
      if (const auto self = weak.lock()) {
        if (stored) {
          view.wrote(*stored);
        }
        const bool refused = !stored && stored.error().code == Code::Forbidden;
        done(stored || refused ? Outcome::Done : Outcome::Retry); // refused: the namespace goes
      }
    };
  }
  void remove(FreshView& view, const GroupKind& kind, const Object& object,
              std::function<void(Outcome)> done) {
    client.remove(kind, object.key(), {.uid = object.meta().uid},
                  [weak = weak_from_this(), &view, object,
                   done = std::move(done)](const Result<Object>& left) {
                    if (const auto self = weak.lock()) {
                      const bool gone = !left && left.error().code == Code::NotFound;
                      if (left) {
                        view.removed(*left);
                      } else if (gone) {
                        view.gone(object.key(), object.meta().uid);
                      }
                      done(left || gone ? Outcome::Done : Outcome::Retry);
                    }
                  });
  }

  client::Client& client;
  client::WorkQueue queue;
  FreshView pods;
  FreshView endpoints;
  FreshView slices;
  FreshView services;
};

EndpointsController::EndpointsController(client::Client& client, Loop& loop)
    : state_(std::make_shared<State>(client, loop)) {}

EndpointsController::~EndpointsController() = default;

bool EndpointsController::idle() const {
  return state_->queue.idle();
}

} // namespace berth::controllers
