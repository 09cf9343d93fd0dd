// berth run: a whole cluster in this process, the manifests applied, every pod's walk shown.
#include <cerrno>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/api/yaml.h"
#include "berth/cli/commands/commands.h"
#include "berth/cli/run/build_report.h"
#include "berth/cli/run/drive.h"
#include "berth/cli/run/interrupt.h"
#include "berth/cli/run/load.h"
#include "berth/cli/run/observer.h"
#include "berth/cli/run/options.h"
#include "berth/cli/run/show_containers.h"
#include "berth/cli/run/show_decisions.h"
#include "berth/cli/run/timeline.h"
#include "berth/cluster/cluster.h"
#include "berth/report/run_json.h"
#include "berth/report/run_text.h"
#include "berth/report/text.h"
#include "berth/scheduler/pages.h"
#include "berth/scheduler/scheduler.h"

namespace berth::cli {
namespace {

constexpr Duration kBoot = Duration::minutes(2); // nodes that are not up by then are left behind
constexpr Duration kLongestRun = Duration::hours(24 * 365); // without --until

void say_notes(const Load& load, const std::vector<report::UnhandledKind>& unhandled,
               Terminal& terminal) {
  for (const report::Note& note : load.notes) {
    note.warning ? terminal.warn(to_string(note)) : terminal.note(to_string(note));
  }
  for (const report::UnhandledKind& kind : unhandled) {
    terminal.note(fmt::format("{} {} ({}): stored; nothing here acts on this kind yet",
                              kind.objects.size(), kind.kind, kind.api_version));
  }
}

report::TableStyle style_of(const RunOptions& options, const Terminal& terminal) {
  return {.show = options.output == Output::Wide ? report::Column::Show::Wide
                                                 : report::Column::Show::Always,
          .width = terminal.out.width,
          .paint = terminal.out.paint};
}

// NAME or NAMESPACE/NAME, against the pods there were.
bool is_named(const report::PodLine& pod, std::string_view wanted) {
  return pod.name == wanted || fmt::format("{}/{}", pod.ns, pod.name) == wanted;
}

void show_containers(const report::RunReport& report, const RunOptions& options,
                     const Observer& observer, Terminal& terminal) {
  for (const std::string& wanted : options.show_containers) {
    bool found = false;
    for (const report::PodLine& pod : report.pods) {
      if (is_named(pod, wanted)) {
        found = true;
        *terminal.out.to << render_containers(pod, observer.containers({pod.ns, pod.name}),
                                              style_of(options, terminal));
      }
    }
    if (!found) {
      terminal.warn(fmt::format("--show-container: there was no pod {}", wanted));
    }
  }
}

void print_report(const report::RunReport& report, const RunOptions& options,
                  const Observer& observer, Terminal& terminal) {
  const auto timeline = options.quiet ? report::WithTimeline::No : report::WithTimeline::Yes;
  switch (options.output) {
  case Output::Json:
    *terminal.out.to << api::to_pretty_json(report::run_document(report, timeline)) << '\n';
    return;
  case Output::Yaml:
    *terminal.out.to << api::to_yaml(report::run_document(report, timeline));
    return;
  case Output::Text:
  case Output::Wide:
    *terminal.out.to << report::render_run(report, style_of(options, terminal));
    show_containers(report, options, observer, terminal);
    return;
  }
}

/// One run from the first event to the report.
class Run {
 public:
  Run(const RunOptions& options, Load load, Terminal& terminal, Timeline& timeline, Drive& drive)
      : options_(options), load_(std::move(load)), terminal_(terminal), timeline_(timeline),
        drive_(drive), start_(drive.loop().now()),
        cluster_(drive.loop(), load_.spec, options.cluster),
        observer_(cluster_, drive.loop(),
                  [this](const cluster::Mark& mark) { timeline_.show(mark); }) {}

  /// Error: the port is taken, or the address is none.
  Result<void> listen() {
    if (!options_.listen) {
      return {};
    }
    BERTH_TRY(server_, net::HttpServer::listen(
                           *drive_.sockets(),
                           {.address = options_.listen->address, .port = options_.listen->port},
                           scheduler::pages(cluster_.scheduler(), drive_.loop())));
    terminal_.note(fmt::format("the scheduler's pages are at http://{}:{}: /metrics, /readyz, "
                               "/debug/decisions",
                               options_.listen->address, server_->port()));
    return {};
  }

