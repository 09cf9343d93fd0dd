#include "berth/cel/utf8.h"

namespace berth::cel {
namespace {

constexpr char32_t kReplacement = 0xfffd;

/// How many bytes a character takes by its first; 0: it is no first byte.
std::size_t length_of(unsigned char first) {
  return first < 0x80             ? 1
         : (first & 0xe0) == 0xc0 ? 2
         : (first & 0xf0) == 0xe0 ? 3
         : (first & 0xf8) == 0xf0 ? 4
                                  : 0;
}

} // namespace

std::u32string code_points(std::string_view utf8) {
  std::u32string out;
  out.reserve(utf8.size());
  while (!utf8.empty()) {
    const auto first = static_cast<unsigned char>(utf8.front());
    std::size_t length = length_of(first);
    bool sound = length > 0 && length <= utf8.size();
    char32_t point = length <= 1 ? first : first & (0x7fU >> length);
    for (std::size_t i = 1; sound && i < length; ++i) {
      const auto next = static_cast<unsigned char>(utf8[i]);
      sound = (next & 0xc0) == 0x80;
      point = (point << 6) | (next & 0x3fU);
    }
    length = sound ? length : 1;
    out += sound ? point : kReplacement;
    utf8.remove_prefix(length);
  }
  return out;
}

void add_utf8(std::string& out, char32_t point) {
  const auto byte = [&out](char32_t bits) { out += static_cast<char>(bits); };
  if (point < 0x80) {
    byte(point);
  } else if (point < 0x800) {
    byte(0xc0 | (point >> 6));
    byte(0x80 | (point & 0x3f));
  } else if (point < 0x10000) {
    byte(0xe0 | (point >> 12));
    byte(0x80 | ((point >> 6) & 0x3f));
    byte(0x80 | (point & 0x3f));
  } else {
    byte(0xf0 | (point >> 18));
    byte(0x80 | ((point >> 12) & 0x3f));
    byte(0x80 | ((point >> 6) & 0x3f));
    byte(0x80 | (point & 0x3f));
  }
}

std::string to_utf8(std::u32string_view points) {
  std::string out;
  for (const char32_t point : points) {
    add_utf8(out, point);
  }
  return out;
}

} // namespace berth::cel
