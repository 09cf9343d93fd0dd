// Runs whole clusters with faults, seed after seed, and prints the first that breaks an invariant.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "berth/sim/chaos.h"

namespace {

constexpr std::string_view kUsage =
    "usage: berth_fuzz_cluster [--seeds N] [--first S] [--trace] [--keep-going]\n"
    "  --seeds N      how many seeds to run (default 1000)\n"
    "  --first S      the first seed (default 0)\n"
    "  --trace        print every action and step\n"
    "  --keep-going   go on after a seed that fails\n";

struct Options {
  std::uint64_t seeds = 1000;
  std::uint64_t first = 0;
  bool trace = false;
  bool keep_going = false;
};

/// False on anything that is not as in kUsage.
bool parse(int argc, char** argv, Options& options) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view flag = argv[i];
    if (flag == "--trace") {
      options.trace = true;
    } else if (flag == "--keep-going") {
      options.keep_going = true;
    } else if ((flag == "--seeds" || flag == "--first") && i + 1 < argc) {
      char* end = nullptr;
      const std::uint64_t value = std::strtoull(argv[++i], &end, 10);
      if (*end != '\0') {
        return false;
      }
      (flag == "--seeds" ? options.seeds : options.first) = value;
    } else {
      return false;
    }
  }
  return true;
}

} // namespace

int main(int argc, char** argv) {
  Options options;
  if (!parse(argc, argv, options)) {
    fmt::print(stderr, "{}", kUsage);
    return 2;
  }
  std::uint64_t failed = 0;
  for (std::uint64_t seed = options.first; seed < options.first + options.seeds; ++seed) {
    const auto report = berth::sim::run_chaos(
        seed, options.trace ? [](const std::string& line) { fmt::print("{}\n", line); }
                            : std::function<void(const std::string&)>());
    if (!report.ok()) {
      ++failed;
      fmt::print("{}\n", to_string(report));
      std::fflush(stdout);
      if (!options.keep_going) {
        return 1;
      }
    } else if (options.trace || (seed + 1 - options.first) % 100 == 0) {
      fmt::print(stderr, "{}\n", to_string(report));
    }
  }
  fmt::print("{} seeds, {} failed\n", options.seeds, failed);
  return failed == 0 ? 0 : 1;
}
