// berth hardware list, berth hardware show PLATFORM: the catalogue as people know it from
// nvidia-smi, and in the formats that other tools read.
#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "berth/cli/commands/commands.h"
#include "berth/cli/platform_files.h"
#include "berth/hardware/bandwidth.h"
#include "berth/hardware/choose.h"
#include "berth/hardware/formats/nccl_xml.h"
#include "berth/hardware/formats/picture.h"
#include "berth/hardware/formats/platform_yaml.h"
#include "berth/hardware/formats/topo_matrix.h"
#include "berth/hardware/platform.h"
#include "berth/report/table.h"
#include "berth/report/text.h"
#include "berth/report/tone.h"

namespace berth::cli {
namespace {

using hardware::Platform;
using report::Column;

hardware::GpuMask all_gpus(const Platform& platform) {
  return static_cast<hardware::GpuMask>((std::uint64_t{1} << platform.gpus.size()) - 1);
}

report::TableStyle table_style(const Invocation& invocation) {
  const Stream& out = invocation.terminal.out;
  return {.headers = invocation.values.has("--no-headers") ? report::TableStyle::Headers::Hide
                                                           : report::TableStyle::Headers::Show,
          .show = invocation.values.get("--output") == "wide" ? Column::Show::Wide
                                                              : Column::Show::Always,
          .width = out.width,
          .paint = out.paint};
}

std::string nvlink_text(const Platform& platform) {
  if (platform.gpu_model.nvlink_links == 0) {
    return "";
  }
  return fmt::format("{} links{}", platform.gpu_model.nvlink_links,
                     platform.nvswitch ? ", switched" : "");
}

int list_platforms(const Invocation& invocation) {
  const auto& catalogue = hardware::Catalogue::builtin();
  std::ostream& out = *invocation.terminal.out.to;
  if (invocation.values.get("--output") == "name") {
    for (const std::string& name : catalogue.names()) {
      out << name << '\n';
    }
    return kDone;
  }
  using enum Column::Align;
  report::Table table({{.title = "NAME"},
                       {.title = "MACHINE", .shrinks = true},
                       {.title = "GPUS", .align = Right},
                       {.title = "PRODUCT"},
                       {.title = "MEMORY", .align = Right},
                       {.title = "NVLINK"},
                       {.title = "ALL-REDUCE", .align = Right},
                       {.title = "CPUS", .align = Right, .show = Column::Show::Wide},
                       {.title = "HOST MEMORY", .align = Right, .show = Column::Show::Wide},
                       {.title = "NUMA", .align = Right, .show = Column::Show::Wide},
                       {.title = "NICS", .align = Right, .show = Column::Show::Wide},
                       {.title = "INSTANCE TYPE", .show = Column::Show::Wide}});
  for (const std::string& name : catalogue.names()) {
    const Platform& p = *catalogue.find(name);
    table.add({p.name, p.machine, fmt::format("{}", p.gpus.size()), p.gpu_model.product,
               fmt::format("{} GiB", (p.gpu_model.memory_mib + 512) / 1024), nvlink_text(p),
               report::format_bandwidth(hardware::all_reduce_mbps(p, all_gpus(p))),
               fmt::format("{}", p.cpus), fmt::format("{} GiB", p.memory_gib),
               fmt::format("{}", p.numa_nodes), fmt::format("{}", p.nics.size()), p.instance_type});
  }
  out << table.render(table_style(invocation));
  return kDone;
}

// The matrix of `nvidia-smi topo -m`, aligned for people: GPUs and NICs against each other, then
// the NUMA node.
std::string matrix_table(const Platform& p, const report::TableStyle& style) {
  const hardware::TopoMatrix matrix = hardware::topo_matrix(p);
  const auto label = [&](std::size_t i) {
    return i < p.gpus.size() ? fmt::format("GPU{}", i) : fmt::format("NIC{}", i - p.gpus.size());
  };
  std::vector<Column> columns = {{.title = ""}};
  for (std::size_t i = 0; i < matrix.devices.size(); ++i) {
    columns.push_back({.title = label(i)});
  }
  columns.push_back({.title = "NUMA Affinity"});
  report::Table table(std::move(columns));
  for (std::size_t i = 0; i < matrix.devices.size(); ++i) {
    std::vector<report::Cell> row = {label(i)};
    for (const hardware::TopoCell& cell : matrix.cells[i]) {
      row.emplace_back(hardware::to_string(cell));
    }
    const int numa = i < p.gpus.size() ? p.gpus[i].numa : p.nics[i - p.gpus.size()].numa;
    row.emplace_back(fmt::format("{}", numa));
    table.add(std::move(row));
  }
  return table.render(style);
}

std::string facts_of(const Platform& p) {
  const hardware::GpuModel& g = p.gpu_model;
  std::string out = fmt::format("{}  {}\n\n", p.name, p.machine);
  const auto line = [&](std::string_view what, const std::string& value) {
    out += fmt::format("{:<16}{}\n", what, value.empty() ? "-" : value);
  };
  line("GPUs", fmt::format("{} x {}, {} MiB each", p.gpus.size(), g.product, g.memory_mib));
  line("Compute", fmt::format("{} {}.{}{}", g.family, g.compute_major, g.compute_minor,
                              g.mig_capable ? ", MIG capable" : ""));
  line("NVLink",
       g.nvlink_links == 0
           ? "none"
           : fmt::format(
                 "{} links a GPU, {} each way{}{}", g.nvlink_links,
                 report::format_bandwidth(std::int64_t{g.nvlink_links} * g.nvlink_mbps_per_link),
                 p.nvswitch ? ", NVSwitch" : "", p.nvls ? ", in-switch reduction" : ""));
  if (p.nvlink_domain_gpus > 0) {
    line("NVLink domain", fmt::format("{} GPUs over several nodes", p.nvlink_domain_gpus));
  }
  line("Host", fmt::format("{} sockets, {} CPUs, {} NUMA nodes, {} GiB", p.sockets, p.cpus,
                           p.numa_nodes, p.memory_gib));
  line("Instance type", p.instance_type);
  line("All-reduce",
       fmt::format("{} over all GPUs (predicted)",
                   report::format_bandwidth(hardware::all_reduce_mbps(p, all_gpus(p)))));
  return out;
}

std::string nics_of(const Platform& p, const report::TableStyle& style) {
  using enum Column::Align;
  report::Table table({{.title = "NIC"},
                       {.title = "NAME"},
                       {.title = "GBIT/S", .align = Right},
                       {.title = "RAIL", .align = Right},
                       {.title = "NUMA", .align = Right}});
  for (std::size_t i = 0; i < p.nics.size(); ++i) {
    const hardware::Nic& nic = p.nics[i];
    table.add({fmt::format("NIC{}", i), nic.name, fmt::format("{}", nic.gbits),
               nic.rail < 0 ? "" : fmt::format("{}", nic.rail), fmt::format("{}", nic.numa)});
  }
  return table.empty() ? "" : "\n" + table.render(style);
}

constexpr std::string_view kLegend = R"(
X    itself            NV#  # NVLinks              C2C   chip to chip
PIX  one PCIe switch   PXB  several PCIe switches  PHB   through the CPU's PCIe root
NODE one NUMA node     SYS  between NUMA nodes
)";

std::string overview(const Platform& p, report::TableStyle style) {
  style.width = std::nullopt;
  return fmt::format("{}\n{}{}{}", facts_of(p), matrix_table(p, style), kLegend, nics_of(p, style));
}

/// Where colour goes, the underline that nvidia-smi prints goes too.
bool shows_codes(const Stream& out) {
  return out.paint(report::Tone::Strong, "x") != "x";
}

int show_platform(const Invocation& invocation) {
  const auto platform = find_platform(invocation.values.arguments[0]);
  if (!platform) {
    invocation.terminal.error(to_string(platform.error()),
                              invocation.terminal.program + " hardware list");
    return kFailed;
  }
  const std::string format = invocation.values.get("--format", "overview");
  const Stream& out = invocation.terminal.out;
  *out.to << (format == "topo"
                  ? hardware::to_text(hardware::topo_matrix(**platform),
                                      shows_codes(out) ? hardware::TopoStyle::Underlined
                                                       : hardware::TopoStyle::Plain)
              : format == "nccl-xml" ? hardware::nccl_xml(**platform)
              : format == "picture"  ? hardware::picture(**platform)
              : format == "yaml"     ? hardware::platform_yaml(**platform)
                                     : overview(**platform, table_style(invocation)));
  return kDone;
}

} // namespace

