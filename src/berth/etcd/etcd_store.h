// The Store of a cluster that several API servers serve: kept in etcd. A mirror in memory, fed by a
// watch, answers reads and watches; a write is one transaction that compares the key's
// mod_revision, and etcd's revision is the object's resourceVersion, as in kube-apiserver.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <boost/json/value.hpp>

#include "berth/net/asio_loop.h"
#include "berth/net/http.h"
#include "berth/net/tls.h"
#include "berth/store/memory_store.h"

namespace berth::etcd {

struct EtcdOptions {
  std::vector<net::HttpUrl> endpoints; ///< of one etcd cluster; at least one
  std::string prefix = "/berth";       ///< of every key; clusters of different prefixes do not meet
  std::shared_ptr<const net::TlsContext> tls; ///< for https; null: the system's authorities
  /// How often history older than this is dropped in etcd; max(): never.
  Duration compact_every = Duration::minutes(5);
  store::MemoryStore::Options mirror = {.history_bytes = std::size_t{64} * 1024 * 1024};
};

/// A write blocks the thread until a majority of etcd's members has it: what is written is durable,
/// and seen by reads at once. What other processes write is seen when the watch brings it, at the
/// latest when a write here meets it. Writes are Unavailable while no member answers; reads go on.
class EtcdStore final : public store::Store {
 public:
  /// Reads everything below the prefix. The loop must outlive the store. Errors: Unavailable, with
  /// what each endpoint said; an object that cannot be read, which is named.
  static Result<std::unique_ptr<EtcdStore>> open(net::AsioLoop& loop, EtcdOptions options);
  ~EtcdStore() override;

  /// The text that all processes over this prefix have under a name: the first that was offered.
  /// It is no object, and in no list.
  Result<std::string> agree(const std::string& name, const std::string& offered);

  bool shared() const override { return true; }
  std::uint64_t revision() const override;
  std::optional<api::Object> get(const store::GroupKind& kind, const api::Key& key) const override;
  store::ObjectList list(const store::ListOptions& what) const override;
  Result<api::Object> put(api::json::value document, std::uint64_t expected,
                          const store::Check& check) override {
    return put_counted(std::move(document), expected, check, {});
  }
  Result<api::Object> put_counted(api::json::value document, std::uint64_t expected,
                                  const store::Check& check,
                                  const std::vector<std::string>& names) override;
  Result<api::Object> erase(api::json::value document, std::uint64_t expected) override;
  /// From a revision that etcd has and this store has not heard of yet, the watch waits for it.
  Result<std::unique_ptr<store::Subscription>> watch(const store::WatchOptions& options,
                                                     store::Sink sink) override;

 private:
  struct State;
  explicit EtcdStore(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

} // namespace berth::etcd
