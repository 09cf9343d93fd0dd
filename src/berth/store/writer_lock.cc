#include "berth/store/writer_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <utility>

#include <fmt/format.h>

namespace berth::store {

Result<WriterLock> WriterLock::take(const std::string& database) {
  const std::string path = database + "-lock";
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) {
    return fail(Code::Unavailable,
                fmt::format("{}: cannot be opened; can this user write there?", path));
  }
  WriterLock lock(file);
  if (::flock(file, LOCK_EX | LOCK_NB) != 0) {
    return fail(Code::Unavailable, fmt::format("{}: another berth uses this data directory: stop "
                                               "it, or choose another",
                                               database));
  }
  return lock;
}

WriterLock::WriterLock(WriterLock&& other) noexcept : file_(std::exchange(other.file_, -1)) {}

WriterLock& WriterLock::operator=(WriterLock&& other) noexcept {
  std::swap(file_, other.file_);
  return *this;
}

WriterLock::~WriterLock() {
  if (file_ >= 0) {
    ::close(file_);
  }
}

} // namespace berth::store
