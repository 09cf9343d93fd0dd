#include "berth/base/replace_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <system_error>

#include <fmt/format.h>

namespace berth {
namespace {

Code code_of(int number) {
  switch (number) {
  case ENOENT:
    return Code::NotFound;
  case EACCES:
  case EPERM:
  case EROFS:
    return Code::Forbidden;
  default:
    return Code::Unavailable;
  }
}

tl::unexpected<Error> system_error(std::string_view what, const std::string& path) {
  const int number = errno;
  return fail(code_of(number),
              fmt::format("cannot {} {}: {}", what, path, std::generic_category().message(number)));
}

Result<void> write_all(int file, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t wrote = ::write(file, bytes.data(), bytes.size());
    if (wrote < 0 && errno != EINTR) {
      return system_error("write", path);
    }
    bytes.remove_prefix(wrote < 0 ? 0 : static_cast<std::size_t>(wrote));
  }
  return {};
}

Result<void> write_synced(const std::string& path, std::string_view bytes, std::uint32_t mode) {
  ::unlink(path.c_str()); // one that a process left, whoever may read it
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  if (file < 0) {
    return system_error("create", path);
  }
  Result<void> written = write_all(file, bytes, path);
  if (written && ::fchmod(file, mode) != 0) {
    written = system_error("change the mode of", path);
  }
  if (written && ::fsync(file) != 0) {
    written = system_error("sync", path);
  }
  ::close(file);
  return written;
}

Result<void> sync_folder(const std::string& folder) {
  const int opened = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const bool synced = opened >= 0 && ::fsync(opened) == 0;
  Result<void> outcome = synced ? Result<void>() : system_error("sync", folder);
  if (opened >= 0) {
    ::close(opened);
  }
  return outcome;
}

} // namespace

Result<void> replace_file(const std::string& path, std::string_view bytes, std::uint32_t mode) {
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "."
                             : slash == 0               ? "/"
                                                        : path.substr(0, slash);
  const std::string temporary =
      fmt::format("{}/.{}.tmp", folder, slash == std::string::npos ? path : path.substr(slash + 1));
  Result<void> written = write_synced(temporary, bytes, mode);
  if (written && ::rename(temporary.c_str(), path.c_str()) != 0) {
    written = system_error("replace", path);
  }
  if (!written) {
    ::unlink(temporary.c_str());
    return written;
  }
  return sync_folder(folder);
}

} // namespace berth
