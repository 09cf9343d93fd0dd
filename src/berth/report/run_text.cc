#include "berth/report/run_text.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "berth/base/ranges.h"
#include "berth/report/gpu_map.h"
#include "berth/report/text.h"

namespace berth::report {
namespace {

Tone tone_of_phase(std::string_view phase) {
  if (phase == "Running" || phase == "Succeeded" || phase == "Complete" || phase == "Finished") {
    return Tone::Good;
  }
  if (phase == "Failed") {
    return Tone::Bad;
  }
  return phase == "Deleted" ? Tone::Dim : Tone::Warn;
}

std::string time_or_blank(Duration d) {
  return d == Duration() ? "" : format_brief(d);
}

std::string heading(std::string_view title, std::string_view note, const Painter& paint) {
  return fmt::format("\n{}{}{}\n", paint(Tone::Strong, title), note.empty() ? "" : "  ", note);
}

// As kubectl shows it: a pod on its way out is Terminating, whatever its phase.
std::string_view shown_phase(const PodLine& pod) {
  return pod.terminating ? std::string_view("Terminating") : std::string_view(pod.phase);
}

std::int64_t count_shown(const RunReport& report, std::string_view phase) {
  return std::ranges::count(report.pods, phase, shown_phase);
}

std::string gpus_of(const PodLine& pod) {
  if (!pod.gpus.empty()) {
    return format_ranges(pod.gpus);
  }
  return pod.gpu_request == 0 ? "" : fmt::format("({})", pod.gpu_request);
}

std::string first_time_in(const PodLine& pod, std::string_view state) {
  const auto it = std::ranges::find(pod.states, state, &StateEntry::state);
  return it == pod.states.end() ? "" : format_clock(it->at);
}

std::string pods_section(const RunReport& report, const TableStyle& style) {
  if (report.pods.empty()) {
    return "";
  }
  using enum Column::Align;
  const bool restarted =
      std::ranges::any_of(report.pods, [](const PodLine& pod) { return pod.restarts > 0; });
  std::vector<Column> columns = {{.title = "NAMESPACE"},
                                 {.title = "NAME", .shrinks = true},
                                 {.title = "PHASE"},
                                 {.title = "NODE"},
                                 {.title = "GPUS"},
                                 {.title = "ALL-REDUCE", .align = Right},
                                 {.title = "WAITING", .align = Right},
                                 {.title = "STARTING", .align = Right},
                                 {.title = "RUNNING", .align = Right}};
  if (restarted) {
    columns.push_back({.title = "RESTARTS", .align = Right});
  }
  for (const char* title : {"BOUND AT", "OWNER", "GANG", "REASON"}) {
    columns.push_back({.title = title, .show = Column::Show::Wide});
  }
  Table table(std::move(columns));
  for (const PodLine& pod : report.pods) {
    const bool bandwidth = pod.all_reduce_mbps > 0;
    std::vector<Cell> row = {pod.ns,
                             pod.name,
                             Cell(std::string(shown_phase(pod)), tone_of_phase(shown_phase(pod))),
                             pod.node,
                             gpus_of(pod),
                             bandwidth ? format_bandwidth(pod.all_reduce_mbps) : "",
                             time_or_blank(pod.waiting),
                             time_or_blank(pod.starting),
                             time_or_blank(pod.running)};
    if (restarted) {
      row.emplace_back(pod.restarts == 0 ? "" : fmt::format("{}", pod.restarts));
    }
    for (const std::string& text : {first_time_in(pod, "Bound"), pod.owner, pod.gang, pod.reason}) {
      row.emplace_back(text);
    }
    table.add(std::move(row));
  }
  return heading("PODS", "", style.paint) + table.render(style);
}

std::string jobs_section(const RunReport& report, const TableStyle& style) {
  if (report.jobs.empty()) {
    return "";
  }
  Table table({{.title = "NAMESPACE"},
               {.title = "NAME", .shrinks = true},
               {.title = "STATUS"},
               {.title = "COMPLETIONS", .align = Column::Align::Right},
               {.title = "FAILED", .align = Column::Align::Right, .show = Column::Show::Wide},
               {.title = "DURATION", .align = Column::Align::Right},
               {.title = "MESSAGE", .show = Column::Show::Wide}});
  for (const JobLine& job : report.jobs) {
    table.add({job.ns, job.name, Cell(job.status, tone_of_phase(job.status)),
               fmt::format("{}/{}", job.succeeded, job.wanted), fmt::format("{}", job.failed),
               time_or_blank(job.duration), job.message});
  }
  return heading("JOBS", "", style.paint) + table.render(style);
}

std::string some_of(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 4;
  std::string out;
  for (std::size_t i = 0; i < std::min(names.size(), kShown); ++i) {
    out += (i == 0 ? "" : ",") + names[i];
  }
  return names.size() > kShown ? fmt::format("{} and {} more", out, names.size() - kShown) : out;
}

std::string gangs_section(const RunReport& report, const TableStyle& style) {
  if (report.gangs.empty()) {
    return "";
  }
  using enum Column::Align;
  Table table({{.title = "NAMESPACE"},
               {.title = "NAME", .shrinks = true},
               {.title = "PHASE"},
               {.title = "PLACED", .align = Right},
               {.title = "MIN", .align = Right},
               {.title = "GPUS", .align = Right},
               {.title = "ALL-REDUCE", .align = Right},
               {.title = "WAITING", .align = Right},
               {.title = "NODES"}});
  for (const GangLine& gang : report.gangs) {
    const bool all = gang.placed >= gang.min_member;
    table.add({gang.ns, gang.name, Cell(gang.phase, tone_of_phase(gang.phase)),
               Cell(fmt::format("{}/{}", gang.placed, gang.members), all ? Tone::Good : Tone::Warn),
               fmt::format("{}", gang.min_member),
               gang.gpus == 0 ? "" : fmt::format("{}", gang.gpus),
               gang.all_reduce_mbps > 0 ? format_bandwidth(gang.all_reduce_mbps) : "",
               time_or_blank(gang.waiting), some_of(gang.nodes)});
  }
  return heading("GANGS", "", style.paint) + table.render(style);
}

std::string map_section(const RunReport& report, const TableStyle& style) {
  const GpuMap& map = report.busiest;
  const auto idle = [](const GpuMap& m) { return m.held() == 0 && m.unhealthy() == 0; };
  if (idle(map) && idle(report.at_end)) {
    return ""; // nothing to see
  }
  const auto held = [](const GpuMap& m) {
    return fmt::format("{} of {} GPUs held{}", m.held(), m.total(),
                       m.unhealthy() == 0 ? "" : fmt::format(", {} unhealthy", m.unhealthy()));
  };
  std::string out = heading(
      "GPU MAP", fmt::format("at {}, the busiest moment: {}", format_clock(map.at), held(map)),
      style.paint);
  out += render_gpu_map(map, style);
  if (report.at_end.held() == 0 && report.at_end.unhealthy() == map.unhealthy()) {
    return out;
  }
  const auto same = [](const NodeMap& a, const NodeMap& b) {
    return std::ranges::equal(a.gpus, b.gpus, [](const GpuCell& x, const GpuCell& y) {
      return x.state == y.state && x.holder == y.holder;
    });
  };
  if (std::ranges::equal(report.at_end.nodes, map.nodes, same)) {
    return out;
  }
  out += heading(
      "GPU MAP",
      fmt::format("at {}, the end: {}", format_clock(report.at_end.at), held(report.at_end)),
      style.paint);
  return out + render_gpu_map(report.at_end, style);
}

std::string where_text(const ObjectName& object) {
  const std::string place = object.source.empty() ? "" : object.source + ": ";
  const std::string key = object.ns.empty() ? object.name : object.ns + "/" + object.name;
  return fmt::format("{}{} {}", place, object.kind, key);
}

std::string rejected_section(const RunReport& report, const TableStyle& style) {
  if (report.rejected.empty()) {
    return "";
  }
  std::string out = heading("REJECTED", "by the API", style.paint);
  for (const Rejection& r : report.rejected) {
    out += fmt::format("{}\n  {}: {}\n", printable(where_text(r.object)),
                       style.paint(Tone::Bad, r.code), printable(r.message));
  }
  return out;
}

std::string wrapped(std::string_view text, const TableStyle& style) {
  const std::size_t width = style.width.value_or(SIZE_MAX);
  std::string out;
  for (const std::string& line : wrap(printable(text), width > 24 ? width - 2 : width)) {
    out += fmt::format("  {}\n", line);
  }
  return out;
}

/// Pods that are stuck for the same reason, first seen first: a thousand workers of one kind are
/// one paragraph.
class StuckAlike {
 public:
  explicit StuckAlike(const std::vector<StuckPod>& pods) {
    using Key = std::array<std::string_view, 6>;
    std::map<Key, std::size_t> known;
    for (const StuckPod& pod : pods) {
      const Key key{pod.ns, pod.phase, pod.code, pod.summary, pod.asks, pod.message};
      const auto [it, is_new] = known.emplace(key, groups_.size());
      if (is_new) {
        groups_.emplace_back();
      }
      groups_[it->second].push_back(&pod);
    }
  }
  const std::vector<std::vector<const StuckPod*>>& groups() const { return groups_; }

