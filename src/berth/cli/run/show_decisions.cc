#include "berth/cli/run/show_decisions.h"

#include <algorithm>

#include <fmt/format.h>

#include "berth/base/suggest.h"
#include "berth/explain/decisions_json.h"
#include "berth/explain/decisions_text.h"
#include "berth/report/text.h"

namespace berth::cli {
namespace {

constexpr std::string_view kJob = "Job/";

explain::Wanted::Named named(const report::PodLine& pod) {
  const std::string_view owner = pod.owner;
  return {.ns = pod.ns,
          .name = pod.name,
          .job = owner.starts_with(kJob) ? owner.substr(kJob.size()) : std::string_view(),
          .group = pod.gang};
}

/// What there was of the kind that was asked for, as the user could have written it.
std::vector<std::string> names_of(explain::Wanted::By by, bool with_namespace,
                                  const report::RunReport& report) {
  std::vector<std::string> names;
  for (const report::PodLine& pod : report.pods) {
    const explain::Wanted::Named parts = named(pod);
    const std::string_view name = by == explain::Wanted::By::Pod   ? parts.name
                                  : by == explain::Wanted::By::Job ? parts.job
                                                                   : parts.group;
    if (!name.empty()) {
      names.push_back(with_namespace ? fmt::format("{}/{}", pod.ns, name) : std::string(name));
    }
  }
  std::ranges::sort(names);
  names.erase(std::ranges::unique(names).begin(), names.end());
  return names;
}

std::string_view word_of(explain::Wanted::By by) {
  switch (by) {
  case explain::Wanted::By::Pod:
    return "pod";
  case explain::Wanted::By::Job:
    return "pod of job";
  case explain::Wanted::By::PodGroup:
    return "pod of pod group";
  }
  return "";
}

Error never_was(const explain::Wanted& wanted, const report::RunReport& report) {
  const std::string name = wanted.name();
  const auto names = names_of(wanted.by(), name.find('/') != std::string::npos, report);
  const std::vector<std::string_view> views(names.begin(), names.end());
  const std::string_view near = nearest(name, views);
  const std::string hint = !near.empty()   ? fmt::format("; did you mean \"{}\"?", near)
                           : names.empty() ? std::string()
                                           : fmt::format("; there was {}", names.front());
  return {.code = Code::NotFound,
          .message = fmt::format("--explain {}: there was no {} \"{}\"{}{}", wanted.text(),
                                 word_of(wanted.by()), name, hint,
                                 near.empty() && names.size() > 1
                                     ? fmt::format(" and {} more", names.size() - 1)
                                     : std::string())};
}

bool was_tried(const explain::Book& book, const report::PodLine& pod) {
  return std::ranges::any_of(book.pods(), [&](const explain::Book::Pod* kept) {
    return kept->attempts.back().ns == pod.ns && kept->attempts.back().pod == pod.name;
  });
}

} // namespace

Decisions decisions_of(const explain::Book& book, const report::RunReport& report) {
  Decisions out;
  for (const explain::Book::Pod* pod : book.pods()) {
    out.documents.push_back(explain::pod_document(*pod));
  }
  for (const explain::Wanted& wanted : book.wanted()) {
    if (std::ranges::none_of(
            report.pods, [&](const report::PodLine& pod) { return wanted.covers(named(pod)); })) {
      out.errors.push_back(never_was(wanted, report));
    }
  }
  return out;
}

std::string render_decisions(const explain::Book& book, const report::RunReport& report,
                             const report::TableStyle& style) {
  std::string out;
  for (const explain::Book::Pod* pod : book.pods()) {
    out += explain::render_pod(*pod, report.start, style);
  }
  if (book.dropped_pods() > 0) {
    out += fmt::format("\n{} asked for before these are not kept\n",
                       report::counted(book.dropped_pods(), "pod"));
  }
  for (const report::PodLine& pod : report.pods) {
    const bool asked = std::ranges::any_of(
        book.wanted(), [&](const explain::Wanted& wanted) { return wanted.covers(named(pod)); });
    if (asked && book.dropped_pods() == 0 && !was_tried(book, pod)) {
      const auto stuck = std::ranges::find_if(report.stuck, [&](const report::StuckPod& other) {
        return other.ns == pod.ns && other.name == pod.name;
      });
      const std::string why =
          stuck == report.stuck.end() || stuck->message.empty() ? "" : ": " + stuck->message;
      out += fmt::format("\n{}  {}/{}: this scheduler never tried it{}\n",
                         style.paint(report::Tone::Strong, "DECISION"), report::printable(pod.ns),
                         report::printable(pod.name), report::printable(why));
    }
  }
  return out;
}

} // namespace berth::cli
