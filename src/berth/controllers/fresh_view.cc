#include "berth/controllers/fresh_view.h"

#include <utility>

#include "berth/api/same.h"
#include "berth/client/informer.h"
#include "berth/controllers/finalizers.h"

namespace berth::controllers {

using api::Key;
using api::Object;

namespace {
/// An own write that no watch has confirmed by then is checked with a read: its object may have
/// been created and deleted between two relists, and would otherwise be believed in for ever.
constexpr Duration kConfirmWithin = Duration::seconds(30);
} // namespace

struct FreshView::State : std::enable_shared_from_this<FreshView::State> {
  State(client::Client& c, Loop& l, Spec s)
      : client(c), loop(l), spec(std::move(s)), check_timer(l) {}

  client::Client& client;
  Loop& loop;
  Spec spec;
  std::map<std::string, std::set<Key>, std::less<>> index;
  std::map<Key, Object> own; ///< own writes that the informer has not reached
  std::map<Key, std::string>
      tombstones; ///< known to be gone while the informer still shows this uid
  Timer check_timer;
  std::unique_ptr<client::Informer> informer;
  std::vector<Task> sync_tasks; ///< of before the start

  void start() {
    if (informer) {
      return;
    }
    informer = std::make_unique<client::Informer>(
        client, loop, spec.what,
        [this](const Object& old, const Object& now) { informed(old, now); });
    for (Task& task : sync_tasks) {
      informer->on_sync(std::move(task));
    }
    sync_tasks.clear();
  }

  const std::map<Key, Object>& shown() const {
    static const std::map<Key, Object> kNone;
    return informer ? informer->all() : kNone;
  }

  bool is_gone(const Key& key, const Object& object) const {
    const auto tomb = tombstones.find(key);
    return tomb != tombstones.end() && tomb->second == object.meta().uid;
  }

  const Object* find(const Key& key) const {
    if (const auto mine = own.find(key); mine != own.end()) {
      return &mine->second;
    }
    const Object* object = informer ? informer->find(key) : nullptr;
    return object == nullptr || is_gone(key, *object) ? nullptr : object;
  }

  void informed(const Object& old, const Object& now) {
    if (own.empty() && tombstones.empty()) {
      changed(old, now);
      return;
    }
    const Key key = (now ? now : old).key();
    const auto mine = own.find(key);
    const Object held = mine != own.end()           ? mine->second
                        : !old || is_gone(key, old) ? Object()
                                                    : old;
    if (!now) {
      tombstones.erase(key);
      if (held && held.meta().uid == old.meta().uid) {
        confirm(key);
        changed(held, now);
      }
      return;
    }
    if (is_gone(key, now)) {
      return;
    }
    tombstones.erase(key);
    if (held && held.meta().resource_version > now.meta().resource_version) {
      bury_others(key, held.meta().uid);
      return;
    }
    confirm(key);
    if (!held || held.meta().resource_version < now.meta().resource_version) {
      changed(held, now);
    }
  }

  void wrote(const Object& now) {
    const Key key = now.key();
    const Object* held = find(key);
    if (is_gone(key, now) ||
        (held != nullptr && held->meta().resource_version >= now.meta().resource_version)) {
      return;
    }
    const Object before = held == nullptr ? Object() : *held;
    bury_others(key, now.meta().uid);
    own.insert_or_assign(key, now);
    arm();
    changed(before, now);
  }

  /// Where there is an object of this uid, another that the informer shows has gone.
  void bury_others(const Key& key, const std::string& uid) {
    const Object* object = informer ? informer->find(key) : nullptr;
    if (object != nullptr && object->meta().uid != uid) {
      tombstones.insert_or_assign(key, object->meta().uid);
    }
  }

  void gone(const Key& key, const std::string& uid) {
    const Object* held = find(key);
    const Object before = held == nullptr ? Object() : *held;
    const Object* object = informer ? informer->find(key) : nullptr;
    if (object != nullptr && object->meta().uid == uid) {
      tombstones.insert_or_assign(key, uid);
    }
    if (before && before.meta().uid == uid) {
      confirm(key);
      changed(before, Object());
    }
  }

  void changed(const Object& old, const Object& now) {
    reindex(old, now);
    if (spec.on_change) {
      spec.on_change(old, now);
    }
  }

