#include "berth/hardware/label_value.h"

namespace berth::hardware {

std::string label_value(std::string_view text) {
  std::string value;
  for (const char c : text) {
    const bool word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (word || c == '-' || c == '_' || c == '.') {
      value += c;
    } else if (c == ' ') {
      value += '-';
    }
  }
  return value;
}

} // namespace berth::hardware
