// "did you mean": the nearest of some words to one that is none of them.
#pragma once

#include <span>
#include <string_view>

namespace berth {

/// The candidate with the fewest edits (insert, delete, replace, swap neighbours), the first of
/// equals; "" if even that one is more than a third of the word away. O(word x candidates' length).
std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates);

} // namespace berth
