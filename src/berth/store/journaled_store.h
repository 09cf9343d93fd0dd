// The Store of a lasting cluster: served from memory, kept in a journal. Writes of one turn of the
// loop become durable together.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "berth/base/loop.h"
#include "berth/store/journal.h"
#include "berth/store/memory_store.h"

namespace berth::store {

/// When a commit fails, e.g. on a full disk, its writes are undone as further writes, so that what
/// is served is what is kept; whoever waits for them is told. Until there is room again, which is
/// tried at most once a second, every put and erase is Internal and says why.
class JournaledStore final : public Store {
 public:
  static constexpr MemoryStore::Options kOptions{.history_bytes = std::size_t{64} * 1024 * 1024};

  /// With what the journal holds. The loop must outlive the store. Errors: as Journal::open and
  /// load.
  static Result<std::unique_ptr<JournaledStore>> open(Loop& loop, const std::string& path,
                                                      MemoryStore::Options memory = kOptions);
  JournaledStore(Loop& loop, std::unique_ptr<Journal> journal, const Journaled& found,
                 MemoryStore::Options memory = kOptions);
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

 private:
  /// Who is where, and the version that the file has of it.
  using Kept = std::map<std::pair<GroupKind, api::Key>, std::optional<api::Object>>;

  Result<void> writable();
  void touched();
  void commit();
  void undo();
  void remember(const api::Object& written, const std::optional<api::Object>& before);

  Loop* loop_;
  std::unique_ptr<Journal> journal_;
  MemoryStore memory_;
  Kept kept_; ///< of what was written since the last commit
  std::vector<std::function<void(const Result<void>&)>> waiting_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  bool dirty_ = false;
  Result<void> state_; ///< an error from a commit that failed until there is room again
  TimePoint tried_;    ///< of such an error: when room was last looked for
};

} // namespace berth::store
