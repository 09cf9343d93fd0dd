// Ctrl-C during a run: the first one ends the run and shows what there is, the second ends the
// program.
#pragma once

namespace berth::cli {

/// Installs the handler while it lives. One at a time; the process has one SIGINT.
class InterruptWatch {
 public:
  InterruptWatch();
  ~InterruptWatch();
  InterruptWatch(const InterruptWatch&) = delete;
  InterruptWatch& operator=(const InterruptWatch&) = delete;

  static bool interrupted();
};

} // namespace berth::cli
