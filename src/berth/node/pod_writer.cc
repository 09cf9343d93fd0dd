#include "berth/node/pod_writer.h"

#include <algorithm>
#include <memory>
#include <utility>

#include <boost/json/object.hpp>
#include <fmt/format.h>

#include "berth/api/same.h"
#include "berth/base/log.h"

namespace berth::node {
namespace {

namespace json = boost::json;

constexpr Duration kFirstBackoff = Duration::seconds(1);
constexpr Duration kLastBackoff = Duration::seconds(30);

// A merge patch that turns `from` into `to`, member by member.
json::object difference(const json::object& from, const json::object& to) {
  json::object patch;
  for (const auto& [key, value] : to) {
    const json::value* before = from.if_contains(key);
    if (!before || !api::same(*before, value)) {
      patch[key] = value;
    }
  }
  for (const auto& [key, value] : from) {
    if (!to.contains(key)) {
      patch[key] = nullptr;
    }
  }
  return patch;
}

/// Lives as long as the pod.
const json::object& status_of(const api::Object& pod) {
  static const json::object kNone;
  const json::value* status = api::find(pod.json(), "status");
  return status && status->is_object() ? status->get_object() : kNone;
}

} // namespace

struct PodWriter::State : std::enable_shared_from_this<State> {
  Loop* loop;
  client::Client* client;
  api::Object pod;
  PodWriterEvents events;
  MakeStatus make;                            ///< null: whatever it is
  bool agreed = false;                        ///< the stored status is what `make` says
  std::shared_ptr<const json::object> wanted; ///< what `make` says of `pod`; null: to be asked
  bool removal_wanted = false;
  bool removal_done = false;
  bool busy = false;
  bool gone = false;
  Timer retry;
  Duration backoff = kFirstBackoff;
  // The last write that was answered: a server that rewrites what it is given is not asked for
  // ever. A write that failed says nothing of the kind and is not kept here.
  struct Answered {
    std::shared_ptr<const json::object> sent;
    api::Object stored;
  };
  std::optional<Answered> last;

  State(Loop& on, client::Client& to, api::Object about, PodWriterEvents with)
      : loop(&on), client(&to), pod(std::move(about)), events(std::move(with)), retry(on) {}

  bool status_clean() {
    if (!make || agreed) {
      return true;
    }
    if (!wanted) {
      wanted = std::make_shared<const json::object>(make(api::find(pod.json(), "status")));
    }
    const json::object& stored = status_of(pod);
    if (api::same(stored, *wanted)) {
      agree();
      return true;
    }
    return last && api::same(*last->sent, *wanted) && api::same(status_of(last->stored), stored);
  }
  /// Most of a pod's life: nothing is kept for it.
  void agree() {
    agreed = true;
    wanted = nullptr;
    last.reset();
  }
  void ask_again() {
    agreed = false;
    wanted = nullptr;
  }

  void step();
  void write_status();
  void remove_object();
  void read_again();
  void on_error(const Error& error);
  void lost();
  bool take(api::Object newer);
  void show(api::Object newer);
};

void PodWriter::State::step() {
  if (busy || gone || retry.armed()) {
    return;
  }
  if (!status_clean()) {
    write_status();
  } else if (removal_wanted && !removal_done) {
    remove_object();
  }
}

void PodWriter::State::write_status() {
  busy = true;
  json::object patch;
  patch["metadata"] =
      json::object{{"resourceVersion", fmt::to_string(pod.meta().resource_version)}};
  patch["status"] = difference(status_of(pod), *wanted);
  client->patch(client::kPods, pod.key(), std::move(patch), client::Subresource::Status,
                [weak = weak_from_this(), sent = wanted](Result<api::Object> result) {
                  const auto state = weak.lock();
                  if (!state) {
                    return;
                  }
                  state->busy = false;
                  if (!result) {
                    state->on_error(result.error());
                    return;
                  }
                  state->backoff = kFirstBackoff;
                  state->last = Answered{sent, *result};
                  if (state->take(*std::move(result))) {
                    state->step();
                    state->events.on_object(state->pod);
                  }
                });
}

void PodWriter::State::remove_object() {
  busy = true;
  client->remove(client::kPods, pod.key(), {.grace_period_seconds = 0, .uid = pod.meta().uid},
                 [weak = weak_from_this()](const Result<api::Object>& result) {
                   const auto state = weak.lock();
                   if (!state) {
                     return;
                   }
                   state->busy = false;
                   if (result) {
                     // With finalizers left it stays until their owners let go; the watch says
                     // when.
                     state->removal_done = true;
                     state->events.on_object(state->pod);
                   } else {
                     state->on_error(result.error());
                   }
                 });
}

void PodWriter::State::read_again() {
  busy = true;
  client->get(client::kPods, pod.key(), [weak = weak_from_this()](Result<api::Object> result) {
    const auto state = weak.lock();
    if (!state) {
      return;
    }
    state->busy = false;
    if (!result) {
      state->on_error(result.error());
      return;
    }
    if (state->take(*std::move(result))) {
      state->events.on_object(state->pod);
      state->step();
    }
  });
}

void PodWriter::State::on_error(const Error& error) {
  if (error.code == Code::NotFound) {
    lost();
    return;
  }
  const bool conflict = error.code == Code::Conflict;
  if (!conflict) {
    log(LogLevel::Info, "agent",
        fmt::format("pod {}: {}; trying again", pod.key().to_string(), error.message));
  }
  // A conflict is read again at once; what comes of that is subject to back-off like any other
  // failure.
  const Duration wait = conflict && backoff == kFirstBackoff ? Duration() : backoff;
  backoff = std::min(backoff * 2, kLastBackoff);
  retry.set(wait, [this] { read_again(); });
}

void PodWriter::State::lost() {
  gone = true;
  events.on_gone();
}

// False if the pod is another one now.
bool PodWriter::State::take(api::Object newer) {
  if (newer.meta().uid != pod.meta().uid) {
    lost();
    return false;
  }
  if (newer.meta().resource_version >= pod.meta().resource_version) {
    show(std::move(newer));
  }
  return true;
}

void PodWriter::State::show(api::Object newer) {
  if (wanted && api::same(status_of(newer), *wanted)) {
    agree();
  } else if (!api::same(status_of(newer), status_of(pod))) {
    ask_again();
  }
  pod = std::move(newer);
}

PodWriter::PodWriter(Loop& loop, client::Client& client, api::Object pod, PodWriterEvents events)
    : state_(std::make_shared<State>(loop, client, std::move(pod), std::move(events))) {}

PodWriter::~PodWriter() {
  state_->retry.cancel();
  state_->make = nullptr;
}

const api::Object& PodWriter::pod() const {
  return state_->pod;
}

void PodWriter::observe(api::Object pod) {
  if (pod.meta().uid == state_->pod.meta().uid &&
      pod.meta().resource_version > state_->pod.meta().resource_version) {
    state_->show(std::move(pod));
  }
  state_->step();
}

void PodWriter::put_status(MakeStatus make) {
  state_->make = std::move(make);
  state_->ask_again();
  state_->step();
}

void PodWriter::remove() {
  state_->removal_wanted = true;
  state_->step();
}

bool PodWriter::clean() const {
  return !state_->busy && !state_->retry.armed() && (state_->gone || state_->status_clean()) &&
         (!state_->removal_wanted || state_->removal_done || state_->gone);
}

} // namespace berth::node
