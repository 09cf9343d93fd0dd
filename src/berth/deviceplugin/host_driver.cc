#include "berth/deviceplugin/host_driver.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

#include <fmt/format.h>

#include "berth/cdi/driver_numbers.h"

namespace berth::deviceplugin {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 4> kLibraryDirs{
    "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib"};
constexpr std::array<std::string_view, 7> kTools{"/usr/bin/nvidia-smi",
                                                 "/usr/bin/nvidia-debugdump",
                                                 "/usr/bin/nvidia-persistenced",
                                                 "/usr/bin/nvidia-cuda-mps-control",
                                                 "/usr/bin/nvidia-cuda-mps-server",
                                                 "/usr/bin/nvidia-imex",
                                                 "/usr/bin/nvidia-imex-ctl"};
constexpr std::array<std::string_view, 3> kSockets{
    "/run/nvidia-persistenced/socket", "/run/nvidia-fabricmanager/socket", "/tmp/nvidia-mps"};

std::string below(const std::string& root, std::string_view path) {
  return fmt::format("{}{}", root == "/" ? "" : root, path);
}

bool there(const std::string& root, std::string_view path) {
  std::error_code failed;
  return fs::exists(below(root, path), failed);
}

std::string text_of(const std::string& root, std::string_view path) {
  std::ifstream in(below(root, path));
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

/// Paths of a directory's entries that `wanted` says, sorted, from the machine's own root.
template <class Wanted>
std::vector<std::string> entries(const std::string& root, std::string_view directory,
                                 Wanted wanted) {
  std::vector<std::string> found;
  std::error_code failed;
  for (fs::directory_iterator it(below(root, directory), failed), end; !failed && it != end;
       it.increment(failed)) {
    const std::string name = it->path().filename().string();
    if (wanted(name)) {
      found.push_back(fmt::format("{}/{}", directory, name));
    }
  }
  std::ranges::sort(found);
  return found;
}

template <std::size_t N>
std::vector<std::string> those_there(const std::string& root,
                                     const std::array<std::string_view, N>& paths) {
  std::vector<std::string> found;
  for (const std::string_view path : paths) {
    if (there(root, path)) {
      found.emplace_back(path);
    }
  }
  return found;
}

} // namespace

Result<DriverNodes> host_driver_nodes(const std::string& root, const Imex& imex) {
  DriverNodes nodes;
  std::erase_if(nodes.control, [&](const std::string& path) { return !there(root, path); });
  nodes.mig = cdi::MigMinors::parse(text_of(root, "/proc/driver/nvidia-caps/mig-minors"));
  const cdi::Majors majors = cdi::parse_proc_devices(text_of(root, "/proc/devices"));
  if (const auto uvm = majors.find("nvidia-uvm"); uvm != majors.end()) {
    nodes.uvm_major = uvm->second;
  }
  if (const auto caps = majors.find("nvidia-caps"); caps != majors.end()) {
    nodes.caps_major = caps->second;
  }
  nodes.gdrcopy = entries(root, "/dev", [](std::string_view name) { return name == "gdrdrv"; });
  nodes.gds =
      entries(root, "/dev", [](std::string_view name) { return name.starts_with("nvidia-fs"); });
  nodes.mofed = entries(root, "/dev/infiniband", [](std::string_view name) {
    return name.starts_with("uverbs") || name == "rdma_cm";
  });
  for (const std::int64_t channel : imex.channel_ids) {
    const std::string path = fmt::format("/dev/nvidia-caps-imex-channels/channel{}", channel);
    if (there(root, path)) {
      nodes.imex_channels.push_back(channel);
    } else if (imex.required) {
      return fail(Code::NotFound, fmt::format("the IMEX channel is required and not there: {}; try "
                                              "nvidia-modprobe -i {}",
                                              path, channel));
    }
  }
  return nodes;
}

Result<HostDriverFiles> host_driver_files(const std::string& root, std::string_view version) {
  const std::string libcuda = fmt::format("libcuda.so.{}", version);
  HostDriverFiles out;
  for (const std::string_view directory : kLibraryDirs) {
    if (there(root, fmt::format("{}/{}", directory, libcuda))) {
      out.library_dir = directory;
      break;
    }
  }
  if (out.library_dir.empty()) {
    return fail(Code::NotFound,
                fmt::format("no {} in the places of libraries below {}", libcuda, root));
  }
  const std::string suffix = fmt::format(".so.{}", version);
  for (const std::string& directory : {out.library_dir, out.library_dir + "/vdpau"}) {
    for (std::string& path :
         entries(root, directory, [&](std::string_view name) { return name.ends_with(suffix); })) {
      out.files.libraries.push_back(std::move(path));
    }
  }
  out.files.tools = those_there(root, kTools);
  out.files.firmware =
      entries(root, fmt::format("/lib/firmware/nvidia/{}", version), [](std::string_view name) {
        return name.starts_with("gsp") && name.ends_with(".bin");
      });
  out.files.sockets = those_there(root, kSockets);
  return out;
}

std::vector<std::string> host_drm_nodes(const std::string& root, std::string_view pci_bus_id) {
  constexpr std::size_t kShortId = 12; // "0000:1b:00.0"
  if (pci_bus_id.size() < kShortId) {
    return {};
  }
  const std::string directory =
      fmt::format("/sys/bus/pci/devices/{}/drm", pci_bus_id.substr(pci_bus_id.size() - kShortId));
  std::vector<std::string> nodes = entries(root, directory, [](std::string_view name) {
    return name.starts_with("card") || name.starts_with("renderD");
  });
  for (std::string& node : nodes) {
    node = fmt::format("/dev/dri{}", node.substr(node.rfind('/')));
  }
  return nodes;
}

} // namespace berth::deviceplugin
