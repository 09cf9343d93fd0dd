// Kubernetes' write semantics over any Store: names, uids, generations, optimistic concurrency,
// status isolation, graceful deletion, binding. What the embedded client and the HTTP server share.
// Source: apiserver registry/generic/registry/store.go and pkg/registry.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "berth/base/rng.h"
#include "berth/base/time.h"
#include "berth/store/admission.h"
#include "berth/store/event_expiry.h"
#include "berth/store/quota.h"
#include "berth/store/store.h"

namespace berth::store {

/// How a write is made.
struct WriteOptions {
  bool dry_run = false; ///< judged and completed, never stored
  /// Sees the document with its defaults, before admission adds to it: where field managers are
  /// recorded and custom resources are judged. An error stops the write.
  std::function<Result<void>(api::json::value&)> defaulted = {};
  Admit admit = {};                ///< judges the request; none: nobody does
  bool as_events = false;          ///< an Event is written through events.k8s.io/v1
  AdmissionNotes* notes = nullptr; ///< where warnings and annotations go; null: nowhere
};

/// Time comes with each call; uids and name suffixes come from the Rng. A write that would change
/// nothing is not one: it returns the stored version.
class Registry {
 public:
  enum class Namespaces {
    OnDemand, ///< made when first used, as an embedded cluster wants
    MustExist
  };
  struct Options {
    Namespaces namespaces = Namespaces::OnDemand;
    Admission admission = kubernetes_admission();
    Duration event_ttl = Duration::hours(1);
  };

  /// The store must outlive the registry.
  Registry(Store& store, Rng rng) : Registry(store, rng, Options()) {}
  Registry(Store& store, Rng rng, Options options);

  Result<api::Object> get(const GroupKind& kind, const api::Key& key) const;
  ObjectList list(const ListOptions& what) const { return store_->list(what); }
  std::uint64_t revision() const { return store_->revision(); }
  void when_durable(std::function<void(const Result<void>&)> then) {
    store_->when_durable(std::move(then));
  }
  Result<std::unique_ptr<Subscription>> watch(const WatchOptions& options, Sink sink) {
    return store_->watch(options, std::move(sink));
  }

  /// metadata.namespace "" of a namespaced kind means "default"; a resourceVersion in the object is
  /// ignored.
  Result<api::Object> create(const api::Object& object, TimePoint now,
                             const WriteOptions& how = {});
  Result<api::Object> update(const api::Object& object, Subresource subresource, TimePoint now,
                             const WriteOptions& how = {});
  Result<api::Object> patch(const GroupKind& kind, const api::Key& key,
                            const api::json::value& merge_patch, Subresource subresource,
                            TimePoint now, const WriteOptions& how = {});
  /// The object as deletion left it: gone, or with deletionTimestamp set.
  Result<api::Object> remove(const GroupKind& kind, const api::Key& key,
                             const DeleteOptions& options, TimePoint now,
                             const WriteOptions& how = {});
  Result<api::Object> bind(const Binding& binding, TimePoint now, const WriteOptions& how = {});

  /// Who judges what the parts of this process write: components that come by no API server.
  void judge_components_by(Admit admit) { components_ = std::move(admit); }
  const Admit& components() const { return components_; }

 private:
  Result<api::Object> create_once(const api::Object& object, TimePoint now,
                                  const WriteOptions& how);
  Result<void> check_namespace(const GroupKind& kind, const std::string& ns) const;
  Result<void> make_namespace(const std::string& ns, TimePoint now);
  Result<void> choose_name(const GroupKind& kind, api::json::object& meta, const std::string& ns);
  Result<api::Object> replace(const api::Object& current, api::json::value document,
                              Subresource subresource, TimePoint now, const WriteOptions& how);
  Result<api::Object> put(api::json::value document, const AdmissionRequest& request,
                          const WriteOptions& how);
  Result<api::Object> erase(api::json::value last, const api::Object& current,
                            const WriteOptions& how);

  Store* store_;
  Rng rng_;
  Options options_;
  Admit components_;
  EventExpiry event_expiry_;
  QuotaLedger quotas_;
};

/// Writes what every cluster has from its first moment: the namespaces default, kube-system,
/// kube-public and kube-node-lease and the two system priority classes. Harmless when they exist.
Result<void> bootstrap(Registry& registry, TimePoint now);

} // namespace berth::store
