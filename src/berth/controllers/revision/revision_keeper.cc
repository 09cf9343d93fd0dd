#include "berth/controllers/revision/revision_keeper.h"

#include <algorithm>
#include <utility>

#include <boost/json/object.hpp>

#include "berth/api/json.h"
#include "berth/controllers/adoption.h"
#include "berth/controllers/fields.h"
#include "berth/controllers/fresh_view.h"
#include "berth/controllers/gather.h"
#include "berth/controllers/revision/revision.h"

namespace berth::controllers {

using api::Object;
using client::Outcome;

namespace {

namespace json = api::json;

constexpr std::int64_t kHistory = 10;

bool same_data(const Object& revision, const json::value& data) {
  const json::value* held = api::find(revision.json(), "data");
  return held != nullptr && *held == data;
}

} // namespace

struct RevisionKeeper::State : std::enable_shared_from_this<RevisionKeeper::State> {
  using Then = std::function<void(std::optional<Current>)>;

  State(client::Client& c, Loop& l, Spec s)
      : client(c), spec(std::move(s)), view(c, l,
                                            {.what = {.kind = kRevisions, .ns = "", .labels = {}},
                                             .index_of = index_by_controller(spec.owner_kind),
                                             .on_change =
                                                 [this](const Object& old, const Object& now) {
                                                   tell(old);
                                                   tell(now);
                                                 },
                                             .start = FreshView::Start::WhenAsked}) {
    view.on_sync([this] { spec.synced(); });
  }

  void tell(const Object& revision) {
    const api::OwnerReference* owner = revision ? revision.meta().controller() : nullptr;
    if (owner != nullptr && owner->kind == spec.owner_kind) {
      spec.changed({revision.meta().ns, owner->name});
    }
  }

  std::vector<Object> of(const Object& set) const {
    std::vector<Object> out;
    for (const api::Key& key : view.keyed(set.key().to_string())) {
      const Object& revision = *view.find(key);
      if (revision.meta().controller()->uid == set.meta().uid &&
          !revision.meta().deletion_timestamp) {
        out.push_back(revision);
      }
    }
    sort_revisions(out);
    return out;
  }

  void ensure(const Object& set, const Then& then) {
    const std::vector<Object> revisions = of(set);
    const std::int64_t collisions = number_at(set, "status.collisionCount", 0);
    const json::value data = revision_data(set);
    const auto equal =
        std::ranges::find_if(revisions.rbegin(), revisions.rend(),
                             [&](const Object& one) { return same_data(one, data); });
    if (equal == revisions.rend()) {
      const std::int64_t number = revisions.empty() ? 1 : revision_number(revisions.back()) + 1;
      create(set, {.number = number, .collisions = collisions, .hash_label = spec.hash_label},
             then);
    } else if (equal == revisions.rbegin()) {
      then(Current{.revision = *equal, .collisions = collisions});
    } else {
      renumber(*equal, revision_number(revisions.back()) + 1, collisions, then);
    }
  }

  void create(const Object& set, const NewRevision& how, const Then& then) {
    const Object wanted = make_revision(set, how);
    client.create(wanted, [weak = weak_from_this(), set, how, then,
                           key = wanted.key()](const Result<Object>& made) {
      const auto self = weak.lock();
      if (!self) {
        return;
      }
      if (made) {
        self->view.wrote(*made);
        then(Current{.revision = *made, .collisions = how.collisions});
      } else if (made.error().code == Code::AlreadyExists) {
        self->meet(set, how, key, then);
      } else {
        then(std::nullopt);
      }
    });
  }

  /// Somebody has the name: it is ours, or the next hash is tried.
  void meet(const Object& set, const NewRevision& how, const api::Key& key, const Then& then) {
    client.get(kRevisions, key, [weak = weak_from_this(), set, how, then](Result<Object> held) {
      const auto self = weak.lock();
      if (!self) {
        return;
      }
      const api::OwnerReference* owner = held ? held->meta().controller() : nullptr;
      if (!held) {
        then(std::nullopt);
      } else if (owner != nullptr && owner->uid == set.meta().uid &&
                 same_data(*held, revision_data(set))) {
        self->view.wrote(*held);
        then(Current{.revision = *held, .collisions = how.collisions});
      } else {
        NewRevision next = how;
        ++next.collisions;
        self->create(set, next, then);
      }
    });
  }

  void renumber(const Object& revision, std::int64_t number, std::int64_t collisions,
                const Then& then) {
    client.patch(kRevisions, revision.key(), json::object{{"revision", number}},
                 client::Subresource::None,
                 [weak = weak_from_this(), then, collisions](const Result<Object>& stored) {
                   const auto self = weak.lock();
                   if (!self) {
                     return;
                   }
                   if (!stored) {
                     then(std::nullopt);
                     return;
                   }
                   self->view.wrote(*stored);
                   then(Current{.revision = *stored, .collisions = collisions});
                 });
  }

  client::Client& client;
  Spec spec;
  FreshView view;
};

RevisionKeeper::RevisionKeeper(client::Client& client, Loop& loop, Spec spec)
    : state_(std::make_shared<State>(client, loop, std::move(spec))) {}

RevisionKeeper::~RevisionKeeper() = default;

void RevisionKeeper::start() {
  state_->view.start();
}

bool RevisionKeeper::synced() const {
  return state_->view.synced();
}

std::vector<Object> RevisionKeeper::of(const Object& set) const {
  return state_->of(set);
}

void RevisionKeeper::ensure(const Object& set, std::function<void(std::optional<Current>)> then) {
  state_->ensure(set, then);
}

void RevisionKeeper::trim(const Object& set, const std::vector<std::string>& live,
                          std::function<void(Outcome)> then) {
  const auto surplus = surplus_revisions(state_->of(set), live,
                                         number_at(set, "spec.revisionHistoryLimit", kHistory));
  const auto all = Gather::make(std::move(then));
  for (const Object& old : surplus) {
    state_->client.remove(
        kRevisions, old.key(), {.uid = old.meta().uid},
        [weak = std::weak_ptr<State>(state_), old, done = all->expect()](Result<Object> left) {
          const auto self = weak.lock();
          if (self && left) {
            self->view.removed(*left);
          } else if (self && left.error().code == Code::NotFound) {
            self->view.gone(old.key(), old.meta().uid);
          }
          done(left || left.error().code == Code::NotFound ? Outcome::Done : Outcome::Retry);
        });
  }
  all->close();
}

} // namespace berth::controllers
