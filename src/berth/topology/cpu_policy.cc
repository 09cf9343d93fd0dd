#include "berth/topology/cpu_policy.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "berth/topology/option_texts.h"

namespace berth::topology {
namespace {

constexpr std::string_view kFullPcpusOnly = "full-pcpus-only";
constexpr std::string_view kStrictReservation = "strict-cpu-reservation";
constexpr std::string_view kAcrossNuma = "distribute-cpus-across-numa";
constexpr std::string_view kAcrossCores = "distribute-cpus-across-cores";
constexpr std::string_view kAlignBySocket = "align-by-socket";
constexpr std::string_view kByUncoreCache = "prefer-align-cpus-by-uncorecache";

struct Option {
  std::string_view name;
  bool CpuOptions::*value;
};
constexpr std::array<Option, 6> kOptions{
    {{kFullPcpusOnly, &CpuOptions::full_pcpus_only},
     {kStrictReservation, &CpuOptions::strict_cpu_reservation},
     {kAcrossNuma, &CpuOptions::distribute_cpus_across_numa},
     {kAcrossCores, &CpuOptions::distribute_cpus_across_cores},
     {kAlignBySocket, &CpuOptions::align_by_socket},
     {kByUncoreCache, &CpuOptions::prefer_align_cpus_by_uncorecache}}};

tl::unexpected<Error> not_together(std::string_view a, std::string_view b) {
  return fail(
      Code::Invalid,
      fmt::format("static policy options {} and {} can not be used at the same time", a, b));
}

} // namespace

std::string_view to_string(CpuPolicy policy) {
  return policy == CpuPolicy::Static ? "static" : "none";
}

Result<CpuPolicy> parse_cpu_policy(std::string_view text) {
  if (text == "none") {
    return CpuPolicy::None;
  }
  if (text == "static") {
    return CpuPolicy::Static;
  }
  return fail(Code::Invalid,
              fmt::format("unknown policy: \"{}\"; none or static is expected", text));
}

Result<CpuOptions> parse_cpu_options(const OptionTexts& texts) {
  CpuOptions options;
  for (const auto& [name, text] : texts) {
    const auto* option = std::ranges::find(kOptions, name, &Option::name);
    if (option == kOptions.end()) {
      std::array<std::string_view, kOptions.size()> names{};
      std::ranges::transform(kOptions, names.begin(), &Option::name);
      return fail(Code::Invalid,
                  fmt::format("unsupported cpumanager option: \"{}\" (\"{}\"); {} are known", name,
                              text, fmt::join(names, ", ")));
    }
    BERTH_TRY(options.*(option->value), parse_flag(name, text));
  }
  if (options.full_pcpus_only && options.distribute_cpus_across_cores) {
    return not_together(kFullPcpusOnly, kAcrossCores);
  }
  if (options.prefer_align_cpus_by_uncorecache && options.distribute_cpus_across_cores) {
    return not_together(kByUncoreCache, kAcrossCores);
  }
  if (options.prefer_align_cpus_by_uncorecache && options.distribute_cpus_across_numa) {
    return not_together(kByUncoreCache, kAcrossNuma);
  }
  return options;
}

Result<void> check_cpu_rules(const CpuRules& rules, Policy policy, const Machine& machine) {
  if (rules.policy == CpuPolicy::None) {
    return {};
  }
  if (!machine.known()) {
    return fail(Code::Invalid, "the static policy requires a machine whose CPUs are known");
  }
  if (rules.options.align_by_socket && policy == Policy::SingleNumaNode) {
    return fail(Code::Invalid,
                fmt::format("topology manager {} policy is incompatible with CPUManager {} policy "
                            "option",
                            to_string(policy), kAlignBySocket));
  }
  if (rules.options.align_by_socket && machine.sockets() > machine.nodes_with_cpus().count()) {
    return fail(Code::Invalid, "align by socket is not compatible with hardware where number of "
                               "sockets are more than number of NUMA");
  }
  if (rules.reserved.empty()) {
    return fail(Code::Invalid, "the static policy requires systemreserved.cpu + kubereserved.cpu "
                               "to be greater than zero");
  }
  if (const CpuSet strange = rules.reserved - machine.all_cpus(); !strange.empty()) {
    return fail(Code::Invalid, fmt::format("reserved CPUs that the machine does not have: {}; it "
                                           "has {}",
                                           strange.to_string(), machine.all_cpus().to_string()));
  }
  return {};
}

Result<CpuSet> reserve_cpus(const Machine& machine, int count, const CpuOptions& options) {
  auto taken = take_cpus(machine, machine.all_cpus(), count, options);
  if (!taken) {
    return fail(Code::Invalid, fmt::format("[cpumanager] unable to reserve the required amount of "
                                           "CPUs: {}",
                                           taken.error().message));
  }
  return *std::move(taken);
}

Granted<CpuSet> take_cpus(const Machine& machine, const CpuSet& available, int count,
                          const CpuOptions& options) {
  const PickRules rules{
      .caches = options.prefer_align_cpus_by_uncorecache ? PickRules::Caches::Aligned
                                                         : PickRules::Caches::Ignored,
      .cores = options.distribute_cpus_across_cores ? PickRules::Cores::Distributed
                                                    : PickRules::Cores::Packed};
  if (options.distribute_cpus_across_numa) {
    const int group = options.full_pcpus_only ? machine.threads_per_core() : 1;
    return take_distributed(machine, available, count, group, rules);
  }
  return take_packed(machine, available, count, rules);
}

} // namespace berth::topology
