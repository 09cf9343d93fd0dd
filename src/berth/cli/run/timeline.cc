#include "berth/cli/run/timeline.h"

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/report/run_json.h"
#include "berth/report/run_text.h"
#include "berth/report/text.h"

namespace berth::cli {
namespace {

constexpr std::size_t kNarrowest = 20;
constexpr std::size_t kWidest = 48;

// "-x7k2p", and "-12" before it for the indexes of an Indexed Job.
std::size_t pod_suffix(const api::Object& job) {
  std::size_t width = 6;
  if (api::string_at(job.json(), "spec.completionMode") == "Indexed") {
    const api::json::value* completions = api::find_path(job.json(), "spec.completions");
    const bool counted = completions != nullptr && completions->is_int64();
    const std::int64_t last = counted ? std::max<std::int64_t>(completions->as_int64(), 1) - 1 : 0;
    width += 1 + fmt::formatted_size("{}", last);
  }
  return width;
}
// As wide as the longest name that is likely to come.
std::size_t width_for(const std::vector<api::Manifest>& objects) {
  std::size_t width = kNarrowest;
  for (const api::Manifest& manifest : objects) {
    const std::string& kind = manifest.object.gvk().kind;
    if (kind == "Pod" || kind == "Job" || kind == "PodGroup") {
      const std::size_t prefix = kind == "PodGroup" ? std::string_view("podgroup/").size() : 4;
      const std::size_t suffix = kind == "Job" ? pod_suffix(manifest.object) : 0;
      width = std::max(width,
                       prefix + report::display_width(manifest.object.key().to_string()) + suffix);
    }
  }
  return std::min(width, kWidest);
}

report::TimelineLine line_of(const cluster::Mark& mark, TimePoint start) {
  return {.at = std::max(mark.at, start) - start,
          .object = mark.object,
          .what = mark.what,
          .detail = mark.detail,
          .warning = mark.warning};
}

} // namespace

Timeline::Timeline(const RunOptions& options, Terminal& terminal, TimePoint start,
                   std::size_t width)
    : terminal_(&terminal), start_(start), object_width_(width),
      shows_lines_(!options.quiet &&
                   (options.output == Output::Text || options.output == Output::Wide)),
      shows_status_(!options.quiet && terminal.err.tty && options.speed == Speed::Real),
      record_path_(options.record) {}

Result<Timeline> Timeline::open(const RunOptions& options, Terminal& terminal,
                                const report::ClusterLine& cluster, TimePoint start,
                                const std::vector<api::Manifest>& objects) {
  Timeline timeline(options, terminal, start, width_for(objects));
  if (!options.record.empty()) {
    errno = 0;
    timeline.record_.emplace(options.record, std::ios::binary | std::ios::trunc);
    if (!*timeline.record_) {
      return fail_at({.file = options.record},
                     "cannot be written: " + std::generic_category().message(errno));
    }
    *timeline.record_ << api::to_json(report::record_header(cluster, start)) << '\n';
  }
  return timeline;
}

void Timeline::print(const report::TimelineLine& line) {
  if (!shows_lines_) {
    return;
  }
  if (shows_status_) {
    *terminal_->err.to << "\r\x1b[K" << std::flush;
  }
  const report::TableStyle style{.paint = terminal_->out.paint};
  std::string text = report::render_timeline_line(line, object_width_, style);
  *terminal_->out.to << text << '\n';
  if (terminal_->out.tty) {
    terminal_->out.to->flush();
  }
}

void Timeline::count(const cluster::Mark& mark) {
  static constexpr std::string_view kStates[] = {
      "Pending", "Unschedulable", "Gated",  "Bound",  "ContainerCreating",
      "Running", "Succeeded",     "Failed", "Deleted"};
  if (shows_status_ && mark.object.starts_with("pod/") &&
      std::ranges::find(kStates, mark.what) != std::end(kStates)) {
    state_of_pod_[mark.object] = mark.what;
  }
}

void Timeline::update_status(TimePoint at) {
  if (!shows_status_) {
    return;
  }
  std::map<std::string, int> counts;
  for (const auto& [pod, state] : state_of_pod_) {
    ++counts[state];
  }
  std::string text = report::format_clock(at - start_);
  for (const auto& [state, n] : counts) {
    text += fmt::format("  {} {}", n, state);
  }
  *terminal_->err.to << "\r\x1b[K" << terminal_->err.paint(report::Tone::Dim, text) << std::flush;
}

void Timeline::show(const cluster::Mark& mark) {
  const report::TimelineLine line = line_of(mark, start_);
  if (record_) {
    *record_ << api::to_json(report::timeline_document(line)) << '\n';
  }
  if (starting_ && mark.object.starts_with("node/") && !mark.warning) {
    return;
  }
  print(line);
  count(mark);
  update_status(mark.at);
}

void Timeline::nodes_are_up(int nodes, TimePoint at) {
  starting_ = false;
  print({.at = at - start_,
         .object = "cluster",
         .what = "Ready",
         .detail = report::counted(static_cast<std::size_t>(nodes), "node"),
         .warning = false});
}

Result<void> Timeline::finish() {
  if (shows_status_) {
    *terminal_->err.to << "\r\x1b[K" << std::flush;
  }
  if (record_) {
    record_->close();
    if (record_->fail()) {
      return fail_at({.file = record_path_}, "could not be written in full");
    }
  }
  return {};
}

} // namespace berth::cli
