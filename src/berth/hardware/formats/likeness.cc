#include "berth/hardware/formats/likeness.h"

#include <algorithm>
#include <charconv>
#include <ranges>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "berth/hardware/formats/import.h"
#include "berth/hardware/platform_check.h"

namespace berth::hardware {

namespace {

/// More NVLinks than one GPU of any generation so far has.
constexpr int kMostLinksOfAGpu = 18;
constexpr std::int64_t kMostCpus = 65'536;

struct CpuRange {
  int first = 0;
  int last = 0;
  int size() const { return last - first + 1; }
};

/// The ranges of a list that count_cpus accepts.
std::vector<CpuRange> ranges_of(std::string_view list) {
  std::vector<CpuRange> ranges;
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(','), list.size());
    const std::string_view part = list.substr(0, end);
    CpuRange range;
    const auto [stop, error] = std::from_chars(part.data(), part.data() + part.size(), range.first);
    range.last = range.first;
    if (error == std::errc{} && stop != part.data() + part.size()) {
      std::from_chars(stop + 1, part.data() + part.size(), range.last);
    }
    ranges.push_back(range);
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return ranges;
}

std::string text_of(const std::vector<CpuRange>& ranges) {
  std::vector<std::string> parts;
  for (const CpuRange& range : ranges) {
    parts.push_back(range.size() == 1 ? fmt::to_string(range.first)
                                      : fmt::format("{}-{}", range.first, range.last));
  }
  return fmt::format("{}", fmt::join(parts, ","));
}

/// What lies between the CPUs of all known nodes, from CPU 0 on.
std::vector<CpuRange> gaps_between(const std::map<int, std::string>& cpus) {
  std::vector<CpuRange> known;
  for (const auto& entry : cpus) {
    const auto ranges = ranges_of(entry.second);
    known.insert(known.end(), ranges.begin(), ranges.end());
  }
  std::ranges::sort(known, {}, &CpuRange::first);
  std::vector<CpuRange> gaps;
  int next = 0;
  for (const CpuRange& range : known) {
    if (range.first > next) {
      gaps.push_back({next, range.first - 1});
    }
    next = std::max(next, range.last + 1);
  }
  return gaps;
}

/// CPUs for nodes of which none are known.
std::map<int, std::string> invent_cpus(const std::map<int, std::string>& cpus,
                                       const std::vector<int>& missing, int each) {
  std::map<int, std::string> made;
  const auto gaps = gaps_between(cpus);
  if (gaps.size() >= missing.size()) {
    std::map<int, std::vector<CpuRange>> share;
    for (std::size_t i = 0; i < gaps.size(); ++i) {
      share[missing[i % missing.size()]].push_back(gaps[i]);
    }
    for (const auto& [node, ranges] : share) {
      made[node] = text_of(ranges);
    }
    return made;
  }
  int next = 0;
  for (const auto& entry : cpus) {
    for (const CpuRange& range : ranges_of(entry.second)) {
      next = std::max(next, range.last + 1);
    }
  }
  for (const int node : missing) {
    made[node] = text_of({{next, next + each - 1}});
    next += each;
  }
  return made;
}

/// What was assumed of each node, for people; a file may have very many.
std::string assumed_text(const std::vector<int>& missing, const std::map<int, std::string>& cpus) {
  constexpr std::size_t kShown = 8;
  if (missing.size() == 1) {
    return fmt::format("the CPUs of NUMA node {} are not said: assumed {}", missing.front(),
                       cpus.at(missing.front()));
  }
  std::vector<std::string> parts;
  for (const int node : missing | std::views::take(kShown)) {
    parts.push_back(fmt::format("{} on node {}", cpus.at(node), node));
  }
  return fmt::format("the CPUs of {} NUMA nodes are not said: assumed {}{}", missing.size(),
                     fmt::join(parts, "; "), missing.size() > kShown ? "; ..." : "");
}

int sockets_of(int numa_nodes, const Platform& like) {
  if (numa_nodes % like.sockets == 0) {
    return like.sockets;
  }
  return numa_nodes % 2 == 0 ? 2 : 1;
}

bool shares_a_switch(const Platform& platform, const Nic& nic) {
  return nic.pcie_switch >= 0 && std::ranges::any_of(platform.gpus, [&](const Gpu& gpu) {
           return gpu.pcie_switch >= 0 &&
                  platform.top_switch(gpu.pcie_switch) == platform.top_switch(nic.pcie_switch);
         });
}

} // namespace

Result<void> check_platform_name(std::string_view name) {
  const auto alnum = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  const bool good =
      !name.empty() && name.size() <= 50 && alnum(name.front()) && alnum(name.back()) &&
      std::ranges::all_of(name, [&](char c) { return alnum(c) || c == '-' || c == '.'; });
  if (good) {
    return {};
  }
  return fail(Code::Invalid, fmt::format("not a platform name (1 to 50 of a-z, 0-9, - and ., "
                                         "beginning and ending with a letter or digit): \"{}\"",
                                         name.substr(0, 80)));
}

