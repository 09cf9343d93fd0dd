#include "berth/store/validation/line_diff.h"

#include <algorithm>

#include <fmt/format.h>

namespace berth::store {
namespace {

using Lines = std::vector<std::string>;

constexpr std::size_t kContext = 3;

/// `size` lines that are the same from `a` and from `b` on.
struct Block {
  std::size_t a = 0;
  std::size_t b = 0;
  std::size_t size = 0;
};

struct Range {
  std::size_t a = 0;
  std::size_t a_end = 0;
  std::size_t b = 0;
  std::size_t b_end = 0;
};

class Matcher {
 public:
  Matcher(const Lines& before, const Lines& now) : before_(before), now_(now) {}

  /// All blocks, in order; the longest first decide what can match around them.
  std::vector<Block> blocks() {
    match({0, before_.size(), 0, now_.size()});
    std::ranges::sort(found_, {}, &Block::a);
    return found_;
  }

 private:
  Block longest(const Range& in) const {
    Block best{.a = in.a, .b = in.b, .size = 0};
    std::vector<std::size_t> ending(in.b_end - in.b + 1, 0); // run that ends before the line
    for (std::size_t a = in.a; a < in.a_end; ++a) {
      std::size_t diagonal = 0;
      for (std::size_t b = in.b; b < in.b_end; ++b) {
        std::size_t& run = ending[b - in.b + 1];
        const std::size_t above = run;
        run = before_[a] == now_[b] ? diagonal + 1 : 0;
        diagonal = above;
        if (run > best.size) {
          best = {.a = a + 1 - run, .b = b + 1 - run, .size = run};
        }
      }
    }
    return best;
  }

  void match(const Range& in) {
    const Block block = longest(in);
    if (block.size == 0) {
      return;
    }
    match({in.a, block.a, in.b, block.b});
    found_.push_back(block);
    match({block.a + block.size, in.a_end, block.b + block.size, in.b_end});
  }

  const Lines& before_;
  const Lines& now_;
  std::vector<Block> found_;
};

/// Stretches that differ, in order.
std::vector<Range> changes(const Lines& before, const Lines& now) {
  std::vector<Block> blocks = Matcher(before, now).blocks();
  blocks.push_back({.a = before.size(), .b = now.size(), .size = 0});
  std::vector<Range> out;
  std::size_t a = 0;
  std::size_t b = 0;
  for (const Block& block : blocks) {
    if (a < block.a || b < block.b) {
      out.push_back({a, block.a, b, block.b});
    }
    a = block.a + block.size;
    b = block.b + block.size;
  }
  return out;
}

std::string range_text(std::size_t from, std::size_t to) {
  const std::size_t length = to - from;
  if (length == 1) {
    return fmt::to_string(from + 1);
  }
  return fmt::format("{},{}", length == 0 ? from : from + 1, length);
}

void add_lines(std::string& out, char mark, const Lines& lines, std::size_t from, std::size_t to) {
  for (std::size_t i = from; i < to; ++i) {
    out += mark + lines[i] + "\n";
  }
}

} // namespace

std::string line_diff(const Lines& before, const Lines& now) {
  const std::vector<Range> all = changes(before, now);
  std::string out;
  for (std::size_t first = 0; first < all.size();) {
    std::size_t last = first;
    while (last + 1 < all.size() && all[last + 1].a - all[last].a_end <= 2 * kContext) {
      ++last;
    }
    const std::size_t lead = std::min(kContext, all[first].a);
    const std::size_t tail = std::min(kContext, before.size() - all[last].a_end);
    out += fmt::format("@@ -{} +{} @@\n", range_text(all[first].a - lead, all[last].a_end + tail),
                       range_text(all[first].b - lead, all[last].b_end + tail));
    std::size_t at = all[first].a - lead;
    for (std::size_t i = first; i <= last; ++i) {
      add_lines(out, ' ', before, at, all[i].a);
      add_lines(out, '-', before, all[i].a, all[i].a_end);
      add_lines(out, '+', now, all[i].b, all[i].b_end);
      at = all[i].a_end;
    }
    add_lines(out, ' ', before, at, at + tail);
    first = last + 1;
  }
  return out;
}

} // namespace berth::store
