// The berth program. Everything is in src/berth/cli; this file connects it to the process.
#include <unistd.h>

#include <string>
#include <vector>

#include <fmt/format.h>

#include "berth/cli/app.h"
#include "berth/cli/terminal.h"
#include "berth_version.h"

int main(int argc, char** argv) {
  const berth::cli::Environment env = berth::cli::process_environment();
  berth::cli::Terminal terminal = berth::cli::process_terminal(argc > 0 ? argv[0] : "berth", env);
  terminal.version = fmt::format("berth {} (commit {})", BERTH_VERSION, BERTH_COMMIT);
  const std::vector<std::string> words(argv + (argc > 0 ? 1 : 0), argv + argc);
  const int code = berth::cli::run_program(words, terminal, env);
  return berth::cli::finish_output(terminal, STDOUT_FILENO, code);
}
