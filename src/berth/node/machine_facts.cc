#include "berth/node/machine_facts.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <vector>

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <sched.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <fmt/format.h>

#include "berth/hardware/node_conditions.h"

namespace berth::node {
namespace {

namespace json = boost::json;

constexpr std::int64_t kKib = 1024;
constexpr std::int64_t kEvictionKib = 100 * 1024;

std::string first_line(const char* path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::int64_t total_memory_kib() {
  std::ifstream file("/proc/meminfo");
  for (std::string line; std::getline(file, line);) {
    constexpr std::string_view kTotal = "MemTotal:";
    if (line.starts_with(kTotal)) {
      const std::size_t digit = line.find_first_of("0123456789");
      std::int64_t kib = 0;
      if (digit != std::string::npos) {
        std::from_chars(line.data() + digit, line.data() + line.size(), kib);
      }
      return kib;
    }
  }
  return 0;
}

std::string os_image() {
  std::ifstream file("/etc/os-release");
  for (std::string line; std::getline(file, line);) {
    constexpr std::string_view kName = "PRETTY_NAME=";
    if (line.starts_with(kName)) {
      std::string name = line.substr(kName.size());
      std::erase(name, '"');
      return name;
    }
  }
  return "Linux";
}

// Go's names of what the kernel calls a machine.
std::string architecture_of(std::string_view machine) {
  return machine == "x86_64" ? "amd64" : machine == "aarch64" ? "arm64" : std::string(machine);
}

std::string first_address() {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) {
    return "127.0.0.1";
  }
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owned(list, &freeifaddrs);
  for (const ifaddrs* each = list; each; each = each->ifa_next) {
    const bool usable = each->ifa_addr && each->ifa_addr->sa_family == AF_INET &&
                        (each->ifa_flags & IFF_UP) != 0 && (each->ifa_flags & IFF_LOOPBACK) == 0;
    if (usable) {
      char text[INET_ADDRSTRLEN] = {};
      const auto* address = reinterpret_cast<const sockaddr_in*>(each->ifa_addr);
      inet_ntop(AF_INET, &address->sin_addr, text, sizeof(text));
      return text;
    }
  }
  return "127.0.0.1";
}

topology::CpuSet usable_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) != 0) {
    return {0};
  }
  std::vector<int> ids;
  for (int id = 0; id < CPU_SETSIZE; ++id) {
    if (CPU_ISSET(static_cast<std::size_t>(id), &set)) {
      ids.push_back(id);
    }
  }
  return topology::CpuSet(std::move(ids));
}

/// Bytes of each size of huge page.
std::map<std::string, std::int64_t> hugepages_of(const topology::Machine& numa) {
  std::map<std::string, std::int64_t> sums;
  for (const topology::MachineNuma& node : numa.nodes) {
    for (const auto& [resource, bytes] : node.memory) {
      if (resource != "memory") {
        sums[resource] += bytes;
      }
    }
  }
  return sums;
}

/// The kubelet's words for an amount of bytes.
std::string in_kib(std::int64_t bytes) {
  return bytes % kKib == 0 ? fmt::format("{}Ki", bytes / kKib) : fmt::to_string(bytes);
}

json::object capacity_of(const MachineFacts& facts, int max_pods) {
  json::object list{{"cpu", fmt::to_string(facts.cpus)},
                    {"ephemeral-storage", fmt::format("{}Ki", facts.disk_kib)},
                    {"memory", fmt::format("{}Ki", facts.memory_kib)},
                    {"pods", fmt::to_string(max_pods)}};
  for (const auto& [resource, bytes] : hugepages_of(facts.numa)) {
    list[resource] = in_kib(bytes);
  }
  return list;
}

