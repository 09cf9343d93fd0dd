#include "berth/deviceplugin/mps/command_runner.h"

#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <memory>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace berth::deviceplugin {
namespace {

/// A program that says nothing and does not end for so long is stopped.
constexpr int kPatienceMs = 30'000;
constexpr std::size_t kMostOutput = 1 << 16;

std::string reason(int code) {
  return std::generic_category().message(code);
}

// Both ends of a stream to the program. A socket, not a pipe: writing to a program that has ended
// is then an error, not a signal.
struct Channel {
  Channel() {
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
      ends = {-1, -1};
    }
  }
  ~Channel() {
    close_end(0);
    close_end(1);
  }
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;
  void close_end(std::size_t end) {
    if (ends[end] >= 0) {
      ::close(std::exchange(ends[end], -1));
    }
  }

  std::array<int, 2> ends{-1, -1}; ///< ours, the program's
};

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (std::string& text : texts) {
    out.push_back(text.data());
  }
  out.push_back(nullptr);
  return out;
}

std::vector<std::string> environment_of(const Command& command) {
  std::vector<std::string> out;
  for (char** entry = ::environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    if (!command.environment.contains(std::string(text.substr(0, text.find('='))))) {
      out.emplace_back(text);
    }
  }
  for (const auto& [name, value] : command.environment) {
    out.push_back(fmt::format("{}={}", name, value));
  }
  return out;
}

int spawn(const Command& command, int stream, pid_t& child) {
  std::vector<std::string> argv = command.argv;
  std::vector<std::string> environment = environment_of(command);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    ::posix_spawn_file_actions_adddup2(&actions, stream, standard);
  }
  const int failed = ::posix_spawnp(&child, argv.front().c_str(), &actions, nullptr,
                                    pointers(argv).data(), pointers(environment).data());
  ::posix_spawn_file_actions_destroy(&actions);
  return failed;
}

void send_input(int stream, std::string_view input) {
  while (!input.empty()) {
    const ssize_t sent = ::send(stream, input.data(), input.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno != EINTR) {
      break; // it does not read: how it ends says why
    }
    input.remove_prefix(sent < 0 ? 0 : static_cast<std::size_t>(sent));
  }
  ::shutdown(stream, SHUT_WR);
}

enum class Ended { Yes, TooSlow };

/// Takes what is there; false at the end.
bool take_output(int stream, std::string& output) {
  std::array<char, 4096> buffer{};
  while (true) {
    const ssize_t got = ::recv(stream, buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (got <= 0) {
      return got < 0 && (errno == EAGAIN || errno == EINTR);
    }
    output.append(buffer.data(), static_cast<std::size_t>(got));
    output.resize(std::min(output.size(), kMostOutput));
  }
}

// Until the program ends, not until its output does: a daemon that it leaves behind may keep that.
Ended read_output(int stream, pid_t child, std::string& output) {
  const int process = static_cast<int>(::syscall(SYS_pidfd_open, child, 0));
  std::array<pollfd, 2> waiting{pollfd{.fd = process, .events = POLLIN, .revents = 0},
                                pollfd{.fd = stream, .events = POLLIN, .revents = 0}};
  Ended ended = Ended::Yes;
  while (true) {
    const int ready = ::poll(waiting.data(), waiting.size(), kPatienceMs);
    if (ready == 0) {
      ended = Ended::TooSlow;
      break;
    }
    const bool more = take_output(stream, output);
    if (waiting[0].revents != 0 || (process < 0 && !more)) {
      break;
    }
    if (!more) {
      waiting[1].fd = -1; // it says no more, and is yet to end
    }
  }
  if (process >= 0) {
    ::close(process);
  }
  return ended;
}

Result<std::string> run_now(const Command& command) {
  Channel channel;
  pid_t child = 0;
  if (channel.ends[0] < 0) {
    return fail(Code::Unavailable,
                fmt::format("cannot run {}: {}", to_string(command), reason(errno)));
  }
  if (const int failed = spawn(command, channel.ends[1], child); failed != 0) {
    return fail(failed == ENOENT ? Code::NotFound : Code::Unavailable,
                fmt::format("cannot run {}: {}", to_string(command), reason(failed)));
  }
  channel.close_end(1);
  send_input(channel.ends[0], command.input);
  std::string output;
  const Ended ended = read_output(channel.ends[0], child, output);
  if (ended == Ended::TooSlow) {
    ::kill(child, SIGKILL);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (ended == Ended::TooSlow) {
    return fail(Code::Unavailable, fmt::format("{} did not end", to_string(command)));
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    return fail(Code::Unavailable,
                fmt::format("{} failed with status {}: {}", to_string(command),
                            WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
                            output));
  }
  return output;
}

} // namespace

void ProcessRunner::run(const Command& command, Done<std::string> done) {
  auto result = std::make_shared<Result<std::string>>();
  background_->run([command, result] { *result = run_now(command); },
                   [result, done = std::move(done)] { done(std::move(*result)); });
}

} // namespace berth::deviceplugin