const Platform& nearest_platform(const Traits& traits) {
  const auto& catalogue = Catalogue::builtin();
  const auto rank = [&](const Platform& p) {
    const int compute = p.gpu_model.compute_major * 10 + p.gpu_model.compute_minor;
    return std::tuple(traits.pci_device != 0 && p.gpu_model.pci_device == traits.pci_device,
                      traits.compute != 0 && compute == traits.compute, p.c2c == traits.c2c,
                      p.gpu_model.nvlink_links == traits.nvlinks,
                      (p.gpu_model.nvlink_links > 0) == (traits.nvlinks > 0),
                      p.gpus.size() == traits.gpus, -compute);
  };
  const Platform* best = nullptr;
  for (const std::string& name : catalogue.names()) {
    const Platform* candidate = catalogue.find(name);
    if (best == nullptr || rank(*candidate) > rank(*best)) {
      best = candidate;
    }
  }
  return *best;
}

Platform outline_of(const Platform& like, const std::string& name) {
  Platform platform;
  platform.name = name;
  platform.title = name;
  platform.machine = name;
  platform.instance_type = name;
  platform.memory_gib = like.memory_gib;
  platform.inter_socket_mbps = like.inter_socket_mbps;
  platform.cpu_model = like.cpu_model;
  platform.disks = like.disks;
  platform.gpu_model = like.gpu_model;
  return platform;
}

Result<void> fill_numa(Platform& platform, const std::map<int, std::string>& cpus, int highest,
                       const Platform& like, std::vector<std::string>& notes) {
  const int nodes = std::max(highest, cpus.empty() ? 0 : cpus.rbegin()->first) + 1;
  std::vector<int> missing;
  for (int node = 0; node < nodes; ++node) {
    if (!cpus.contains(node)) {
      missing.push_back(node);
    }
  }
  int each = std::max(1, like.cpus / static_cast<int>(like.numa.size()));
  if (!cpus.empty()) {
    each = std::max(1, count_cpus(cpus.begin()->second));
  }
  auto all = cpus;
  if (!missing.empty()) {
    all.merge(invent_cpus(cpus, missing, each));
    notes.push_back(assumed_text(missing, all));
  }
  platform.sockets = sockets_of(nodes, like);
  std::int64_t total = 0;
  platform.numa.clear();
  for (int node = 0; node < nodes; ++node) {
    platform.numa.push_back(
        {.id = node, .socket = node * platform.sockets / nodes, .cpus = all[node]});
    total += count_cpus(all[node]);
  }
  if (total > kMostCpus) {
    return fail(Code::Invalid, fmt::format("a machine has at most {} CPUs: {} on {} NUMA nodes",
                                           kMostCpus, total, nodes));
  }
  platform.cpus = static_cast<int>(total);
  return {};
}

void fill_nics(Platform& platform, const Platform& like, std::vector<std::string>& notes) {
  std::vector<std::string> guessed;
  const bool any = std::ranges::any_of(
      platform.nics, [&](const Nic& nic) { return shares_a_switch(platform, nic); });
  const bool same_names =
      std::ranges::is_permutation(platform.nics, like.nics, {}, &Nic::name, &Nic::name);
  const Nic usual = like.nics.empty()
                        ? Nic{.gbits = 100, .model = "ConnectX-6", .layer = "infiniband"}
                        : like.nics.front();
  int next_rail = 0;
  for (Nic& nic : platform.nics) {
    const Nic& model = same_names ? *std::ranges::find(like.nics, nic.name, &Nic::name) : usual;
    if (same_names) {
      nic.rail = model.rail;
    } else if (!any || shares_a_switch(platform, nic)) {
      nic.rail = next_rail++;
    }
    if (nic.gbits <= 0) {
      nic.gbits = model.gbits;
      guessed.push_back(nic.name);
    }
    nic.model = nic.model.empty() ? model.model : nic.model;
    nic.layer = nic.layer.empty() ? model.layer : nic.layer;
  }
  if (!guessed.empty()) {
    notes.push_back(fmt::format("the speed of {} is not said: assumed as in {}",
                                fmt::join(guessed, ", "), like.name));
  }
}

void fill_fabric(Platform& platform, const Platform& like) {
  int most = 0;
  int used = 0;
  bool all_alike = true;
  const auto n = platform.gpus.size();
  for (std::size_t i = 0; i < n; ++i) {
    int sum = 0;
    for (std::size_t j = 0; j < n; ++j) {
      sum += platform.nvlinks[i][j];
      most = std::max(most, platform.nvlinks[i][j]);
      all_alike = all_alike && (i == j || platform.nvlinks[i][j] == platform.nvlinks[0][n - 1]);
    }
    used = std::max(used, sum);
  }
  platform.nvswitch = platform.nvswitch || (n > 1 && most > 0 && all_alike &&
                                            (used > kMostLinksOfAGpu || most == kMostLinksOfAGpu));
  auto& model = platform.gpu_model;
  if (!platform.nvswitch) {
    model.nvlink_links = used == 0 ? 0 : std::max(used, model.nvlink_links);
  } else if (most > 0) {
    model.nvlink_links = most;
  }
  if (model.nvlink_links == 0) {
    model.nvlink_mbps_per_link = 0;
  } else if (model.nvlink_mbps_per_link == 0) {
    model.nvlink_mbps_per_link = 20'000; // third generation, as NCCL counts it
  }
  platform.nvls = platform.nvswitch && like.nvls && model.nvls_efficiency_percent > 0;
  platform.nvlink_domain_gpus = platform.nvswitch && like.nvlink_domain_gpus >= static_cast<int>(n)
                                    ? like.nvlink_domain_gpus
                                    : 0;
}

} // namespace berth::hardware
