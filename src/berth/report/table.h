// Tables as kubectl prints them: a header in capitals, columns two blanks apart, no lines, no
// trailing blanks.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "berth/report/tone.h"

namespace berth::report {

struct Column {
  enum class Align { Left, Right };
  enum class Show { Always, Wide };

  std::string title;
  Align align = Align::Left;
  Show show = Show::Always;
  bool shrinks = false; ///< the column that is clipped when the terminal is too narrow
};

struct Cell {
  std::string text;
  Tone tone = Tone::Plain;

  // Implicit on purpose: a row reads as a list of texts.
  Cell(std::string t, Tone how = Tone::Plain) : text(std::move(t)), tone(how) {}
  Cell(const char* t, Tone how = Tone::Plain) : text(t), tone(how) {}
};

struct TableStyle {
  enum class Headers { Show, Hide };

  Headers headers = Headers::Show;
  Column::Show show = Column::Show::Always; ///< Wide shows every column
  std::optional<std::size_t> width = {};    ///< columns of the terminal; none: unlimited
  Painter paint = {};
  std::string indent = {};
};

/// Rows have one cell a column, whatever is shown. Empty cells print as "-". Text is made
/// printable.
class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  void add(std::vector<Cell> row);
  bool empty() const { return rows_.empty(); }
  /// Every line ends in a line break; "" for no rows. O(cells).
  std::string render(const TableStyle& style) const;

 private:
  std::vector<std::size_t> shown(const TableStyle& style) const;
  std::vector<std::size_t> widths(const TableStyle& style,
                                  const std::vector<std::size_t>& columns) const;

  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

} // namespace berth::report
