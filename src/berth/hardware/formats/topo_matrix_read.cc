// Reading the matrix. A row is its label, then as many words as columns have a value: no value
// holds a blank, so tabs and runs of blanks mean the same.
#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>

#include <fmt/format.h>

#include "berth/hardware/formats/topo_matrix.h"
#include "berth/hardware/label_value.h"
#include "berth/hardware/platform_check.h"

namespace berth::hardware {

namespace {

using Words = std::vector<std::string_view>;

/// What a column holds.
enum class Holds { Links, Cpus, Numa, GpuNuma };

struct ColumnOf {
  Holds holds = Holds::Links;
  std::string label; ///< of a device: "GPU0", "NIC3", "mlx5_0"
};

struct Line {
  int number = 0;
  std::string text;
};

struct Row {
  int line = 0;
  std::vector<std::optional<TopoCell>> cells; ///< by column
  std::string cpus;
  std::string numa;
  std::string gpu_numa;
};

/// Removes terminal escape sequences (ESC [ ... letter) and carriage returns.
std::string without_codes(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\033' && i + 1 < text.size() && text[i + 1] == '[') {
      i += 2;
      while (i < text.size() && std::isalpha(static_cast<unsigned char>(text[i])) == 0) {
        ++i;
      }
    } else if (text[i] != '\r') {
      out += text[i];
    }
  }
  return out;
}

std::vector<Line> lines_of(std::string_view text) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF"; // editors of Windows begin with it
  text.remove_prefix(text.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0);
  std::vector<Line> lines;
  int number = 1;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back({number++, without_codes(text.substr(0, end))});
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

Words words_of(std::string_view line) {
  Words words;
  while (true) {
    const std::size_t start = line.find_first_not_of(" \t");
    if (start == std::string_view::npos) {
      return words;
    }
    line.remove_prefix(start);
    const std::size_t end = std::min(line.find_first_of(" \t"), line.size());
    words.push_back(line.substr(0, end));
    line.remove_prefix(end);
  }
}

std::optional<int> number_after(std::string_view prefix, std::string_view word) {
  int value = 0;
  if (!word.starts_with(prefix) || word.size() == prefix.size()) {
    return std::nullopt;
  }
  word.remove_prefix(prefix.size());
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  return error == std::errc{} && end == word.data() + word.size() && value >= 0
             ? std::optional(value)
             : std::nullopt;
}

bool is_gpu(std::string_view word) {
  return number_after("GPU", word).has_value();
}

bool is_header(const Words& words) {
  // GPU0 twice in a row ("GPU0 GPU0-...") is no header; a row starts with its own name and has X.
  return std::ranges::any_of(words, is_gpu) &&
         std::ranges::none_of(words, [](std::string_view w) { return w == "X"; }) &&
         std::ranges::all_of(words, [](std::string_view w) {
           return w.size() <= 64 && w.find_first_of(":=,()") == std::string_view::npos;
         });
}

/// A link's word; nothing if it is none.
std::optional<TopoCell> link_of(std::string_view word) {
  if (const auto links = number_after("NV", word)) {
    return *links >= 1 && *links <= 72 ? std::optional(TopoCell{Link::NVLink, *links})
                                       : std::nullopt;
  }
  for (const Link link :
       {Link::Self, Link::C2C, Link::PIX, Link::PXB, Link::PHB, Link::NODE, Link::SYS}) {
    if (word == to_string(link)) {
      return TopoCell{link, 0};
    }
  }
  return word == "SOC" ? std::optional(TopoCell{Link::SYS, 0}) : std::nullopt;
}

/// "GPU 0: NVIDIA L40S (UUID: GPU-...)", as nvidia-smi -L prints: "NVIDIA-L40S"; "" for another
/// line.
std::string product_of(std::string_view line) {
  constexpr std::string_view kStart = "GPU ";
  const std::size_t colon = line.find(": ");
  const std::size_t end = line.find(" (UUID: ");
  if (!line.starts_with(kStart) || colon == std::string_view::npos ||
      end == std::string_view::npos || end < colon ||
      !number_after("", line.substr(kStart.size(), colon - kStart.size()))) {
    return "";
  }
  return label_value(line.substr(colon + 2, end - colon - 2));
}

class Reader {
 public:
  Reader(std::string_view text, std::string_view file) : file_(file), lines_(lines_of(text)) {}

