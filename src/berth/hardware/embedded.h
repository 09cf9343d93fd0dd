// The platform files compiled into the program; the table is made by cmake/embed_platforms.cmake.
#pragma once

#include <span>
#include <string_view>

namespace berth::hardware {

struct EmbeddedFile {
  const char* name; ///< "dgx-h100.yaml"
  const char* begin;
  const char* end;

  std::string_view text() const { return {begin, static_cast<std::size_t>(end - begin)}; }
};

/// In the order of their names.
std::span<const EmbeddedFile> embedded_platforms();

} // namespace berth::hardware
