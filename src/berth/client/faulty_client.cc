#include "berth/client/faulty_client.h"

#include <algorithm>
#include <map>
#include <utility>

namespace berth::client {
namespace {

/// Unconditional: a write that names no version, so that a server never refuses it as outdated.
enum class Access { Read, Write, Unconditional };

class Wire;
class LapsingLease;

tl::unexpected<Error> cut_off() {
  return fail(Code::Unavailable, "cut off from the API server");
}
tl::unexpected<Error> timed_out() {
  return fail(Code::Timeout, "the request timed out; whether it took effect is unknown");
}

} // namespace

struct FaultyClient::Line {
  Client* inner;
  Loop* loop;
  Rng rng;
  Faults faults;
  bool connected = true;
  std::uint64_t cuts = 0; ///< how often the line has been cut
  std::uint64_t next_id = 1;
  std::map<std::uint64_t, Wire*> wires{};          ///< live watches
  std::map<std::uint64_t, LapsingLease*> leases{}; ///< handed-out leases

  bool chance(unsigned permille) { return permille > 0 && rng.chance(permille, 1000); }
  Duration delay() {
    const std::int64_t longest = faults.longest_delay.count_nanos();
    return longest <= 0 ? Duration() : Duration::nanos(rng.between(0, longest));
  }

  template <class T> void answer(const Done<T>& done, Result<T> result) {
    if (done) {
      loop->after(delay(), [done, result = std::move(result)] { done(result); });
    }
  }

  /// What a write meets before it reaches the server; nullopt: nothing.
  std::optional<Error> refusal(Access access) {
    if (access == Access::Write && chance(faults.conflict_permille)) {
      return fail(Code::Conflict, "the object has been modified; please apply your changes to the "
                                  "latest version and try again")
          .value();
    }
    if (chance(faults.lost_permille)) {
      return timed_out().value();
    }
    return std::nullopt;
  }

  template <class T, class Request>
  void send(std::shared_ptr<Line> self, Access access, Done<T> done, const Request& request) {
    if (!connected) {
      answer<T>(done, cut_off());
      return;
    }
    if (access == Access::Read && chance(faults.failed_read_permille)) {
      answer<T>(done, fail(Code::Unavailable, "the API server is overloaded"));
      return;
    }
    if (access != Access::Read) {
      if (auto refused = refusal(access)) {
        answer<T>(done, tl::unexpected(*std::move(refused)));
        return;
      }
      if (chance(faults.unanswered_permille)) {
        request(Done<T>());
        answer<T>(done, timed_out());
        return;
      }
    }
    request([self = std::move(self), cut = cuts, done = std::move(done)](const Result<T>& result) {
      if (!done) {
        return;
      }
      const auto deliver = [self, cut, done](const Result<T>& answered) {
        if (self->cuts == cut) {
          done(answered);
        } else {
          done(timed_out());
        }
      };
      const Duration late = self->delay();
      if (late == Duration()) {
        deliver(result);
      } else {
        self->loop->after(late, [deliver, result] { deliver(result); });
      }
    });
  }
};

namespace {

/// One watch over the line. Events wait in timers; `over` keeps late ones from being delivered.
class Wire final : public Watch {
 public:
  using Line = FaultyClient::Line;

  Wire(std::shared_ptr<Line> line, std::function<void(Result<WatchEvent>)> on_event)
      : line_(std::move(line)), receiver_(std::make_shared<Receiver>()), id_(line_->next_id++) {
    receiver_->on_event = std::move(on_event);
    line_->wires.emplace(id_, this);
  }
  ~Wire() override {
    receiver_->over = true;
    line_->wires.erase(id_);
  }
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;

  void start(const WatchOptions& options) {
    if (!line_->connected) {
      end(cut_off().value());
      return;
    }
    inner_ =
        line_->inner->watch(options, [this](const Result<WatchEvent>& event) { carry(event); });
  }

  void end(Error error) {
    inner_.reset();
    if (std::exchange(ending_, true)) {
      return;
    }
    line_->loop->post([to = receiver_, error = std::move(error)] {
      if (!std::exchange(to->over, true)) {
        to->on_event(tl::unexpected(error));
      }
    });
  }

 private:
  struct Receiver {
    std::function<void(Result<WatchEvent>)> on_event;
    bool over = false;
  };

  void carry(const Result<WatchEvent>& event) {
    if (!event) {
      end(event.error());
      return;
    }
    Line& line = *line_;
    if (line.chance(line.faults.expire_permille) || doomed_) {
      end({.code = Code::Expired, .message = "too old resource version: the watch was dropped"});
      return;
    }
    if (line.chance(line.faults.lose_permille)) {
      doom();
      return;
    }
    deliver(*event);
    if (line.chance(line.faults.duplicate_permille)) {
      deliver(*event);
    }
  }

  /// An event was lost: the watch must not seem healthy for long, or nobody could tell.
  void doom() {
    doomed_ = true;
    line_->loop->after(line_->delay() + Duration::seconds(1), [weak = std::weak_ptr(receiver_)] {
      if (const auto to = weak.lock(); to && !std::exchange(to->over, true)) {
        to->on_event(fail(Code::Expired, "too old resource version: the watch was dropped"));
      }
    });
  }

