#include "berth/cli/help.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "berth/report/text.h"

namespace berth::cli {
namespace {

constexpr std::string_view kIndent = "  ";

std::string heading(std::string_view title, const HelpStyle& style) {
  return fmt::format("\n{}\n", style.paint(report::Tone::Strong, title));
}

std::string paragraph(std::string_view text, std::string_view indent, const HelpStyle& style) {
  std::string out;
  for (const std::string& line : report::wrap(text, style.width - indent.size())) {
    out += fmt::format("{}{}\n", indent, line);
  }
  return out;
}

std::string left_of(const Flag& flag) {
  const std::string letter = flag.letter == 0 ? "    " : fmt::format("-{}, ", flag.letter);
  return fmt::format("{}{}{}{}", letter, flag.name, flag.value.empty() ? "" : " ", flag.value);
}

std::string right_of(const Flag& flag) {
  std::string out(flag.help);
  if (!flag.choices.empty()) {
    out += ". One of: ";
    for (std::size_t i = 0; i < flag.choices.size(); ++i) {
      const std::string_view choice = flag.choices[i];
      out += fmt::format("{}{}{}", i == 0 ? "" : ", ", choice,
                         choice == flag.fallback ? " (default)" : "");
    }
  } else if (!flag.fallback.empty()) {
    out += fmt::format(". Default: {}", flag.fallback);
  }
  if (flag.times == Flag::Times::Many && !flag.value.empty()) {
    out += ". May be repeated";
  }
  return out;
}

// Two columns: terms on the left, wrapped text on the right; a term that is too wide gets its own
// line.
std::string definition(std::string_view term, std::string_view text, std::size_t left,
                       const HelpStyle& style) {
  const std::size_t indent = kIndent.size() + left + kIndent.size();
  const auto lines = report::wrap(text, style.width > indent + 20 ? style.width - indent : 20);
  const std::size_t width = report::display_width(term);
  std::string out = fmt::format("{}{}", kIndent, style.paint(report::Tone::Accent, term));
  std::size_t next = 0;
  if (width <= left) {
    out += fmt::format("{:{}}{}{}", "", left - width, kIndent, lines[next++]);
  }
  out += '\n';
  for (; next < lines.size(); ++next) {
    out += fmt::format("{:{}}{}\n", "", indent, lines[next]);
  }
  return out;
}

std::string flags_section(const Command& command, const HelpStyle& style) {
  std::vector<const Flag*> flags;
  for (const Flag& flag : command.flags) {
    flags.push_back(&flag);
  }
  for (const Flag& flag : shared_flags()) {
    flags.push_back(&flag);
  }
  std::size_t left = 0;
  for (const Flag* flag : flags) {
    left = std::max(left, std::min<std::size_t>(left_of(*flag).size(), 30));
  }
  std::string out;
  std::string_view group;
  for (const Flag* flag : flags) {
    if (flag->group != group) {
      group = flag->group;
      out += heading(group, style);
    }
    out += definition(left_of(*flag), right_of(*flag), left, style);
  }
  return out;
}

std::string arguments_section(const Command& command, const HelpStyle& style) {
  if (command.arguments.empty()) {
    return "";
  }
  std::string out = heading("ARGUMENTS", style);
  std::size_t left = 0;
  for (const Argument& argument : command.arguments) {
    left = std::max(left, argument.name.size());
  }
  for (const Argument& argument : command.arguments) {
    out += definition(argument.name, argument.help, left, style);
  }
  return out;
}

std::string tail_sections(const Command& command, const HelpStyle& style) {
  std::string out;
  if (!command.examples.empty()) {
    out += heading("EXAMPLES", style);
    for (const Example& example : command.examples) {
      out += paragraph(fmt::format("# {}", example.what), kIndent, style);
      out += fmt::format("{}{} {}\n", kIndent, style.program, example.line);
    }
  }
  if (!command.exit_codes.empty()) {
    out += heading("EXIT CODES", style);
    for (const ExitCode& code : command.exit_codes) {
      out += definition(fmt::format("{}", code.code), code.means, 1, style);
    }
  }
  if (!command.see_also.empty()) {
    out += heading("SEE ALSO", style);
    for (const std::string_view other : command.see_also) {
      out += paragraph(other, kIndent, style);
    }
  }
  return out;
}

} // namespace

std::string render_help(const Command& command, const HelpStyle& style) {
  std::string out = fmt::format("{} {} - {}\n", style.program, command.name, command.summary);
  out += heading("SYNOPSIS", style);
  for (const std::string_view line : command.synopsis) {
    out += paragraph(fmt::format("{} {} {}", style.program, command.name, line), kIndent, style);
  }
  if (!command.description.empty()) {
    out += heading("DESCRIPTION", style);
    for (std::size_t i = 0; i < command.description.size(); ++i) {
      out += i == 0 ? "" : "\n";
      out += paragraph(command.description[i], kIndent, style);
    }
  }
  return out + arguments_section(command, style) + flags_section(command, style) +
         tail_sections(command, style);
}

std::string render_overview(const HelpStyle& style) {
  std::string out = paragraph(
      "Berth takes an AI workload from a manifest to a container that sees its GPUs, and says at "
      "every step which node, which GPUs, and why not.",
      "", style);
  out += heading("USAGE", style);
  out += fmt::format("{}{} COMMAND [FLAGS]\n", kIndent, style.program);
  out += heading("COMMANDS", style);
  std::size_t left = 0;
  for (const Command& command : commands()) {
    left = std::max(left, command.of_programs ? 0 : command.name.size());
  }
  for (const Command& command : commands()) {
    out += command.of_programs ? "" : definition(command.name, command.summary, left, style);
  }
  out += heading("START HERE", style);
  out += fmt::format("{}{} run -f examples/ --nodes dgx-h100:4 --nodes l40s-pcie-8:2\n", kIndent,
                     style.program);
  out += fmt::format("{}{} help run\n", kIndent, style.program);
  return out;
}

} // namespace berth::cli
