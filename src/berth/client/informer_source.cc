#include "berth/client/informer_source.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "berth/base/log.h"

namespace berth::client {
namespace {

bool same_selection(const ListOptions& a, const ListOptions& b) {
  const auto parts = [](const ListOptions& of) {
    return std::tie(of.kind, of.ns, of.labels, of.node, of.name, of.fields);
  };
  return parts(a) == parts(b);
}

} // namespace

InformerSource::InformerSource(Client& client, Loop& loop, ListOptions what)
    : client_(&client), loop_(&loop), what_(std::move(what)), retry_(loop) {}

InformerSource::~InformerSource() {
  retry_.cancel();
}

void InformerSource::join(const std::shared_ptr<Reader>& reader) {
  readers_.push_back(reader);
  if (round_ == 0) {
    list();
  }
  if (!begun_) {
    reader->caught_up = true;
    return;
  }
  loop_->post([weak = weak_from_this(), reader] {
    if (const auto self = weak.lock()) {
      self->catch_up(reader);
    }
  });
}

void InformerSource::leave(const std::shared_ptr<Reader>& reader) {
  reader->stopped = true;
  std::erase(readers_, reader);
  if (ended()) {
    ++round_;
    retry_.cancel();
    watch_.reset();
  }
}

void InformerSource::on_sync(const std::shared_ptr<Reader>& reader, Task task) {
  if (!synced(*reader)) {
    reader->when_synced.push_back(std::move(task));
    return;
  }
  loop_->post([reader, task = std::move(task)] {
    if (!reader->stopped) {
      task();
    }
  });
}

void InformerSource::list() {
  client_->list(what_,
                [weak = weak_from_this(), turn = ++round_](const Result<ObjectList>& listed) {
                  if (const auto self = weak.lock(); self && self->round_ == turn) {
                    self->listed(listed);
                  }
                });
}

void InformerSource::listed(const Result<ObjectList>& result) {
  // A server that lags behind what was seen already must not take the world back in time.
  if (!result || result->resource_version < cache_.newest()) {
    list_later(result ? "the list is older than what was seen" : to_string(result.error()));
    return;
  }
  begun_ = true;
  report(cache_.replace(*result));
  if (ended()) {
    return;
  }
  watch_from(result->resource_version);
  if (std::exchange(synced_, true)) {
    return;
  }
  for (const auto& reader : std::vector(readers_)) {
    if (reader->caught_up) {
      tell_synced(*reader);
    }
  }
}

void InformerSource::watch_from(std::uint64_t revision) {
  watch_ =
      client_->watch({.what = what_, .since = revision},
                     [weak = weak_from_this(), turn = round_](const Result<WatchEvent>& event) {
                       if (const auto self = weak.lock(); self && self->round_ == turn) {
                         self->happened(event);
                       }
                     });
}

void InformerSource::happened(const Result<WatchEvent>& event) {
  if (event) {
    report(cache_.apply(*event));
    return;
  }
  ++round_; // nothing more from this watch
  watch_.reset();
  list_later(to_string(event.error()));
}

void InformerSource::list_later(const std::string& why) {
  const Duration delay = backoff_.next(loop_->now());
  log(LogLevel::Debug, "informer",
      what_.kind.kind + ": listing again in " + to_string(delay) + ": " + why);
  retry_.set(delay, [this] { list(); });
}

// Readers may come and go while they are told: who comes is told of everything later.
void InformerSource::report(const std::vector<Difference>& differences) {
  const auto readers = readers_;
  for (const Difference& difference : differences) {
    if (ended()) {
      return;
    }
    cache_.hold(difference);
    for (const auto& reader : readers) {
      if (reader->caught_up && !reader->stopped) {
        reader->on_change(difference.before, difference.now);
      }
    }
  }
}

void InformerSource::catch_up(const std::shared_ptr<Reader>& reader) {
  if (reader->stopped) {
    return;
  }
  reader->caught_up = true;
  for (const auto& [key, object] : std::map(cache_.objects())) {
    if (reader->stopped) {
      return;
    }
    reader->on_change({}, object);
  }
  if (synced_) {
    tell_synced(*reader);
  }
}

void InformerSource::tell_synced(Reader& reader) {
  for (Task& task : std::exchange(reader.when_synced, {})) {
    if (!reader.stopped) {
      task();
    }
  }
}

std::shared_ptr<InformerSource> InformerSources::of(Client& client, Loop& loop,
                                                    const ListOptions& what) {
  auto& of_kind = used_[what.kind];
  std::erase_if(of_kind, [](const auto& each) {
    const auto source = each.second.lock();
    return source == nullptr || source->ended();
  });
  const auto found = std::ranges::find_if(
      of_kind, [&](const auto& each) { return same_selection(each.first, what); });
  if (found != of_kind.end()) {
    return found->second.lock();
  }
  auto made = std::make_shared<InformerSource>(client, loop, what);
  of_kind.emplace_back(what, made);
  return made;
}

} // namespace berth::client
