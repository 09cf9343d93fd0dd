#include "berth/client/informer.h"

#include <optional>
#include <utility>

#include "berth/base/assert.h"
#include "berth/base/log.h"
#include "berth/client/backoff.h"
#include "berth/client/object_cache.h"

namespace berth::client {

/// list -> watch from there -> on any break, list again after a backoff. Kept alive by its own
/// tasks while they run; `stopped` keeps them from doing anything once the informer is gone.
struct Informer::State : std::enable_shared_from_this<Informer::State> {
  State(Client& c, Loop& l, ListOptions w, OnChange f)
      : client(&c), loop(&l), what(std::move(w)), on_change(std::move(f)), retry(l) {}

  void list() {
    client->list(what, [weak = weak_from_this(), turn = ++round](const Result<ObjectList>& listed) {
      if (const auto self = weak.lock(); self && !self->stopped && self->round == turn) {
        self->listed(listed);
      }
    });
  }

  void listed(const Result<ObjectList>& result) {
    // A server that lags behind what was seen already must not take the world back in time.
    if (!result || result->resource_version < cache.newest()) {
      list_later(result ? "the list is older than what was seen" : to_string(result.error()));
      return;
    }
    report(cache.replace(*result));
    if (stopped) {
      return;
    }
    watch_from(result->resource_version);
    if (!std::exchange(synced, true)) {
      for (Task& task : std::exchange(when_synced, {})) {
        if (!stopped) {
          task();
        }
      }
    }
  }

  void watch_from(std::uint64_t revision) {
    watch = client->watch({.what = what, .since = revision},
                          [weak = weak_from_this(), turn = round](const Result<WatchEvent>& event) {
                            if (const auto self = weak.lock();
                                self && !self->stopped && self->round == turn) {
                              self->happened(event);
                            }
                          });
  }

  void happened(const Result<WatchEvent>& event) {
    if (event) {
      report(cache.apply(*event));
      return;
    }
    ++round; // nothing more from this watch
    watch.reset();
    list_later(to_string(event.error()));
  }

  void list_later(const std::string& why) {
    const Duration delay = backoff.next(loop->now());
    log(LogLevel::Debug, "informer",
        what.kind.kind + ": listing again in " + to_string(delay) + ": " + why);
    retry.set(delay, [this] { list(); });
  }

  void report(const std::vector<Difference>& differences) {
    for (const Difference& difference : differences) {
      if (stopped) {
        return;
      }
      cache.hold(difference);
      on_change(difference.before, difference.now);
    }
  }

  Client* client;
  Loop* loop;
  ListOptions what;
  OnChange on_change;
  ObjectCache cache;
  Backoff backoff;
  Timer retry;
  std::unique_ptr<Watch> watch;
  std::uint64_t round = 0; ///< answers to earlier requests are ignored
  bool synced = false;
  bool stopped = false;
  std::vector<Task> when_synced;
};

Informer::Informer(Client& client, Loop& loop, ListOptions what, OnChange on_change)
    : state_(std::make_shared<State>(client, loop, std::move(what), std::move(on_change))) {
  state_->list();
}

Informer::~Informer() {
  state_->stopped = true;
  state_->retry.cancel();
  state_->watch.reset();
}

bool Informer::synced() const {
  return state_->synced;
}

void Informer::on_sync(Task task) {
  if (!state_->synced) {
    state_->when_synced.push_back(std::move(task));
    return;
  }
  state_->loop->post([weak = std::weak_ptr(state_), task = std::move(task)] {
    if (const auto state = weak.lock(); state && !state->stopped) {
      task();
    }
  });
}

const api::Object* Informer::find(const api::Key& key) const {
  const auto it = all().find(key);
  return it == all().end() ? nullptr : &it->second;
}

const std::map<api::Key, api::Object>& Informer::all() const {
  return state_->cache.objects();
}

} // namespace berth::client
