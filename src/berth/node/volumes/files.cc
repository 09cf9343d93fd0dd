#include "berth/node/volumes/files.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

namespace berth::node {
namespace {

constexpr std::uint32_t kFolderMode = 0755;

std::string reason_of(int number) {
  std::string text = std::strerror(number);
  if (!text.empty()) {
    text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
  }
  return text;
}

Code code_of(int number) {
  switch (number) {
  case ENOENT:
    return Code::NotFound;
  case EACCES:
  case EPERM:
    return Code::Forbidden;
  case EEXIST:
    return Code::AlreadyExists;
  default:
    return Code::Unavailable;
  }
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

Result<void> make_one(const std::string& path, std::uint32_t mode) {
  if (::mkdir(path.c_str(), mode) == 0) {
    // The process's umask has no say in what a pod sees.
    return ::chmod(path.c_str(), mode) == 0 ? Result<void>() : system_error("chmod", path);
  }
  if (errno != EEXIST) {
    return system_error("mkdir", path);
  }
  struct stat found {};
  if (::stat(path.c_str(), &found) != 0) {
    return system_error("stat", path);
  }
  errno = ENOTDIR;
  return S_ISDIR(found.st_mode) ? Result<void>() : system_error("mkdir", path);
}

} // namespace

Descriptor::~Descriptor() {
  if (fd_ >= 0) {
    ::close(fd_);
  }
}

Descriptor::Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

tl::unexpected<Error> system_error(std::string_view call, std::string_view path) {
  const int number = errno;
  return fail(code_of(number), fmt::format("{} {}: {}", call, path, reason_of(number)));
}

Result<void> make_folder(const std::string& path, std::uint32_t mode) {
  for (std::size_t slash = path.find('/', 1); slash != std::string::npos;
       slash = path.find('/', slash + 1)) {
    BERTH_CHECK(make_one(path.substr(0, slash), kFolderMode));
  }
  return make_one(path, mode);
}

Result<void> write_file(const std::string& path, std::string_view bytes, std::uint32_t mode) {
  const Descriptor file(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file.ok()) {
    return system_error("open", path);
  }
  BERTH_CHECK(write_all(file.get(), bytes, path));
  if (::fchmod(file.get(), mode) != 0) {
    return system_error("chmod", path);
  }
  return {};
}

Result<std::string> read_file(const std::string& path, std::size_t limit) {
  // Not to wait for a pipe's other end, should somebody have put one there.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!file.ok()) {
    return system_error("open", path);
  }
  std::string bytes(limit, '\0');
  std::size_t size = 0;
  while (size < limit) {
    const ssize_t got = ::read(file.get(), bytes.data() + size, limit - size);
    if (got == 0) {
      break;
    }
    if (got < 0 && errno != EINTR) {
      return system_error("read", path);
    }
    size += got < 0 ? 0 : static_cast<std::size_t>(got);
  }
  bytes.resize(size);
  return bytes;
}

Result<void> remove_tree(const std::string& path) {
  std::error_code failure;
  std::filesystem::remove_all(path, failure);
  if (failure) {
    errno = failure.value();
    return system_error("remove", path);
  }
  return {};
}

} // namespace berth::node
