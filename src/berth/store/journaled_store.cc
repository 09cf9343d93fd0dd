#include "berth/store/journaled_store.h"

#include <utility>

#include <boost/json/value.hpp>

#include "berth/base/log.h"

namespace berth::store {

Result<std::unique_ptr<JournaledStore>> JournaledStore::open(Loop& loop, const std::string& path) {
  BERTH_TRY(auto journal, Journal::open(path));
  BERTH_TRY(const Journaled found, journal->load());
  return std::make_unique<JournaledStore>(loop, std::move(journal), found);
}

JournaledStore::JournaledStore(Loop& loop, std::unique_ptr<Journal> journal, const Journaled& found)
    : loop_(&loop), journal_(std::move(journal)) {
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
  if (!state_) {
    return tl::unexpected(state_.error());
  }
  touched(); // before watches hear of it: what they do may wait for the commit
  auto written = memory_.put(std::move(document), expected, check);
  if (written) {
    journal_->put(*written);
  }
  return written;
}

Result<api::Object> JournaledStore::erase(api::json::value document, std::uint64_t expected) {
  if (!state_) {
    return tl::unexpected(state_.error());
  }
  touched();
  auto last = memory_.erase(std::move(document), expected);
  if (last) {
    journal_->erase(group_kind(*last), last->key(), memory_.revision());
  }
  return last;
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
  state_ = journal_->commit();
  if (!state_) {
    log(LogLevel::Error, "store", to_string(state_.error()));
  }
  for (const auto& then : std::exchange(waiting_, {})) {
    then(state_);
  }
}

void JournaledStore::when_durable(std::function<void(const Result<void>&)> then) {
  if (dirty_) {
    waiting_.push_back(std::move(then));
  } else {
    then(state_);
  }
}

Result<void> JournaledStore::save_copy(const std::string& path) {
  if (dirty_) {
    commit();
  }
  BERTH_CHECK(state_);
  return journal_->save_copy(path);
}

} // namespace berth::store
