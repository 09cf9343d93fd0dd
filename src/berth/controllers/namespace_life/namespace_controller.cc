#include "berth/controllers/namespace_life/namespace_controller.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "berth/api/json.h"
#include "berth/api/same.h"
#include "berth/client/informer.h"
#include "berth/client/work_queue.h"
#include "berth/controllers/fields.h"
#include "berth/controllers/fresh_view.h"
#include "berth/controllers/gather.h"
#include "berth/controllers/namespace_life/contents.h"
#include "berth/store/errors.h"

namespace berth::controllers {

using api::Key;
using api::Object;
using client::GroupKind;
using client::Outcome;

namespace {

namespace json = api::json;

const GroupKind kDefinitions{"apiextensions.k8s.io", "CustomResourceDefinition"};
constexpr std::string_view kFinalizer = "kubernetes";

bool to_be_emptied(const Object& ns) {
  if (!ns || !ns.meta().deletion_timestamp) {
    return false;
  }
  const json::array& finalizers = array_at(ns.json(), "spec.finalizers");
  return std::ranges::find(finalizers, json::value(kFinalizer)) != finalizers.end();
}

} // namespace

struct NamespaceController::State : std::enable_shared_from_this<NamespaceController::State> {
  State(client::Client& c, Loop& l)
      : client(c), loop(l), queue(l,
                                  [this](const Key& key, client::WorkQueue::Finish finish) {
                                    reconcile(key, std::move(finish));
                                  },
                                  {.workers = 10}),
        definitions(c, l,
                    {.what = {.kind = kDefinitions, .ns = "", .labels = {}},
                     .index_of = {},
                     .on_change = [this](const Object&, const Object&) { add_all(); },
                     .start = FreshView::Start::WhenAsked}),
        namespaces(c, l, {.kind = client::kNamespaces, .ns = "", .labels = {}},
                   [this](const Object& old, const Object& now) {
                     if (to_be_emptied(now)) {
                       definitions.start();
                       queue.add(now.key());
                     } else if (old) {
                       emptied.erase(old.meta().name);
                       queue.forget(old.key());
                     }
                   }) {
    definitions.on_sync([this] { add_all(); });
  }

  /// The contents of one namespace that is deleted.
  struct Contents {
    std::map<GroupKind, std::unique_ptr<client::Informer>> kinds;
    std::map<std::string, std::string> failures; ///< of the last try, by resource
  };

  void add_all() {
    for (const auto& [name, contents] : emptied) {
      queue.add({"", name});
    }
    for (const auto& [key, ns] : namespaces.all()) {
      if (to_be_emptied(ns)) {
        queue.add(key);
      }
    }
  }

  void watch(const std::string& ns, const GroupKind& kind) {
    auto& held = emptied[ns].kinds[kind];
    if (held == nullptr) {
      held = std::make_unique<client::Informer>(
          client, loop, client::ListOptions{.kind = kind, .ns = ns, .labels = {}},
          [this, ns](const Object&, const Object&) {
            queue.add({"", ns});
          });
      held->on_sync([this, ns] { queue.add({"", ns}); });
    }
  }

  void watch_everything(const std::string& ns) {
    for (const GroupKind& kind : namespaced_kinds()) {
      watch(ns, kind);
    }
    for (const auto& [key, definition] : definitions.all()) {
      if (api::string_at(definition.json(), "spec.scope") == "Namespaced") {
        watch(ns, {std::string(api::string_at(definition.json(), "spec.group")),
                   std::string(api::string_at(definition.json(), "spec.names.kind"))});
      }
    }
  }

  void reconcile(const Key& key, client::WorkQueue::Finish finish) {
    const Object* ns = namespaces.find(key);
    if (!definitions.synced() || ns == nullptr || !to_be_emptied(*ns)) {
      finish(Outcome::Done);
      return;
    }
    watch_everything(key.name);
    const Contents& contents = emptied[key.name];
    const bool seen =
        std::ranges::all_of(contents.kinds, [](const auto& kind) { return kind.second->synced(); });
    if (!seen) {
      finish(Outcome::Done);
      return;
    }
    remove_all(*ns, std::move(finish));
  }