 private:
  std::vector<std::vector<const StuckPod*>> groups_;
};

// "ml/a, b and 7 more".
std::string names_of(const std::vector<const StuckPod*>& pods) {
  constexpr std::size_t kNamed = 3;
  const std::size_t named = pods.size() <= kNamed ? pods.size() : kNamed - 1;
  std::string out = pods.front()->ns + "/" + pods.front()->name;
  for (std::size_t i = 1; i < named; ++i) {
    out += ", " + pods[i]->name;
  }
  return named == pods.size() ? out : fmt::format("{} and {} more", out, pods.size() - named);
}

std::string stuck_section(const RunReport& report, const TableStyle& style) {
  if (report.stuck.empty()) {
    return "";
  }
  std::string out = heading("NOT RUNNING", counted(report.stuck.size(), "pod"), style.paint);
  bool first = true;
  const StuckAlike alike(report.stuck);
  for (const std::vector<const StuckPod*>& pods : alike.groups()) {
    const StuckPod& pod = *pods.front();
    out += first ? "" : "\n";
    first = false;
    const Duration longest = (*std::ranges::max_element(pods, {}, &StuckPod::waiting))->waiting;
    const std::string waited = pod.phase == "Pending" ? " " + format_brief(longest) : "";
    out += fmt::format("{}  {}{}  {}\n", printable(names_of(pods)),
                       style.paint(tone_of_phase(pod.phase), pod.phase), waited,
                       style.paint(Tone::Strong, pod.code));
    out += pod.summary.empty() ? "" : wrapped(pod.summary, style);
    if (!pod.asks.empty()) {
      out += wrapped("asks for " + pod.asks, style);
    }
    out += pod.message.empty() ? "" : wrapped(pod.message, style);
  }
  return out;
}

// Only what there is: a cluster without services does not "run on".
std::string settled_text(const RunReport& report) {
  const auto pods = static_cast<std::int64_t>(report.pods.size());
  const std::int64_t running = count_shown(report, "Running");
  const std::int64_t stuck = count_shown(report, "Pending") + count_shown(report, "Terminating");
  std::vector<std::string_view> states;
  if (pods > running + stuck) {
    states.emplace_back("is done");
  }
  if (running > 0) {
    states.emplace_back("runs on");
  }
  if (stuck > 0) {
    states.emplace_back("is stuck");
  }
  if (states.empty()) {
    return "no pod was there to run";
  }
  const std::string_view last = states.back();
  states.pop_back();
  return states.empty() ? fmt::format("everything {}", last)
                        : fmt::format("everything {} or {}", fmt::join(states, ", "), last);
}

std::string why_it_ended(const RunReport& report) {
  switch (report.outcome) {
  case Outcome::Settled:
    return settled_text(report);
  case Outcome::TimeUp:
    return "the time limit is reached";
  case Outcome::Interrupted:
    return "interrupted";
  }
  return "";
}

std::string summary_section(const RunReport& report, const TableStyle& style) {
  const auto never = std::ranges::count(report.stuck, Alone::Never, &StuckPod::alone);
  std::string phases;
  for (const std::string_view phase :
       {"Running", "Succeeded", "Pending", "Terminating", "Failed", "Deleted"}) {
    if (const std::int64_t n = count_shown(report, phase); n > 0) {
      std::string word(phase);
      word[0] = static_cast<char>(word[0] - 'A' + 'a');
      phases += fmt::format("{}{} {}", phases.empty() ? "" : ", ", n,
                            style.paint(tone_of_phase(phase), word));
      if (phase == "Pending" && never > 0) {
        phases += fmt::format(" ({} can never fit here)", never);
      }
    }
  }
  std::string out = fmt::format("\n{}{}{}\n", counted(report.pods.size(), "pod"),
                                phases.empty() ? "" : ": ", phases);
  const std::int64_t total = report.at_end.total();
  const std::int64_t available_ms = report.elapsed.count_millis() * total;
  if (available_ms > 0) {
    const std::int64_t percent = report.gpu_millis_held * 100 / available_ms;
    out += fmt::format("{} of {} GPUs held at most, {} % over the run\n", report.busiest.held(),
                       total, percent);
  }
  return out + fmt::format("{} {}; {}\n", format_brief(report.elapsed),
                           report.cluster.speed == "real" ? "of real time" : "simulated",
                           why_it_ended(report));
}

} // namespace

std::string render_timeline_line(const TimelineLine& line, std::size_t object_width,
                                 const TableStyle& style) {
  constexpr std::size_t kStepWidth = 17;
  constexpr std::size_t kClockWidth = 12;
  const std::string object = printable(line.object);
  const std::string step = printable(line.what);
  const std::string detail = printable(line.detail);
  const auto gap = [](std::size_t width, std::string_view text) {
    const std::size_t have = display_width(text);
    return std::string(width > have ? width - have : 0, ' ');
  };
  const Tone tone = line.warning                                         ? Tone::Warn
                    : line.what == "Running" || line.what == "Succeeded" ? Tone::Good
                                                                         : Tone::Plain;
  std::string out = fmt::format("{:>{}}  {}", format_clock(line.at), kClockWidth, object);
  out += fmt::format("{}  {}", gap(object_width, object), style.paint(tone, step));
  if (!detail.empty()) {
    out += fmt::format("{}  {}", gap(kStepWidth, step), detail);
  }
  return out;
}

std::string render_cluster(const ClusterLine& cluster, const Painter& paint) {
  std::string made_of;
  for (const auto& [platform, count] : cluster.platforms) {
    made_of += fmt::format("{}{} {}", made_of.empty() ? ": " : ", ", count,
                           platform.empty() ? "of unknown hardware" : platform);
  }
  std::string profiles;
  for (const ProfileLine& profile : cluster.profiles) {
    profiles += fmt::format("{}{} (rules of {})", profiles.empty() ? "" : ", ",
                            profile.scheduler_name, profile.kubernetes_version);
  }
  const std::string scheduler =
      cluster.scheduler_config.empty()
          ? ""
          : fmt::format("{} {}; from {}\n", paint(Tone::Strong, "profiles"), profiles,
                        cluster.scheduler_config);
  return fmt::format(
      "{}  {}, {}{}\n{}      {}, {} time, GPU policy {}\n{}", paint(Tone::Strong, "cluster"),
      counted(static_cast<std::size_t>(cluster.nodes), "node"),
      counted(static_cast<std::size_t>(cluster.gpus), "GPU"), made_of, paint(Tone::Strong, "run"),
      fmt::format("seed {}", cluster.seed), cluster.speed, cluster.gpu_policy, scheduler);
}

std::string render_run(const RunReport& report, const TableStyle& style) {
  return pods_section(report, style) + jobs_section(report, style) + gangs_section(report, style) +
         map_section(report, style) + rejected_section(report, style) +
         stuck_section(report, style) + summary_section(report, style);
}

} // namespace berth::report
