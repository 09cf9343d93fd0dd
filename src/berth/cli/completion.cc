#include "berth/cli/completion.h"

#include <algorithm>
#include <functional>
#include <set>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "berth/cli/command.h"
#include "berth/hardware/platform.h"

namespace berth::cli {
namespace {

std::vector<Flag> flags_of(const Command& command) {
  std::vector<Flag> all = command.flags;
  all.insert(all.end(), shared_flags().begin(), shared_flags().end());
  return all;
}

std::vector<std::string> first_words() {
  std::vector<std::string> out;
  for (const Command& command : commands()) {
    std::string word(command.name.substr(0, command.name.find(' ')));
    if (std::ranges::find(out, word) == out.end()) {
      out.push_back(std::move(word));
    }
  }
  return out;
}

std::vector<std::string> second_words(std::string_view first) {
  std::vector<std::string> out;
  for (const Command& command : commands()) {
    const std::size_t blank = command.name.find(' ');
    if (blank != std::string_view::npos && command.name.substr(0, blank) == first) {
      out.emplace_back(command.name.substr(blank + 1));
    }
  }
  return out;
}

/// The words a value can be, "" for files, directories and free text.
std::string words_for(Offers offers, const std::vector<std::string_view>& choices) {
  switch (offers) {
  case Offers::Choices:
    return fmt::format("{}", fmt::join(choices, " "));
  case Offers::Platforms:
    return fmt::format("{}", fmt::join(hardware::Catalogue::builtin().names(), " "));
  case Offers::NodeGroups:
    return fmt::format("{}:", fmt::join(hardware::Catalogue::builtin().names(), ": "));
  case Offers::Commands:
    return fmt::format("{}", fmt::join(first_words(), " "));
  case Offers::Nothing:
  case Offers::Files:
  case Offers::Directories:
    return "";
  }
  return "";
}

std::string bash_words(Offers offers, const std::vector<std::string_view>& choices) {
  switch (offers) {
  case Offers::Files:
    return "_berth_files f";
  case Offers::Directories:
    return "_berth_files d";
  case Offers::NodeGroups:
    return fmt::format("compopt -o nospace 2>/dev/null; _berth_words \"{}\"",
                       words_for(offers, choices));
  case Offers::Nothing:
  case Offers::Platforms:
  case Offers::Commands:
  case Offers::Choices:
    return fmt::format("_berth_words \"{}\"", words_for(offers, choices));
  }
  return "";
}

std::string patterns_of(const Flag& flag) {
  return flag.letter == 0 ? std::string(flag.name) : fmt::format("{}|-{}", flag.name, flag.letter);
}

// What one command completes: values after a flag, then its flags and arguments.
std::string bash_command(const Command& command) {
  std::string name(command.name);
  std::ranges::replace(name, ' ', '_');
  std::string flags;
  std::string out = fmt::format("_berth_{}() {{\n  case \"$prev\" in\n", name);
  for (const Flag& flag : flags_of(command)) {
    flags += fmt::format("{}{}", flags.empty() ? "" : " ", flag.name);
    if (!flag.value.empty()) {
      out += fmt::format("    {}) {}; return ;;\n", patterns_of(flag),
                         bash_words(flag.offers, flag.choices));
    }
  }
  out += fmt::format("  esac\n  case \"$cur\" in\n    -*) _berth_words \"{}\" ;;\n", flags);
  if (!command.arguments.empty()) {
    out += fmt::format("    *) {} ;;\n",
                       bash_words(command.arguments[0].offers, command.arguments[0].choices));
  }
  return out + "  esac\n}\n";
}

std::string escaped_for_zsh(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\'') {
      out += "'\\''";
    } else if (c == '[' || c == ']' || c == ':' || c == '\\') {
      out += '\\';
      out += c;
    } else {
      out += c;
    }
  }
  return out;
}

