#include "berth/report/gpu_map.h"

#include <algorithm>

#include <fmt/format.h>

#include "berth/base/ranges.h"
#include "berth/report/text.h"

namespace berth::report {
namespace {

constexpr std::size_t kDrawEveryNode = 40;
constexpr std::string_view kGap = "  ";

/// Gives each holder of a row its letter and colour, in order of first GPU.
class Letters {
 public:
  struct Holder {
    char letter = 'A';
    Tone tone = Tone::Plain;
    std::string name;
  };

  void start_row() { row_.clear(); }
  const Holder& of(const std::string& holder) {
    const auto it = std::ranges::find(row_, holder, &Holder::name);
    if (it != row_.end()) {
      return *it;
    }
    static constexpr Tone kTones[] = {Tone::Accent, Tone::Good, Tone::Warn};
    row_.push_back({static_cast<char>('A' + next_ % 26), kTones[next_ % 3], holder});
    ++next_;
    return row_.back();
  }
  const std::vector<Holder>& row() const { return row_; }

 private:
  std::vector<Holder> row_;
  int next_ = 0;
};

bool all_free(const NodeMap& node) {
  return std::ranges::all_of(node.gpus,
                             [](const GpuCell& gpu) { return gpu.state == GpuCell::State::Free; });
}

std::string pad(std::string text, std::size_t width) {
  const std::size_t have = display_width(text);
  return text.append(width > have ? width - have : 0, ' ');
}

// Cells are as wide as the largest index, so that columns stand under their numbers.
std::string cells_of(const NodeMap& node, std::size_t cell_width, Letters& letters,
                     const Painter& paint) {
  std::string out;
  for (std::size_t i = 0; i < node.gpus.size(); ++i) {
    const GpuCell& gpu = node.gpus[i];
    out.append(cell_width - 1 + (i == 0 ? 0 : 1), ' ');
    switch (gpu.state) {
    case GpuCell::State::Free:
      out += paint(Tone::Dim, ".");
      break;
    case GpuCell::State::Unhealthy:
      out += paint(Tone::Bad, "!");
      break;
    case GpuCell::State::Held: {
      const Letters::Holder& holder = letters.of(gpu.holder);
      out += paint(holder.tone, std::string(1, holder.letter));
      break;
    }
    }
  }
  return out;
}

std::string legend_of(const NodeMap& node, const Letters& letters, const Painter& paint) {
  std::string out;
  for (const Letters::Holder& holder : letters.row()) {
    out += out.empty() ? "" : kGap;
    out += fmt::format("{} {}", paint(holder.tone, std::string(1, holder.letter)),
                       printable(holder.name));
  }
  std::vector<int> broken;
  for (std::size_t i = 0; i < node.gpus.size(); ++i) {
    if (node.gpus[i].state == GpuCell::State::Unhealthy) {
      broken.push_back(static_cast<int>(i));
    }
  }
  if (!broken.empty()) {
    out += out.empty() ? "" : kGap;
    out += fmt::format("{} GPU{} {} unhealthy", paint(Tone::Bad, "!"),
                       broken.size() == 1 ? "" : "s", format_ranges(broken));
  }
  return out.empty() ? paint(Tone::Dim, "free") : out;
}

struct Layout {
  std::size_t name = 4; ///< "NODE"
  std::size_t cell = 1;
  std::size_t gpus = 0;
  std::size_t cells() const { return std::max<std::size_t>(gpus * (cell + 1) - 1, 4); }
};

Layout layout_of(const std::vector<const NodeMap*>& nodes) {
  Layout layout;
  for (const NodeMap* node : nodes) {
    layout.name = std::max(layout.name, display_width(node->node));
    layout.gpus = std::max(layout.gpus, node->gpus.size());
  }
  layout.cell = layout.gpus > 10 ? 2 : 1;
  return layout;
}

std::string header(const Layout& layout, const TableStyle& style) {
  std::string cells;
  for (std::size_t i = 0; i < layout.gpus; ++i) {
    cells += fmt::format("{}{:>{}}", i == 0 ? "" : " ", i, layout.cell);
  }
  const std::string line = fmt::format("{}{}{}{}", pad("NODE", layout.name), kGap,
                                       pad(std::move(cells), layout.cells()), "  HELD BY");
  return style.indent + style.paint(Tone::Dim, line) + "\n";
}

} // namespace

std::string render_gpu_map(const GpuMap& map, const TableStyle& style) {
  std::vector<const NodeMap*> drawn;
  std::size_t idle = 0;
  for (const NodeMap& node : map.nodes) {
    if (map.nodes.size() > kDrawEveryNode && all_free(node)) {
      ++idle;
    } else {
      drawn.push_back(&node);
    }
  }
  const Layout layout = layout_of(drawn);
  std::string out = drawn.empty() ? "" : header(layout, style);
  Letters letters;
  for (const NodeMap* node : drawn) {
    letters.start_row();
    const std::size_t used = node->gpus.size() * (layout.cell + 1) - 1;
    std::string cells = cells_of(*node, layout.cell, letters, style.paint);
    cells.append(layout.cells() > used ? layout.cells() - used : 0, ' ');
    out += fmt::format("{}{}{}{}{}{}\n", style.indent, pad(printable(node->node), layout.name),
                       kGap, cells, kGap, legend_of(*node, letters, style.paint));
  }
  if (idle > 0) {
    out += fmt::format("{}{} with every GPU free {} not drawn\n", style.indent,
                       counted(idle, "node"), idle == 1 ? "is" : "are");
  }
  return out;
}

} // namespace berth::report
