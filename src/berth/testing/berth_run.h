// `berth run` as a user calls it, inside the test's process.
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

/// Runs `berth run` with these words, no terminal and an empty environment.
inline Outcome berth_run(std::vector<std::string> words) {
  std::ostringstream out;
  std::ostringstream err;
  cli::Terminal terminal{.out = {.to = &out}, .err = {.to = &err}};
  words.insert(words.begin(), "run");
  const int code =
      cli::run_program(words, terminal, [](const char*) { return std::optional<std::string>(); });
  return {code, out.str(), err.str()};
}

} // namespace berth::test
