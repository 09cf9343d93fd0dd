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
  api::Labels annotations;                    ///< that are to be written
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
  void patch(json::object body, client::Subresource subresource,
             std::function<void(const api::Object&)> written);
  void write_status();
  void write_annotations();
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
  } else if (!annotations.empty()) {
    write_annotations();
  } else if (removal_wanted && !removal_done) {
    remove_object();
  }
}

// Of the version that is known: what others wrote meanwhile is read first. `written` gets the
// answer before it is taken note of.
void PodWriter::State::patch(json::object body, client::Subresource subresource,
                             std::function<void(const api::Object&)> written) {
  busy = true;
  api::object_at(body, "metadata")["resourceVersion"] = fmt::to_string(pod.meta().resource_version);
  client->patch(
      client::kPods, pod.key(), std::move(body), subresource,
      [weak = weak_from_this(), written = std::move(written)](Result<api::Object> result) {
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
        written(*result);
        if (state->take(*std::move(result))) {
          state->step();
          state->events.on_object(state->pod);
        }
      });
}

void PodWriter::State::write_status() {
  patch({{"status", difference(status_of(pod), *wanted)}}, client::Subresource::Status,
        [this, sent = wanted](const api::Object& stored) {
          last = Answered{sent, stored};
        });
}

void PodWriter::State::write_annotations() {
  json::object made;
  for (const auto& [key, value] : annotations) {
    made[key] = value;
  }
  patch({{"metadata", json::object{{"annotations", std::move(made)}}}}, client::Subresource::None,
        [this, sent = annotations](const api::Object&) {
          std::erase_if(annotations, [&](const auto& each) {
            const auto it = sent.find(each.first);
            return it != sent.end() && it->second == each.second;
          });
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

void PodWriter::annotate(std::string_view key, std::string value) {
  state_->annotations.insert_or_assign(std::string(key), std::move(value));
  state_->step();
}

void PodWriter::remove() {
  state_->removal_wanted = true;
  state_->step();
}

bool PodWriter::clean() const {
  return !state_->busy && !state_->retry.armed() &&
         (state_->gone || (state_->status_clean() && state_->annotations.empty())) &&
         (!state_->removal_wanted || state_->removal_done || state_->gone);
}

} // namespace berth::node
