#include "berth/node/checkpoint_store.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include <fmt/format.h>

#include "berth/base/replace_file.h"

namespace berth::node {
namespace {

constexpr std::uint32_t kMode = 0600;

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

Result<void> FileCheckpointStore::write(Contents contents) {
  return replace_file(path_, contents(), kMode).map_error([](Error error) {
    error.message = fmt::format("cannot write checkpoint: {}", error.message);
    return error;
  });
}

Result<std::optional<std::string>> MemoryCheckpointStore::read() {
  return bytes();
}

Result<void> MemoryCheckpointStore::write(Contents contents) {
  if (space_ == Space::Full) {
    return fail(Code::Unavailable, "cannot write checkpoint: no space left on device");
  }
  if (!crash_) {
    file_ = std::move(contents);
    return {};
  }
  const Crash crash = *std::exchange(crash_, std::nullopt);
  switch (crash.at) {
  case CrashAt::Byte:
    temporary_ = contents().substr(0, crash.byte);
    break;
  case CrashAt::BeforeSync:
  case CrashAt::BeforeRename:
    temporary_ = contents();
    break;
  case CrashAt::AfterRename:
    file_ = std::move(contents);
    break;
  }
  return fail(Code::Unavailable, "cannot write checkpoint: power lost");
}

} // namespace berth::node
