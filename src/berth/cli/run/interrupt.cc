#include "berth/cli/run/interrupt.h"

#include <csignal>

namespace berth::cli {
namespace {

// A signal handler reaches nothing but a global.
volatile std::sig_atomic_t signals = 0;

void on_signal(int number) {
  signals = signals + 1;
  std::signal(number, SIG_DFL);
}

} // namespace

InterruptWatch::InterruptWatch() {
  signals = 0;
  std::signal(SIGINT, &on_signal);
  std::signal(SIGTERM, &on_signal);
}

InterruptWatch::~InterruptWatch() {
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

bool InterruptWatch::interrupted() {
  return signals != 0;
}

} // namespace berth::cli