  int operator()() {
    const TimePoint end = start_ + options_.until.value_or(kLongestRun);
    const int wanted = load_.spec.node_count();
    report::Outcome outcome =
        drive_.run([&] { return observer_.ready_nodes() >= wanted || cluster_.settled(); },
                   std::min(end, start_ + kBoot));
    timeline_.nodes_are_up(observer_.ready_nodes(), drive_.loop().now());
    if (outcome != report::Outcome::Interrupted) {
      outcome = work(end);
    }
    return finish(outcome);
  }

 private:
  report::Outcome work(TimePoint end) {
    bool answered = false;
    cluster_.apply(load_.objects, [&](std::vector<cluster::Applied> results) {
      applied_ = std::move(results);
      answered = true;
    });
    return drive_.run([&] { return answered && cluster_.settled(); }, end);
  }

  int finish(report::Outcome outcome) {
    const auto recorded = timeline_.finish();
    report::RunReport report = build_report({.options = &options_,
                                             .spec = &load_.spec,
                                             .objects = &load_.objects,
                                             .notes = &load_.notes,
                                             .applied = &applied_,
                                             .observer = &observer_,
                                             .cluster = &cluster_,
                                             .start = start_,
                                             .end = drive_.loop().now(),
                                             .outcome = outcome});
    const auto measured = write_metrics();
    const Decisions decisions = decisions_of(cluster_.scheduler().decisions(), report);
    report.decisions = decisions.documents;
    const bool told = recorded && measured && decisions.errors.empty();
    report.exit_code = told ? exit_code_of(report, options_.exit_code) : kFailed;
    print_report(report, options_, observer_, terminal_);
    if (options_.output == Output::Text || options_.output == Output::Wide) {
      *terminal_.out.to << render_decisions(cluster_.scheduler().decisions(), report,
                                            style_of(options_, terminal_));
    }
    if (options_.metrics == "-") {
      *terminal_.out.to << cluster_.scheduler().metrics();
    }
    for (const Error& error : decisions.errors) {
      terminal_.error(to_string(error));
    }
    for (const auto* written : {&recorded, &measured}) {
      if (!*written) {
        terminal_.error(to_string(written->error()));
      }
    }
    return report.exit_code;
  }

  /// With "-" after the report, since both go to standard output.
  Result<void> write_metrics() {
    if (options_.metrics.empty() || options_.metrics == "-") {
      return {};
    }
    errno = 0;
    std::ofstream file(options_.metrics, std::ios::binary | std::ios::trunc);
    file << cluster_.scheduler().metrics();
    file.close();
    return file ? Result<void>()
                : fail_at({.file = options_.metrics},
                          "cannot be written: " + std::generic_category().message(errno));
  }

