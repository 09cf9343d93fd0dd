#include "berth/report/table.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "berth/base/assert.h"
#include "berth/report/text.h"

namespace berth::report {
namespace {

constexpr std::size_t kGap = 2;
constexpr std::size_t kLeastShrunk = 12;

std::string padded(const Cell& cell, std::size_t width, Column::Align align, const Painter& paint) {
  const std::string text = clip(cell.text, width);
  const std::string blanks(width - display_width(text), ' ');
  const std::string painted = paint(cell.tone, text);
  return align == Column::Align::Right ? blanks + painted : painted + blanks;
}

void trim_right(std::string& line) {
  const std::size_t end = line.find_last_not_of(' ');
  line.resize(end == std::string::npos ? 0 : end + 1);
}

} // namespace

void Table::add(std::vector<Cell> row) {
  BERTH_ASSERT(row.size() == columns_.size(),
               fmt::format("row of {} cells in a table of {}", row.size(), columns_.size()));
  for (Cell& cell : row) {
    cell.text = printable(cell.text);
    if (cell.text.empty()) {
      cell = Cell("-", Tone::Dim);
    }
  }
  rows_.push_back(std::move(row));
}

std::vector<std::size_t> Table::shown(const TableStyle& style) const {
  std::vector<std::size_t> columns;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (columns_[i].show == Column::Show::Always || style.show == Column::Show::Wide) {
      columns.push_back(i);
    }
  }
  return columns;
}

std::vector<std::size_t> Table::widths(const TableStyle& style,
                                       const std::vector<std::size_t>& columns) const {
  std::vector<std::size_t> widths(columns_.size(), 0);
  std::size_t total = display_width(style.indent);
  for (const std::size_t i : columns) {
    if (style.headers == TableStyle::Headers::Show) {
      widths[i] = display_width(columns_[i].title);
    }
    for (const auto& row : rows_) {
      widths[i] = std::max(widths[i], display_width(row[i].text));
    }
    total += widths[i] + kGap;
  }
  total -= std::min(total, kGap);
  if (!style.width || total <= *style.width) {
    return widths;
  }
  for (const std::size_t i : columns) {
    if (columns_[i].shrinks && total > *style.width && widths[i] > kLeastShrunk) {
      const std::size_t cut = std::min(total - *style.width, widths[i] - kLeastShrunk);
      widths[i] -= cut;
      total -= cut;
    }
  }
  return widths;
}

std::string Table::render(const TableStyle& style) const {
  if (rows_.empty()) {
    return "";
  }
  const std::vector<std::size_t> columns = shown(style);
  const std::vector<std::size_t> width = widths(style, columns);
  std::string out;
  const auto add_line = [&](const auto& cell_at) {
    std::string line = style.indent;
    for (const std::size_t i : columns) {
      line += padded(cell_at(i), width[i], columns_[i].align, style.paint);
      line.append(kGap, ' ');
    }
    trim_right(line);
    out += line;
    out += '\n';
  };
  if (style.headers == TableStyle::Headers::Show) {
    add_line([&](std::size_t i) { return Cell(columns_[i].title, Tone::Dim); });
  }
  for (const auto& row : rows_) {
    add_line([&](std::size_t i) -> const Cell& { return row[i]; });
  }
  return out;
}

} // namespace berth::report
