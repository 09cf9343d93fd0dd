// berth top nodes, pods, gpus: who uses how much of a running cluster.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "berth/cli/commands/commands.h"
#include "berth/cli/up/admin_api.h"
#include "berth/cli/up/usage_rows.h"
#include "berth/hardware/choose.h"
#include "berth/model/gpu_units.h"
#include "berth/report/table.h"

namespace berth::cli {
namespace {

namespace json = api::json;
using report::Column;
using report::Tone;

constexpr const char* kGpus = "/apis/metrics.berth.dev/v1alpha1/gpus";
constexpr const char* kMetrics = "/apis/metrics.k8s.io/v1beta1";
constexpr std::int64_t kMiB = std::int64_t{1} << 20;

std::string cores(std::int64_t milli) {
  return fmt::format("{}m", milli);
}

std::string mebibytes(std::int64_t bytes) {
  return fmt::format("{}Mi", bytes / kMiB);
}

/// As kubectl top counts: rounded down.
std::string percent(std::int64_t part, std::int64_t whole) {
  return whole <= 0 ? ""
                    : fmt::format("{}%", static_cast<std::int64_t>(100 * static_cast<double>(part) /
                                                                   static_cast<double>(whole)));
}

std::string indices(const std::vector<int>& gpus) {
  hardware::GpuMask mask = 0;
  for (const int index : gpus) {
    if (index < model::kMaxGpus) {
      mask |= hardware::GpuMask{1} << static_cast<unsigned>(index);
    }
  }
  return mask == 0 ? "" : hardware::format_gpu_indices(mask);
}

report::TableStyle style_of(const Invocation& invocation) {
  const Stream& out = invocation.terminal.out;
  return {.headers = invocation.values.has("--no-headers") ? report::TableStyle::Headers::Hide
                                                           : report::TableStyle::Headers::Show,
          .show = invocation.values.get("--output") == "wide" ? Column::Show::Wide
                                                              : Column::Show::Always,
          .width = out.width,
          .paint = out.paint};
}

template <class Rows>
int show(const Invocation& invocation, const Rows& rows, report::Table (*table_of)(const Rows&)) {
  if (invocation.values.get("--output") == "json") {
    *invocation.terminal.out.to << api::to_json(json::value(to_document(rows))) << '\n';
  } else if (rows.empty()) {
    invocation.terminal.note("nothing is measured");
  } else {
    *invocation.terminal.out.to << table_of(rows).render(style_of(invocation));
  }
  return kDone;
}

report::Table nodes_table(const std::vector<NodeRow>& rows) {
  using enum Column::Align;
  report::Table table({{.title = "NAME"},
                       {.title = "CPU(cores)", .align = Right},
                       {.title = "CPU(%)", .align = Right},
                       {.title = "MEMORY(bytes)", .align = Right},
                       {.title = "MEMORY(%)", .align = Right},
                       {.title = "GPUS", .align = Right},
                       {.title = "TAKEN", .align = Right},
                       {.title = "UNHEALTHY", .align = Right},
                       {.title = "GPU(%)", .align = Right},
                       {.title = "GPU-MEMORY(%)", .align = Right}});
  for (const NodeRow& row : rows) {
    if (!row.measured) {
      table.add({row.name, "<unknown>", "<unknown>", "<unknown>", "<unknown>", "", "", "", "", ""});
      continue;
    }
    const bool has = row.gpus > 0;
    table.add({row.name, cores(row.cpu_milli), percent(row.cpu_milli, row.cpu_allocatable_milli),
               mebibytes(row.memory_bytes), percent(row.memory_bytes, row.memory_allocatable_bytes),
               fmt::to_string(row.gpus), has ? fmt::to_string(row.gpus_taken) : "",
               report::Cell(has ? fmt::to_string(row.gpus_sick) : "",
                            row.gpus_sick > 0 ? Tone::Bad : Tone::Plain),
               has ? fmt::format("{}%", row.gpu_percent) : "",
               percent(row.gpu_used_bytes, row.gpu_memory_bytes)});
  }
  return table;
}

report::Table pods_table(const std::vector<PodRow>& rows) {
  using enum Column::Align;
  report::Table table({{.title = "NAMESPACE"},
                       {.title = "NAME", .shrinks = true},
                       {.title = "CPU(cores)", .align = Right},
                       {.title = "MEMORY(bytes)", .align = Right},
                       {.title = "GPUS"},
                       {.title = "GPU(%)", .align = Right},
                       {.title = "NODE"}});
  for (const PodRow& row : rows) {
    table.add({row.ns, row.name, cores(row.cpu_milli), mebibytes(row.memory_bytes),
               indices(row.gpus), row.gpus.empty() ? "" : fmt::format("{}%", row.gpu_percent),
               row.node});
  }
  return table;
}

report::Table containers_table(const std::vector<PodRow>& rows) {
  using enum Column::Align;
  report::Table table({{.title = "NAMESPACE"},
                       {.title = "POD", .shrinks = true},
                       {.title = "NAME"},
                       {.title = "CPU(cores)", .align = Right},
                       {.title = "MEMORY(bytes)", .align = Right}});
  for (const PodRow& row : rows) {
    for (const ContainerRow& container : row.containers) {
      table.add({row.ns, row.name, container.name, cores(container.cpu_milli),
                 mebibytes(container.memory_bytes)});
    }
  }
  return table;
}

/// "default/a (500m), team/b (1g.10gb)".
std::string names_of(const std::vector<GpuSharerRow>& sharers) {
  std::string text;
  for (const GpuSharerRow& sharer : sharers) {
    text +=
        fmt::format("{}{}/{} ({})", text.empty() ? "" : ", ", sharer.ns, sharer.pod, sharer.has);
  }
  return text;
}

report::Table gpus_table(const std::vector<GpuRow>& rows) {
  using enum Column::Align;
  report::Table table({{.title = "NODE"},
                       {.title = "GPU", .align = Right},
                       {.title = "PRODUCT"},
                       {.title = "GPU(%)", .align = Right},
                       {.title = "MEMORY", .align = Right},
                       {.title = "OF", .align = Right},
                       {.title = "HEALTH", .shrinks = true},
                       {.title = "NAMESPACE"},
                       {.title = "POD"},
                       {.title = "CONTAINER", .show = Column::Show::Wide},
                       {.title = "UUID", .show = Column::Show::Wide}});
  for (const GpuRow& row : rows) {
    const bool shared = !row.sharers.empty();
    table.add({row.node, fmt::to_string(row.index), row.product,
               row.percent ? fmt::format("{}%", *row.percent) : "",
               row.used_bytes ? mebibytes(*row.used_bytes) : "", mebibytes(row.memory_bytes),
               report::Cell(row.sickness.empty() ? "Healthy" : row.sickness,
                            row.sickness.empty() ? Tone::Plain : Tone::Bad),
               shared ? "" : row.ns, shared ? names_of(row.sharers) : row.pod,
               shared ? "" : row.container, row.uuid});
    for (const GpuInstanceRow& instance : row.instances) {
      table.add({row.node, fmt::format("{}:{}", row.index, instance.gpu_instance),
                 fmt::format("MIG {}", instance.profile),
                 instance.percent ? fmt::format("{}%", *instance.percent) : "",
                 instance.used_bytes ? mebibytes(*instance.used_bytes) : "",
                 instance.memory_bytes ? mebibytes(*instance.memory_bytes) : "", "", instance.ns,
                 instance.pod, instance.container, instance.uuid});
    }
  }
  return table;
}

report::Table processes_table(const std::vector<GpuRow>& rows) {
  using enum Column::Align;
  report::Table table({{.title = "NODE"},
                       {.title = "GPU", .align = Right},
                       {.title = "PID", .align = Right},
                       {.title = "PROCESS", .shrinks = true},
                       {.title = "MEMORY", .align = Right},
                       {.title = "NAMESPACE"},
                       {.title = "POD"},
                       {.title = "CONTAINER"}});
  for (const GpuRow& row : rows) {
    for (const GpuProcessRow& process : row.processes) {
      table.add({row.node, fmt::to_string(row.index), fmt::to_string(process.pid), process.name,
                 process.used_bytes ? mebibytes(*process.used_bytes) : "", process.ns, process.pod,
                 process.container});
    }
  }
  return table;
}

int failed(const Invocation& invocation, const Error& error) {
  invocation.terminal.error(to_string(error));
  return kFailed;
}

Result<AdminApi> open() {
  BERTH_TRY(const Home home, home_of(process_environment()));
  return AdminApi::of(home);
}

Result<std::vector<GpuRow>> ask_gpus(AdminApi& api) {
  BERTH_TRY(const json::value list, api.get(kGpus));
  return gpu_rows(list);
}

Result<std::vector<NodeRow>> ask_nodes() {
  BERTH_TRY(AdminApi api, open());
  BERTH_TRY(const json::value nodes, api.get("/api/v1/nodes"));
  BERTH_TRY(const json::value metrics, api.get(std::string(kMetrics) + "/nodes"));
  BERTH_TRY(const std::vector<GpuRow> gpus, ask_gpus(api));
  return node_rows(nodes, metrics, gpus);
}

Result<std::vector<PodRow>> ask_pods(const std::string& ns) {
  BERTH_TRY(AdminApi api, open());
  const std::string path = ns.empty() ? std::string(kMetrics) + "/pods"
                                      : fmt::format("{}/namespaces/{}/pods", kMetrics, ns);
  BERTH_TRY(const json::value metrics, api.get(path));
  BERTH_TRY(const std::vector<GpuRow> gpus, ask_gpus(api));
  return pod_rows(metrics, gpus);
}

int run_nodes(const Invocation& invocation) {
  const auto rows = ask_nodes();
  return rows ? show(invocation, *rows, &nodes_table) : failed(invocation, rows.error());
}

int run_pods(const Invocation& invocation) {
  const auto rows = ask_pods(invocation.values.get("--namespace"));
  if (!rows) {
    return failed(invocation, rows.error());
  }
  return show(invocation, *rows,
              invocation.values.has("--containers") ? &containers_table : &pods_table);
}

int run_gpus(const Invocation& invocation) {
  auto api = open();
  auto rows = api ? ask_gpus(*api) : tl::unexpected(api.error());
  if (!rows) {
    return failed(invocation, rows.error());
  }
  if (const auto& arguments = invocation.values.arguments; !arguments.empty()) {
    const std::string& node = arguments.front();
    if (std::ranges::find(*rows, node, &GpuRow::node) == rows->end()) {
      const auto known = api->get("/api/v1/nodes/" + node);
      if (!known) {
        return failed(invocation, known.error());
      }
    }
    std::erase_if(*rows, [&](const GpuRow& row) { return row.node != node; });
  }
  if (!invocation.values.has("--processes")) {
    return show(invocation, *rows, &gpus_table);
  }
  std::erase_if(*rows, [](const GpuRow& row) { return row.processes.empty(); });
  if (rows->empty() && invocation.values.get("--output") != "json") {
    invocation.terminal.note("no process computes on these GPUs; containers that are simulated "
                             "have none");
    return kDone;
  }
  return show(invocation, *rows, &processes_table);
}

std::vector<Flag> output_flags(std::vector<std::string_view> choices) {
  return {{.name = "--output",
           .letter = 'o',
           .value = "FORMAT",
           .help = "more columns, or JSON with a number for each",
           .group = "OUTPUT",
           .choices = std::move(choices),
           .offers = Offers::Choices},
          {.name = "--no-headers", .help = "leave out the header line", .group = "OUTPUT"}};
}

const std::vector<ExitCode>& exit_codes() {
  static const std::vector<ExitCode> kCodes = {{kDone, "it is shown"},
                                               {kFailed, "no cluster is running"},
                                               {kUsage, "the command line is wrong"}};
  return kCodes;
}

constexpr std::string_view kSimulated =
    "Containers are simulated: what they use follows from what they ask for and from the time.";

} // namespace

Command top_nodes_command_table() {
  return {.name = "top nodes",
          .summary = "show what each node of a running cluster uses, and its GPUs",
          .synopsis = {"[-o json] [--no-headers]"},
          .description = {kSimulated},
          .flags = output_flags({"json"}),
          .exit_codes = exit_codes(),
          .see_also = {"berth top gpus", "kubectl top nodes"},
          .run = &run_nodes};
}

Command top_pods_command_table() {
  std::vector<Flag> flags = output_flags({"json"});
  flags.push_back({.name = "--namespace",
                   .letter = 'n',
                   .value = "NAMESPACE",
                   .help = "only its pods; without it those of all namespaces",
                   .group = "WHAT IS SHOWN"});
  flags.push_back(
      {.name = "--containers", .help = "a line for each container", .group = "WHAT IS SHOWN"});
  return {.name = "top pods",
          .summary = "show what each pod of a running cluster uses, and its GPUs",
          .synopsis = {"[-n NAMESPACE] [--containers] [-o json] [--no-headers]"},
          .description = {kSimulated},
          .flags = std::move(flags),
          .exit_codes = exit_codes(),
          .see_also = {"berth top gpus", "kubectl top pods"},
          .run = &run_pods};
}

Command top_gpus_command_table() {
  std::vector<Flag> flags = output_flags({"wide", "json"});
  flags.push_back({.name = "--processes",
                   .help = "who computes on them: a line for each process, with its container",
                   .group = "WHAT IS SHOWN"});
  return {
      .name = "top gpus",
      .summary = "show each GPU of a running cluster: how busy, how full, how well, whose",
      .synopsis = {"[NODE] [--processes] [-o wide|json] [--no-headers]"},
      .description = {kSimulated,
                      "A GPU that is cut into MIG instances has a line for each, GPU:INSTANCE.",
                      "kubectl get gpus shows the same to who may read them."},
      .arguments = {{.name = "NODE", .help = "only its GPUs", .need = Argument::Need::Optional}},
      .flags = std::move(flags),
      .examples = {{"GPUs that are taken and idle, by jq",
                    "top gpus -o json | jq '.items[] | select(.pod and "
                    ".utilizationPercent < 10)'"}},
      .exit_codes = exit_codes(),
      .see_also = {"berth chaos gpu"},
      .run = &run_gpus};
}

} // namespace berth::cli
