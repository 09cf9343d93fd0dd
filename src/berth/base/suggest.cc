#include "berth/base/suggest.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace berth {
namespace {

// Optimal string alignment distance by rows.
std::size_t edits(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_last(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) {
    last[j] = j;
  }
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replace = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replace});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before_last[j - 2] + 1);
      }
    }
    before_last.swap(last);
    last.swap(row);
  }
  return last[b.size()];
}

} // namespace

std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates) {
  constexpr std::size_t kLongestWord = 64;
  if (word.size() > kLongestWord) {
    return "";
  }
  std::string_view best;
  std::size_t fewest = std::max<std::size_t>(1, word.size() / 3) + 1;
  for (const std::string_view candidate : candidates) {
    const std::size_t n = edits(word, candidate);
    if (n < fewest) {
      fewest = n;
      best = candidate;
    }
  }
  return best;
}

} // namespace berth
