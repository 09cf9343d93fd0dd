#include "berth/net/asio_loop.h"

#include <chrono>
#include <deque>
#include <map>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

namespace berth::net {
namespace {

using Steady = std::chrono::steady_clock;

std::int64_t wall_nanos() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(since).count();
}

} // namespace

// Tasks in order of their due time, equal ones in order of submission: timers in a map, and in a
// queue of their own those that are due when they come, which most are. What is due is run by a
// handler of Asio's queue; one Asio timer wakes for the rest, as setting it is a system call.
struct AsioLoop::State {
  boost::asio::io_context io{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work{io.get_executor()};
  boost::asio::steady_timer alarm{io};
  Steady::time_point steady_start = Steady::now();
  TimePoint start = TimePoint::from_unix_nanos(wall_nanos());
  /// When it is due, and its number among tasks of all kinds.
  using Due = std::pair<TimePoint, TimerId>;
  struct Posted {
    Due due;
    Task task;
  };
  std::deque<Posted> posted;
  std::map<Due, Task> timers;
  std::unordered_map<TimerId, TimePoint> due;
  TimerId next_id = 1;
  TimePoint armed_for = TimePoint::max(); ///< when the alarm goes off; not later than what waits
  bool turn_comes = false;                ///< run_due() is queued or running
  std::mutex handover;
  std::vector<Task> handed; ///< under `handover`: by other threads, not posted yet

  TimePoint now() const {
    const auto since =
        std::chrono::duration_cast<std::chrono::nanoseconds>(Steady::now() - steady_start);
    return start + Duration::nanos(since.count());
  }

  void post(Task task) { posted.push_back({{now(), next_id++}, std::move(task)}); }

  // One wake-up takes all that is there: a busy thread wakes another once, not for each task.
  void take_handed() {
    std::vector<Task> taken;
    {
      const std::scoped_lock lock(handover);
      taken.swap(handed);
    }
    for (Task& task : taken) {
      post(std::move(task));
    }
    arm();
  }

  void arm() {
    if (turn_comes || (timers.empty() && posted.empty())) {
      return;
    }
    const TimePoint next = next_due().first;
    if (next <= now()) {
      turn_comes = true;
      boost::asio::post(io, [this] { run_due(); });
    } else if (next < armed_for) {
      armed_for = next;
      alarm.expires_at(steady_start + std::chrono::nanoseconds((next - start).count_nanos()));
      alarm.async_wait([this](const boost::system::error_code& error) {
        if (!error) {
          armed_for = TimePoint::max();
          arm();
        }
      });
    }
  }

  bool timer_is_next() const {
    return !timers.empty() && (posted.empty() || timers.begin()->first < posted.front().due);
  }
  Due next_due() const { return timer_is_next() ? timers.begin()->first : posted.front().due; }

  Task take_next() {
    if (!timer_is_next()) {
      Task task = std::move(posted.front().task);
      posted.pop_front();
      return task;
    }
    auto entry = timers.extract(timers.begin());
    due.erase(entry.key().second);
    return std::move(entry.mapped());
  }

  // Runs what was due on entry; a task due meanwhile waits for its turn, so that sockets are served
  // between.
  void run_due() {
    const TimePoint until = now();
    while ((!timers.empty() || !posted.empty()) && next_due().first <= until && !io.stopped()) {
      take_next()();
    }
    turn_comes = false;
    arm();
  }
};

AsioLoop::AsioLoop() : state_(std::make_unique<State>()) {}

// Tasks go while the loop is whole: what they hold may cancel timers.
AsioLoop::~AsioLoop() {
  state_->handed.clear();
  state_->posted.clear();
  std::exchange(state_->timers, {}).clear();
}

TimePoint AsioLoop::now() const {
  return state_->now();
}

void AsioLoop::post(Task task) {
  state_->post(std::move(task));
  state_->arm();
}

TimerId AsioLoop::after(Duration delay, Task task) {
  const TimerId id = state_->next_id++;
  const TimePoint now = state_->now();
  const Duration wait = delay < Duration() ? Duration() : delay;
  const TimePoint at = wait > TimePoint::max() - now ? TimePoint::max() : now + wait;
  state_->timers.emplace(std::pair(at, id), std::move(task));
  state_->due.emplace(id, at);
  state_->arm();
  return id;
}

void AsioLoop::cancel(TimerId id) {
  const auto it = state_->due.find(id);
  if (it == state_->due.end()) {
    return;
  }
  state_->timers.erase({it->second, id});
  state_->due.erase(it);
}

void AsioLoop::post_from_any_thread(Task task) {
  const std::scoped_lock lock(state_->handover);
  state_->handed.push_back(std::move(task));
  if (state_->handed.size() == 1) {
    boost::asio::post(state_->io, [state = state_.get()] { state->take_handed(); });
  }
}

void AsioLoop::run_for(Duration span) {
  state_->io.restart();
  state_->io.run_for(std::chrono::nanoseconds(span.count_nanos()));
}

void AsioLoop::run() {
  state_->io.restart();
  state_->io.run();
}

void AsioLoop::stop() {
  state_->io.stop();
}

boost::asio::io_context& AsioLoop::io() {
  return state_->io;
}

} // namespace berth::net