  void remove_all(const Object& ns, client::WorkQueue::Finish finish) {
    Contents& contents = emptied[ns.meta().name];
    contents.failures.clear();
    const auto all =
        Gather::make([weak = weak_from_this(), ns, finish = std::move(finish)](Outcome outcome) {
          if (const auto self = weak.lock()) {
            self->tell(ns, outcome, finish);
          }
        });
    for (const auto& [kind, informer] : contents.kinds) {
      for (const auto& [key, object] : informer->all()) {
        if (!object.meta().deletion_timestamp) {
          remove(ns.meta().name, kind, object, all->expect());
        }
      }
    }
    all->close();
  }

  void remove(const std::string& ns, const GroupKind& kind, const Object& object,
              std::function<void(Outcome)> done) {
    client.remove(
        kind, object.key(),
        {.uid = object.meta().uid, .propagation = client::Propagation::Background},
        [weak = weak_from_this(), ns, kind, done = std::move(done)](const Result<Object>& left) {
          const auto self = weak.lock();
          if (!self) {
            return;
          }
          const bool gone =
              left || left.error().code == Code::NotFound || left.error().code == Code::Conflict;
          if (const auto held = self->emptied.find(ns); !gone && held != self->emptied.end()) {
            held->second.failures[store::resource_text(kind)] = left.error().message;
          }
          done(gone ? Outcome::Done : Outcome::Retry);
        });
  }

  Remains remains_of(const std::string& ns) const {
    Remains out;
    const auto held = emptied.find(ns);
    if (held == emptied.end()) {
      return out;
    }
    out.failures = held->second.failures;
    for (const auto& [kind, informer] : held->second.kinds) {
      if (!informer->all().empty()) {
        out.objects[kind] = static_cast<std::int64_t>(informer->all().size());
      }
      for (const auto& [key, object] : informer->all()) {
        for (const std::string& finalizer : object.meta().finalizers) {
          ++out.finalizers[finalizer];
        }
      }
    }
    return out;
  }

  /// What is left now; nothing: the namespace goes.
  void tell(const Object& ns, Outcome outcome, const client::WorkQueue::Finish& finish) {
    const Remains remains = remains_of(ns.meta().name);
    const Object* now = namespaces.find(ns.key());
    if (now == nullptr || !to_be_emptied(*now)) {
      finish(Outcome::Done);
      return;
    }
    const Object wanted =
        remains.empty() ? without_finalizer(*now) : with_remains(*now, remains, loop.now());
    if (api::same(wanted.json(), now->json())) {
      finish(outcome);
      return;
    }
    client.update(wanted, remains.empty() ? client::Subresource::None : client::Subresource::Status,
                  [weak = weak_from_this(), outcome, finish](const Result<Object>& stored) {
                    if (weak.lock()) {
                      const bool done = stored || stored.error().code == Code::NotFound;
                      finish(done ? outcome : Outcome::Retry);
                    }
                  });
  }

  static Object without_finalizer(const Object& ns) {
    return ns.edit([](json::object& document) {
      json::object& spec = api::object_at(document, "spec");
      json::array rest;
      if (const json::value* held = spec.if_contains("finalizers");
          held != nullptr && held->is_array()) {
        std::ranges::copy_if(held->get_array(), std::back_inserter(rest),
                             [](const json::value& one) { return one != json::value(kFinalizer); });
      }
      if (rest.empty()) {
        spec.stable_erase("finalizers");
      } else {
        spec["finalizers"] = std::move(rest);
      }
    });
  }

  client::Client& client;
  Loop& loop;
  client::WorkQueue queue;
  std::map<std::string, Contents> emptied; ///< by the namespace's name
  FreshView definitions;
  client::Informer namespaces;
};

NamespaceController::NamespaceController(client::Client& client, Loop& loop)
    : state_(std::make_shared<State>(client, loop)) {}

NamespaceController::~NamespaceController() = default;

bool NamespaceController::idle() const {
  return state_->queue.idle();
}

} // namespace berth::controllers
