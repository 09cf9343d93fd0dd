#include "berth/deviceplugin/config/health_checks.h"

#include <algorithm>
#include <cctype>
#include <charconv>

#include <fmt/format.h>

namespace berth::deviceplugin {
namespace {

struct XidList {
  bool all = false;
  bool xids = false;
  std::vector<int> codes;
};

std::string trimmed_lower(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (std::isspace(static_cast<unsigned char>(c)) == 0) {
      out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
  }
  return out;
}

XidList read_list(std::string_view variable, std::string_view text,
                  std::vector<std::string>& remarks) {
  XidList list;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    const std::string word = trimmed_lower(text.substr(0, comma));
    text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
    int code = 0;
    const auto read = std::from_chars(word.data(), word.data() + word.size(), code);
    if (word == "all") {
      list.all = true;
    } else if (word == "xids") {
      list.xids = true;
    } else if (read.ec == std::errc() && read.ptr == word.data() + word.size() && code > 0) {
      list.codes.push_back(code);
    } else if (!word.empty()) {
      remarks.push_back(fmt::format("{}: ignoring malformed Xid value: {}", variable, word));
    }
  }
  std::ranges::sort(list.codes);
  const auto repeated = std::ranges::unique(list.codes);
  list.codes.erase(repeated.begin(), repeated.end());
  return list;
}

} // namespace

HealthChecks read_health_checks(std::string_view disable, std::string_view enable,
                                std::vector<std::string>& remarks) {
  const XidList off = read_list("DP_DISABLE_HEALTHCHECKS", disable, remarks);
  const XidList on = read_list("DP_ENABLE_HEALTHCHECKS", enable, remarks);
  const bool every = on.all || on.xids;
  return {.off = off.all && !every && on.codes.empty(),
          .no_xids = (off.all || off.xids) && !every,
          .every_xid = every,
          .disabled = off.codes,
          .enabled = on.codes};
}

} // namespace berth::deviceplugin