Command hardware_list_command_table() {
  return {
      .name = "hardware list",
      .summary = "list the machines Berth knows",
      .synopsis = {"[-o wide|name] [--no-headers]"},
      .description = {"The names are what --nodes takes. ALL-REDUCE is the predicted bus bandwidth "
                      "over all GPUs of "
                      "one machine."},
      .flags = {{.name = "--output",
                 .letter = 'o',
                 .value = "FORMAT",
                 .help = "more columns, or names alone",
                 .group = "OUTPUT",
                 .choices = {"wide", "name"},
                 .offers = Offers::Choices},
                {.name = "--no-headers", .help = "leave out the header line", .group = "OUTPUT"}},
      .examples = {{"every machine with its host", "hardware list -o wide"}},
      .see_also = {"berth hardware show"},
      .run = &list_platforms};
}

Command hardware_show_command_table() {
  return {
      .name = "hardware show",
      .summary = "show one machine: GPUs, NUMA nodes, NICs and how they are linked",
      .synopsis = {"PLATFORM [--format overview|topo|nccl-xml|picture|yaml]"},
      .description =
          {"The matrix of the overview reads as that of nvidia-smi topo -m; --format topo prints "
           "it byte for byte as the tool does.",
           "--format nccl-xml is a topology file that NCCL reads (NCCL_TOPO_FILE); --format yaml "
           "is a platform file, to be changed and given to --nodes."},
      .arguments = {{.name = "PLATFORM",
                     .help = "a name of berth hardware list, or a platform file (*.yaml)",
                     .offers = Offers::Platforms}},
      .flags = {{.name = "--format",
                 .value = "FORMAT",
                 .help = "what to print",
                 .group = "OUTPUT",
                 .fallback = "overview",
                 .choices = {"overview", "topo", "nccl-xml", "picture", "yaml"},
                 .offers = Offers::Choices}},
      .examples = {{"a DGX H100", "hardware show dgx-h100"},
                   {"its PCIe tree drawn", "hardware show dgx-h100 --format picture"},
                   {"a topology file for NCCL",
                    "hardware show dgx-a100 --format nccl-xml > topo.xml"}},
      .exit_codes = {{kDone, "shown"},
                     {kFailed, "no such platform"},
                     {kUsage, "the command line is wrong"}},
      .see_also = {"berth hardware list", "berth hardware import"},
      .run = &show_platform};
}

} // namespace berth::cli
