// The Store in memory: what a simulated or embedded cluster runs on.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "berth/store/store.h"
#include "berth/store/watch_index.h"

namespace berth::store {

/// Reads and writes are O(log objects of the kind) plus the watches concerned; a list of one node's
/// pods is O(those pods), of one namespace O(its objects). Every kind has its own history, so that
/// a busy kind does not expire the watches of a quiet one.
class MemoryStore final : public Store {
 public:
  struct Options {
    std::size_t history = 4096;        ///< changes kept per kind for watches that start in the past
    std::size_t bookmark_every = 1024; ///< changes of a kind between bookmarks to its watches
    std::size_t history_bytes = 0;     ///< of JSON that a kind's history may hold; 0: any
  };

  MemoryStore() : MemoryStore(Options()) {}
  explicit MemoryStore(Options options) : options_(options) {}

  std::uint64_t revision() const override { return revision_; }
  std::optional<api::Object> get(const GroupKind& kind, const api::Key& key) const override;
  ObjectList list(const ListOptions& what) const override;
  Result<api::Object> put(api::json::value document, std::uint64_t expected,
                          const Check& check) override;
  Result<api::Object> erase(api::json::value document, std::uint64_t expected) override;
  Result<std::unique_ptr<Subscription>> watch(const WatchOptions& options, Sink sink) override;

  /// Objects of all kinds.
  std::size_t size() const;

  /// What an earlier process left: to be called once, before anything else. Watches from before
  /// then are Expired.
  void restore(std::span<const api::Object> objects, std::uint64_t revision);

  /// A write that another store has made and numbered, no lower than those before: `now` with its
  /// resourceVersion, for a removal the last state with the removal's. Watches hear of it.
  void adopt(api::Object now, Change::Kind kind);
  /// Up to `revision` nothing more is known of what happened: watches from before are Expired.
  void forget_until(std::uint64_t revision);
  /// Of all kinds, ordered by kind, namespace and name. O(objects).
  std::vector<api::Object> all() const;

 private:
  /// Everything of one kind.
  struct Shelf {
    std::map<api::Key, api::Object> objects;
    std::map<std::string, std::set<api::Key>, std::less<>> by_node; ///< pods: bound ones
    std::deque<Change> history;
    std::size_t history_bytes = 0; ///< 0 while nobody counts them
    std::uint64_t forgotten = 0;   ///< revision of the newest change no longer in history
    std::size_t since_bookmark = 0;
    WatchIndex watches;
  };

  static bool is_cluster_scoped(const Shelf& shelf);
  std::shared_ptr<Shelf>& shelf_of(const GroupKind& kind);
  Result<api::Object> numbered(api::json::value document) const;
  static Result<api::Object> current(const Shelf& shelf, const api::Object& next,
                                     std::uint64_t expected);
  static void reindex(Shelf& shelf, const Change& change);
  void commit(Shelf& shelf, Change change);
  std::size_t bytes_of(const Change& change) const;
  void forget(Shelf& shelf) const;
  static void replay(const Shelf& shelf, const WatchOptions& options, const Sink& sink);

  Options options_;
  std::uint64_t revision_ = 1;
  std::uint64_t restored_ = 0; ///< the revision that restore() brought
  std::map<GroupKind, std::shared_ptr<Shelf>> shelves_;
};

} // namespace berth::store
