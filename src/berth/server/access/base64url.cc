#include "berth/server/access/base64url.h"

#include <cstdint>

namespace berth::server {
namespace {

constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
constexpr unsigned kDigit = 6;
constexpr unsigned kByte = 8;
constexpr std::uint32_t kDigitMask = 0x3f;

} // namespace

std::string to_base64url(std::string_view bytes) {
  std::string out;
  std::uint32_t bits = 0;
  unsigned held = 0;
  for (const char c : bytes) {
    bits = bits << kByte | static_cast<unsigned char>(c);
    for (held += kByte; held >= kDigit; held -= kDigit) {
      out += kAlphabet[bits >> (held - kDigit) & kDigitMask];
    }
    bits &= (1U << held) - 1;
  }
  if (held > 0) {
    out += kAlphabet[bits << (kDigit - held) & kDigitMask];
  }
  return out;
}

std::optional<std::string> from_base64url(std::string_view text) {
  std::string out;
  std::uint32_t bits = 0;
  unsigned held = 0;
  for (const char c : text) {
    const std::size_t digit = kAlphabet.find(c);
    if (digit == std::string_view::npos) {
      return std::nullopt;
    }
    bits = bits << kDigit | static_cast<std::uint32_t>(digit);
    held += kDigit;
    if (held >= kByte) {
      held -= kByte;
      out += static_cast<char>(bits >> held);
      bits &= (1U << held) - 1;
    }
  }
  if (held >= kDigit || bits != 0) {
    return std::nullopt; // a digit too many, or bits that no byte needs
  }
  return out;
}

} // namespace berth::server
