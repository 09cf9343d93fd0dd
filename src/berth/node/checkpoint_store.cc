#include "berth/node/checkpoint_store.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include <fmt/format.h>

namespace berth::node {
namespace {

// A file descriptor that is closed when it goes.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) {
      ::close(fd_);
    }
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }
  bool ok() const { return fd_ >= 0; }

 private:
  int fd_;
};

tl::unexpected<Error> system_error(std::string_view what, const std::string& path) {
  return fail(Code::Unavailable,
              fmt::format("cannot {} checkpoint: {}: {}", what, std::strerror(errno), path));
}

Result<void> write_all(int fd, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR) {
      return system_error("write", path);
    }
    bytes.remove_prefix(written < 0 ? 0 : static_cast<std::size_t>(written));
  }
  return {};
}

std::string directory_of(const std::string& path) {
  const std::size_t slash = path.find_last_of('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

} // namespace

FileCheckpointStore::FileCheckpointStore(std::string path) : path_(std::move(path)) {}

Result<std::optional<std::string>> FileCheckpointStore::read() {
  const Descriptor file(::open(path_.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.ok()) {
    if (errno == ENOENT) {
      return std::optional<std::string>();
    }
    return system_error("open", path_);
  }
  std::string bytes;
  char buffer[16384];
  while (true) {
    const ssize_t got = ::read(file.get(), buffer, sizeof buffer);
    if (got == 0) {
      return std::optional(std::move(bytes));
    }
    if (got < 0 && errno != EINTR) {
      return system_error("read", path_);
    }
    bytes.append(buffer, got < 0 ? 0 : static_cast<std::size_t>(got));
  }
}

Result<void> FileCheckpointStore::write(std::string_view bytes) {
  const std::string directory = directory_of(path_);
  const std::size_t slash = path_.find_last_of('/');
  const std::string name = slash == std::string::npos ? path_ : path_.substr(slash + 1);
  const std::string temporary = fmt::format("{}/.{}.tmp", directory, name);
  {
    const Descriptor file(
        ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!file.ok()) {
      return system_error("create", temporary);
    }
    BERTH_CHECK(write_all(file.get(), bytes, temporary));
    if (::fsync(file.get()) != 0) {
      return system_error("sync", temporary);
    }
  }
  if (::rename(temporary.c_str(), path_.c_str()) != 0) {
    return system_error("replace", path_);
  }
  const Descriptor parent(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!parent.ok() || ::fsync(parent.get()) != 0) {
    return system_error("sync the directory of", path_);
  }
  return {};
}

Result<std::optional<std::string>> MemoryCheckpointStore::read() {
  return file_;
}

Result<void> MemoryCheckpointStore::write(std::string_view bytes) {
  if (space_ == Space::Full) {
    return fail(Code::Unavailable, "cannot write checkpoint: no space left on device");
  }
  if (!crash_) {
    file_ = std::string(bytes);
    return {};
  }
  const Crash crash = *std::exchange(crash_, std::nullopt);
  switch (crash.at) {
  case CrashAt::Byte:
    temporary_ = std::string(bytes.substr(0, crash.byte));
    break;
  case CrashAt::BeforeSync:
  case CrashAt::BeforeRename:
    temporary_ = std::string(bytes);
    break;
  case CrashAt::AfterRename:
    file_ = std::string(bytes);
    break;
  }
  return fail(Code::Unavailable, "cannot write checkpoint: power lost");
}

} // namespace berth::node
