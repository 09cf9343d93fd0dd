#include "berth/cli/terminal.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <iostream>
#include <system_error>

#include <fmt/format.h>

#include "berth/report/text.h"

namespace berth::cli {
namespace {

std::optional<std::size_t> width_of(int fd, const Environment& env) {
  if (const auto columns = env("COLUMNS")) {
    std::size_t n = 0;
    const auto [end, problem] =
        std::from_chars(columns->data(), columns->data() + columns->size(), n);
    if (problem == std::errc() && end == columns->data() + columns->size() && n >= 20) {
      return n;
    }
  }
  winsize size{};
  if (::ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col >= 20) {
    return size.ws_col;
  }
  return 80;
}

Stream stream_of(std::ostream& to, int fd, const Environment& env) {
  const bool tty = ::isatty(fd) == 1;
  return {.to = &to,
          .tty = tty,
          .width = tty ? width_of(fd, env) : std::nullopt,
          .paint = report::Painter(decide_color(ColorChoice::Auto, tty, env))};
}

bool reader_is_gone(int out) {
  pollfd asked{.fd = out, .events = POLLOUT, .revents = 0};
  return ::poll(&asked, 1, 0) == 1 && (asked.revents & POLLERR) != 0;
}

/// The system's words for why the last flush failed; a write before it may have left none.
std::string reason_of(int number) {
  return number == 0 ? "" : ": " + std::generic_category().message(number);
}

} // namespace

void Terminal::note(std::string_view text) {
  *err.to << err.paint(report::Tone::Dim, "note:") << ' ' << report::printable(text) << '\n';
}

void Terminal::warn(std::string_view text) {
  *err.to << err.paint(report::Tone::Warn, "warning:") << ' ' << report::printable(text) << '\n';
}

void Terminal::error(std::string_view text, std::string_view try_this) {
  *err.to << err.paint(report::Tone::Bad, "error:") << ' ' << report::printable(text);
  if (!try_this.empty()) {
    *err.to << "; try " << report::printable(try_this);
  }
  *err.to << '\n';
}

report::ColorUse decide_color(ColorChoice choice, bool tty, const Environment& env) {
  using report::ColorUse;
  const auto set = [&](const char* name) {
    const auto value = env(name);
    return value && !value->empty();
  };
  switch (choice) {
  case ColorChoice::Always:
    return ColorUse::Always;
  case ColorChoice::Never:
    return ColorUse::Never;
  case ColorChoice::Auto:
    break;
  }
  if (set("NO_COLOR")) {
    return ColorUse::Never;
  }
  if (set("CLICOLOR_FORCE") && env("CLICOLOR_FORCE") != "0") {
    return ColorUse::Always;
  }
  const bool plain = !tty || env("CLICOLOR") == "0" || env("TERM") == "dumb";
  return plain ? ColorUse::Never : ColorUse::Always;
}

Terminal process_terminal(std::string_view argv0, const Environment& env) {
  const std::size_t slash = argv0.rfind('/');
  const std::string_view name = slash == std::string_view::npos ? argv0 : argv0.substr(slash + 1);
  return {.out = stream_of(std::cout, STDOUT_FILENO, env),
          .err = stream_of(std::cerr, STDERR_FILENO, env),
          .program = name == "kubectl-berth" ? "kubectl berth" : "berth"};
}

int finish_output(Terminal& terminal, int out, int code) {
  errno = 0;
  terminal.out.to->flush();
  const int number = errno;
  if (!terminal.out.to->good() && !reader_is_gone(out)) {
    terminal.error(
        fmt::format("standard output cannot be written{}; it is not whole", reason_of(number)));
    code = code == 0 ? 1 : code;
  }
  terminal.err.to->flush();
  return code;
}

Environment process_environment() {
  return [](const char* name) -> std::optional<std::string> {
    const char* value = std::getenv(name);
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  };
}

} // namespace berth::cli
