#include "berth/base/read_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <system_error>

#include <fmt/format.h>

namespace berth {
namespace {

Code code_of(int number) {
  return number == ENOENT ? Code::NotFound : number == EACCES ? Code::Forbidden : Code::Unavailable;
}

/// What the last system call on it failed for.
tl::unexpected<Error> system_error(const std::string& path) {
  const int number = errno;
  std::string why = std::generic_category().message(number);
  why.front() = static_cast<char>(std::tolower(static_cast<unsigned char>(why.front())));
  auto failed = fail_at({.file = path, .field = {}}, std::move(why));
  failed.value().code = code_of(number);
  return failed;
}

std::string size_text(std::size_t bytes) {
  constexpr std::size_t kMiB = std::size_t{1} << 20U;
  return bytes % kMiB == 0 ? fmt::format("{} MiB", bytes / kMiB) : fmt::format("{} bytes", bytes);
}

Result<std::string> read_all(int file, const std::string& path, std::size_t most) {
  std::string text;
  char buffer[1 << 16];
  while (true) {
    const ssize_t got = ::read(file, buffer, sizeof buffer);
    if (got < 0 && errno != EINTR) {
      return system_error(path); // a directory can be opened, and fails here
    }
    if (got == 0) {
      return text;
    }
    text.append(buffer, got < 0 ? 0 : static_cast<std::size_t>(got));
    if (text.size() > most) {
      return fail_at({.file = path, .field = {}}, fmt::format("larger than {}", size_text(most)));
    }
  }
}

} // namespace

Result<std::string> read_file(const std::string& path, std::size_t most) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) {
    return system_error(path);
  }
  Result<std::string> text = read_all(file, path, most);
  ::close(file);
  return text;
}

} // namespace berth
