#include "berth/store/pod_standards/levels.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include <fmt/format.h>

namespace berth::store {
namespace {

constexpr std::string_view kPrefix = "pod-security.kubernetes.io/";
constexpr std::array<std::string_view, 3> kLevels = {"privileged", "baseline", "restricted"};

/// "v1.30", without zeroes in front.
std::optional<int> minor_of(std::string_view text) {
  if (text == "latest") {
    return kLatestStandards;
  }
  constexpr std::string_view kMajor = "v1.";
  if (!text.starts_with(kMajor)) {
    return std::nullopt;
  }
  text.remove_prefix(kMajor.size());
  const bool digits = text.find_first_not_of("0123456789") == std::string_view::npos;
  int minor = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), minor);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  if (!digits || !whole || (text.size() > 1 && text.front() == '0')) {
    return std::nullopt;
  }
  return minor;
}

/// One mode's two labels.
struct Mode {
  bool has_level = false;
  bool has_version = false;
  bool failed = false; ///< the level cannot be read
  LevelVersion what;
};

Mode mode_of(const api::Labels& labels, std::string_view name, FieldErrors& errors) {
  Mode out;
  const auto wrong = [&](const std::string& label, const std::string& value, std::string_view why) {
    errors.push_back(invalid_value(fmt::format("metadata.labels[{}]", label), quote(value), why));
  };
  const std::string level = fmt::format("{}{}", kPrefix, name);
  if (const auto found = labels.find(level); found != labels.end()) {
    out.has_level = true;
    const auto* const at = std::ranges::find(kLevels, found->second);
    out.failed = at == kLevels.end();
    out.what.level =
        out.failed ? SecurityLevel::Restricted : static_cast<SecurityLevel>(at - kLevels.begin());
    if (out.failed) {
      wrong(level, found->second, "must be one of privileged, baseline, restricted");
    }
  }
  const std::string version = level + "-version";
  if (const auto found = labels.find(version); found != labels.end()) {
    out.has_version = true;
    const auto minor = minor_of(found->second);
    out.what.minor = minor.value_or(kLatestStandards);
    if (!minor) {
      wrong(version, found->second, "must be \"latest\" or \"v1.x\"");
    }
  }
  return out;
}

} // namespace

std::string to_string(const LevelVersion& what) {
  const std::string_view level = kLevels[static_cast<std::size_t>(what.level)];
  return what.minor == kLatestStandards ? fmt::format("{}:latest", level)
                                        : fmt::format("{}:v1.{}", level, what.minor);
}

bool SecurityPolicy::all_privileged() const {
  return enforce.level == SecurityLevel::Privileged && audit.level == SecurityLevel::Privileged &&
         warn.level == SecurityLevel::Privileged;
}

SecurityPolicy security_policy(const api::Labels& labels, FieldErrors& errors) {
  const Mode enforce = mode_of(labels, "enforce", errors);
  Mode audit = mode_of(labels, "audit", errors);
  Mode warn = mode_of(labels, "warn", errors);
  for (Mode* one : {&audit, &warn}) {
    if (one->failed) {
      one->what.level = SecurityLevel::Privileged;
    }
  }
  if (!warn.has_level && enforce.has_level && enforce.what.level > warn.what.level) {
    warn.what.level = enforce.what.level;
    if (!warn.has_version) {
      warn.what.minor = enforce.what.minor;
    }
  }
  return {.enforce = enforce.what, .audit = audit.what, .warn = warn.what};
}

} // namespace berth::store
