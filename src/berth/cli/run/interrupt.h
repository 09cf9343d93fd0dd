// Ctrl-C or SIGTERM: the first one ends what runs in good order (a run shows what there is), the
// second ends the program.
#pragma once

namespace berth::cli {

/// Installs the handler while it lives. One at a time; the process has one handler.
class InterruptWatch {
 public:
  InterruptWatch();
  ~InterruptWatch();
  InterruptWatch(const InterruptWatch&) = delete;
  InterruptWatch& operator=(const InterruptWatch&) = delete;

  static bool interrupted();
};

} // namespace berth::cli
