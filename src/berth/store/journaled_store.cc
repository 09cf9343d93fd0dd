#include "berth/store/journaled_store.h"

#include <utility>

#include <boost/json/value.hpp>

#include "berth/base/log.h"
#include "berth/store/document.h"

namespace berth::store {
namespace {

constexpr Duration kBetweenTries = Duration::seconds(1);

} // namespace

Result<std::unique_ptr<JournaledStore>> JournaledStore::open(Loop& loop, const std::string& path,
                                                             MemoryStore::Options memory) {
  BERTH_TRY(auto journal, Journal::open(path));
  BERTH_TRY(const Journaled found, journal->load());
  return std::make_unique<JournaledStore>(loop, std::move(journal), found, memory);
}

JournaledStore::JournaledStore(Loop& loop, std::unique_ptr<Journal> journal, const Journaled& found,
                               MemoryStore::Options memory)
    : loop_(&loop), journal_(std::move(journal)), memory_(memory) {
  memory_.restore(found.objects, found.revision);
}

JournaledStore::~JournaledStore() {
  *alive_ = false;
  if (dirty_) {
    commit();
  }
}

Result<api::Object> JournaledStore::put(api::json::value document, std::uint64_t expected,
                                        const Check& check) {
  BERTH_CHECK(writable());
  std::optional<api::Object> before;
  const Check remembering = [&](const api::Object& next) -> Result<void> {
    before = memory_.get(group_kind(next), next.key());
    return check ? check(next) : Result<void>();
  };
  touched(); // before watches hear of it: what they do may wait for the commit
  auto written = memory_.put(std::move(document), expected, remembering);
  if (written) {
    journal_->put(*written);
    remember(*written, before);
  }
  return written;
}

Result<api::Object> JournaledStore::erase(api::json::value document, std::uint64_t expected) {
  BERTH_CHECK(writable());
  touched();
  BERTH_TRY(const api::Object asked, api::Object::from_json(document));
  const auto before = memory_.get(group_kind(asked), asked.key());
  auto last = memory_.erase(std::move(document), expected);
  if (last) {
    journal_->erase(group_kind(*last), last->key(), memory_.revision());
    remember(*last, before);
  }
  return last;
}

void JournaledStore::remember(const api::Object& written,
                              const std::optional<api::Object>& before) {
  kept_.try_emplace({group_kind(written), written.key()}, before);
}

/// The error that keeps writes away, unless there is room by now.
Result<void> JournaledStore::writable() {
  if (state_ || loop_->now() - tried_ < kBetweenTries) {
    return state_;
  }
  tried_ = loop_->now();
  if (auto room = journal_->try_room(); room) {
    log(LogLevel::Info, "store", "there is room again: writing goes on");
    state_ = {};
  } else {
    state_ = fail(Code::Internal, room.error().message);
  }
  return state_;
}

void JournaledStore::touched() {
  if (std::exchange(dirty_, true)) {
    return;
  }
  loop_->post([this, alive = alive_] {
    if (*alive && dirty_) {
      commit();
    }
  });
}

void JournaledStore::commit() {
  dirty_ = false;
  const auto committed = journal_->commit();
  if (committed) {
    kept_.clear();
  } else {
    state_ = fail(Code::Internal, committed.error().message);
    tried_ = loop_->now();
    log(LogLevel::Error, "store", to_string(committed.error()));
  }
  for (const auto& then : std::exchange(waiting_, {})) {
    then(committed);
  }
  if (!committed && *alive_) {
    undo();
  }
}

/// What is in memory alone goes back to the versions that the file has, under numbers of its own,
/// which the journal gets with the next commit. Watches see it happen.
void JournaledStore::undo() {
  for (const auto& [at, kept] : std::exchange(kept_, {})) {
    const auto current = memory_.get(at.first, at.second);
    const std::uint64_t version = current ? current->meta().resource_version : 0;
    if (kept) {
      if (const auto written = memory_.put(editable(kept->json()), version, Check())) {
        journal_->put(*written);
      }
    } else if (current && memory_.erase(editable(current->json()), version)) {
      journal_->erase(at.first, at.second, memory_.revision());
    }
  }
}

void JournaledStore::when_durable(std::function<void(const Result<void>&)> then) {
  if (dirty_) {
    waiting_.push_back(std::move(then));
  } else {
    then({});
  }
}

} // namespace berth::store
