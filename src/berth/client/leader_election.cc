#include "berth/client/leader_election.h"

#include <utility>

#include <boost/json/value.hpp>

#include "berth/api/json.h"
#include "berth/base/log.h"

namespace berth::client {
namespace {

std::int64_t transitions_of(const api::Object& lease) {
  const api::json::value* count = api::find_path(lease.json(), "spec.leaseTransitions");
  return count != nullptr && count->is_number() ? count->to_number<std::int64_t>() : 0;
}

std::string holder_of(const api::Object& lease) {
  return std::string(api::string_at(lease.json(), "spec.holderIdentity"));
}

Duration duration_of(const api::Object& lease) {
  const api::json::value* seconds = api::find_path(lease.json(), "spec.leaseDurationSeconds");
  return Duration::seconds(
      seconds != nullptr && seconds->is_number() ? seconds->to_number<std::int64_t>() : 0);
}

} // namespace

struct LeaderElection::State : std::enable_shared_from_this<LeaderElection::State> {
  State(Client& c, Loop& l, ElectionOptions o, Task lead, Task lost)
      : client(&c), loop(&l), options(std::move(o)), on_lead(std::move(lead)),
        on_lost(std::move(lost)), retry(l), deadline(l) {}

  void look() {
    retry.set(options.retry_period, [this] { look(); });
    if (std::exchange(asking, true)) {
      return; // an answer is still on its way
    }
    client->get(kLeases, {options.ns, options.name},
                [weak = weak_from_this()](const Result<api::Object>& lease) {
                  if (const auto self = weak.lock(); self && !self->stopped) {
                    self->asking = false;
                    self->saw(lease);
                  }
                });
  }

  void saw(const Result<api::Object>& lease) {
    if (!lease) {
      if (lease.error().code == Code::NotFound) {
        make();
      } else {
        log(LogLevel::Warn, "election", to_string(lease.error()));
      }
      return;
    }
    if (!seen || seen->bytes() != lease->bytes()) {
      seen = *lease;
      changed = loop->now();
      leader = holder_of(*lease);
    }
    if (leading && leader != options.identity) {
      lose();
      return;
    }
    const bool held = !leader.empty() && changed + duration_of(*lease) > loop->now();
    if (leader == options.identity || !held) {
      take(*lease);
    }
  }

  api::json::object spec(std::int64_t transitions, const std::string& acquired) const {
    return {{"holderIdentity", options.identity},
            {"leaseDurationSeconds", options.lease_duration.count_seconds()},
            {"acquireTime", acquired},
            {"renewTime", to_rfc3339_micro(loop->now())},
            {"leaseTransitions", transitions}};
  }

  void make() {
    const std::string now = to_rfc3339_micro(loop->now());
    auto lease = api::Object::from_json(api::json::object{
        {"apiVersion", "coordination.k8s.io/v1"},
        {"kind", "Lease"},
        {"metadata", api::json::object{{"name", options.name}, {"namespace", options.ns}}},
        {"spec", spec(0, now)}});
    asking = writing = true;
    client->create(*std::move(lease), written());
  }

  void take(const api::Object& lease) {
    const bool mine = holder_of(lease) == options.identity;
    const std::string acquired = mine
                                     ? std::string(api::string_at(lease.json(), "spec.acquireTime"))
                                     : to_rfc3339_micro(loop->now());
    asking = writing = true;
    client->update(lease.edit([&](api::json::object& document) {
      document["spec"] = spec(transitions_of(lease) + (mine ? 0 : 1), acquired);
    }),
                   Subresource::None, written());
  }

  /// The Lease says what was written, or somebody was faster: the next look tells.
  Done<api::Object> written() {
    return [weak = weak_from_this()](const Result<api::Object>& lease) {
      const auto self = weak.lock();
      if (!self) {
        return;
      }
      self->asking = self->writing = false;
      if (self->when_written) {
        self->seen = lease ? *lease : self->seen;
        self->give_away(std::exchange(self->when_written, nullptr));
      }
      if (self->stopped) {
        return;
      }
      if (!lease) {
        if (lease.error().code != Code::Conflict && lease.error().code != Code::AlreadyExists) {
          log(LogLevel::Warn, "election", to_string(lease.error()));
        }
        return;
      }
      self->seen = *lease;
      self->changed = self->loop->now();
      self->leader = self->options.identity;
      self->deadline.set(self->options.renew_deadline, [raw = self.get()] { raw->lose(); });
      if (!std::exchange(self->leading, true) && self->on_lead) {
        self->on_lead();
      }
    };
  }

  void lose() {
    const auto self = shared_from_this();
    leading = false;
    stop();
    if (on_lost) {
      on_lost();
    }
  }

  void stop() {
    stopped = true;
    retry.cancel();
    deadline.cancel();
  }

  void release(Task done) {
    const bool held = std::exchange(leading, false);
    stop();
    if (!held) {
      loop->post(std::move(done));
    } else if (writing) { // of a version that a renewal on its way is about to replace
      when_written = std::move(done);
    } else {
      give_away(std::move(done));
    }
  }

  void give_away(Task done) {
    client->update(seen->edit([&](api::json::object& document) {
      api::json::object& lease = api::object_at(document, "spec");
      lease["holderIdentity"] = "";
      lease["leaseDurationSeconds"] = 1;
      lease["renewTime"] = to_rfc3339_micro(loop->now());
    }),
                   Subresource::None,
                   [done = std::move(done)](const Result<api::Object>&) { done(); });
  }

  Client* client;
  Loop* loop;
  ElectionOptions options;
  Task on_lead;
  Task on_lost;
  Timer retry;
  Timer deadline; ///< of a leader: runs out if no renewal succeeds
  bool asking = false;
  bool writing = false;
  Task when_written; ///< of who gives the lead away meanwhile
  bool leading = false;
  bool stopped = false;
  std::optional<api::Object> seen;
  TimePoint changed; ///< when `seen` was first seen
  std::string leader;
};

LeaderElection::LeaderElection(Client& client, Loop& loop, ElectionOptions options, Task on_lead,
                               Task on_lost)
    : state_(std::make_shared<State>(client, loop, std::move(options), std::move(on_lead),
                                     std::move(on_lost))) {
  state_->look();
}

LeaderElection::~LeaderElection() {
  state_->stop();
  state_->on_lead = nullptr;
  state_->on_lost = nullptr;
}

bool LeaderElection::leading() const {
  return state_->leading;
}

const std::string& LeaderElection::leader() const {
  return state_->leader;
}

void LeaderElection::release(Task done) {
  state_->release(std::move(done));
}

} // namespace berth::client
