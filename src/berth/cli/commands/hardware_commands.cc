// berth hardware list, berth hardware show PLATFORM: the catalogue as people know it from
// nvidia-smi.
#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "berth/base/suggest.h"
#include "berth/cli/commands/commands.h"
#include "berth/hardware/bandwidth.h"
#include "berth/hardware/choose.h"
#include "berth/hardware/platform.h"
#include "berth/report/table.h"
#include "berth/report/text.h"

namespace berth::cli {
namespace {

using hardware::Link;
using hardware::Platform;
using report::Column;

hardware::GpuMask all_gpus(const Platform& platform) {
  return static_cast<hardware::GpuMask>((std::uint64_t{1} << platform.gpus.size()) - 1);
}

std::string_view link_word(Link link) {
  switch (link) {
  case Link::Self:
    return "X";
  case Link::NVLink:
    return "NV";
  case Link::C2C:
    return "C2C";
  case Link::PIX:
    return "PIX";
  case Link::PXB:
    return "PXB";
  case Link::PHB:
    return "PHB";
  case Link::NODE:
    return "NODE";
  case Link::SYS:
    return "SYS";
  }
  return "";
}

std::string gpu_link_text(const Platform& platform, int a, int b) {
  const Link link = platform.link(a, b);
  if (link == Link::NVLink) {
    return fmt::format("NV{}",
                       platform.nvlinks[static_cast<std::size_t>(a)][static_cast<std::size_t>(b)]);
  }
  return std::string(link_word(link));
}

Link between_nics(const hardware::Nic& a, const hardware::Nic& b) {
  if (a.pcie_switch >= 0 && a.pcie_switch == b.pcie_switch) {
    return Link::PIX;
  }
  if (a.root_complex == b.root_complex) {
    return Link::PHB;
  }
  return a.numa == b.numa ? Link::NODE : Link::SYS;
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

// The matrix of `nvidia-smi topo -m`: GPUs and NICs against each other, then the NUMA node.
std::string topology_matrix(const Platform& p, const report::TableStyle& style) {
  std::vector<Column> columns = {{.title = ""}};
  for (std::size_t i = 0; i < p.gpus.size(); ++i) {
    columns.push_back({.title = fmt::format("GPU{}", i)});
  }
  for (std::size_t i = 0; i < p.nics.size(); ++i) {
    columns.push_back({.title = fmt::format("NIC{}", i)});
  }
  columns.push_back({.title = "NUMA Affinity"});
  report::Table table(std::move(columns));
  const int gpus = static_cast<int>(p.gpus.size());
  const int nics = static_cast<int>(p.nics.size());
  for (int i = 0; i < gpus; ++i) {
    std::vector<report::Cell> row = {fmt::format("GPU{}", i)};
    for (int j = 0; j < gpus; ++j) {
      row.emplace_back(gpu_link_text(p, i, j));
    }
    for (int j = 0; j < nics; ++j) {
      row.emplace_back(std::string(link_word(p.nic_link(i, j))));
    }
    row.emplace_back(fmt::format("{}", p.gpus[static_cast<std::size_t>(i)].numa));
    table.add(std::move(row));
  }
  for (int i = 0; i < nics; ++i) {
    const hardware::Nic& nic = p.nics[static_cast<std::size_t>(i)];
    std::vector<report::Cell> row = {fmt::format("NIC{}", i)};
    for (int j = 0; j < gpus; ++j) {
      row.emplace_back(std::string(link_word(p.nic_link(j, i))));
    }
    for (int j = 0; j < nics; ++j) {
      const Link link =
          i == j ? Link::Self : between_nics(nic, p.nics[static_cast<std::size_t>(j)]);
      row.emplace_back(std::string(link_word(link)));
    }
    row.emplace_back(fmt::format("{}", nic.numa));
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

int show_platform(const Invocation& invocation) {
  const std::string& name = invocation.values.arguments[0];
  const auto& catalogue = hardware::Catalogue::builtin();
  const Platform* platform = catalogue.find(name);
  if (platform == nullptr) {
    const std::vector<std::string> names = catalogue.names();
    const std::vector<std::string_view> views(names.begin(), names.end());
    const std::string_view near = nearest(name, views);
    invocation.terminal.error(
        fmt::format("unknown platform \"{}\"{}", name,
                    near.empty() ? "" : fmt::format(", did you mean {}?", near)),
        invocation.terminal.program + " hardware list");
    return kFailed;
  }
  report::TableStyle style = table_style(invocation);
  style.width = std::nullopt;
  *invocation.terminal.out.to << facts_of(*platform) << '\n'
                              << topology_matrix(*platform, style) << kLegend
                              << nics_of(*platform, style);
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
  return {.name = "hardware show",
          .summary = "show one machine: GPUs, NUMA nodes, NICs and how they are linked",
          .synopsis = {"PLATFORM"},
          .description = {"The matrix reads as that of nvidia-smi topo -m."},
          .arguments = {{.name = "PLATFORM",
                         .help = "a name of berth hardware list",
                         .offers = Offers::Platforms}},
          .examples = {{"a DGX H100", "hardware show dgx-h100"}},
          .exit_codes = {{kDone, "shown"},
                         {kFailed, "no such platform"},
                         {kUsage, "the command line is wrong"}},
          .see_also = {"berth hardware list"},
          .run = &show_platform};
}

} // namespace berth::cli
