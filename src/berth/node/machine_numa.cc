#include "berth/node/machine_numa.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace berth::node {
namespace {

namespace fs = std::filesystem;
using topology::Cpu;
using topology::CpuSet;
using topology::MachineNuma;
using topology::NumaMask;

constexpr std::int64_t kKib = 1024;
constexpr std::int64_t kMostKib = std::int64_t{1} << 50; ///< more than any machine has

/// None: the file is not there or cannot be read. Lines of sysfs are short.
std::optional<std::string> text_of(const fs::path& path) {
  std::ifstream file(path);
  if (!file) {
    return std::nullopt;
  }
  std::string text(4096, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

std::optional<std::int64_t> number_in(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  std::int64_t number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view rest(read.ptr, text.data() + text.size());
  const bool whole = read.ec == std::errc() && rest.find_first_not_of(" \t\n") == rest.npos;
  return whole ? std::optional(number) : std::nullopt;
}

tl::unexpected<Error> odd(const fs::path& path, std::string_view want, std::string_view text) {
  return fail(Code::Invalid,
              fmt::format("{}: {} is expected: \"{}\"", path.string(), want,
                          text.substr(0, std::min<std::size_t>(text.find('\n'), 60))));
}

/// `missing` if there is no such file.
Result<int> id_at(const fs::path& path, int missing) {
  const auto text = text_of(path);
  if (!text) {
    return missing;
  }
  const auto number = number_in(*text);
  if (!number || *number < -1 || *number > 65535) {
    return odd(path, "a number", *text);
  }
  return *number < 0 ? missing : static_cast<int>(*number); // -1: the firmware does not say
}

/// Empty if there is no such file.
Result<CpuSet> cpus_at(const fs::path& path) {
  const auto text = text_of(path);
  if (!text) {
    return CpuSet();
  }
  auto cpus = CpuSet::parse(*text);
  if (!cpus) {
    return odd(path, "a list such as 0-3,8", *text);
  }
  return cpus;
}

/// The number behind PREFIX in a name that has digits and SUFFIX there.
std::optional<std::int64_t> id_in(std::string_view name, std::string_view prefix,
                                  std::string_view suffix = "") {
  if (!name.starts_with(prefix) || !name.ends_with(suffix) ||
      name.size() <= prefix.size() + suffix.size()) {
    return std::nullopt;
  }
  name.remove_prefix(prefix.size());
  name.remove_suffix(suffix.size());
  return name.find_first_not_of("0123456789") == name.npos ? number_in(name) : std::nullopt;
}

/// By number. A folder that is not there has none.
std::map<std::int64_t, fs::path> numbered(const fs::path& folder, std::string_view prefix,
                                          std::string_view suffix = "") {
  std::map<std::int64_t, fs::path> found;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (const auto id = id_in(at->path().filename().string(), prefix, suffix)) {
      found.emplace(*id, at->path());
    }
  }
  return found;
}

Result<std::int64_t> memory_kib_at(const fs::path& path) {
  const auto text = text_of(path);
  std::istringstream lines(text.value_or(""));
  for (std::string line; std::getline(lines, line);) {
    // Node 0 MemTotal:       16303424 kB
    const std::size_t colon = line.find("MemTotal:");
    if (colon != std::string::npos && line.ends_with(" kB")) {
      const auto kib = number_in(line.substr(colon + 9, line.size() - 3 - colon - 9));
      if (kib && *kib >= 0 && *kib <= kMostKib) {
        return *kib;
      }
      return odd(path, "MemTotal in kB", line);
    }
  }
  if (text) {
    return odd(path, "a line with MemTotal", *text);
  }
  return 0;
}

/// Bytes of each size of huge page that are set aside on the node.
Result<std::map<std::string, std::int64_t>> hugepages_at(const fs::path& node) {
  std::map<std::string, std::int64_t> amounts;
  for (const auto& [kib, folder] : numbered(node / "hugepages", "hugepages-", "kB")) {
    const fs::path path = folder / "nr_hugepages";
    const auto text = text_of(path);
    const auto count = text ? number_in(*text) : std::optional<std::int64_t>(0);
    if (!count || *count < 0 || kib <= 0 || *count > kMostKib / kib) {
      return odd(path, "a number of pages", text.value_or(""));
    }
    amounts[hugepage_resource(kib)] = *count * kib * kKib;
  }
  return amounts;
}

class Reading {
 public:
  explicit Reading(const NumaSource& source)
      : source_(source), root_(fs::path(source.sysfs) / "devices/system") {}

  Result<topology::Machine> read() {
    const auto nodes = numbered(root_ / "node", "node");
    for (const auto& [id, folder] : nodes) {
      if (id >= NumaMask::kMostNodes) {
        return fail(Code::Invalid, fmt::format("{}: NUMA nodes up to {} are supported",
                                               folder.string(), NumaMask::kMostNodes - 1));
      }
      BERTH_CHECK(add_node(static_cast<int>(id), folder));
    }
    if (nodes.empty()) {
      BERTH_CHECK(add_only_node());
    }
    BERTH_CHECK(add_distances(nodes));
    std::erase_if(machine_.nodes, [this](const MachineNuma& node) {
      return node.memory.at("memory") == 0 &&
             std::ranges::find(machine_.cpus, node.id, &Cpu::numa) == machine_.cpus.end();
    });
    std::ranges::sort(machine_.cpus, {}, &Cpu::id);
    return std::move(machine_);
  }

 private:
  Result<void> add_node(int id, const fs::path& folder) {
    MachineNuma& node = machine_.nodes.emplace_back();
    node.id = id;
    BERTH_TRY(const CpuSet cpus, cpus_at(folder / "cpulist"));
    BERTH_TRY(const std::int64_t kib, memory_kib_at(folder / "meminfo"));
    const bool of_device = cpus.empty() && source_.device_memory.contains(id);
    node.memory["memory"] = of_device ? 0 : kib * kKib;
    BERTH_TRY(const auto pages, hugepages_at(folder));
    set_aside(node, pages);
    return add_cpus(id, cpus);
  }

  // A kernel without NUMA.
  Result<void> add_only_node() {
    MachineNuma& node = machine_.nodes.emplace_back();
    node.memory["memory"] = source_.memory;
    BERTH_TRY(const auto pages, hugepages_at(fs::path(source_.sysfs) / "kernel/mm"));
    set_aside(node, pages);
    BERTH_TRY(CpuSet cpus, cpus_at(root_ / "cpu/online"));
    return add_cpus(0, cpus.empty() ? source_.usable : cpus);
  }

  // Huge pages are no ordinary memory any more.
  static void set_aside(MachineNuma& node, const std::map<std::string, std::int64_t>& pages) {
    std::int64_t& memory = node.memory["memory"];
    for (const auto& [resource, bytes] : pages) {
      node.memory[resource] = bytes;
      memory = std::max<std::int64_t>(memory - bytes, 0);
    }
  }

  Result<void> add_cpus(int numa, const CpuSet& of_node) {
    const CpuSet cpus = source_.usable.empty() ? of_node : of_node & source_.usable;
    const int lowest_left = cpus.empty() ? 0 : cpus.ids().front();
    for (const int id : cpus) {
      const bool known = std::ranges::find(machine_.cpus, id, &Cpu::id) != machine_.cpus.end();
      if (known) {
        return fail(Code::Invalid, fmt::format("CPU {} is on two NUMA nodes", id));
      }
      const fs::path folder = root_ / fmt::format("cpu/cpu{}", id);
      BERTH_TRY(const int core, lowest_of(folder / "topology/thread_siblings_list", id));
      BERTH_TRY(const int cache, lowest_of(folder / "cache/index3/shared_cpu_list", lowest_left));
      BERTH_TRY(const int socket, id_at(folder / "topology/physical_package_id", 0));
      machine_.cpus.push_back(
          {.id = id, .core = core, .uncore_cache = cache, .numa = numa, .socket = socket});
    }
    return {};
  }

  /// The lowest usable CPU of the list in a file; `missing` where there is none.
  Result<int> lowest_of(const fs::path& path, int missing) const {
    BERTH_TRY(CpuSet listed, cpus_at(path));
    if (!source_.usable.empty()) {
      listed = listed & source_.usable;
    }
    return listed.empty() ? missing : listed.ids().front();
  }

  // A line has a number for each node that is online, in their order.
  Result<void> add_distances(const std::map<std::int64_t, fs::path>& nodes) {
    for (MachineNuma& node : machine_.nodes) {
      const auto folder = nodes.find(node.id);
      const auto text = folder == nodes.end() ? std::nullopt : text_of(folder->second / "distance");
      std::istringstream numbers(text.value_or(""));
      for (const auto& [other, path] : nodes) {
        if (int distance = 0; numbers >> distance && distance >= 0) {
          node.distance[static_cast<int>(other)] = distance;
        } else if (text) {
          return odd(folder->second / "distance", fmt::format("{} numbers", nodes.size()), *text);
        }
      }
    }
    return {};
  }

  const NumaSource& source_;
  fs::path root_;
  topology::Machine machine_;
};

} // namespace

Result<topology::Machine> read_machine_numa(const NumaSource& source) {
  return Reading(source).read();
}

std::string hugepage_resource(std::int64_t page_kib) {
  constexpr std::int64_t kStep = 1024;
  if (page_kib % (kStep * kStep) == 0) {
    return fmt::format("hugepages-{}Gi", page_kib / kStep / kStep);
  }
  return page_kib % kStep == 0 ? fmt::format("hugepages-{}Mi", page_kib / kStep)
                               : fmt::format("hugepages-{}Ki", page_kib);
}

} // namespace berth::node
