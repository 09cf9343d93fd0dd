// The Store of a lasting cluster: served from memory, kept in a journal. Writes of one turn of the
// loop become durable together.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "berth/base/loop.h"
#include "berth/store/journal.h"
#include "berth/store/memory_store.h"

namespace berth::store {

/// After a commit has failed nothing more is written: every put and erase is Unavailable and says
/// why, since memory holds what the disk does not.
class JournaledStore final : public Store {
 public:
  /// With what the journal holds. The loop must outlive the store. Errors: as Journal::open and
  /// load.
  static Result<std::unique_ptr<JournaledStore>> open(Loop& loop, const std::string& path);
  JournaledStore(Loop& loop, std::unique_ptr<Journal> journal, const Journaled& found);
  /// Commits what is left.
  ~JournaledStore() override;

  std::uint64_t revision() const override { return memory_.revision(); }
  std::optional<api::Object> get(const GroupKind& kind, const api::Key& key) const override {
    return memory_.get(kind, key);
  }
  ObjectList list(const ListOptions& what) const override { return memory_.list(what); }
  Result<api::Object> put(api::json::value document, std::uint64_t expected,
                          const Check& check) override;
  Result<api::Object> erase(api::json::value document, std::uint64_t expected) override;
  Result<std::unique_ptr<Subscription>> watch(const WatchOptions& options, Sink sink) override {
    return memory_.watch(options, std::move(sink));
  }
  void when_durable(std::function<void(const Result<void>&)> then) override;

  /// A copy of the whole file, of what is durable now.
  Result<void> save_copy(const std::string& path);

 private:
  void touched();
  void commit();

  Loop* loop_;
  std::unique_ptr<Journal> journal_;
  MemoryStore memory_;
  std::vector<std::function<void(const Result<void>&)>> waiting_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  bool dirty_ = false;
  Result<void> state_; ///< an error once a commit has failed
};

} // namespace berth::store
