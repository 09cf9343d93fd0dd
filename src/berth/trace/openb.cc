#include "berth/trace/openb.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <memory>
#include <optional>

#include <fmt/format.h>
#include <zlib.h>

namespace berth::trace {
namespace {

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const auto end = std::min(text.find(separator, begin), text.size());
    parts.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

template <class T> std::optional<T> number(std::string_view text) {
  T value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value)
                                                                  : std::nullopt;
}

Where place(const std::filesystem::path& file, std::size_t line) {
  return {.file = file.string(), .line = static_cast<int>(line), .column = 0, .field = ""};
}

/// Reads the cells of one table and remembers the first that is wrong.
class Cells {
 public:
  Cells(const std::filesystem::path& file, const Table& table) : file_(&file), table_(&table) {}

  Result<void> require(std::initializer_list<std::string_view> columns) const {
    for (const std::string_view name : columns) {
      if (table_->column(name) == table_->columns.size()) {
        return fail_at(place(*file_, 1), fmt::format("the table has no column \"{}\"", name));
      }
    }
    return {};
  }
  void row(std::size_t row) { row_ = row; }
  std::string text(std::string_view column) const {
    const std::size_t index = table_->column(column);
    return index < table_->columns.size() ? table_->rows[row_][index] : std::string();
  }
  /// 0 where the cell is empty.
  std::int64_t amount(std::string_view column) {
    const std::string cell = text(column);
    const auto value = cell.empty() ? 0 : number<std::int64_t>(cell);
    if ((!value || *value < 0) && !error_) {
      error_ =
          Error{.code = Code::Invalid,
                .message = fmt::format(
                    "column {} must be a whole number of 0 or more, but is \"{}\"", column, cell),
                .where = place(*file_, row_ + 2)};
    }
    return value.value_or(0);
  }
  Result<void> outcome() const {
    return error_ ? Result<void>(tl::unexpected(*error_)) : Result<void>();
  }

 private:
  const std::filesystem::path* file_;
  const Table* table_;
  std::size_t row_ = 0;
  std::optional<Error> error_;
};

Result<std::string> read_maybe_gzipped(const std::filesystem::path& file) {
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> stream(gzopen(file.c_str(), "rb"), &gzclose);
  if (stream == nullptr) {
    return fail(Code::NotFound, fmt::format("{}: cannot be read", file.string()));
  }
  std::string text;
  std::vector<char> block(1 << 16);
  int got = 0;
  while ((got = gzread(stream.get(), block.data(), static_cast<unsigned>(block.size()))) > 0) {
    text.append(block.data(), static_cast<std::size_t>(got));
  }
  if (got < 0) {
    return fail(Code::Invalid, fmt::format("{}: damaged gzip data", file.string()));
  }
  return text;
}

/// Numbers, separated by blanks and line ends.
class Numbers {
 public:
  explicit Numbers(std::string_view text) : rest_(text) {}
  std::optional<std::uint32_t> next() {
    const auto begin = rest_.find_first_not_of(" \r\n");
    if (begin == std::string_view::npos) {
      return std::nullopt;
    }
    const auto end = std::min(rest_.find_first_of(" \r\n", begin), rest_.size());
    const auto value = number<std::uint32_t>(rest_.substr(begin, end - begin));
    rest_.remove_prefix(end);
    return value;
  }

 private:
  std::string_view rest_;
};

} // namespace

std::size_t Table::column(std::string_view name) const {
  return static_cast<std::size_t>(std::ranges::find(columns, name) - columns.begin());
}

Result<Table> read_table(const std::filesystem::path& file) {
  std::ifstream in(file);
  if (!in) {
    return fail(Code::NotFound, fmt::format("{}: cannot be read", file.string()));
  }
  Table table;
  std::string line;
  for (std::size_t number = 1; std::getline(in, line); ++number) {
    if (!line.empty() && line.back() == '\r') {
      line.pop_back();
    }
    if (line.empty()) {
      continue;
    }
    std::vector<std::string> cells = split(line, ',');
    if (table.columns.empty()) {
      table.columns = std::move(cells);
    } else if (cells.size() != table.columns.size()) {
      return fail_at(place(file, number), fmt::format("{} cells, but the table has {} columns",
                                                      cells.size(), table.columns.size()));
    } else {
      table.rows.push_back(std::move(cells));
    }
  }
  return table;
}

Result<std::vector<TraceNode>> read_nodes(const std::filesystem::path& file) {
  BERTH_TRY(const Table table, read_table(file));
  Cells cells(file, table);
  BERTH_CHECK(cells.require({"sn", "cpu_milli", "memory_mib", "gpu", "model"}));
  std::vector<TraceNode> nodes;
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    cells.row(row);
    nodes.push_back({.name = cells.text("sn"),
                     .cpu = cells.amount("cpu_milli"),
                     .memory_mib = cells.amount("memory_mib"),
                     .gpus = static_cast<int>(cells.amount("gpu")),
                     .model = cells.text("model")});
  }
  BERTH_CHECK(cells.outcome());
  return nodes;
}

Result<std::vector<TracePod>> read_pods(const std::filesystem::path& file) {
  BERTH_TRY(const Table table, read_table(file));
  Cells cells(file, table);
  BERTH_CHECK(cells.require({"name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli"}));
  std::vector<TracePod> pods;
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    cells.row(row);
    TracePod pod{.name = cells.text("name"),
                 .memory_mib = cells.amount("memory_mib"),
                 .demand = {.cpu = cells.amount("cpu_milli"),
                            .milli = static_cast<std::int32_t>(cells.amount("gpu_milli")),
                            .gpus = static_cast<int>(cells.amount("num_gpu"))}};
    if (const std::string models = cells.text("gpu_spec"); !models.empty()) {
      pod.demand.models = split(models, '|');
    }
    if (pod.demand.gpus == 0) {
      pod.demand.milli = 0;
    }
    pods.push_back(std::move(pod));
  }
  BERTH_CHECK(cells.outcome());
  return pods;
}

Result<ArrivalOrder> read_order(const std::filesystem::path& file, std::size_t nodes,
                                std::size_t pods) {
  BERTH_TRY(const std::string text, read_maybe_gzipped(file));
  Numbers numbers(text);
  const auto refuse = [&](std::string_view why) {
    return fail(Code::Invalid, fmt::format("{}: {}", file.string(), why));
  };
  constexpr std::uint32_t kNone = UINT32_MAX;
  ArrivalOrder order{.nodes = std::vector<std::uint32_t>(nodes, kNone), .pods = {}};
  if (numbers.next() != nodes) {
    return refuse(fmt::format("is not for a table of {} nodes", nodes));
  }
  for (std::size_t i = 0; i < nodes; ++i) {
    const auto row = numbers.next();
    const auto rank = numbers.next();
    if (!row || !rank || *row >= nodes || *rank >= nodes || order.nodes[*rank] != kNone) {
      return refuse(fmt::format("node line {}: the ranks are not those of {} nodes", i + 2, nodes));
    }
    order.nodes[*rank] = *row;
  }
  const auto arrivals = numbers.next();
  for (std::uint32_t i = 0; i < arrivals.value_or(0); ++i) {
    const auto row = numbers.next();
    if (!row || *row >= pods) {
      return refuse(fmt::format("arrival {}: there is no such pod among {}", i + 1, pods));
    }
    order.pods.push_back(*row);
  }
  if (order.pods.empty()) {
    return refuse("nothing arrives");
  }
  return order;
}

} // namespace berth::trace
