#include "berth/cli/agent/numa_flags.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "berth/api/quantity.h"

namespace berth::cli {
namespace {

constexpr std::string_view kTopologyPolicy = "--topology-manager-policy";
constexpr std::string_view kTopologyScope = "--topology-manager-scope";
constexpr std::string_view kTopologyOptions = "--topology-manager-policy-options";
constexpr std::string_view kCpuPolicy = "--cpu-manager-policy";
constexpr std::string_view kCpuOptions = "--cpu-manager-policy-options";
constexpr std::string_view kMemoryPolicy = "--memory-manager-policy";
constexpr std::string_view kReservedCpus = "--reserved-cpus";
constexpr std::string_view kReservedMemory = "--reserved-memory";
constexpr std::string_view kKubeReserved = "--kube-reserved";
constexpr std::string_view kSystemReserved = "--system-reserved";

tl::unexpected<Error> wrong(std::string_view flag, std::string_view message) {
  return fail(Code::BadRequest, fmt::format("{}: {}", flag, message));
}

template <class T> Result<T> of_flag(std::string_view flag, Result<T> result) {
  if (!result) {
    return wrong(flag, result.error().message);
  }
  return result;
}

/// What is before the first separator; `text` goes on behind it.
std::string_view next_part(std::string_view& text, char separator) {
  const std::string_view part = text.substr(0, text.find(separator));
  text.remove_prefix(std::min(text.size(), part.size() + 1));
  return part;
}

/// KEY=VALUE,KEY=VALUE: the kubelet's form of a map.
Result<topology::OptionTexts> map_of(std::string_view flag, std::string_view text) {
  topology::OptionTexts map;
  while (!text.empty()) {
    const std::string_view pair = next_part(text, ',');
    const std::size_t equals = pair.find('=');
    if (equals == std::string_view::npos || equals == 0) {
      return wrong(flag, fmt::format("malformed pair, expect string=string: \"{}\"", pair));
    }
    map[std::string(pair.substr(0, equals))] = std::string(pair.substr(equals + 1));
  }
  return map;
}

Result<api::Quantity> quantity_of(std::string_view flag, const std::string& resource,
                                  const std::string& text) {
  auto quantity = api::Quantity::parse(text);
  if (!quantity) {
    return wrong(flag, fmt::format("failed to parse quantity \"{}\" for \"{}\" resource: {}", text,
                                   resource, quantity.error().message));
  }
  if (quantity->sign() < 0) {
    return wrong(
        flag, fmt::format("resource quantity for \"{}\" cannot be negative: {}", resource, text));
  }
  return quantity;
}

Result<void> add_reserve(std::string_view flag, const Values& values, node::SystemReserve& to) {
  constexpr std::int64_t kMost = std::int64_t{1} << 60; // beyond any machine, and sums still fit
  BERTH_TRY(const auto amounts, map_of(flag, values.get(flag)));
  for (const auto& [resource, text] : amounts) {
    if (resource != "cpu" && resource != "memory" && resource != "ephemeral-storage" &&
        resource != "pid") {
      return wrong(flag, fmt::format("cannot reserve \"{}\" resource", resource));
    }
    BERTH_TRY(const api::Quantity amount, quantity_of(flag, resource, text));
    if (resource == "cpu") {
      to.milli_cpu += std::min(amount.milli_value(), kMost);
    } else if (resource == "memory") {
      to.memory += std::min(amount.value(), kMost);
    } else if (resource == "ephemeral-storage") {
      to.storage += std::min(amount.value(), kMost);
    } // process ids are not shared out among pods here
  }
  return {};
}

/// NODE:KIND=AMOUNT,KIND=AMOUNT;NODE:...
Result<void> add_reserved_memory(std::string_view text,
                                 std::map<int, topology::MemoryAmounts>& to) {
  while (!text.empty()) {
    const std::string_view reservation = next_part(text, ';');
    std::string_view limits = reservation;
    const std::string_view node = next_part(limits, ':');
    if (limits.empty() || limits.find(':') != std::string_view::npos) {
      return wrong(kReservedMemory,
                   fmt::format("the reserved memory has incorrect format, expected "
                               "numaNodeID:type=quantity[,type=quantity...], got {}",
                               reservation));
    }
    int id = -1;
    const auto read = std::from_chars(node.data(), node.data() + node.size(), id);
    if (read.ec != std::errc() || read.ptr != node.data() + node.size() || id < 0 ||
        id >= topology::NumaMask::kMostNodes) {
      return wrong(kReservedMemory,
                   fmt::format("failed to convert the NUMA node ID, expected a number from 0 to "
                               "{}, got \"{}\"",
                               topology::NumaMask::kMostNodes - 1, node));
    }
    BERTH_TRY(const auto amounts, map_of(kReservedMemory, limits));
    for (const auto& [resource, amount] : amounts) {
      if (resource != "memory" && !resource.starts_with("hugepages-")) {
        return wrong(kReservedMemory,
                     fmt::format("memory type conversion error, unknown type: \"{}\"", resource));
      }
      BERTH_TRY(const api::Quantity quantity, quantity_of(kReservedMemory, resource, amount));
      if (quantity.sign() == 0) {
        return wrong(kReservedMemory, fmt::format("reserved memory may not be zero for NUMA node "
                                                  "{} and resource \"{}\"",
                                                  id, resource));
      }
      if (!to[id].emplace(resource, quantity.value()).second) {
        return wrong(kReservedMemory, fmt::format("the reserved memory has a duplicate value for "
                                                  "NUMA node {} and resource \"{}\"",
                                                  id, resource));
      }
    }
  }
  return {};
}

Result<topology::Settings> settings_of(const Values& values) {
  topology::Settings to;
  BERTH_TRY(to.alignment.policy,
            of_flag(kTopologyPolicy, topology::parse_policy(values.get(kTopologyPolicy, "none"))));
  BERTH_TRY(
      to.alignment.scope,
      of_flag(kTopologyScope, topology::parse_scope(values.get(kTopologyScope, "container"))));
  BERTH_TRY(const auto topology_options, map_of(kTopologyOptions, values.get(kTopologyOptions)));
  BERTH_TRY(to.alignment.options,
            of_flag(kTopologyOptions, topology::parse_policy_options(topology_options)));
  BERTH_TRY(to.cpu_policy,
            of_flag(kCpuPolicy, topology::parse_cpu_policy(values.get(kCpuPolicy, "none"))));
  BERTH_TRY(const auto cpu_options, map_of(kCpuOptions, values.get(kCpuOptions)));
  BERTH_TRY(to.cpu_options, of_flag(kCpuOptions, topology::parse_cpu_options(cpu_options)));
  BERTH_TRY(to.memory_policy, of_flag(kMemoryPolicy, topology::parse_memory_policy(
                                                         values.get(kMemoryPolicy, "None"))));
  if (values.has(kReservedCpus)) {
    auto cpus = topology::CpuSet::parse(values.get(kReservedCpus));
    if (!cpus || cpus->empty()) {
      return wrong(kReservedCpus,
                   fmt::format("unable to parse \"{}\": {}", values.get(kReservedCpus),
                               cpus ? "it names no CPU" : cpus.error().message));
    }
    to.reserved_cpus = *std::move(cpus);
  }
  for (const std::string& text : values.all(kReservedMemory)) {
    if (!to.reserved_memory) {
      to.reserved_memory.emplace();
    }
    BERTH_CHECK(add_reserved_memory(text, *to.reserved_memory));
  }
  return to;
}

} // namespace

Result<NumaChoice> numa_choice(const Values& values) {
  NumaChoice choice;
  BERTH_TRY(choice.settings, settings_of(values));
  BERTH_CHECK(add_reserve(kKubeReserved, values, choice.reserve));
  BERTH_CHECK(add_reserve(kSystemReserved, values, choice.reserve));
  if (choice.settings.reserved_cpus) {
    choice.reserve.milli_cpu = choice.settings.reserved_cpus->count() * std::int64_t{1000};
  }
  return choice;
}

std::vector<Flag> numa_flags() {
  constexpr std::string_view kGroup = "RESOURCES";
  return {{.name = kTopologyPolicy,
           .value = "POLICY",
           .help = "which pods are let in by where on the machine their devices, CPUs and memory "
                   "can be (docs/numa.md)",
           .group = kGroup,
           .fallback = "none",
           .choices = {"none", "best-effort", "restricted", "single-numa-node"},
           .offers = Offers::Choices},
          {.name = kTopologyScope,
           .value = "SCOPE",
           .help = "whether containers or whole pods are to be together",
           .group = kGroup,
           .fallback = "container",
           .choices = {"container", "pod"},
           .offers = Offers::Choices},
          {.name = kTopologyOptions,
           .value = "NAME=VALUE,...",
           .help = "prefer-closest-numa-nodes, max-allowable-numa-nodes",
           .group = kGroup},
          {.name = kCpuPolicy,
           .value = "POLICY",
           .help = "static: containers of Guaranteed pods that ask for whole CPUs get their own",
           .group = kGroup,
           .fallback = "none",
           .choices = {"none", "static"},
           .offers = Offers::Choices},
          {.name = kCpuOptions,
           .value = "NAME=VALUE,...",
           .help = "full-pcpus-only, distribute-cpus-across-numa and others (docs/numa.md)",
           .group = kGroup},
          {.name = kMemoryPolicy,
           .value = "POLICY",
           .help = "Static: Guaranteed pods get memory and huge pages on nodes of their own",
           .group = kGroup,
           .fallback = "None",
           .choices = {"None", "Static"},
           .offers = Offers::Choices},
          {.name = kReservedCpus,
           .value = "CPUS",
           .help = "CPUs for the system, such as 0-1,8; in place of the cpu of the two reserves",
           .group = kGroup},
          {.name = kReservedMemory,
           .value = "NODE:KIND=AMOUNT,...",
           .help = "what each NUMA node keeps back, such as 0:memory=1Gi,hugepages-1Gi=2Gi; "
                   "several with \";\" between them; else equal parts",
           .group = kGroup,
           .times = Flag::Times::Many},
          {.name = kKubeReserved,
           .value = "RESOURCE=AMOUNT,...",
           .help = "cpu, memory and ephemeral-storage that pods do not get, for the agent and the "
                   "container runtime",
           .group = kGroup},
          {.name = kSystemReserved,
           .value = "RESOURCE=AMOUNT,...",
           .help = "the same for the rest of the system",
           .group = kGroup}};
}

} // namespace berth::cli