json::object allocatable_of(const MachineFacts& facts, const MachineDocument& document) {
  const SystemReserve& reserve = document.reserve;
  json::object list = capacity_of(facts, document.max_pods);
  const std::int64_t milli = facts.cpus * std::int64_t{1000} - reserve.milli_cpu;
  list["cpu"] = milli % 1000 == 0 ? fmt::to_string(std::max<std::int64_t>(milli / 1000, 0))
                                  : fmt::format("{}m", std::max<std::int64_t>(milli, 0));
  std::int64_t memory = facts.memory_kib * kKib - kept_back(reserve).memory;
  for (const auto& [resource, bytes] : hugepages_of(facts.numa)) {
    memory -= bytes;
  }
  list["memory"] = in_kib(std::max<std::int64_t>(memory, 0));
  list["ephemeral-storage"] =
      fmt::to_string(std::max<std::int64_t>(facts.disk_kib * kKib / 10 * 9 - reserve.storage, 0));
  return list;
}

} // namespace

topology::KeptBack kept_back(const SystemReserve& reserve) {
  return {.milli_cpu = reserve.milli_cpu, .memory = reserve.memory + kEvictionKib * kKib};
}

Result<MachineFacts> read_machine_facts(const std::string& root) {
  utsname name{};
  uname(&name);
  MachineFacts facts{.hostname = name.nodename,
                     .address = first_address(),
                     .memory_kib = total_memory_kib(),
                     .architecture = architecture_of(name.machine),
                     .kernel = name.release,
                     .os_image = os_image(),
                     .machine_id = first_line("/etc/machine-id"),
                     .system_uuid = first_line("/sys/class/dmi/id/product_uuid"),
                     .boot_id = first_line("/proc/sys/kernel/random/boot_id"),
                     .usable_cpus = usable_cpus(),
                     .numa = {}};
  facts.cpus = facts.usable_cpus.count();
  std::ranges::transform(facts.hostname, facts.hostname.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (facts.memory_kib <= 0) {
    return fail(Code::Unavailable, "/proc/meminfo does not say how much memory there is");
  }
  struct statvfs disk {};
  if (statvfs(root.c_str(), &disk) != 0) {
    return fail(Code::Unavailable,
                fmt::format("{}: cannot tell the size of its file system", root));
  }
  facts.disk_kib = static_cast<std::int64_t>(disk.f_blocks * (disk.f_frsize / 1024));
  if (facts.system_uuid.empty()) {
    facts.system_uuid = facts.machine_id;
  }
  return facts;
}

json::value machine_node(const MachineFacts& facts, const MachineDocument& document) {
  const json::object labels{{"kubernetes.io/hostname", document.name},
                            {"kubernetes.io/os", "linux"},
                            {"kubernetes.io/arch", facts.architecture},
                            {"beta.kubernetes.io/os", "linux"},
                            {"beta.kubernetes.io/arch", facts.architecture}};
  json::object node{
      {"apiVersion", "v1"},
      {"kind", "Node"},
      {"metadata", json::object{{"name", document.name}, {"labels", labels}}},
      {"status",
       json::object{
           {"addresses",
            json::array{json::object{{"type", "InternalIP"}, {"address", document.address}},
                        json::object{{"type", "Hostname"}, {"address", facts.hostname}}}},
           {"capacity", capacity_of(facts, document.max_pods)},
           {"allocatable", allocatable_of(facts, document)},
           {"conditions", hardware::healthy_conditions()},
           {"nodeInfo", json::object{{"architecture", facts.architecture},
                                     {"bootID", facts.boot_id},
                                     {"containerRuntimeVersion", document.container_runtime},
                                     {"kernelVersion", facts.kernel},
                                     {"kubeProxyVersion", ""},
                                     {"kubeletVersion", hardware::kKubeletVersion},
                                     {"machineID", facts.machine_id},
                                     {"operatingSystem", "linux"},
                                     {"osImage", facts.os_image},
                                     {"systemUUID", facts.system_uuid}}}}}};
  if (document.kubelet_port != 0) {
    node["status"].as_object()["daemonEndpoints"] =
        json::object{{"kubeletEndpoint", json::object{{"Port", document.kubelet_port}}}};
  }
  return node;
}

} // namespace berth::node
