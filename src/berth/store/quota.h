// ResourceQuota for pods: what a namespace may hold and what it holds. Source:
// kubernetes/pkg/quota/v1/evaluator/core and apiserver admission resourcequota. Counted as pods
// come, finish and go, so that what status.used says of pods is always true and no controller has
// to recount; what it says of other objects is left to the quota controller.
#pragma once

#include <map>
#include <string>

#include "berth/model/workload.h"
#include "berth/store/store.h"

namespace berth::store {

/// What a pod counts for, by quota resource name: "pods", "requests.nvidia.com/gpu", "limits.cpu",
/// ... A finished pod counts as an object only ("count/pods").
model::ResourceList quota_usage(const model::Pod& pod);

/// Whether the quota's scopes select the pod. Error: Invalid naming an unknown scope or operator.
bool quota_covers(const api::json::value& quota, const model::Pod& pod);

/// Running totals of every quota, built from the store the first time a namespace is met. O(quotas
/// of the namespace) a write; nothing for namespaces without one. Over a store that other processes
/// share, namespaces with quotas are counted anew for each write, O(pods of the namespace).
class QuotaLedger {
 public:
  /// Forbidden: exceeded quota: NAME, requested: ..., used: ..., limited: ...
  /// Of a pod that is resized only what it asks for beyond `before` is new.
  Result<void> admit(const Store& store, const api::Object& pod, const api::Object* before);

  /// Accounts for a committed write of a pod or a ResourceQuota; an empty object stands for "none".
  /// Brings the status of the quotas concerned up to date in the store.
  void committed(Store& store, const api::Object& before, const api::Object& now);

 private:
  struct Account {
    api::Object quota;
    model::ResourceList hard;
    model::ResourceList used;
  };
  using Book = std::map<std::string, Account>;

  void forget_if_shared(const Store& store, const std::string& ns);
  Book& book_of(const Store& store, const std::string& ns);
  static Account open_account(const Store& store, const api::Object& quota);
  static void publish(Store& store, Account& account);
  static Result<void> publish_once(Store& store, const api::Object& current, Account& account);

  std::map<std::string, Book> books_; ///< by namespace
};

} // namespace berth::store