  Result<TopoMatrix> read() {
    BERTH_CHECK(find_header());
    BERTH_CHECK(read_rows());
    read_legend();
    BERTH_CHECK(order_devices());
    BERTH_TRY(TopoMatrix matrix, build());
    matrix.product = read_product();
    return matrix;
  }

 private:
  tl::unexpected<Error> bad(int line, std::string message) const {
    return fail_at({.file = file_, .line = line, .column = 0, .field = ""}, std::move(message));
  }

  Result<void> find_header() {
    for (std::size_t i = 0; i + 1 < lines_.size(); ++i) {
      const Words words = words_of(lines_[i].text);
      if (words.empty() || !is_header(words)) {
        continue;
      }
      // The first row follows at once, but for blank lines that a copy may have put between.
      std::size_t next = i + 1;
      while (next < lines_.size() && words_of(lines_[next].text).empty()) {
        ++next;
      }
      if (next == lines_.size() ||
          std::ranges::find(words, words_of(lines_[next].text).front()) == words.end()) {
        continue;
      }
      header_ = i;
      first_row_ = next;
      return read_columns(words);
    }
    return bad(0, "no matrix of nvidia-smi topo -m: expected a line of columns GPU0, GPU1, ... and "
                  "below it a row for each");
  }

  Result<void> read_columns(const Words& words) {
    for (std::size_t i = 0; i < words.size(); ++i) {
      const auto phrase = [&](std::string_view second, std::string_view third = "") {
        const std::size_t more = third.empty() ? 1 : 2;
        if (i + more >= words.size() || words[i + 1] != second ||
            (!third.empty() && words[i + 2] != third)) {
          return false;
        }
        i += more;
        return true;
      };
      if (words[i] == "CPU" && phrase("Affinity")) {
        columns_.push_back({Holds::Cpus, ""});
      } else if (words[i] == "NUMA" && phrase("Affinity")) {
        columns_.push_back({Holds::Numa, ""});
      } else if (words[i] == "GPU" && phrase("NUMA", "ID")) {
        columns_.push_back({Holds::GpuNuma, ""});
      } else {
        columns_.push_back({Holds::Links, std::string(words[i])});
      }
      if (columns_.size() > kMaxTopoGpus + kMaxTopoNics + 3) {
        return bad(lines_[header_].number, fmt::format("more columns than {} GPUs and {} NICs have",
                                                       kMaxTopoGpus, kMaxTopoNics));
      }
      const ColumnOf& column = columns_.back();
      if (column.holds == Holds::Links &&
          !by_label_.emplace(column.label, columns_.size() - 1).second) {
        return bad(lines_[header_].number, fmt::format("column given twice: {}", column.label));
      }
    }
    return {};
  }

  Result<void> read_rows() {
    for (std::size_t i = first_row_; i < lines_.size(); ++i) {
      const Words words = words_of(lines_[i].text);
      if (words.empty()) {
        continue;
      }
      if (!by_label_.contains(std::string(words[0])) || is_header(words)) {
        break; // a second matrix begins: the first counts
      }
      BERTH_TRY(Row row, read_row(lines_[i].number, words));
      if (!rows_.emplace(std::string(words[0]), std::move(row)).second) {
        return bad(lines_[i].number, fmt::format("row given twice: {}", words[0]));
      }
    }
    for (const auto& [label, column] : by_label_) {
      if (!rows_.contains(label)) {
        return bad(lines_[header_].number, fmt::format("column without a row: {}", label));
      }
    }
    return {};
  }

  Result<Row> read_row(int line, const Words& words) const {
    Row row{.line = line, .cells = std::vector<std::optional<TopoCell>>(columns_.size())};
    std::size_t next = 1;
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      const ColumnOf& column = columns_[c];
      const bool left = next < words.size();
      const auto link = left ? link_of(words[next]) : std::nullopt;
      if (column.holds == Holds::Links) {
        if (!link) {
          return bad(line, left ? fmt::format("{}, column {}: expected X, NV#, PIX, PXB, PHB, NODE "
                                              "or SYS: \"{}\"",
                                              words[0], column.label, words[next].substr(0, 40))
                                : fmt::format("{}: the row ends before column {}", words[0],
                                              column.label));
        }
        row.cells[c] = link;
        ++next;
      } else if (left && !link) {
        // NIC rows leave the affinity columns blank; then a link's word, or nothing, comes next.
        std::string value(words[next++]);
        value = value == "N/A" ? "" : value;
        if (column.holds == Holds::Cpus && !value.empty() && count_cpus(value) < 0) {
          return bad(line, fmt::format("{}: the CPU affinity is no list such as 0-15,32-47: \"{}\"",
                                       words[0], value.substr(0, 40)));
        }
        (column.holds == Holds::Cpus   ? row.cpus
         : column.holds == Holds::Numa ? row.numa
                                       : row.gpu_numa) = std::move(value);
      }
    }
    if (next < words.size()) {
      return bad(line, fmt::format("{}: the row has more values than there are columns: \"{}\"",
                                   words[0], words[next].substr(0, 40)));
    }
    return row;
  }

