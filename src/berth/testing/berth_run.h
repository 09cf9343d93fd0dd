// `berth` as a user calls it, inside the test's process.
#pragma once

#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "berth/cli/app.h"

namespace berth::test {

struct Outcome {
  int code = 0;
  std::string out;
  std::string err;
};

/// Runs `berth` with these words, no terminal and an empty environment.
inline Outcome berth(const std::vector<std::string>& words) {
  std::ostringstream out;
  std::ostringstream err;
  cli::Terminal terminal{.out = {.to = &out}, .err = {.to = &err}};
  terminal.version = "berth 0.0.0 (commit test)";
  const int code =
      cli::run_program(words, terminal, [](const char*) { return std::optional<std::string>(); });
  return {code, out.str(), err.str()};
}

/// `berth run`.
inline Outcome berth_run(std::vector<std::string> words) {
  words.insert(words.begin(), "run");
  return berth(words);
}

} // namespace berth::test