  void deliver(const WatchEvent& event) {
    Line& line = *line_;
    const TimePoint now = line.loop->now();
    TimePoint due = now + line.delay();
    if (!line.chance(line.faults.reorder_permille)) {
      last_due_ = due = std::max(due, last_due_);
    }
    auto tell = [to = receiver_, event] {
      if (!to->over) {
        to->on_event(event);
      }
    };
    if (due <= now) { // as on any line without faults
      line.loop->post(std::move(tell));
    } else {
      line.loop->after(due - now, std::move(tell));
    }
  }

  std::shared_ptr<Line> line_;
  std::shared_ptr<Receiver> receiver_;
  std::uint64_t id_;
  std::unique_ptr<Watch> inner_;
  TimePoint last_due_;
  bool doomed_ = false;
  bool ending_ = false;
};

class LapsingLease final : public StandingLease {
 public:
  LapsingLease(std::shared_ptr<FaultyClient::Line> line, LeaseSpec spec)
      : line_(std::move(line)), spec_(std::move(spec)), id_(line_->next_id++) {
    line_->leases.emplace(id_, this);
    if (line_->connected) {
      take();
    }
  }
  ~LapsingLease() override { line_->leases.erase(id_); }
  LapsingLease(const LapsingLease&) = delete;
  LapsingLease& operator=(const LapsingLease&) = delete;

  void take() { held_ = line_->inner->hold_lease(spec_); }
  void lapse() { held_.reset(); }

 private:
  std::shared_ptr<FaultyClient::Line> line_;
  LeaseSpec spec_;
  std::uint64_t id_;
  std::unique_ptr<StandingLease> held_;
};

} // namespace

FaultyClient::FaultyClient(Client& inner, Loop& loop, Rng rng, Faults faults)
    : line_(std::make_shared<Line>(
          Line{.inner = &inner, .loop = &loop, .rng = std::move(rng), .faults = faults})) {}

FaultyClient::~FaultyClient() = default;

void FaultyClient::set_faults(const Faults& faults) {
  line_->faults = faults;
}
bool FaultyClient::connected() const {
  return line_->connected;
}

void FaultyClient::disconnect() {
  if (!std::exchange(line_->connected, false)) {
    return;
  }
  ++line_->cuts;
  for (const auto& [id, wire] : line_->wires) {
    wire->end(cut_off().value());
  }
  for (const auto& [id, lease] : line_->leases) {
    lease->lapse();
  }
}

void FaultyClient::reconnect() {
  if (std::exchange(line_->connected, true)) {
    return;
  }
  for (const auto& [id, lease] : line_->leases) {
    lease->take();
  }
}

void FaultyClient::get(const GroupKind& kind, const api::Key& key, Done<api::Object> done) {
  line_->send(line_, Access::Read, std::move(done),
              [&](auto then) { line_->inner->get(kind, key, std::move(then)); });
}

void FaultyClient::list(const ListOptions& what, Done<ObjectList> done) {
  line_->send(line_, Access::Read, std::move(done),
              [&](auto then) { line_->inner->list(what, std::move(then)); });
}

void FaultyClient::create(api::Object object, Done<api::Object> done) {
  line_->send(line_, Access::Write, std::move(done),
              [&](auto then) { line_->inner->create(object, std::move(then)); });
}

void FaultyClient::update(api::Object object, Subresource subresource, Done<api::Object> done) {
  line_->send(line_, Access::Write, std::move(done),
              [&](auto then) { line_->inner->update(object, subresource, std::move(then)); });
}

void FaultyClient::patch(const GroupKind& kind, const api::Key& key, api::json::value merge_patch,
                         Subresource subresource, Done<api::Object> done) {
  line_->send(line_, Access::Write, std::move(done), [&](auto then) { // asked once at most
    line_->inner->patch(kind, key, std::move(merge_patch), subresource, std::move(then));
  });
}

void FaultyClient::remove(const GroupKind& kind, const api::Key& key, const DeleteOptions& options,
                          Done<api::Object> done) {
  const Access access = options.resource_version ? Access::Write : Access::Unconditional;
  line_->send(line_, access, std::move(done),
              [&](auto then) { line_->inner->remove(kind, key, options, std::move(then)); });
}

void FaultyClient::bind(const Binding& binding, Done<api::Object> done) {
  line_->send(line_, Access::Write, std::move(done),
              [&](auto then) { line_->inner->bind(binding, std::move(then)); });
}

std::unique_ptr<Watch> FaultyClient::watch(const WatchOptions& options,
                                           std::function<void(Result<WatchEvent>)> on_event) {
  auto wire = std::make_unique<Wire>(line_, std::move(on_event));
  wire->start(options);
  return wire;
}

std::unique_ptr<StandingLease> FaultyClient::hold_lease(const LeaseSpec& lease) {
  return std::make_unique<LapsingLease>(line_, lease);
}

} // namespace berth::client