std::string zsh_action(Offers offers, const std::vector<std::string_view>& choices) {
  switch (offers) {
  case Offers::Files:
    return "_files";
  case Offers::Directories:
    return "_files -/";
  case Offers::NodeGroups:
    return fmt::format("compadd -S \"\" -- {}", words_for(offers, choices));
  case Offers::Nothing:
    return " ";
  case Offers::Platforms:
  case Offers::Commands:
  case Offers::Choices:
    return fmt::format("({})", words_for(offers, choices));
  }
  return " ";
}

std::string zsh_flag(const Flag& flag) {
  const std::string many = flag.times == Flag::Times::Many ? "*" : "";
  const std::string text = escaped_for_zsh(flag.help);
  const std::string value = flag.value.empty() ? ""
                                               : fmt::format(":{}:{}", escaped_for_zsh(flag.value),
                                                             zsh_action(flag.offers, flag.choices));
  std::string out = fmt::format(" \\\n    '{}{}[{}]{}'", many, flag.name, text, value);
  if (flag.letter != 0) {
    out += fmt::format(" \\\n    '{}-{}[{}]{}'", many, flag.letter, text, value);
  }
  return out;
}

std::string zsh_command(const Command& command) {
  std::string out = "_arguments -s";
  for (const Flag& flag : flags_of(command)) {
    out += zsh_flag(flag);
  }
  for (const Argument& argument : command.arguments) {
    const std::string_view many = argument.need == Argument::Need::OneOrMore ? "*" : "";
    out += fmt::format(" \\\n    '{}:{}:{}'", many, escaped_for_zsh(argument.name),
                       zsh_action(argument.offers, argument.choices));
  }
  return out;
}

std::string quoted_for_fish(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    out += c == '\'' ? "\\'" : c == '\\' ? "\\\\" : std::string(1, c);
  }
  return out + "'";
}

std::string fish_values(Offers offers, const std::vector<std::string_view>& choices) {
  switch (offers) {
  case Offers::Files:
    return " -r -F";
  case Offers::Directories:
    return " -x -a '(__fish_complete_directories)'";
  case Offers::Nothing:
    return " -x";
  case Offers::NodeGroups:
  case Offers::Platforms:
  case Offers::Commands:
  case Offers::Choices:
    return fmt::format(" -x -a '{}'", words_for(offers, choices));
  }
  return "";
}

std::string fish_condition(std::string_view name) {
  const std::size_t blank = name.find(' ');
  if (blank == std::string_view::npos) {
    return fmt::format("'__fish_seen_subcommand_from {}'", name);
  }
  return fmt::format("'__fish_seen_subcommand_from {}; and __fish_seen_subcommand_from {}'",
                     name.substr(0, blank), name.substr(blank + 1));
}

// Shell code, one arm a first word; commands of two words choose by the second.
std::string by_first_word(
    const std::function<std::string(const Command&)>& one,
    const std::function<std::string(std::string_view, const std::vector<std::string>&)>& group) {
  std::string out;
  for (const std::string& first : first_words()) {
    const auto seconds = second_words(first);
    if (!seconds.empty()) {
      out += group(first, seconds);
      continue;
    }
    const auto command = std::ranges::find(commands(), first, &Command::name);
    out += one(*command);
  }
  return out;
}

} // namespace

std::string bash_completion() {
  std::string out = R"(# bash completion for berth
_berth_words() { mapfile -t COMPREPLY < <(compgen -W "$1" -- "$cur"); }
_berth_files() {
  compopt -o filenames 2>/dev/null
  mapfile -t COMPREPLY < <(compgen -"$1" -- "$cur")
}
)";
  for (const Command& command : commands()) {
    out += bash_command(command);
  }
  out += fmt::format(R"(_berth() {{
  local cur="${{COMP_WORDS[COMP_CWORD]}}" prev="${{COMP_WORDS[COMP_CWORD-1]}}"
  # A value like dgx-h100:4 is one word to us, whatever COMP_WORDBREAKS says.
  if declare -F _get_comp_words_by_ref >/dev/null; then _get_comp_words_by_ref -n : cur prev; fi
  if [ "$COMP_CWORD" -eq 1 ]; then _berth_words "{} --version --help"; return; fi
  case "${{COMP_WORDS[1]}}" in
)",
                     fmt::join(first_words(), " "));
  out += by_first_word(
      [](const Command& c) { return fmt::format("    {}) _berth_{} ;;\n", c.name, c.name); },
      [](std::string_view first, const std::vector<std::string>& seconds) {
        std::string arm =
            fmt::format("    {}) if [ \"$COMP_CWORD\" -eq 2 ]; then _berth_words \"{}\"; else\n"
                        "        case \"${{COMP_WORDS[2]}}\" in\n",
                        first, fmt::join(seconds, " "));
        for (const std::string& second : seconds) {
          arm += fmt::format("          {}) _berth_{}_{} ;;\n", second, first, second);
        }
        return arm + "        esac\n      fi ;;\n";
      });
  return out + "  esac\n}\ncomplete -F _berth berth\n";
}

