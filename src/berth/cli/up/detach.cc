#include "berth/cli/up/detach.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>

namespace berth::cli {
namespace {

constexpr char kGood = '+';
constexpr char kBad = '-';

void redirect(const std::filesystem::path& log) {
  const int out = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  const int in = ::open("/dev/null", O_RDONLY);
  ::dup2(in, STDIN_FILENO);
  ::dup2(out, STDOUT_FILENO);
  ::dup2(out, STDERR_FILENO);
  ::close(in);
  ::close(out);
}

[[noreturn]] void be_child(int pipe, const std::filesystem::path& log,
                           const std::function<int(const Announce&)>& work) {
  ::setsid();
  redirect(log);
  const int code = work([&](const Result<std::string>& said) {
    const std::string text = said ? kGood + *said : kBad + to_string(said.error());
    (void)!::write(pipe, text.data(), text.size());
    ::close(pipe);
  });
  std::fflush(nullptr);
  ::_exit(code);
}

} // namespace

Result<std::string> run_detached(const std::filesystem::path& log,
                                 const std::function<int(const Announce&)>& work) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return fail(Code::Unavailable, fmt::format("no pipe: {}", std::strerror(errno)));
  }
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child < 0) {
    return fail(Code::Unavailable, fmt::format("no process: {}", std::strerror(errno)));
  }
  if (child == 0) {
    ::close(ends[0]);
    be_child(ends[1], log, work);
  }
  ::close(ends[1]);
  std::string said;
  std::array<char, 512> piece{};
  for (ssize_t size = 0; (size = ::read(ends[0], piece.data(), piece.size())) != 0;) {
    if (size > 0) {
      said.append(piece.data(), static_cast<std::size_t>(size));
    } else if (errno != EINTR) {
      break;
    }
  }
  ::close(ends[0]);
  if (said.starts_with(kGood)) {
    return said.substr(1);
  }
  ::waitpid(child, nullptr, 0);
  return fail(Code::Unavailable, said.empty()
                                     ? fmt::format("it ended at once; see {}", log.string())
                                     : said.substr(1));
}

} // namespace berth::cli
