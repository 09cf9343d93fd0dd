// The Store of a lasting cluster: served from memory, kept in a journal. While a batch of writes is
// on its way to the disk, beside the loop, the next one is gathered.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "berth/base/background.h"
#include "berth/base/loop.h"
#include "berth/store/journal.h"
#include "berth/store/memory_store.h"

namespace berth::store {

/// When a batch cannot be written, e.g. on a full disk, its writes and those gathered since are
/// undone as further writes, so that what is served is what is kept; whoever waits for them is
/// told. Until there is room again, which is tried at most once a second, every put and erase is
/// Internal and says why.
class JournaledStore final : public Store {
 public:
  static constexpr MemoryStore::Options kOptions{.history_bytes = std::size_t{64} * 1024 * 1024};

  /// With what the journal holds. The loop must outlive the store. Batches are written by
  /// `background`; null: on the loop. Errors: as Journal::open and load.
  static Result<std::unique_ptr<JournaledStore>>
  open(Loop& loop, const std::string& path, std::unique_ptr<Background> background = nullptr,
       MemoryStore::Options memory = kOptions);
  JournaledStore(Loop& loop, std::unique_ptr<Journal> journal, const Journaled& found,
                 std::unique_ptr<Background> background = nullptr,
                 MemoryStore::Options memory = kOptions);
  /// Writes what is left.
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
  using Waiting = std::vector<std::function<void(const Result<void>&)>>;
  /// Writes that become durable together, and who waits for it.
  struct Turn {
    Batch batch;
    Waiting waiting;
    Result<void> outcome;
  };

  Result<void> writable();
  void touched();
  void write();
  void written();
  void give_up(Turn& failed);
  void undo(const Batch& lost);

  Loop* loop_;
  std::unique_ptr<Journal> journal_;
  MemoryStore memory_;
  Turn gathered_;                 ///< since the last one began to be written
  bool dirty_ = false;            ///< somebody has written to gathered_, who is to be kept
  std::shared_ptr<Turn> writing_; ///< on its way to the disk; or null
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  Result<void> state_; ///< an error from a batch that failed until there is room again
  TimePoint tried_;    ///< of such an error: when room was last looked for
  std::unique_ptr<Background> background_;
};

} // namespace berth::store