std::string zsh_completion() {
  std::string out =
      "#compdef berth\n_berth() {\n  if (( CURRENT == 2 )); then\n    local -a words_of=(";
  for (const std::string& first : first_words()) {
    const auto command = std::ranges::find(commands(), first, &Command::name);
    const std::string_view summary = command == commands().end() ? "" : command->summary;
    out += fmt::format("\n      '{}:{}'", first, escaped_for_zsh(summary));
  }
  out += "\n    )\n    _describe command words_of\n    return\n  fi\n  local first=$words[2]\n"
         "  (( CURRENT -= 1 )); shift words\n  case $first in\n";
  out += by_first_word(
      [](const Command& c) { return fmt::format("  {})\n    {} ;;\n", c.name, zsh_command(c)); },
      [](std::string_view first, const std::vector<std::string>& seconds) {
        std::string arm =
            fmt::format("  {})\n    if (( CURRENT == 2 )); then compadd {}; return; fi\n"
                        "    local second=$words[2]\n"
                        "    (( CURRENT -= 1 )); shift words\n    case $second in\n",
                        first, fmt::join(seconds, " "));
        for (const std::string& second : seconds) {
          const std::string name = fmt::format("{} {}", first, second);
          const auto command = std::ranges::find(commands(), name, &Command::name);
          arm += fmt::format("    {})\n    {} ;;\n", second, zsh_command(*command));
        }
        return arm + "    esac ;;\n";
      });
  return out + "  esac\n}\nif [ \"$funcstack[1]\" = _berth ]; then _berth \"$@\"; else compdef "
               "_berth berth; fi\n";
}

std::string fish_completion() {
  std::string out = "# fish completion for berth\ncomplete -c berth -f\n";
  for (const std::string& first : first_words()) {
    const auto command = std::ranges::find(commands(), first, &Command::name);
    const std::string_view summary = command == commands().end() ? "" : command->summary;
    out += fmt::format("complete -c berth -n __fish_use_subcommand -a {} -d {}\n", first,
                       quoted_for_fish(summary));
    if (const auto seconds = second_words(first); !seconds.empty()) {
      out += fmt::format("complete -c berth -n '__fish_seen_subcommand_from {0}; and not "
                         "__fish_seen_subcommand_from "
                         "{1}' -a '{1}'\n",
                         first, fmt::join(seconds, " "));
    }
  }
  for (const Command& command : commands()) {
    const std::string condition = fish_condition(command.name);
    for (const Flag& flag : flags_of(command)) {
      out += fmt::format("complete -c berth -n {} -l {}", condition, flag.name.substr(2));
      out += flag.letter == 0 ? "" : fmt::format(" -s {}", flag.letter);
      out += flag.value.empty() ? "" : fish_values(flag.offers, flag.choices);
      out += fmt::format(" -d {}\n", quoted_for_fish(flag.help));
    }
    if (!command.arguments.empty()) {
      const Argument& argument = command.arguments[0];
      out += fmt::format("complete -c berth -n {}{}\n", condition,
                         fish_values(argument.offers, argument.choices));
    }
  }
  return out;
}

} // namespace berth::cli
