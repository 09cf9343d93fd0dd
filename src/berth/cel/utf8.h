// Texts are sequences of code points to expressions: positions and lengths count those.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace berth::cel {

/// What is no UTF-8 becomes U+FFFD, byte by byte.
std::u32string code_points(std::string_view utf8);
std::string to_utf8(std::u32string_view points);
void add_utf8(std::string& out, char32_t point);

} // namespace berth::cel