  void read_legend() {
    for (const Line& line : lines_) {
      const Words words = words_of(line.text);
      if (words.size() == 2 && words[0].ends_with(':') && words[0].starts_with("NIC")) {
        legend_.emplace(words[0].substr(0, words[0].size() - 1), words[1].substr(0, 64));
      }
    }
  }

  std::string read_product() const {
    for (const Line& line : lines_) {
      if (std::string product = product_of(line.text); !product.empty()) {
        return product;
      }
    }
    return "";
  }

  Result<void> order_devices() {
    std::map<int, std::string> gpus;
    for (const ColumnOf& column : columns_) {
      if (column.holds != Holds::Links) {
        continue;
      }
      if (const auto number = number_after("GPU", column.label)) {
        gpus.emplace(*number, column.label);
      } else {
        order_.push_back(column.label);
      }
    }
    if (gpus.size() > kMaxTopoGpus || order_.size() > kMaxTopoNics) {
      return bad(lines_[header_].number,
                 fmt::format("a machine has at most {} GPUs and {} NICs: {} and {}", kMaxTopoGpus,
                             kMaxTopoNics, gpus.size(), order_.size()));
    }
    int expected = 0;
    for (const auto& [number, label] : gpus) {
      if (number != expected) {
        return bad(lines_[header_].number, fmt::format("GPU{} is missing", expected));
      }
      order_.insert(order_.begin() + expected++, label);
    }
    return {};
  }

  TopoDevice device(const std::string& label) const {
    const Row& row = rows_.find(label)->second;
    const auto named = legend_.find(label);
    TopoDevice made{.kind = is_gpu(label) ? TopoDevice::Kind::Gpu : TopoDevice::Kind::Nic,
                    .name = named == legend_.end() ? label : named->second,
                    .cpus = row.cpus,
                    .numa_affinity = row.numa};
    if (const auto node = number_after("", row.gpu_numa); node && *node <= 1023) {
      made.memory_numa = *node;
    }
    return made;
  }

  Result<TopoMatrix> build() const {
    TopoMatrix matrix;
    for (const std::string& label : order_) {
      matrix.devices.push_back(device(label));
      const Row& row = rows_.find(label)->second;
      auto& cells = matrix.cells.emplace_back();
      for (const std::string& other : order_) {
        const auto cell = *row.cells[by_label_.find(other)->second];
        const auto mirror = *rows_.find(other)->second.cells[by_label_.find(label)->second];
        if ((cell.kind == Link::Self) != (label == other)) {
          return bad(row.line, fmt::format("X stands for a device and itself: {}, column {}: {}",
                                           label, other, to_string(cell)));
        }
        if (cell != mirror) {
          return bad(row.line, fmt::format("a path is the same both ways: {} to {} is {}, back {}",
                                           label, other, to_string(cell), to_string(mirror)));
        }
        cells.push_back(cell);
      }
    }
    return matrix;
  }

  std::string file_;
  std::vector<Line> lines_;
  std::size_t header_ = 0;
  std::size_t first_row_ = 0;
  std::vector<ColumnOf> columns_;
  std::map<std::string, std::size_t> by_label_;
  std::map<std::string, Row> rows_;
  std::map<std::string, std::string> legend_;
  std::vector<std::string> order_;
};

} // namespace

bool looks_like_topo_matrix(std::string_view text) {
  text = text.substr(0, kMaxTopoBytes);
  return std::ranges::any_of(lines_of(text), [](const Line& line) {
    const Words words = words_of(line.text);
    return !words.empty() && is_header(words);
  });
}

Result<TopoMatrix> parse_topo_matrix(std::string_view text, std::string_view file) {
  if (text.size() > kMaxTopoBytes) {
    return fail_at({.file = std::string(file), .line = 0, .column = 0, .field = ""},
                   fmt::format("too large for nvidia-smi topo -m: at most {} bytes, found {}",
                               kMaxTopoBytes, text.size()));
  }
  return Reader(text, file).read();
}

} // namespace berth::hardware
