#include "berth/controllers/stateful_set/claim_keeper.h"

#include <utility>

#include <fmt/format.h>

#include "berth/controllers/fresh_view.h"
#include "berth/controllers/gather.h"
#include "berth/controllers/stateful_set/stateful_pod.h"

namespace berth::controllers {

using api::Object;
using client::EventType;
using client::Outcome;

struct ClaimKeeper::State : std::enable_shared_from_this<ClaimKeeper::State> {
  State(client::Client& c, Loop& l, client::EventRecorder& r, Spec s)
      : client(c), recorder(r), spec(std::move(s)),
        claims(c, l,
               {.what = {.kind = client::kVolumeClaims, .ns = "", .labels = {}},
                .index_of = {},
                .on_change =
                    [this](const Object& old, const Object& now) {
                      if (!now) {
                        spec.changed(old.meta().ns);
                      }
                    },
                .start = FreshView::Start::WhenAsked}) {
    claims.on_sync([this] { spec.synced(); });
  }

  void create(const Object& set, std::int64_t ordinal, const Object& claim,
              const std::function<void(Outcome)>& done) {
    client.create(claim, [weak = weak_from_this(), set, pod = stateful_name(set, ordinal),
                          name = claim.meta().name, done](const Result<Object>& made) {
      const auto self = weak.lock();
      if (!self) {
        return;
      }
      if (made) {
        self->claims.wrote(*made);
        self->recorder.record(set, EventType::Normal, "SuccessfulCreate",
                              fmt::format("create Claim {} Pod {} in StatefulSet {} success", name,
                                          pod, set.meta().name));
      } else if (made.error().code != Code::AlreadyExists) {
        self->recorder.record(
            set, EventType::Warning, "FailedCreate",
            fmt::format("create Claim {} for Pod {} in StatefulSet {} failed error: {}", name, pod,
                        set.meta().name, made.error().message));
      }
      done(made || made.error().code == Code::AlreadyExists ? Outcome::Done : Outcome::Retry);
    });
  }

  void reown(const Object& claim, api::json::value patch,
             const std::function<void(Outcome)>& done) {
    client.patch(client::kVolumeClaims, claim.key(), std::move(patch), client::Subresource::None,
                 [weak = weak_from_this(), claim, done](const Result<Object>& stored) {
                   const auto self = weak.lock();
                   if (!self) {
                     return;
                   }
                   if (stored) {
                     self->claims.wrote(*stored);
                   } else if (stored.error().code == Code::NotFound) {
                     self->claims.gone(claim.key(), claim.meta().uid);
                   }
                   done(stored || stored.error().code == Code::NotFound ? Outcome::Done
                                                                        : Outcome::Retry);
                 });
  }

  client::Client& client;
  client::EventRecorder& recorder;
  Spec spec;
  FreshView claims;
};

ClaimKeeper::ClaimKeeper(client::Client& client, Loop& loop, client::EventRecorder& recorder,
                         Spec spec)
    : state_(std::make_shared<State>(client, loop, recorder, std::move(spec))) {}

ClaimKeeper::~ClaimKeeper() = default;

void ClaimKeeper::start() {
  state_->claims.start();
}

bool ClaimKeeper::synced() const {
  return state_->claims.synced();
}

bool ClaimKeeper::waits(const Object& set, std::int64_t ordinal) const {
  for (const Object& claim : stateful_claims(set, ordinal)) {
    const Object* held = state_->claims.find(claim.key());
    if (held != nullptr && is_stale(*held, {.set = set, .pod = {}, .condemned = false})) {
      return true;
    }
  }
  return false;
}

void ClaimKeeper::ensure(const Object& set, std::int64_t ordinal,
                         std::function<void(Outcome)> then) {
  const auto all = Gather::make(std::move(then));
  for (const Object& claim : stateful_claims(set, ordinal)) {
    const Object* held = state_->claims.find(claim.key());
    if (held == nullptr) {
      state_->create(set, ordinal, claim, all->expect());
    } else if (held->meta().deletion_timestamp) {
      state_->recorder.record(
          set, EventType::Warning, "FailedCreate",
          fmt::format("create Pod {} in StatefulSet {} failed error: pvc {} is being deleted",
                      stateful_name(set, ordinal), set.meta().name, claim.meta().name));
      all->expect()(Outcome::Retry);
    }
  }
  all->close();
}

void ClaimKeeper::settle_owners(const Object& set, const std::vector<Replica>& replicas,
                                std::function<void(Outcome)> then) {
  const auto all = Gather::make(std::move(then));
  for (const Replica& replica : replicas) {
    for (const Object& claim : stateful_claims(set, replica.ordinal)) {
      const Object* held = state_->claims.find(claim.key());
      if (held == nullptr) {
        continue;
      }
      auto patch = claim_owners_patch(
          *held, {.set = set, .pod = replica.pod, .condemned = replica.condemned});
      if (!patch.is_null()) {
        state_->reown(*held, std::move(patch), all->expect());
      }
    }
  }
  all->close();
}

} // namespace berth::controllers
