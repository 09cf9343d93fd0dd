// Being told when a file grows, by inotify on an AsioLoop.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "berth/base/result.h"
#include "berth/net/asio_loop.h"

namespace berth::net {

/// Dropping it ends the watch; nothing is called afterwards.
class FileWatch {
 public:
  virtual ~FileWatch() = default;
};

/// `on_change` runs as a later task whenever the file has been written to, moved or removed;
/// several changes may be told of once. The loop must outlive the watch. Error Unavailable: there
/// is no such file, or the system has no watch left.
Result<std::unique_ptr<FileWatch>> watch_file(AsioLoop& loop, const std::string& path,
                                              std::function<void()> on_change);

} // namespace berth::net
