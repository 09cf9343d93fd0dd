#include "berth/cli/run/show_containers.h"

#include <fmt/format.h>

#include "berth/base/ranges.h"
#include "berth/report/text.h"

namespace berth::cli {
namespace {

using report::Tone;

// " on dgx-h100-1, GPUs 0-7"; "" if it never had a node.
std::string place_of(const report::PodLine& pod) {
  if (pod.node.empty()) {
    return "";
  }
  const std::string gpus =
      pod.gpus.empty()
          ? ""
          : fmt::format(", GPU{} {}", pod.gpus.size() == 1 ? "" : "s", format_ranges(pod.gpus));
  return fmt::format(" on {}{}", report::printable(pod.node), gpus);
}

std::string devices_of(const runtime::ContainerFacts& facts, report::TableStyle style) {
  report::Table table(
      {{.title = "DEVICE"}, {.title = "TYPE"}, {.title = "MAJOR:MINOR"}, {.title = "ACCESS"}});
  for (const runtime::DeviceNode& device : facts.devices) {
    table.add({device.path, std::string(1, device.type),
               fmt::format("{}:{}", device.major, device.minor), device.permissions});
  }
  return table.render(style);
}

std::string mounts_of(const runtime::ContainerFacts& facts, report::TableStyle style) {
  report::Table table({{.title = "MOUNTED AT"}, {.title = "FROM"}, {.title = "OPTIONS"}});
  for (const runtime::MountPoint& mount : facts.mounts) {
    table.add({mount.destination, mount.source, fmt::format("{}", fmt::join(mount.options, ","))});
  }
  return table.render(style);
}

} // namespace

std::string render_containers(const report::PodLine& pod,
                              const std::vector<runtime::ContainerFacts>& containers,
                              const report::TableStyle& style) {
  std::string out = fmt::format("\n{}  {}{}\n", style.paint(Tone::Strong, "CONTAINERS OF"),
                                report::printable(pod.ns + "/" + pod.name), place_of(pod));
  if (containers.empty()) {
    return out + "none was ever running\n";
  }
  report::TableStyle inner = style;
  inner.indent = "  ";
  for (const runtime::ContainerFacts& facts : containers) {
    out += fmt::format("{}\n", style.paint(Tone::Accent, report::printable(facts.container)));
    for (const auto& [name, value] : facts.env) {
      out += fmt::format("  {}={}\n", report::printable(name), report::printable(value));
    }
    out += devices_of(facts, inner);
    out += mounts_of(facts, inner);
    for (const std::string& device : facts.cdi_devices) {
      out += fmt::format("  CDI {}\n", report::printable(device));
    }
  }
  return out;
}

} // namespace berth::cli
