// Numbers in network order, as SPDY writes them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace berth::net::spdy {

inline void append_u32(std::string& to, std::uint32_t number) {
  for (const int shift : {24, 16, 8, 0}) {
    to += static_cast<char>(number >> shift & 0xFFU);
  }
}

/// Precondition: four bytes are there.
inline std::uint32_t u32_at(std::string_view bytes, std::size_t at) {
  std::uint32_t number = 0;
  for (std::size_t i = at; i < at + 4; ++i) {
    number = number << 8U | static_cast<unsigned char>(bytes[i]);
  }
  return number;
}

} // namespace berth::net::spdy
