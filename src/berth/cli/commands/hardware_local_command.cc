// berth hardware: the GPUs of this machine.
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "berth/api/json.h"
#include "berth/cli/commands/commands.h"
#include "berth/cli/local_gpus.h"
#include "berth/kubelet/process_place.h"
#include "berth/report/table.h"

namespace berth::cli {
namespace {

using inventory::GpuFacts;
using inventory::NvmlInventory;
using report::Column;

std::string health_of(const inventory::GpuProbe& probe) {
  if (!probe.present) {
    return "lost";
  }
  const std::string why = probe.last_xid == 0 ? "" : fmt::format(" (Xid {})", probe.last_xid);
  switch (probe.action) {
  case inventory::RecoveryAction::None:
    return probe.fabric_ready() ? "healthy" : inventory::illness(probe);
  case inventory::RecoveryAction::GpuReset:
    return "needs a reset" + why;
  case inventory::RecoveryAction::NodeReboot:
    return "needs a reboot" + why;
  }
  return "";
}

std::string mig_of(const GpuFacts& gpu) {
  if (!gpu.mig_capable) {
    return "";
  }
  if (gpu.mig_pending) {
    return gpu.mig_enabled ? "on, to be off" : "off, to be on";
  }
  if (!gpu.mig_enabled) {
    return "off";
  }
  std::vector<std::string> profiles;
  for (const inventory::MigDevice& device : gpu.mig) {
    profiles.push_back(device.profile);
  }
  return profiles.empty() ? "on, no devices" : fmt::format("{}", fmt::join(profiles, " "));
}

std::string table_of(const NvmlInventory& gpus, const report::TableStyle& style) {
  using enum Column::Align;
  report::Table table({{.title = "GPU", .align = Right},
                       {.title = "NAME", .shrinks = true},
                       {.title = "MEMORY", .align = Right},
                       {.title = "BUS ID"},
                       {.title = "NUMA", .align = Right},
                       {.title = "NVLINKS", .align = Right},
                       {.title = "MIG"},
                       {.title = "PROCESSES", .align = Right},
                       {.title = "HEALTH"},
                       {.title = "UUID", .show = Column::Show::Wide},
                       {.title = "DEVICE", .show = Column::Show::Wide}});
  for (const GpuFacts& gpu : gpus.facts().gpus) {
    const auto running = gpus.processes(gpu.info.index);
    table.add({fmt::to_string(gpu.info.index), gpu.name,
               gpu.info.memory_mib == 0 ? "" : fmt::format("{} MiB", gpu.info.memory_mib),
               gpu.info.pci_bus_id, gpu.info.numa ? fmt::to_string(*gpu.info.numa) : "",
               gpu.nvlinks == 0 ? "" : fmt::to_string(gpu.nvlinks), mig_of(gpu),
               running ? fmt::to_string(running->size()) : "",
               health_of(gpus.probe(gpu.info.index)), gpu.info.uuid,
               fmt::format("/dev/nvidia{}", gpu.info.minor)});
  }
  return table.render(style);
}

/// Who computes on them. The driver's word for a process is its number alone.
std::string processes_of(const NvmlInventory& gpus, const report::TableStyle& style) {
  using enum Column::Align;
  report::Table table({{.title = "GPU", .align = Right},
                       {.title = "PID", .align = Right},
                       {.title = "PROCESS", .shrinks = true},
                       {.title = "MEMORY", .align = Right},
                       {.title = "CONTAINER"}});
  for (const GpuFacts& gpu : gpus.facts().gpus) {
    for (const inventory::GpuProcess& process :
         gpus.processes(gpu.info.index).value_or(std::vector<inventory::GpuProcess>())) {
      constexpr std::size_t kShortId = 13; // as crictl shows it
      const kubelet::MachineProcess found = kubelet::read_process("/proc", process.pid);
      table.add({fmt::to_string(gpu.info.index), fmt::to_string(process.pid), found.name,
                 process.memory_mib < 0 ? "" : fmt::format("{} MiB", process.memory_mib),
                 found.containers.empty() ? "" : found.containers.front().substr(0, kShortId)});
    }
  }
  return table.render(style);
}

api::json::object document_of(const NvmlInventory& gpus, const GpuFacts& gpu) {
  namespace json = api::json;
  const inventory::GpuProbe probe = gpus.probe(gpu.info.index);
  json::object out{{"index", gpu.info.index},
                   {"uuid", gpu.info.uuid},
                   {"name", gpu.name},
                   {"memoryMiB", gpu.info.memory_mib},
                   {"busId", gpu.info.pci_bus_id},
                   {"device", fmt::format("/dev/nvidia{}", gpu.info.minor)},
                   {"nvlinks", gpu.nvlinks},
                   {"healthy", probe.usable()}};
  if (gpu.info.numa) {
    out["numa"] = *gpu.info.numa;
  }
  if (!probe.usable()) {
    out["reason"] = inventory::illness(probe);
  }
  if (gpu.mig_capable) {
    json::array devices;
    for (const inventory::MigDevice& device : gpu.mig) {
      devices.push_back(json::object{{"uuid", device.uuid},
                                     {"profile", device.profile},
                                     {"gpuInstance", device.gpu_instance},
                                     {"computeInstance", device.compute_instance},
                                     {"memoryMiB", device.memory_mib}});
    }
    out["mig"] = json::object{{"enabled", gpu.mig_enabled},
                              {"pending", gpu.mig_pending},
                              {"devices", std::move(devices)}};
  }
  return out;
}

std::string json_of(const NvmlInventory& gpus) {
  namespace json = api::json;
  const inventory::NodeFacts& facts = gpus.facts();
  json::array items;
  for (const GpuFacts& gpu : facts.gpus) {
    items.push_back(document_of(gpus, gpu));
  }
  const hardware::Platform* platform = gpus.platform();
  const bool known = platform && hardware::Catalogue::builtin().find(platform->name);
  return api::to_pretty_json(
             json::object{{"driver", facts.driver},
                          {"cuda", fmt::format("{}.{}", facts.cuda_major, facts.cuda_minor)},
                          {"platform", known ? json::value(platform->name) : json::value()},
                          {"gpus", std::move(items)}}) +
         "\n";
}

std::string head_of(const NvmlInventory& gpus) {
  const inventory::NodeFacts& facts = gpus.facts();
  std::string out =
      fmt::format("driver {}, CUDA up to {}.{}\n", facts.driver.empty() ? "unknown" : facts.driver,
                  facts.cuda_major, facts.cuda_minor);
  if (const hardware::Platform* platform = gpus.platform()) {
    const bool known = hardware::Catalogue::builtin().find(platform->name) != nullptr;
    out += known ? fmt::format("the machine is hung together as {}\n", platform->name)
                 : std::string("the catalogue has no machine hung together so; --format topo shows "
                               "how\n");
  }
  return out + "\n";
}

int none_found(const Error& error, Terminal& terminal) {
  *terminal.out.to << "no NVIDIA GPU found on this machine\n";
  terminal.note(error.message);
  terminal.note(fmt::format("every node can be simulated: {0} run -f examples/ --nodes dgx-h100:4; "
                            "{0} hardware list names the machines",
                            terminal.program));
  return error.code == Code::NotFound ? kDone : kFailed;
}

int show_local(const Invocation& invocation) {
  Terminal& terminal = invocation.terminal;
  const auto gpus = open_local_gpus(process_environment());
  if (!gpus) {
    return none_found(gpus.error(), terminal);
  }
  if ((*gpus)->gpus().empty()) {
    return none_found({.code = Code::NotFound, .message = "the driver knows of no GPU"}, terminal);
  }
  const std::string format = invocation.values.get("--format", "table");
  if (format == "topo") {
    *terminal.out.to << hardware::to_text((*gpus)->matrix(), terminal.out.tty
                                                                 ? hardware::TopoStyle::Underlined
                                                                 : hardware::TopoStyle::Plain);
  } else if (format == "json") {
    *terminal.out.to << json_of(**gpus);
  } else if (format == "processes") {
    *terminal.out.to << processes_of(**gpus,
                                     {.width = terminal.out.width, .paint = terminal.out.paint});
  } else {
    *terminal.out.to << head_of(**gpus)
                     << table_of(**gpus, {.show = format == "wide" ? Column::Show::Wide
                                                                   : Column::Show::Always,
                                          .width = terminal.out.width,
                                          .paint = terminal.out.paint});
  }
  for (const std::string& note : (*gpus)->notes()) {
    terminal.note(note);
  }
  return kDone;
}

} // namespace

Command hardware_local_command_table() {
  return {
      .name = "hardware",
      .summary = "show the GPUs of this machine",
      .synopsis = {"[--format table|wide|processes|topo|json]", "list | show | import"},
      .description =
          {"GPUs as the NVIDIA driver knows them: memory, place, NVLinks, MIG devices, processes "
           "and "
           "health. On a machine without a driver it says so and how to simulate GPUs; that is no "
           "failure.",
           "The driver's library, libnvidia-ml.so.1, is looked for where drivers and containers "
           "put "
           "it; the environment variable BERTH_NVML names another file."},
      .flags =
          {{.name = "--format",
            .value = "FORMAT",
            .help = "table; wide with UUIDs and device files; processes: who computes on them, and "
                    "in which container; topo: the matrix of nvidia-smi topo -m; or json",
            .group = "OUTPUT",
            .fallback = "table",
            .choices = {"table", "wide", "processes", "topo", "json"},
            .offers = Offers::Choices}},
      .examples = {{"what is in this machine", "hardware"},
                   {"a file to simulate it with",
                    "hardware --format topo | berth hardware import - --name mine -o mine.yaml"}},
      .exit_codes = {{kDone, "shown, or there is no driver here"},
                     {kFailed, "there is a driver, and it does not answer"},
                     {kUsage, "the command line is wrong"}},
      .see_also = {"berth hardware list", "berth hardware show", "berth hardware import",
                   "berth labels"},
      .run = &show_local};
}

} // namespace berth::cli
