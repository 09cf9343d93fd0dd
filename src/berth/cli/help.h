// --help as a manual page would read, and the overview that `berth` alone prints; both from the
// command tables.
#pragma once

#include <string>
#include <string_view>

#include "berth/cli/command.h"

namespace berth::cli {

struct HelpStyle {
  std::string_view program = "berth";
  std::size_t width = 100;
  report::Painter paint = {};
};

/// Name, synopsis, description, flags by group, examples, exit codes, see also.
std::string render_help(const Command& command, const HelpStyle& style);
/// What berth is, every command with its summary, and where to go next.
std::string render_overview(const HelpStyle& style);

} // namespace berth::cli