  const RunOptions& options_;
  Load load_;
  Terminal& terminal_;
  Timeline& timeline_;
  Drive& drive_;
  TimePoint start_;
  std::vector<cluster::Applied> applied_;
  cluster::Cluster cluster_;
  Observer observer_;
  std::unique_ptr<net::HttpServer> server_; ///< goes before what it shows
};

/// Where there is a loop for sockets, extenders are called on it instead of being waited for.
RunOptions on_loop_of(Drive& drive, RunOptions options) {
  const auto& given = options.cluster.scheduler;
  if (drive.sockets() != nullptr && given != nullptr && !given->extenders.empty()) {
    auto own = std::make_shared<scheduler::SchedulerOptions>(*given);
    own->poster = scheduler::poster_on(*drive.sockets());
    options.cluster.scheduler = std::move(own);
  }
  return options;
}

int run_it(const RunOptions& given, Load load, Terminal& terminal) {
  const InterruptWatch interrupts;
  const std::unique_ptr<Drive> drive = make_drive(given.speed);
  const RunOptions options = on_loop_of(*drive, given);
  const report::ClusterLine cluster = cluster_line(load.spec, options);
  auto timeline = Timeline::open(options, terminal, cluster, drive->loop().now(), load.objects);
  if (!timeline) {
    terminal.error(to_string(timeline.error()));
    return kFailed;
  }
  if (options.output == Output::Text || options.output == Output::Wide) {
    *terminal.out.to << report::render_cluster(cluster, terminal.out.paint)
                     << (options.quiet ? "" : "\n");
  }
  Run run(options, std::move(load), terminal, *timeline, *drive);
  if (const auto listening = run.listen(); !listening) {
    terminal.error(to_string(listening.error()));
    return kFailed;
  }
  return run();
}

int run_command(const Invocation& invocation) {
  Terminal& terminal = invocation.terminal;
  auto options = read_run_options(invocation.values);
  if (!options) {
    const bool says_what_to_try = options.error().message.find("; try ") != std::string::npos;
    terminal.error(options.error().message,
                   says_what_to_try ? "" : terminal.program + " run --help");
    return kUsage;
  }
  Load load = load_run(*options);
  for (const Error& error : load.errors) {
    terminal.error(to_string(error));
  }
  if (!load.errors.empty()) {
    return kFailed;
  }
  options->cluster.scheduler = load.scheduler;
  say_notes(load, unhandled_kinds(load.objects), terminal);
  return run_it(*options, std::move(load), terminal);
}

std::vector<Flag> run_flags() {
  using Times = Flag::Times;
  return {
      {.name = "--filename",
       .letter = 'f',
       .value = "FILE",
       .help = "manifests to apply: a YAML or JSON file (also kind: List and kubectl dumps), a "
               "directory, or - for "
               "standard input",
       .group = "WHAT TO RUN",
       .times = Times::Many,
       .offers = Offers::Files},
      {.name = "--recursive",
       .letter = 'R',
       .help = "look below directories too",
       .group = "WHAT TO RUN"},
      {.name = "--namespace",
       .letter = 'n',
       .value = "NAME",
       .help = "namespace of objects that name none",
       .group = "WHAT TO RUN",
       .fallback = "default"},
      {.name = "--nodes",
       .value = "PLATFORM:COUNT",
       .help = "add nodes of a platform of berth hardware list, or of a platform file "
               "(mine.yaml:COUNT, berth hardware import), named PLATFORM-1 and so on; "
               "without --nodes, --cluster "
               "and Node objects the cluster is dgx-h100:2",
       .group = "CLUSTER",
       .times = Times::Many,
       .offers = Offers::NodeGroups},
      {.name = "--cluster",
       .value = "FILE",
       .help = "nodes and faults from a file: berth.dev/v1alpha1 Cluster documents and Kubernetes "
               "Node objects",
       .group = "CLUSTER",
       .times = Times::Many,
       .offers = Offers::Files},
      {.name = "--topology",
       .value = "FILE",
       .help = "which nodes are near each other, where their labels do not say: a "
               "berth.dev/v1alpha1 Topology, or switches and blocks as NVIDIA topograph models "
               "them (docs/concepts.md)",
       .group = "CLUSTER",
       .times = Times::Many,
       .offers = Offers::Files},
      {.name = "--at",
       .value = "FAULT",
       .help = "make something fail: 5m:xid:NODE:GPU:CODE, 9m:repair:NODE:GPU, 1h:node-down:NODE, "
               "2h:node-up:NODE, "
               "10s:agent-crash:NODE, 10s:plugin-crash:NODE, 1m:cut:NODE:PAUSE",
       .group = "CLUSTER",
       .times = Times::Many},
      {.name = "--gpu-policy",
       .value = "POLICY",
       .help = "which GPUs of a node a pod gets: the fastest set, the set that damages least, or "
               "the widest spread",
       .group = "CLUSTER",
       .fallback = "topology",
       .choices = {"topology", "binpack", "spread"},
       .offers = Offers::Choices},
      {.name = "--scheduler-config",
       .value = "FILE",
       .help = "the scheduler's profiles, from a KubeSchedulerConfiguration "
               "(kubescheduler.config.k8s.io/v1) as kube-scheduler --config takes it "
               "(docs/scheduler-config.md)",
       .group = "CLUSTER",
       .offers = Offers::Files},
      {.name = "--speed",
       .value = "SPEED",
       .help = "virtual time jumps from event to event; real time waits",
       .group = "TIME",
       .fallback = "virtual",
       .choices = {"virtual", "real"},
       .offers = Offers::Choices},
      {.name = "--until",
       .value = "DURATION",
       .help = "end the run after this much of its time, e.g. 24h",
       .group = "TIME"},
      {.name = "--default-run-for",
       .value = "DURATION",
       .help = "how long pods run that have no annotation berth.dev/run-for, or forever",
       .group = "TIME",
       .fallback = "10m"},
      {.name = "--seed",
       .value = "N",
       .help = "source of every random choice; equal command and seed give equal bytes",
       .group = "TIME",
       .fallback = "1"},
      {.name = "--output",
       .letter = 'o',
       .value = "FORMAT",
       .help =
           "text, text with more columns, or the whole report as a document (docs/run-report.md)",
       .group = "OUTPUT",
       .fallback = "text",
       .choices = {"text", "wide", "json", "yaml"},
       .offers = Offers::Choices},
      {.name = "--explain",
       .value = "POD",
       .help = "print the scheduler's whole table for every attempt to place this pod: each node's "
               "scores, or all that was against it; NAME, NAMESPACE/NAME, job/NAME or "
               "podgroup/NAME, with * for any text (docs/decisions.md)",
       .group = "OUTPUT",
       .times = Times::Many},
      {.name = "--show-container",
       .value = "POD",
       .help = "print exactly what the containers of this pod see: environment, device nodes, "
               "mounts; NAME or "
               "NAMESPACE/NAME",
       .group = "OUTPUT",
       .times = Times::Many},
      {.name = "--record",
       .value = "FILE",
       .help = "write the timeline to a file, one JSON object a line",
       .group = "OUTPUT",
       .offers = Offers::Files},
      {.name = "--metrics",
       .value = "FILE",
       .help =
           "write the scheduler's metrics at the end of the run, with kube-scheduler's names in "
           "Prometheus' text format (docs/metrics.md); - for standard output",
       .group = "OUTPUT",
       .offers = Offers::Files},
      {.name = "--listen",
       .value = "ADDRESS:PORT",
       .help = "with --speed real: serve the scheduler's pages over HTTP meanwhile, /metrics, "
               "/healthz, /readyz and /debug/decisions; PORT alone is on 127.0.0.1",
       .group = "OUTPUT"},
      {.name = "--quiet", .letter = 'q', .help = "leave out the timeline", .group = "OUTPUT"},
      {.name = "--exit-code",
       .help = "exit 3 when some pod can never run on this cluster",
       .group = "OUTPUT"}};
}

} // namespace

Command run_command_table() {
  return {
      .name = "run",
      .summary = "run manifests on a simulated cluster and show every pod's walk",
      .synopsis = {"-f FILE... [--nodes PLATFORM:COUNT]... [FLAGS]"},
      .description = {"Starts a cluster in this process: API, scheduler, controllers, and a node "
                      "agent with its GPU device plugin "
                      "for every node. No GPU, no container engine and no privileges are needed. "
                      "Applies the manifests, shows what "
                      "happens to every pod, and ends when nothing more will happen: "
                      "everything is done, runs on, or is stuck.",
                      "The report has a table of pods with their nodes, GPUs, predicted all-reduce "
                      "bandwidth and the time spent in "
                      "each state; the gangs; a map of who held which GPU at the busiest moment; "
                      "and for each pod that is not "
                      "running the scheduler's own message. Kinds that nothing here acts on are "
                      "stored and named.",
                      "For every pod the scheduler refuses, Berth also asks an empty cluster of "
                      "the same nodes: a pod that would "
                      "run there waits for others, one that would not can never fit."},
      .flags = run_flags(),
      .examples = {{"a training gang and inference pods on six nodes",
                    "run -f examples/ --nodes dgx-h100:4 --nodes l40s-pcie-8:2"},
                   {"what does the container of one pod see?",
                    "run -f pod.yaml --show-container trainer-0 --quiet"},
                   {"why this node and not that one?",
                    "run -f job.yaml --explain trainer-0 --quiet"},
                   {"lose a GPU after five minutes", "run -f job.yaml --at 5m:xid:dgx-h100-1:3:79"},
                   {"the scheduler as it is configured elsewhere",
                    "run -f pods.yaml --scheduler-config scheduler.yaml"},
                   {"one day of a cluster that was dumped with kubectl get nodes,pods -A -o json",
                    "run -f dump.json --until 24h -o json"},
                   {"in a pipeline: fail when something does not fit",
                    "run -f manifests/ -R --exit-code --quiet"}},
      .exit_codes =
          {{kDone, "every pod that can run on this cluster ran; pods that never can are reported"},
           {kFailed,
            "bad input, an object was refused, a pod or Job failed, the run was interrupted, or a "
            "pod that could run was still waiting at the end"},
           {kUsage, "the command line is wrong"},
           {kDoesNotFit, "with --exit-code: as 0, but some pod can never run on this cluster"}},
      .see_also = {"berth hardware list", "docs/run-report.md: the fields of -o json"},
      .run = &run_command};
}

} // namespace berth::cli
