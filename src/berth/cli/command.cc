#include "berth/cli/command.h"

namespace berth::cli {

bool Values::has(std::string_view flag) const {
  return flags.contains(flag);
}

std::string Values::get(std::string_view flag, std::string_view fallback) const {
  const auto it = flags.find(flag);
  return it == flags.end() || it->second.empty() ? std::string(fallback) : it->second.back();
}

const std::vector<std::string>& Values::all(std::string_view flag) const {
  static const std::vector<std::string> kNone;
  const auto it = flags.find(flag);
  return it == flags.end() ? kNone : it->second;
}

const std::vector<Flag>& shared_flags() {
  static const std::vector<Flag> kShared = {
      {.name = "--color",
       .value = "WHEN",
       .help = "colour the output: auto colours on a terminal unless NO_COLOR, CLICOLOR=0 or "
               "TERM=dumb is set",
       .group = "EVERYWHERE",
       .fallback = "auto",
       .choices = {"auto", "always", "never"},
       .offers = Offers::Choices},
      {.name = "--verbose",
       .letter = 'v',
       .help = "say more on standard error; give it twice for every step",
       .group = "EVERYWHERE",
       .times = Flag::Times::Many},
      {.name = "--help", .letter = 'h', .help = "show this help", .group = "EVERYWHERE"}};
  return kShared;
}

} // namespace berth::cli
