#include "berth/controllers/quota/resource_quota_controller.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include <boost/json/object.hpp>
#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/base/log.h"
#include "berth/client/work_queue.h"
#include "berth/controllers/fresh_view.h"
#include "berth/controllers/quota/counted_kind.h"
#include "berth/model/workload.h"

namespace berth::controllers {

using api::Key;
using api::Object;
using client::GroupKind;
using client::Outcome;

namespace {

namespace json = api::json;

std::vector<std::string> index_by_namespace(const Object& object) {
  return {object.meta().ns};
}

/// A merge patch of these amounts for this version of the quota.
json::value with_used(const Object& quota, json::object used) {
  json::object metadata{{"uid", quota.meta().uid},
                        {"resourceVersion", fmt::format("{}", quota.meta().resource_version)}};
  return json::object{{"metadata", std::move(metadata)},
                      {"status", json::object{{"used", std::move(used)}}}};
}

} // namespace

struct ResourceQuotaController::State
    : std::enable_shared_from_this<ResourceQuotaController::State> {
  State(client::Client& c, Loop& l)
      : client(c), loop(l),
        queue(l, [this](const Key& key,
                        client::WorkQueue::Finish finish) { reconcile(key, std::move(finish)); }),
        quotas(c, l,
               {.what = {.kind = client::kResourceQuotas},
                .index_of = index_by_namespace,
                .on_change = [this](const Object&, const Object& now) {
                  if (now) {
                    queue.add(now.key());
                  }
                }}) {}

  client::Client& client;
  Loop& loop;
  client::WorkQueue queue;
  FreshView quotas;
  std::map<GroupKind, std::unique_ptr<FreshView>> counted;

  /// The objects of a kind; nullptr until they are known. Their quotas are looked at then.
  const FreshView* objects_of(const GroupKind& kind) {
    const auto known = counted.find(kind);
    if (known != counted.end()) {
      return known->second->synced() ? known->second.get() : nullptr;
    }
    const auto touch = [this](const Object& old, const Object& now) {
      if (!old || !now) {
        touch_quotas_of((now ? now : old).meta().ns);
      }
    };
    auto view = std::make_unique<FreshView>(client, loop,
                                            FreshView::Spec{.what = {.kind = kind},
                                                            .index_of = index_by_namespace,
                                                            .on_change = touch});
    view->on_sync([this] {
      for (const auto& [key, quota] : quotas.all()) {
        queue.add(key);
      }
    });
    counted.emplace(kind, std::move(view));
    return nullptr;
  }

  void touch_quotas_of(const std::string& ns) {
    for (const Key& quota : quotas.keyed(ns)) {
      queue.add(quota);
    }
  }

  void reconcile(const Key& key, client::WorkQueue::Finish finish) {
    const Object* quota = quotas.find(key);
    if (quota == nullptr) {
      finish(Outcome::Done);
      return;
    }
    const auto view = model::resource_quota_view(*quota);
    if (!view) {
      log(LogLevel::Warn, "resource-quota-controller",
          fmt::format("quota {} is not understood: {}", key.to_string(), to_string(view.error())));
      finish(Outcome::Done);
      return;
    }
    json::object changed;
    for (const auto& [name, limit] : (*view)->hard) {
      const auto kind = counted_kind(name);
      const FreshView* objects = kind ? objects_of(*kind) : nullptr;
      if (objects == nullptr) {
        continue;
      }
      const auto count =
          api::Quantity::from_int(static_cast<std::int64_t>(objects->keyed(key.ns).size()));
      const auto shown = (*view)->used.find(name);
      if (shown == (*view)->used.end() || shown->second != count) {
        changed[name] = count.to_string();
      }
    }
    if (changed.empty()) {
      finish(Outcome::Done);
      return;
    }
    store(*quota, std::move(changed), std::move(finish));
  }

  void store(const Object& quota, json::object changed, client::WorkQueue::Finish finish) {
    client.patch(client::kResourceQuotas, quota.key(), with_used(quota, std::move(changed)),
                 client::Subresource::Status,
                 [weak = weak_from_this(), key = quota.key(), uid = quota.meta().uid,
                  finish](Result<Object> stored) {
                   const auto self = weak.lock();
                   if (!self) {
                     return;
                   }
                   if (stored) {
                     self->quotas.wrote(*stored);
                   } else if (stored.error().code == Code::NotFound) {
                     self->quotas.gone(key, uid);
                   }
                   finish(stored || stored.error().code == Code::NotFound ? Outcome::Done
                                                                          : Outcome::Retry);
                 });
  }
};

ResourceQuotaController::ResourceQuotaController(client::Client& client, Loop& loop)
    : state_(std::make_shared<State>(client, loop)) {}

bool ResourceQuotaController::idle() const {
  return state_->queue.idle();
}

ResourceQuotaController::~ResourceQuotaController() = default;

} // namespace berth::controllers
