#include "berth/controllers/elastic_quota/elastic_quota_controller.h"

#include <string>
#include <utility>
#include <vector>

#include <boost/json/object.hpp>
#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/base/log.h"
#include "berth/client/work_queue.h"
#include "berth/controllers/fresh_view.h"
#include "berth/model/elastic_quota.h"
#include "berth/model/requests.h"
#include "berth/store/addon_kinds.h"

namespace berth::controllers {

using api::Key;
using api::Object;
using client::Outcome;

namespace {

namespace json = api::json;

std::vector<std::string> index_by_namespace(const Object& object) {
  return {object.meta().ns};
}

bool is_running(const Object& pod) {
  return pod && api::string_at(pod.json(), "status.phase") == "Running";
}

/// A merge patch from `stored` to `used`, for this version of the quota.
json::value with_used(const Object& quota, const model::ResourceList& stored,
                      const model::ResourceList& used) {
  json::object amounts;
  for (const auto& [name, quantity] : stored) {
    amounts[name] = nullptr;
  }
  for (const auto& [name, quantity] : used) {
    amounts[name] = quantity.to_string();
  }
  json::object metadata{{"uid", quota.meta().uid},
                        {"resourceVersion", fmt::format("{}", quota.meta().resource_version)}};
  return json::object{{"metadata", std::move(metadata)},
                      {"status", json::object{{"used", std::move(amounts)}}}};
}

} // namespace

struct ElasticQuotaController::State : std::enable_shared_from_this<ElasticQuotaController::State> {
  State(client::Client& c, Loop& l)
      : client(c), loop(l),
        queue(l, [this](const Key& key,
                        client::WorkQueue::Finish finish) { reconcile(key, std::move(finish)); }),
        quotas(c, l,
               {.what = {.kind = store::kElasticQuotas},
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
  std::unique_ptr<FreshView> pods; ///< from the first quota on

  /// Null until they are known. All quotas are looked at then.
  const FreshView* known_pods() {
    if (pods) {
      return pods->synced() ? pods.get() : nullptr;
    }
    const auto touch = [this](const Object& old, const Object& now) {
      if (is_running(old) || is_running(now)) {
        pods_changed((now ? now : old).meta().ns);
      }
    };
    pods = std::make_unique<FreshView>(client, loop,
                                       FreshView::Spec{.what = {.kind = client::kPods},
                                                       .index_of = index_by_namespace,
                                                       .on_change = touch});
    pods->on_sync([this] {
      for (const auto& [key, quota] : quotas.all()) {
        queue.add(key);
      }
    });
    return nullptr;
  }

  void pods_changed(const std::string& ns) {
    for (const Key& key : quotas.keyed(ns)) {
      queue.add(key);
    }
  }

  static model::ResourceList used_by_pods(const model::ElasticQuota& quota, const FreshView& pods) {
    model::ResourceList used;
    for (const auto* named : {&quota.min, &quota.max}) {
      for (const auto& [name, quantity] : *named) {
        used.try_emplace(name);
      }
    }
    for (const Key& key : pods.keyed(quota.meta.ns)) {
      const Object& object = *pods.find(key);
      if (!is_running(object)) {
        continue;
      }
      if (const auto pod = model::pod_view(object)) {
        for (const auto& [name, quantity] : model::effective_requests((*pod)->spec)) {
          used[name] += quantity;
        }
      }
    }
    return used;
  }

  void reconcile(const Key& key, client::WorkQueue::Finish finish) {
    const Object* quota = quotas.find(key);
    const FreshView* all_pods = quota == nullptr ? nullptr : known_pods();
    if (all_pods == nullptr) {
      return finish(Outcome::Done);
    }
    const auto view = model::elastic_quota_view(*quota);
    if (!view) {
      log(LogLevel::Warn, "elastic-quota-controller",
          fmt::format("elasticquota {} is not understood: {}", key.to_string(),
                      to_string(view.error())));
      return finish(Outcome::Done);
    }
    queue.looks_at(key, all_pods->keyed(key.ns).size());
    const model::ResourceList used = used_by_pods(**view, *all_pods);
    if (used == (*view)->used) {
      return finish(Outcome::Done);
    }
    client.patch(
        store::kElasticQuotas, key, with_used(*quota, (*view)->used, used),
        client::Subresource::Status,
        [weak = weak_from_this(), key, uid = quota->meta().uid, finish](Result<Object> stored) {
          const auto self = weak.lock();
          if (!self) {
            return;
          }
          if (stored) {
            self->quotas.wrote(*stored);
          } else if (stored.error().code == Code::NotFound) {
            self->quotas.gone(key, uid);
          }
          finish(stored || stored.error().code == Code::NotFound ? Outcome::Done : Outcome::Retry);
        });
  }
};

ElasticQuotaController::ElasticQuotaController(client::Client& client, Loop& loop)
    : state_(std::make_shared<State>(client, loop)) {}

ElasticQuotaController::~ElasticQuotaController() = default;

bool ElasticQuotaController::idle() const {
  return state_->queue.idle();
}

} // namespace berth::controllers
