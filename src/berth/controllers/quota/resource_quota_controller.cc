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
#include "berth/controllers/quota/usage.h"
#include "berth/model/workload.h"

namespace berth::controllers {

using api::Key;
using api::Object;
using client::GroupKind;
using client::Outcome;

namespace {

namespace json = api::json;
using model::ResourceList;

std::vector<std::string> index_by_namespace(const Object& object) {
  return {object.meta().ns};
}

json::object write_quantities(const ResourceList& quantities) {
  json::object out;
  for (const auto& [name, quantity] : quantities) {
    out[name] = quantity.to_string();
  }
  return out;
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
                .on_change = [this](const Object& old,
                                    const Object& now) { quota_changed(old, now); }}),
        pods(c, l,
             {.what = {.kind = client::kPods},
              .index_of = index_by_namespace,
              .on_change = [this](const Object& old, const Object& now) {
                pod_changed(old, now);
              }}) {
    pods.on_sync([this] {
      for (const auto& [key, quota] : quotas.all()) {
        queue.add(key);
      }
    });
  }

  client::Client& client;
  Loop& loop;
  /// What the pods of its namespace charge to a quota, by quota.
  std::map<Key, ResourceList> sums;
  client::WorkQueue queue;
  FreshView quotas;
  FreshView pods;
  std::map<GroupKind, std::unique_ptr<FreshView>> counted;

  void quota_changed(const Object& old, const Object& now) {
    if (!now) {
      sums.erase(old.key());
      return;
    }
    const auto fact = quota_fact(now);
    if (!fact) {
      log(LogLevel::Warn, "resource-quota-controller",
          fmt::format("quota {} is not understood: {}", now.key().to_string(),
                      to_string(fact.error())));
      return;
    }
    for (const auto& [key, quantity] : (*fact)->hard) {
      if (const auto kind = counted_kind(key)) {
        count(*kind);
      }
    }
    ResourceList& sum = sums[now.key()];
    sum.clear();
    for (const Key& pod : pods.keyed(now.meta().ns)) {
      add(sum, charged(*pods.find(pod), **fact));
    }
    queue.add(now.key());
  }

  void count(const GroupKind& kind) {
    if (counted.contains(kind)) {
      return;
    }
    counted.emplace(kind,
                    std::make_unique<FreshView>(
                        client, loop,
                        FreshView::Spec{.what = {.kind = kind},
                                        .index_of = index_by_namespace,
                                        .on_change = [this](const Object& old, const Object& now) {
                                          if (!old || !now) {
                                            touch((now ? now : old).meta().ns);
                                          }
                                        }}));
  }

  void touch(const std::string& ns) {
    for (const Key& quota : quotas.keyed(ns)) {
      queue.add(quota);
    }
  }

  static void add(ResourceList& sum, const ResourceList& more) {
    for (const auto& [name, quantity] : more) {
      sum[name] += quantity;
    }
  }

  void pod_changed(const Object& old, const Object& now) {
    for (const Key& key : quotas.keyed((now ? now : old).meta().ns)) {
      const auto fact = quota_fact(*quotas.find(key));
      if (!fact) {
        continue;
      }
      const ResourceList before = charged(old, **fact);
      const ResourceList after = charged(now, **fact);
      if (before == after) {
        continue;
      }
      ResourceList& sum = sums[key];
      for (const auto& [name, quantity] : before) {
        sum[name] -= quantity;
      }
      add(sum, after);
      queue.add(key);
    }
  }

  void reconcile(const Key& key, client::WorkQueue::Finish finish) {
    const Object* quota = quotas.find(key);
    if (quota == nullptr || !pods.synced()) {
      finish(Outcome::Done);
      return;
    }
    const auto fact = quota_fact(*quota);
    const auto view = model::resource_quota_view(*quota);
    if (!fact || !view) {
      finish(Outcome::Done);
      return;
    }
    const ResourceList used = usage(key, **fact);
    const json::value* shown_hard = api::find_path(quota->json(), "status.hard");
    const json::object hard = write_quantities((*fact)->hard);
    if (used == (*view)->used && shown_hard != nullptr && *shown_hard == hard) {
      finish(Outcome::Done);
      return;
    }
    store(*quota, hard, write_quantities(used), std::move(finish));
  }

  ResourceList usage(const Key& key, const QuotaFact& fact) const {
    const auto sum = sums.find(key);
    ResourceList used;
    for (const auto& [name, limit] : fact.hard) {
      const auto kind = counted_kind(name);
      const auto view = kind ? counted.find(*kind) : counted.end();
      if (view != counted.end()) {
        used[name] =
            api::Quantity::from_int(static_cast<std::int64_t>(view->second->keyed(key.ns).size()));
      } else {
        const bool charged_any = sum != sums.end() && sum->second.contains(name);
        used[name] = charged_any ? sum->second.find(name)->second : api::Quantity();
      }
    }
    return used;
  }

  void store(const Object& quota, const json::object& hard, const json::object& used,
             client::WorkQueue::Finish finish) {
    Object next = quota.edit([&](json::object& document) {
      json::object& status = api::object_at(document, "status");
      status["hard"] = hard;
      status["used"] = used;
    });
    client.update(std::move(next), client::Subresource::Status,
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
