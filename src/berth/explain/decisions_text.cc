#include "berth/explain/decisions_text.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "berth/base/ranges.h"
#include "berth/model/gpu_slices.h"
#include "berth/model/hami.h"
#include "berth/report/text.h"

namespace berth::explain {
namespace {

using report::Column;
using report::Table;
using report::TableStyle;
using report::Tone;

constexpr std::size_t kMostLines = 15; // of each part of a table

std::string paragraph(std::string_view text, const TableStyle& style) {
  const std::size_t width = style.width.value_or(SIZE_MAX);
  std::string out;
  for (const std::string& line :
       report::wrap(report::printable(text), width > 24 ? width - 2 : width)) {
    out += fmt::format("  {}\n", line);
  }
  return out;
}

bool shows_all(const TableStyle& style) {
  return style.show == Column::Show::Wide;
}

/// Scorers whose weighted score is not the same in every row, and those where it is.
struct Telling {
  std::vector<std::size_t> shown;
  std::vector<std::size_t> same;
};

Telling telling_scorers(const Attempt& attempt, std::span<const Row* const> fitting,
                        const TableStyle& style) {
  Telling out;
  for (std::size_t i = 0; i < attempt.scorers.size(); ++i) {
    const bool same = std::ranges::all_of(fitting, [&](const Row* row) {
      return row->scores.size() > i && row->scores[i] == fitting.front()->scores[i];
    });
    (same && fitting.size() > 1 && !shows_all(style) ? out.same : out.shown).push_back(i);
  }
  return out;
}

std::string score_text(const Score& score) {
  return score.raw == score.weighted ? fmt::format("{}", score.weighted)
                                     : fmt::format("{}->{}", score.raw, score.weighted);
}

std::string title_of(const Scorer& scorer) {
  return scorer.weight == 1 ? scorer.plugin : fmt::format("{} x{}", scorer.plugin, scorer.weight);
}

std::string fitting_table(const Attempt& attempt, std::span<const Row* const> fitting,
                          const TableStyle& style) {
  const Telling telling = telling_scorers(attempt, fitting, style);
  std::vector<Column> columns = {{.title = "  FITS"}};
  if (!attempt.scorers.empty()) {
    columns.push_back({.title = "TOTAL", .align = Column::Align::Right});
  }
  for (const std::size_t i : telling.shown) {
    columns.push_back({.title = title_of(attempt.scorers[i]), .align = Column::Align::Right});
  }
  Table table(std::move(columns));
  const std::size_t lines =
      shows_all(style) ? fitting.size() : std::min(fitting.size(), kMostLines);
  for (const Row* row : fitting.first(lines)) {
    const Tone tone = row->best ? Tone::Good : Tone::Plain;
    std::vector<report::Cell> cells;
    cells.emplace_back(fmt::format("{} {}", row->best ? '*' : ' ', fold_names(row->nodes)), tone);
    if (!attempt.scorers.empty()) {
      cells.emplace_back(fmt::format("{}", row->total), tone);
    }
    for (const std::size_t i : telling.shown) {
      cells.emplace_back(i < row->scores.size() ? score_text(row->scores[i]) : "", tone);
    }
    table.add(std::move(cells));
  }
  std::string out = table.render(style);
  if (lines < fitting.size()) {
    std::size_t nodes = 0;
    for (const Row* row : fitting.subspan(lines)) {
      nodes += row->nodes.size();
    }
    out +=
        fmt::format("  and {} with totals from {} down to {} (-o wide shows them)\n",
                    report::counted(nodes, "node"), fitting[lines]->total, fitting.back()->total);
  }
  std::vector<std::string> same;
  for (const std::size_t i : telling.same) {
    same.push_back(
        fmt::format("{} {}", title_of(attempt.scorers[i]), score_text(fitting.front()->scores[i])));
  }
  if (!same.empty()) {
    out += paragraph(fmt::format("the same on all of them: {}", fmt::join(same, ", ")), style);
  }
  return out;
}

/// Without the tail that nobody compares: "87.6", "836.6Gi". Cut, never rounded up.
std::string tenths(std::int64_t value, std::int64_t unit, std::string_view suffix) {
  const std::int64_t tenth = value % unit * 10 / unit;
  return tenth == 0 ? fmt::format("{}{}", value / unit, suffix)
                    : fmt::format("{}.{}{}", value / unit, tenth, suffix);
}

std::string amount(std::string_view resource, std::int64_t value) {
  constexpr std::int64_t kMi = std::int64_t{1} << 20;
  constexpr std::int64_t kGi = std::int64_t{1} << 30;
  const bool bytes =
      resource == "memory" || resource == "ephemeral-storage" || resource.starts_with("hugepages-");
  if (resource == "cpu") {
    return value < 1000 ? fmt::format("{}m", value) : tenths(value, 1000, "");
  }
  if (!bytes || value < kMi) {
    return fmt::format("{}", value);
  }
  return value < kGi ? tenths(value, kMi, "Mi") : tenths(value, kGi, "Gi");
}

std::string shortage_text(const Shortage& lack, const Row& row) {
  std::string left = "none left";
  if (lack.free > 0) {
    left = row.nodes.size() == 1
               ? fmt::format("{} left", amount(lack.resource, lack.free))
               : fmt::format("at most {} left ({})", amount(lack.resource, lack.free), lack.node);
  }
  return fmt::format("{} {}, {}", amount(lack.resource, lack.asked), lack.resource, left);
}

std::string objection_text(const Objection& objection) {
  return fmt::format("{}: {}", objection.plugin.empty() ? "-" : objection.plugin,
                     fmt::join(objection.reasons, ", "));
}

std::string against(const Row& row) {
  std::string out = fmt::format("{}", fmt::join(row.objections.front().reasons, ", "));
  for (std::size_t i = 0; i < row.shortages.size(); ++i) {
    out += (i == 0 ? ": asks for " : "; ") + shortage_text(row.shortages[i], row);
  }
  for (std::size_t i = 1; i < row.objections.size(); ++i) {
    out += fmt::format("; and {}", objection_text(row.objections[i]));
  }
  return out;
}

std::string refused_table(std::span<const Row* const> refused, const TableStyle& style) {
  Table table({{.title = "  REFUSED"},
               {.title = "NODES", .align = Column::Align::Right},
               {.title = "BY"},
               {.title = "WHY"}});
  const std::size_t lines =
      shows_all(style) ? refused.size() : std::min(refused.size(), kMostLines);
  for (const Row* row : refused.first(lines)) {
    table.add({fmt::format("  {}", fold_names(row->nodes)), fmt::format("{}", row->nodes.size()),
               row->objections.front().plugin, against(*row)});
  }
  std::string out = table.render(style);
  if (lines < refused.size()) {
    std::size_t nodes = 0;
    for (const Row* row : refused.subspan(lines)) {
      nodes += row->nodes.size();
    }
    out += fmt::format("  and {} for {} other reasons (-o wide shows them)\n",
                       report::counted(nodes, "node"), refused.size() - lines);
  }
  return out;
}

/// "GpuTopology +10, NodeResourcesFit -2": where the better row's total comes from.
std::string differences(const Attempt& attempt, const Row& better, const Row& worse) {
  std::vector<std::pair<std::int64_t, std::string>> parts;
  for (std::size_t i = 0; i < better.scores.size() && i < worse.scores.size(); ++i) {
    const std::int64_t by = better.scores[i].weighted - worse.scores[i].weighted;
    if (by != 0) {
      parts.emplace_back(-std::abs(by), fmt::format("{} {:+}", attempt.scorers[i].plugin, by));
    }
  }
  std::ranges::stable_sort(parts, {}, &std::pair<std::int64_t, std::string>::first);
  std::vector<std::string> texts;
  std::ranges::transform(parts, std::back_inserter(texts),
                         &std::pair<std::int64_t, std::string>::second);
  return fmt::format("{}", fmt::join(texts, ", "));
}

/// Why the best node and not the next.
std::string why_best(const Attempt& attempt, std::span<const Row* const> fitting) {
  if (fitting.empty()) {
    return "";
  }
  const Row& best = *fitting.front();
  if (!best.best) {
    return "";
  }
  const std::string& name = best.nodes.front();
  if (fitting.size() == 1) {
    return fmt::format("{} is the only node that fits, so nothing was scored", name);
  }
  const Row& next = *fitting[1];
  if (next.total == best.total) {
    std::vector<std::string> equals;
    for (const Row* row : fitting.subspan(1)) {
      if (row->total == best.total) {
        equals.insert(equals.end(), row->nodes.begin(), row->nodes.end());
      }
    }
    return fmt::format("{} has a total of {}, like {}; among equals the cluster's first is taken",
                       name, best.total, fold_names(equals));
  }
  return fmt::format("{} has {} more than {}: {}", name, best.total - next.total,
                     fold_names(next.nodes, 2), differences(attempt, best, next));
}

std::string heading(const Attempt& a, std::size_t of, TimePoint start, const TableStyle& style) {
  std::string what = a.outcome;
  if (!a.node.empty()) {
    what += fmt::format(" {} {}", a.outcome == "Scheduled" ? "on" : "with room on", a.node);
  }
  if (!a.gpus.empty()) {
    what += fmt::format(", GPUs {}", format_ranges(a.gpus));
  }
  for (const auto& [resource, counts] : model::parse_chosen_slices(a.slices)) {
    std::vector<std::string> parts;
    for (const auto& [gpu, count] : counts) {
      parts.push_back(fmt::format("{} of GPU {}", count, gpu));
    }
    what += fmt::format(", {} {}", resource, fmt::join(parts, ", "));
  }
  for (const auto& container :
       model::hami::decode_shares(a.vgpus).value_or(model::hami::PodShares())) {
    for (const model::hami::Share& share : container) {
      what += fmt::format(", {} MiB{} of {}", share.memory,
                          share.cores > 0 ? fmt::format(" and {}%", share.cores) : "", share.uuid);
    }
  }
  const Tone tone = a.outcome == "Scheduled" ? Tone::Good
                    : a.outcome == "Error"   ? Tone::Bad
                                             : Tone::Warn;
  return fmt::format("\n{}  {}/{}  attempt {} of {} at {}: {}\n",
                     style.paint(Tone::Strong, "DECISION"), report::printable(a.ns),
                     report::printable(a.pod), a.number, of, report::format_clock(a.at - start),
                     style.paint(tone, report::printable(what)));
}

/// What surrounds the table: why then, what it did to others.
std::string circumstances(const Attempt& a) {
  std::string out = a.woken_by.empty() ? "" : fmt::format("woken by {}; ", a.woken_by);
  out += fmt::format("{} of {} nodes fit", a.feasible, a.nodes);
  if (!a.waits_for.empty()) {
    out += fmt::format("; held back at Permit by {}", fmt::join(a.waits_for, ", "));
  }
  if (a.nominated_node) {
    out += a.nominated_node->empty() ? "; its nomination ends"
                                     : fmt::format("; nominated to {}", *a.nominated_node);
  }
  if (!a.victims.empty()) {
    out += fmt::format(", whose victims are {}", fmt::join(a.victims, ", "));
  }
  return out;
}

std::vector<const Row*> rows_of(const Attempt& attempt, Verdict verdict) {
  std::vector<const Row*> rows;
  for (const Row& row : attempt.rows) {
    if (row.verdict == verdict) {
      rows.push_back(&row);
    }
  }
  return rows;
}

std::string render_attempt(const Attempt& a, std::size_t of, TimePoint start,
                           const TableStyle& style) {
  std::string out = heading(a, of, start, style);
  out += paragraph(circumstances(a), style);
  out += a.message.empty() ? "" : paragraph(a.message, style);
  const auto fitting = rows_of(a, Verdict::Fits);
  const auto refused = rows_of(a, Verdict::Refused);
  if (const std::string why = why_best(a, fitting); !why.empty()) {
    out += paragraph(why, style);
  }
  out += fitting.empty() ? "" : fitting_table(a, fitting, style);
  out += refused.empty() ? "" : refused_table(refused, style);
  for (const Row* row : rows_of(a, Verdict::NotLookedAt)) {
    out += paragraph(fmt::format("{} {}", report::counted(row->nodes.size(), "node"),
                                 fmt::join(row->objections.front().reasons, ", ")),
                     style);
  }
  return out;
}

bool says_the_same(const Attempt& a, const Attempt& b) {
  return a.outcome == b.outcome && a.message == b.message && a.node == b.node &&
         a.nominated_node == b.nominated_node && a.victims == b.victims && a.rows == b.rows;
}

} // namespace

std::string render_pod(const Book::Pod& pod, TimePoint start, const TableStyle& style) {
  std::string out;
  const auto of = static_cast<std::size_t>(std::max(1, pod.attempts.back().number));
  for (std::size_t i = 0; i < pod.attempts.size();) {
    if (i == 1 && pod.dropped > 0) {
      out += fmt::format("\n  {} between are not kept\n", report::counted(pod.dropped, "attempt"));
    }
    out += render_attempt(pod.attempts[i], of, start, style);
    std::size_t next = i + 1;
    while (next < pod.attempts.size() && says_the_same(pod.attempts[i], pod.attempts[next]) &&
           !(next == 1 && pod.dropped > 0)) {
      ++next;
    }
    if (next > i + 1) {
      const Attempt& last = pod.attempts[next - 1];
      const std::string which = next > i + 2 ? fmt::format("attempts {} to {}, the last",
                                                           pod.attempts[i + 1].number, last.number)
                                             : fmt::format("attempt {}", last.number);
      out += paragraph(fmt::format("{} at {}, woken by {}: the same", which,
                                   report::format_clock(last.at - start), last.woken_by),
                       style);
    }
    i = next;
  }
  return out;
}

} // namespace berth::explain
