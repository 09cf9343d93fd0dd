// A command line against a command's tables. The only file that sees CLI11 is parse.cc.
#pragma once

#include <span>
#include <string>

#include "berth/base/result.h"
#include "berth/cli/command.h"

namespace berth::cli {

/// Reads what follows the command's name: "--flag value", "--flag=value", "-f value", "-fvalue",
/// switches, "--" and arguments in any order. With --help nothing else is required. Errors
/// (BadRequest) name the flag and suggest the nearest one.
Result<Values> parse_command_line(const Command& command, std::span<const std::string> words);

} // namespace berth::cli
