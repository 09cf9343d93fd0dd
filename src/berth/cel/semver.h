// Semantic versions in expressions. Source: semver.org 2.0.0; k8s.io/apiserver/pkg/cel/library
// semverlib.go.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace berth::cel {

struct Semver {
  std::uint64_t major = 0;
  std::uint64_t minor = 0;
  std::uint64_t patch = 0;
  std::vector<std::string> pre; ///< "-rc.1" is {"rc", "1"}
  std::string build;            ///< does not count when compared
};

/// Whether "v1.2" and leading zeros are read as "1.2.0".
enum class SemverForm { Strict, Normalized };

std::optional<Semver> parse_semver(std::string_view text, SemverForm form = SemverForm::Strict);
std::string to_string(const Semver& version);
/// A pre-release comes before its release.
std::strong_ordering compare(const Semver& a, const Semver& b);

} // namespace berth::cel
