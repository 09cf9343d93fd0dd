// A versioned key space: what etcd is to Kubernetes. One counter (the revision) orders every write
// of every kind and becomes the written object's resourceVersion. No Kubernetes semantics here:
// those are registry.h, over any Store.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/json/fwd.hpp>

#include "berth/api/object.h"
#include "berth/base/result.h"
#include "berth/store/request.h"

namespace berth::store {

/// Receives a watch's events in order, within the write that causes them. Must not call the store.
using Sink = std::function<void(const WatchEvent&)>;
/// Looks at an object, complete with its resourceVersion, before it is written; an error stops the
/// write.
using Check = std::function<Result<void>(const api::Object&)>;

/// Dropping it ends a watch. May outlive the store.
class Subscription {
 public:
  virtual ~Subscription() = default;
};

/// Single-threaded. Objects handed out are immutable and shared.
class Store {
 public:
  virtual ~Store() = default;

  /// Of the last write; starts at 1, so that 0 can mean "none".
  virtual std::uint64_t revision() const = 0;
  virtual std::optional<api::Object> get(const GroupKind& kind, const api::Key& key) const = 0;
  /// Ordered by namespace, name, as of revision().
  virtual ObjectList list(const ListOptions& what) const = 0;

  /// Judges by `check`, then writes `document` (apiVersion, kind, metadata with name) and gives it
  /// the next revision. `expected` is the resourceVersion of the version it replaces; 0: there must
  /// be none. Errors: AlreadyExists, NotFound, Conflict, whatever `check` says; nothing is written
  /// then.
  virtual Result<api::Object> put(api::json::value document, std::uint64_t expected,
                                  const Check& check) = 0;
  /// As put(), of a write that `check` judges by what else there is, e.g. by counting. Of processes
  /// that write under a common one of these names at once, one succeeds; to the others what it
  /// wrote is known before they are told Conflict.
  virtual Result<api::Object> put_counted(api::json::value document, std::uint64_t expected,
                                          const Check& check,
                                          const std::vector<std::string>& names);
  /// Removes the object whose last state `document` is; watches show it with the removal's
  /// revision.
  virtual Result<api::Object> erase(api::json::value document, std::uint64_t expected) = 0;

  /// Events after `options.since`, at once as far as they are past, then as they come. An object
  /// that starts (stops) being covered by `options.what` shows as Added (Deleted). Errors: Expired
  /// when history does not reach back to `since`, Timeout when `since` is in the future.
  virtual Result<std::unique_ptr<Subscription>> watch(const WatchOptions& options, Sink sink) = 0;

  /// Runs `then` once every write so far would survive a crash, or with the error that keeps them
  /// from it. At once where nothing outlives the process anyway.
  virtual void when_durable(std::function<void(const Result<void>&)> then) { then({}); }

  /// Whether other processes write to it too, so that what was counted may have changed.
  virtual bool shared() const { return false; }
};

} // namespace berth::store
