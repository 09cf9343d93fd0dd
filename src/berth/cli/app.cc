#include "berth/cli/app.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "berth/base/log.h"
#include "berth/base/suggest.h"
#include "berth/cli/commands/commands.h"
#include "berth/cli/help.h"
#include "berth/cli/parse.h"

namespace berth::cli {
namespace {

HelpStyle help_style(const Terminal& terminal) {
  return {.program = terminal.program,
          .width = std::clamp<std::size_t>(terminal.out.width.value_or(100), 40, 110),
          .paint = terminal.out.paint};
}

struct Found {
  const Command* command = nullptr;
  std::size_t words = 0; ///< how many the name took
};

// Sub-commands of a first word, e.g. "list" and "show" of "hardware".
std::vector<std::string_view> subcommands_of(std::string_view first) {
  std::vector<std::string_view> out;
  for (const Command& command : commands()) {
    if (command.name.starts_with(first) && command.name.size() > first.size() &&
        command.name[first.size()] == ' ') {
      out.push_back(command.name.substr(first.size() + 1));
    }
  }
  return out;
}

// Two-word names first: "hardware show" before "hardware".
Found find_command(std::span<const std::string> words) {
  for (const std::size_t n : {std::size_t{2}, std::size_t{1}}) {
    if (words.size() < n) {
      continue;
    }
    if (n == 1 && words.size() > 1 && !words[1].starts_with("-") &&
        !subcommands_of(words[0]).empty()) {
      continue; // "hardware shwo" is a wrong sub-command, not an argument of "hardware"
    }
    const std::string name = n == 2 ? fmt::format("{} {}", words[0], words[1]) : words[0];
    const auto it = std::ranges::find(commands(), name, &Command::name);
    if (it != commands().end()) {
      return {&*it, n};
    }
  }
  return {};
}

int unknown_command(std::span<const std::string> words, Terminal& terminal) {
  const auto subs = subcommands_of(words[0]);
  std::vector<std::string_view> names = subs;
  std::string what;
  if (subs.empty()) {
    for (const Command& command : commands()) {
      names.push_back(command.name.substr(0, command.name.find(' ')));
    }
    what = fmt::format("unknown command \"{}\"", words[0]);
  } else if (words.size() == 1 || words[1].starts_with("-")) {
    what = fmt::format("{} needs a sub-command: {}", words[0], fmt::join(subs, ", "));
  } else {
    what = fmt::format("unknown command \"{} {}\"", words[0], words[1]);
  }
  const std::string_view near =
      nearest(subs.empty() || words.size() == 1 ? words[0] : words[1], names);
  if (!near.empty() && what.starts_with("unknown")) {
    what += fmt::format(", did you mean \"{}{}\"?", subs.empty() ? "" : words[0] + " ", near);
  }
  terminal.error(what, terminal.program + " help");
  return kUsage;
}

void apply_shared(const Values& values, Terminal& terminal, const Environment& env) {
  const std::string color = values.get("--color", "auto");
  const ColorChoice choice = color == "always"  ? ColorChoice::Always
                             : color == "never" ? ColorChoice::Never
                                                : ColorChoice::Auto;
  for (Stream* stream : {&terminal.out, &terminal.err}) {
    stream->paint = report::Painter(decide_color(choice, stream->tty, env));
  }
  const std::size_t louder = values.all("--verbose").size();
  if (louder > 0) {
    set_log_level(louder == 1 ? LogLevel::Info : LogLevel::Debug);
  }
}

int run_command(const Command& command, std::span<const std::string> words, Terminal& terminal,
                const Environment& env) {
  const auto values = parse_command_line(command, words);
  if (!values) {
    terminal.error(values.error().message,
                   fmt::format("{} {} --help", terminal.program, command.name));
    return kUsage;
  }
  apply_shared(*values, terminal, env);
  if (values->has("--help")) {
    *terminal.out.to << render_help(command, help_style(terminal));
    return kDone;
  }
  return command.run({.values = *values, .terminal = terminal});
}

} // namespace

int show_help(const Invocation& invocation) {
  Terminal& terminal = invocation.terminal;
  const auto& words = invocation.values.arguments;
  if (words.empty()) {
    *terminal.out.to << render_overview(help_style(terminal));
    return kDone;
  }
  const Found found = find_command(words);
  if (found.command != nullptr && found.words == words.size()) {
    *terminal.out.to << render_help(*found.command, help_style(terminal));
    return kDone;
  }
  const auto subs = subcommands_of(words[0]);
  if (words.size() > 1 || subs.empty()) {
    return unknown_command(words, terminal);
  }
  for (std::size_t i = 0; i < subs.size(); ++i) {
    const std::vector<std::string> name = {words[0], std::string(subs[i])};
    *terminal.out.to << (i == 0 ? "" : "\n")
                     << render_help(*find_command(name).command, help_style(terminal));
  }
  return kDone;
}

int run_program(std::span<const std::string> words, Terminal& terminal, const Environment& env) {
  if (words.empty() || words[0] == "--help" || words[0] == "-h") {
    *terminal.out.to << render_overview(help_style(terminal));
    return kDone;
  }
  if (words[0] == "--version") {
    *terminal.out.to << terminal.version << '\n';
    return kDone;
  }
  const Found found = find_command(words);
  if (found.command == nullptr) {
    const bool asks_help = words.size() == 2 && (words[1] == "--help" || words[1] == "-h");
    if (asks_help && !subcommands_of(words[0]).empty()) {
      const Values values{.flags = {}, .arguments = {words[0]}};
      return show_help({.values = values, .terminal = terminal});
    }
    return unknown_command(words, terminal);
  }
  return run_command(*found.command, words.subspan(found.words), terminal, env);
}

} // namespace berth::cli
