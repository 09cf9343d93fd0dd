// Names that a simulated machine derives from its node's name: stable over restarts and runs,
// different between nodes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace berth::hardware {

/// 64 bits that depend on every byte of `text` and on `salt`. FNV-1a, then splitmix64's finaliser;
/// not secret.
std::uint64_t mix(std::string_view text, std::uint64_t salt);

/// A version 4 UUID in text form, a function of its arguments.
std::string stable_uuid(std::string_view text, std::uint64_t salt);

/// Splits "dgx-h100-12" into "dgx-h100" and 12; the number is -1 if the name does not end in one.
struct NumberedName {
  std::string_view stem;
  std::int64_t number = -1;
};
NumberedName split_number(std::string_view name);

} // namespace berth::hardware
