// Telling when names appear in a directory and when they go: inotify, as tasks of the loop.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "berth/base/result.h"
#include "berth/net/asio_loop.h"

namespace berth::net {

struct DirectoryChange {
  enum class Kind {
    Appeared, ///< made there, or moved there
    Gone,     ///< deleted, or moved away
    Missed,   ///< too much happened at once: look at everything again
    Ended,    ///< the directory itself is gone: nothing follows
  };
  Kind kind = Kind::Appeared;
  std::string name; ///< in the directory; "" with Missed and Ended

  bool operator==(const DirectoryChange&) const = default;
};

/// Tells of names, not of what is in files, and not of sub-directories' names. Belongs to the
/// loop's thread, and the loop must outlive it. Nothing is told once it is destroyed.
class DirectoryWatch {
 public:
  /// Errors: NotFound (no such directory), Forbidden, Unavailable (the kernel has no more watches).
  static Result<std::unique_ptr<DirectoryWatch>>
  open(AsioLoop& loop, const std::string& directory,
       std::function<void(const DirectoryChange&)> on_change);
  ~DirectoryWatch();
  DirectoryWatch(const DirectoryWatch&) = delete;
  DirectoryWatch& operator=(const DirectoryWatch&) = delete;

 private:
  struct State;
  explicit DirectoryWatch(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

} // namespace berth::net
