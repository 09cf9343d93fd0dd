#include "berth/client/work_queue.h"

#include <algorithm>
#include <deque>
#include <map>
#include <set>

namespace berth::client {
namespace {

constexpr Duration kRestForEach = Duration::micros(20);
constexpr std::size_t kCrowd = 64;

} // namespace

/// Shared with the tasks on the loop, which do nothing once the queue is gone.
struct WorkQueue::State : std::enable_shared_from_this<WorkQueue::State> {
  struct Waiting {
    TimerId timer = 0;
    TimePoint due;
  };

  State(Loop& l, Reconcile r, Options o) : loop(&l), reconcile(std::move(r)), options(o) {}

  void add(const api::Key& key) {
    if (working.contains(key)) {
      again.insert(key);
    } else if (const Duration rest = rest_of(key); rest > Duration()) {
      add_after(key, rest);
    } else if (queued.insert(key).second) {
      due.push_back(key);
      turn();
    }
  }

  Duration rest_of(const api::Key& key) {
    const auto it = resting.find(key);
    if (it == resting.end()) {
      return Duration();
    }
    const Duration left = it->second - loop->now();
    if (left <= Duration()) {
      resting.erase(it);
    }
    return left;
  }

  void add_after(const api::Key& key, Duration delay) {
    if (delay <= Duration()) {
      add(key);
      return;
    }
    const TimePoint at = loop->now() + delay;
    const auto it = waiting.find(key);
    if (it != waiting.end()) {
      if (it->second.due <= at) {
        return;
      }
      loop->cancel(it->second.timer);
      waiting.erase(it);
    }
    const TimerId timer = loop->after(delay, [weak = weak_from_this(), key] {
      if (const auto self = weak.lock()) {
        self->waiting.erase(key);
        self->add(key);
      }
    });
    waiting.emplace(key, Waiting{.timer = timer, .due = at});
  }

  void add_backed_off(const api::Key& key) {
    Duration delay = options.first_backoff;
    const int failed = failures[key]++;
    for (int i = 0; i < failed && delay < options.longest_backoff; ++i) {
      delay = delay * 2;
    }
    add_after(key, std::min(delay, options.longest_backoff));
  }

  /// Starts one task for as many keys as there are free workers.
  void turn() {
    if (turning || due.empty() || working.size() >= options.workers) {
      return;
    }
    turning = true;
    loop->post([weak = weak_from_this()] {
      if (const auto self = weak.lock()) {
        self->turning = false;
        self->work_one();
        self->turn();
      }
    });
  }

  void work_one() {
    if (stopped || due.empty() || working.size() >= options.workers) {
      return;
    }
    const api::Key key = due.front();
    due.pop_front();
    queued.erase(key);
    working.insert(key);
    reconcile(key, [weak = weak_from_this(), key](Outcome outcome) {
      if (const auto self = weak.lock()) {
        self->finish(key, outcome);
      }
    });
  }

  void finish(const api::Key& key, Outcome outcome) {
    if (working.erase(key) == 0) {
      return;
    }
    if (outcome == Outcome::Done) {
      failures.erase(key);
    } else {
      add_backed_off(key);
    }
    if (again.erase(key) > 0) {
      add(key);
    }
    turn();
  }

  Loop* loop;
  Reconcile reconcile;
  Options options;
  std::deque<api::Key> due;
  std::set<api::Key> queued; ///< the keys of `due`
  std::set<api::Key> working;
  std::set<api::Key> again; ///< added while being worked on
  std::map<api::Key, Waiting> waiting;
  std::map<api::Key, TimePoint> resting; ///< not worked on before
  std::map<api::Key, int> failures;
  bool turning = false;
  bool stopped = false;
};

WorkQueue::WorkQueue(Loop& loop, Reconcile reconcile, Options options)
    : state_(std::make_shared<State>(loop, std::move(reconcile), options)) {}

WorkQueue::~WorkQueue() {
  state_->stopped = true;
  for (const auto& [key, waiting] : state_->waiting) {
    state_->loop->cancel(waiting.timer);
  }
}

void WorkQueue::add(const api::Key& key) {
  state_->add(key);
}
void WorkQueue::add_after(const api::Key& key, Duration delay) {
  state_->add_after(key, delay);
}
void WorkQueue::add_backed_off(const api::Key& key) {
  state_->add_backed_off(key);
}

void WorkQueue::looks_at(const api::Key& key, std::size_t objects) {
  if (objects >= kCrowd) {
    state_->resting[key] = state_->loop->now() + kRestForEach * static_cast<std::int64_t>(objects);
  }
}

void WorkQueue::forget(const api::Key& key) {
  state_->failures.erase(key);
  state_->resting.erase(key);
  if (const auto it = state_->waiting.find(key); it != state_->waiting.end()) {
    state_->loop->cancel(it->second.timer);
    state_->waiting.erase(it);
  }
}

int WorkQueue::failures(const api::Key& key) const {
  const auto it = state_->failures.find(key);
  return it == state_->failures.end() ? 0 : it->second;
}

bool WorkQueue::idle() const {
  return state_->due.empty() && state_->working.empty() && state_->waiting.empty();
}

} // namespace berth::client
