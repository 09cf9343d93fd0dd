#include "berth/cli/run/interrupt.h"

#include <atomic>
#include <csignal>

namespace berth::cli {
namespace {

// A signal handler reaches nothing but a global, and runs on whichever thread the system picks.
std::atomic<bool> seen = false;
static_assert(std::atomic<bool>::is_always_lock_free);

void on_signal(int number) {
  seen = true;
  std::signal(number, SIG_DFL);
}

} // namespace

InterruptWatch::InterruptWatch() {
  seen = false;
  std::signal(SIGINT, &on_signal);
  std::signal(SIGTERM, &on_signal);
}

InterruptWatch::~InterruptWatch() {
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

bool InterruptWatch::interrupted() {
  return seen;
}

} // namespace berth::cli
