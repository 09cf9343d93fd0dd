#include "berth/net/asio_loop.h"

#include <chrono>
#include <map>
#include <unordered_map>
#include <utility>

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

// Tasks in order of their due time, equal ones in order of submission. What is due already is run
// by a handler of Asio's queue; one Asio timer wakes for the rest, as setting it is a system call.
struct AsioLoop::State {
  boost::asio::io_context io{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work{io.get_executor()};
  boost::asio::steady_timer alarm{io};
  Steady::time_point steady_start = Steady::now();
  TimePoint start = TimePoint::from_unix_nanos(wall_nanos());
  std::map<std::pair<TimePoint, TimerId>, Task> timers;
  std::unordered_map<TimerId, TimePoint> due;
  TimerId next_id = 1;
  TimePoint armed_for = TimePoint::max(); ///< when the alarm goes off; not later than what waits
  bool turn_comes = false;                ///< run_due() is queued or running

  TimePoint now() const {
    const auto since =
        std::chrono::duration_cast<std::chrono::nanoseconds>(Steady::now() - steady_start);
    return start + Duration::nanos(since.count());
  }

  void arm() {
    if (turn_comes || timers.empty()) {
      return;
    }
    const TimePoint next = timers.begin()->first.first;
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

  // Runs what was due on entry; a task due meanwhile waits for its turn, so that sockets are served
  // between.
  void run_due() {
    const TimePoint until = now();
    while (!timers.empty() && timers.begin()->first.first <= until && !io.stopped()) {
      auto entry = timers.extract(timers.begin());
      due.erase(entry.key().second);
      entry.mapped()();
    }
    turn_comes = false;
    arm();
  }
};

AsioLoop::AsioLoop() : state_(std::make_unique<State>()) {}
AsioLoop::~AsioLoop() = default;

TimePoint AsioLoop::now() const {
  return state_->now();
}

void AsioLoop::post(Task task) {
  after(Duration(), std::move(task));
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
  boost::asio::post(state_->io,
                    [this, task = std::move(task)]() mutable { post(std::move(task)); });
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