  /// Most changes leave an object under the names that it had.
  void reindex(const Object& old, const Object& now) {
    if (!spec.index_of) {
      return;
    }
    using Names = std::vector<std::string>;
    const Names before = old ? spec.index_of(old) : Names();
    Names after = now ? spec.index_of(now) : Names();
    if (before == after) {
      return;
    }
    const Key key = (now ? now : old).key();
    for (const std::string& name : before) {
      const auto it = index.find(name);
      if (it == index.end()) {
        continue;
      }
      it->second.erase(key);
      if (it->second.empty()) {
        index.erase(it);
      }
    }
    for (std::string& name : after) {
      index[std::move(name)].insert(key);
    }
  }

  void confirm(const Key& key) {
    if (own.erase(key) > 0 && own.empty()) {
      check_timer.cancel();
    }
  }

  void arm() {
    if (!check_timer.armed()) {
      check_timer.set(kConfirmWithin, [this] { check(); });
    }
  }

  void check() {
    for (const auto& [key, object] : own) {
      client.get(spec.what.kind, key,
                 [weak = weak_from_this(), key, uid = object.meta().uid](Result<Object> found) {
                   if (const auto self = weak.lock()) {
                     self->checked(key, uid, found);
                   }
                 });
    }
    arm();
  }

  void checked(const Key& key, const std::string& uid, const Result<Object>& found) {
    if (found && found->meta().uid == uid) {
      wrote(*found);
    } else if (found || found.error().code == Code::NotFound) {
      gone(key, uid);
    }
  }
};

FreshView::FreshView(client::Client& client, Loop& loop, Spec spec)
    : state_(std::make_shared<State>(client, loop, std::move(spec))) {
  if (state_->spec.start == Start::AtOnce) {
    state_->start();
  }
}

FreshView::~FreshView() {
  // No callback may reach the owner, which is going too.
  state_->spec.on_change = nullptr;
  state_->check_timer.cancel();
  state_->informer.reset();
}

void FreshView::start() {
  state_->start();
}
bool FreshView::synced() const {
  return state_->informer && state_->informer->synced();
}
void FreshView::on_sync(Task task) {
  if (state_->informer) {
    state_->informer->on_sync(std::move(task));
  } else {
    state_->sync_tasks.push_back(std::move(task));
  }
}

const Object* FreshView::find(const Key& key) const {
  return state_->find(key);
}

FreshView::Objects FreshView::all() const {
  return {state_->shown(), state_->own, state_->tombstones};
}

FreshView::Objects::Iterator& FreshView::Objects::Iterator::operator++() {
  if (!own_is_next()) {
    ++shown_;
  } else {
    if (shown_ != of_->shown_->end() && shown_->first == own_->first) {
      ++shown_;
    }
    ++own_;
  }
  skip_gone();
  return *this;
}

void FreshView::Objects::Iterator::skip_gone() {
  const auto gone = [this] {
    const auto tomb = of_->gone_->find(shown_->first);
    return tomb != of_->gone_->end() && tomb->second == shown_->second.meta().uid;
  };
  while (!own_is_next() && shown_ != of_->shown_->end() && gone()) {
    ++shown_;
  }
}

const std::set<Key>& FreshView::keyed(std::string_view name) const {
  static const std::set<Key> kNone;
  const auto it = state_->index.find(name);
  return it == state_->index.end() ? kNone : it->second;
}

void FreshView::wrote(const Object& now) {
  if (deletion_complete(now.meta())) {
    state_->gone(now.key(), now.meta().uid);
  } else {
    state_->wrote(now);
  }
}

void FreshView::removed(const Object& left) {
  // Without finalizers and grace the server deletes at once and does not even mark the object.
  if (left.meta().deletion_timestamp) {
    wrote(left);
  } else {
    state_->gone(left.key(), left.meta().uid);
  }
}

void FreshView::store_status(const Object& held, const Object& wanted,
                             std::function<void(client::Outcome)> done) {
  if (api::same(wanted.json(), held.json())) {
    done(client::Outcome::Done);
    return;
  }
  state_->client.update(wanted, client::Subresource::Status,
                        [weak = std::weak_ptr(state_), key = held.key(), uid = held.meta().uid,
                         done = std::move(done)](const Result<Object>& stored) {
                          const auto state = weak.lock();
                          if (!state) {
                            return;
                          }
                          const bool absent = !stored && stored.error().code == Code::NotFound;
                          if (stored) {
                            state->wrote(*stored);
                          } else if (absent) {
                            state->gone(key, uid);
                          }
                          done(stored || absent ? client::Outcome::Done : client::Outcome::Retry);
                        });
}

void FreshView::gone(const Key& key, const std::string& uid) {
  state_->gone(key, uid);
}

} // namespace berth::controllers
