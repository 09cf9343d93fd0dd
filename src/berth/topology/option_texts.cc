#include "berth/topology/option_texts.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace berth::topology {

Result<bool> parse_flag(std::string_view option, std::string_view text) {
  constexpr std::array<std::string_view, 6> kTrue{"1", "t", "T", "TRUE", "true", "True"};
  constexpr std::array<std::string_view, 6> kFalse{"0", "f", "F", "FALSE", "false", "False"};
  if (std::ranges::find(kTrue, text) != kTrue.end()) {
    return true;
  }
  if (std::ranges::find(kFalse, text) != kFalse.end()) {
    return false;
  }
  return fail(Code::Invalid, fmt::format("bad value for option \"{}\": true or false is expected: "
                                         "\"{}\"",
                                         option, text));
}

} // namespace berth::topology
