// A hash map by text that is looked up without making a std::string.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace berth {

struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const noexcept {
    return std::hash<std::string_view>()(text);
  }
};

/// Iteration order is not defined: look up only, or sort.
template <class T> using TextMap = std::unordered_map<std::string, T, TextHash, std::equal_to<>>;

} // namespace berth
