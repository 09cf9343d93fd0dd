// The program: finds the command that the words name, reads its flags, runs it.
#pragma once

#include <span>
#include <string>

#include "berth/cli/terminal.h"

namespace berth::cli {

/// Everything after the program's name. Returns the exit code; usage errors are 2.
int run_program(std::span<const std::string> words, Terminal& terminal, const Environment& env);

} // namespace berth::cli
