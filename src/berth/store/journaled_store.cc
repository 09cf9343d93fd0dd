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
                                                             std::unique_ptr<Background> background,
                                                             MemoryStore::Options memory) {
  BERTH_TRY(auto journal, Journal::open(path));
  BERTH_TRY(const Journaled found, journal->load());
  return std::make_unique<JournaledStore>(loop, std::move(journal), found, std::move(background),
                                          memory);
}

JournaledStore::JournaledStore(Loop& loop, std::unique_ptr<Journal> journal, const Journaled& found,
                               std::unique_ptr<Background> background, MemoryStore::Options memory)
    : loop_(&loop), journal_(std::move(journal)), memory_(memory),
      background_(background ? std::move(background) : std::make_unique<Foreground>(loop)) {
  memory_.restore(found.objects, found.revision);
}

JournaledStore::~JournaledStore() {
  *alive_ = false;
  background_.reset(); // the journal is this thread's again
  if (writing_ != nullptr && !writing_->outcome) {
    log(LogLevel::Error, "store", to_string(writing_->outcome.error()));
    gathered_.batch.add_older(writing_->batch);
  }
  if (dirty_) {
    if (const auto kept = journal_->write(gathered_.batch); !kept) {
      log(LogLevel::Error, "store", to_string(kept.error()));
    }
  }
}

Result<api::Object> JournaledStore::put(api::json::value document, std::uint64_t expected,
                                        const Check& check) {
  BERTH_CHECK(writable());
  api::Object before;
  const Check remembering = [&](const api::Object& next) -> Result<void> {
    before = memory_.get(group_kind(next), next.key()).value_or(api::Object());
    return check ? check(next) : Result<void>();
  };
  touched(); // before watches hear of it: what they do may wait for the disk
  auto written = memory_.put(std::move(document), expected, remembering);
  if (written) {
    gathered_.batch.put(*written, std::move(before));
  }
  return written;
}

Result<api::Object> JournaledStore::erase(api::json::value document, std::uint64_t expected) {
  BERTH_CHECK(writable());
  touched();
  BERTH_TRY(const api::Object asked, api::Object::from_json(document));
  auto before = memory_.get(group_kind(asked), asked.key());
  auto last = memory_.erase(std::move(document), expected);
  if (last) {
    gathered_.batch.erase(*last, *std::move(before));
  }
  return last;
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
  if (std::exchange(dirty_, true) || writing_ != nullptr) {
    return;
  }
  loop_->post([this, alive = alive_] {
    if (*alive && writing_ == nullptr && dirty_) {
      write();
    }
  });
}

/// Hands what is gathered to the journal.
void JournaledStore::write() {
  dirty_ = false;
  writing_ = std::make_shared<Turn>(std::exchange(gathered_, {}));
  background_->run(
      [journal = journal_.get(), turn = writing_] {
        turn->outcome =
            turn->batch.empty() ? Result<void>() : journal->write(turn->batch); // refused writes
      },
      [this, alive = alive_] {
        if (*alive) {
          written();
        }
      });
}

void JournaledStore::written() {
  const auto turn = std::exchange(writing_, nullptr);
  if (!turn->outcome) {
    give_up(*turn);
    return;
  }
  for (const auto& then : turn->waiting) {
    then({});
  }
  if (dirty_ && writing_ == nullptr) {
    write();
  }
}

void JournaledStore::give_up(Turn& failed) {
  state_ = fail(Code::Internal, failed.outcome.error().message);
  tried_ = loop_->now();
  log(LogLevel::Error, "store", to_string(failed.outcome.error()));
  dirty_ = false;
  Turn later = std::exchange(gathered_, {});
  for (const Waiting* waiting : {&failed.waiting, &later.waiting}) {
    for (const auto& then : *waiting) {
      then(failed.outcome);
    }
  }
  later.batch.add_older(failed.batch);
  undo(later.batch);
}

/// What is in memory alone goes back to the versions that the file has, under numbers of its own,
/// which the journal gets with the next batch. Watches see it happen.
void JournaledStore::undo(const Batch& lost) {
  for (const auto& [at, entry] : lost.entries()) {
    auto current = memory_.get(at.first, at.second);
    const std::uint64_t version = current ? current->meta().resource_version : 0;
    if (entry.before) {
      if (const auto back = memory_.put(editable(entry.before.json()), version, Check())) {
        gathered_.batch.put(*back, entry.before);
      }
    } else if (current) {
      if (const auto last = memory_.erase(editable(current->json()), version)) {
        gathered_.batch.erase(*last, {});
      }
    }
  }
}

void JournaledStore::when_durable(std::function<void(const Result<void>&)> then) {
  if (dirty_) {
    gathered_.waiting.push_back(std::move(then));
  } else if (writing_ != nullptr) {
    writing_->waiting.push_back(std::move(then));
  } else {
    then({});
  }
}

} // namespace berth::store
