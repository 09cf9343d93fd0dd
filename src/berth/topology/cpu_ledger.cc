#include "berth/topology/cpu_ledger.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "berth/topology/stock_hints.h"

namespace berth::topology {
namespace {

using Phase = ContainerAsk::Phase;
constexpr const char* kCpu = "cpu";

} // namespace

CpuLedger::CpuLedger(std::shared_ptr<const Machine> machine, CpuRules rules)
    : machine_(std::move(machine)), rules_(std::move(rules)) {}

CpuSet CpuLedger::taken() const {
  CpuSet all;
  for (const auto& [place, cpus] : assigned_) {
    all = all | cpus;
  }
  return all;
}

CpuSet CpuLedger::available() const {
  return machine_->all_cpus() - rules_.reserved - taken();
}

CpuSet CpuLedger::shared_pool() const {
  const CpuSet all = machine_->all_cpus() - taken();
  return rules_.options.strict_cpu_reservation ? all - rules_.reserved : all;
}

// What the pod has that does not run beside this container.
CpuSet CpuLedger::reusable(const PodAsk& ask, const ContainerAsk& container) const {
  CpuSet idle;
  CpuSet busy;
  for (const auto& [place, cpus] : assigned_) {
    if (place.pod_uid == ask.pod_uid && place.container != container.name) {
      CpuSet& kind = ask.runs_beside(container.name, place.container) ? busy : idle;
      kind = kind | cpus;
    }
  }
  return idle - busy;
}

// With full-pcpus-only a core of which a part is somebody's, or reserved, is of no use.
CpuSet CpuLedger::usable(const CpuSet& free) const {
  if (!rules_.options.full_pcpus_only) {
    return free;
  }
  std::set<int> broken;
  for (const Cpu& cpu : machine_->cpus) {
    if (!free.has(cpu.id)) {
      broken.insert(cpu.core);
    }
  }
  std::vector<int> ids;
  for (const Cpu& cpu : machine_->cpus) {
    if (!broken.contains(cpu.core)) {
      ids.push_back(cpu.id);
    }
  }
  return CpuSet(std::move(ids));
}

CpuSet CpuLedger::near(NumaMask affinity) const {
  std::set<int> sockets;
  for (const Cpu& cpu : machine_->cpus) {
    if (affinity.has(cpu.numa)) {
      sockets.insert(cpu.socket);
    }
  }
  std::vector<int> ids;
  for (const Cpu& cpu : machine_->cpus) {
    const bool in =
        rules_.options.align_by_socket ? sockets.contains(cpu.socket) : affinity.has(cpu.numa);
    if (in) {
      ids.push_back(cpu.id);
    }
  }
  return CpuSet(std::move(ids));
}

// With align-by-socket a set is as good as the narrowest if it is on no more sockets.
bool CpuLedger::on_fewest_sockets(NumaMask set, int fewest_nodes) const {
  const int sockets = machine_->sockets();
  const int per_socket = sockets == 0 ? 0 : machine_->nodes_with_cpus().count() / sockets;
  if (per_socket == 0) {
    return false;
  }
  std::set<int> used;
  for (const Cpu& cpu : machine_->cpus) {
    if (set.has(cpu.numa)) {
      used.insert(cpu.socket);
    }
  }
  return static_cast<int>(used.size()) == (fewest_nodes + per_socket - 1) / per_socket;
}

std::vector<ResourceHints> CpuLedger::make_hints(const CpuSet& free, const CpuSet& reusable,
                                                 std::int64_t request) const {
  std::map<int, Stock> by_node;
  for (const Cpu& cpu : machine_->cpus) {
    Stock& stock = by_node[cpu.numa];
    stock.nodes = NumaMask::single(cpu.numa);
    ++stock.all;
    const bool again = reusable.has(cpu.id);
    stock.reusable += again;
    stock.free += !again && free.has(cpu.id);
  }
  std::vector<Stock> stocks;
  for (const auto& [node, stock] : by_node) {
    stocks.push_back(stock);
  }
  StockHints found = stock_hints(stocks, request);
  if (rules_.options.align_by_socket) {
    for (Hint& hint : found.hints) {
      hint.preferred = hint.preferred || on_fewest_sockets(*hint.affinity, found.fewest_nodes);
    }
  }
  return {{.resource = kCpu, .hints = std::move(found.hints)}};
}

std::vector<ResourceHints> CpuLedger::hints(const PodAsk& ask, const ContainerAsk& container,
                                            Source source) const {
  if (!active() || container.cpus == 0) {
    return {};
  }
  if (const auto own = find(ask.pod_uid, container.name)) {
    if (own->count() != container.cpus) {
      return {{.resource = kCpu, .hints = std::vector<Hint>()}};
    }
    return make_hints(*own, {}, container.cpus);
  }
  const CpuSet again = reusable(ask, container);
  if (container.phase == Phase::Init) {
    // It takes from its pod what it can, but need not stay on every node that its pod is on.
    const CpuSet from = source == Source::OwnPod ? again : available() | again;
    return make_hints(usable(from), {}, container.cpus);
  }
  return make_hints(usable(available() | again), again, container.cpus);
}

std::vector<ResourceHints> CpuLedger::pod_hints(const PodAsk& ask) const {
  const std::int64_t request = active() ? pod_cpus(ask) : 0;
  if (request == 0) {
    return {};
  }
  CpuSet own;
  for (const auto& [place, cpus] : assigned_) {
    own = place.pod_uid == ask.pod_uid ? own | cpus : own;
  }
  if (own.empty()) {
    return make_hints(usable(available()), {}, request);
  }
  if (own.count() != request) {
    return {{.resource = kCpu, .hints = std::vector<Hint>()}};
  }
  return make_hints(own, {}, request);
}

Granted<void> CpuLedger::check_cores(int count, const CpuSet& own) const {
  constexpr const char* kReason = "SMTAlignmentError";
  const int threads = machine_->threads_per_core();
  if (count % threads != 0) {
    return refuse(fmt::format("SMT Alignment Error: requested {} cpus not multiple cpus per core = "
                              "{}",
                              count, threads),
                  kReason);
  }
  const int physical = usable(available() | own).count();
  if (count > physical) {
    return refuse(fmt::format("SMT Alignment Error: not enough free physical CPUs: available "
                              "physical CPUs = {}, requested CPUs = {}, CPUs per core = {}",
                              physical, count, threads),
                  kReason);
  }
  return {};
}

Granted<void> CpuLedger::assign(const PodAsk& ask, const ContainerAsk& container,
                                std::optional<NumaMask> affinity) {
  if (!active() || container.cpus == 0 || find(ask.pod_uid, container.name)) {
    return {};
  }
  const CpuSet again = reusable(ask, container);
  if (rules_.options.full_pcpus_only) {
    BERTH_CHECK(check_cores(container.cpus, again));
  }
  const auto take = [&](const CpuSet& from, int count) {
    return take_cpus(*machine_, from, count, rules_.options);
  };
  // An init container takes what its pod has anyway before what others could have.
  CpuSet cpus;
  CpuSet from = usable(available() | again);
  if (container.phase == Phase::Init && again.count() < container.cpus) {
    cpus = again;
    from = from - again;
  } else if (container.phase == Phase::Init) {
    from = again;
  }
  if (affinity) {
    const CpuSet aligned = from & near(*affinity);
    auto first = take(aligned, std::min(container.cpus - cpus.count(), aligned.count()));
    if (!first) {
      return tl::unexpected(std::move(first).error());
    }
    cpus = cpus | *first;
  }
  auto rest = take(from - cpus, container.cpus - cpus.count());
  if (!rest) {
    return tl::unexpected(std::move(rest).error());
  }
  assigned_[Place{ask.pod_uid, container.name}] = cpus | *rest;
  return {};
}

bool CpuLedger::record(const CpuAssignment& assignment) {
  const CpuSet usable = machine_->all_cpus() - rules_.reserved;
  const bool taken = std::ranges::any_of(assigned_, [&](const auto& each) {
    return each.first.pod_uid != assignment.pod_uid && each.second.meets(assignment.cpus);
  });
  if (!active() || taken || assignment.cpus.empty() || !usable.contains(assignment.cpus)) {
    return false;
  }
  assigned_[Place{assignment.pod_uid, assignment.container}] = assignment.cpus;
  return true;
}

void CpuLedger::erase(std::string_view pod_uid, std::string_view container) {
  assigned_.erase(Place{std::string(pod_uid), std::string(container)});
}

void CpuLedger::erase_pod(std::string_view pod_uid) {
  std::erase_if(assigned_, [&](const auto& each) { return each.first.pod_uid == pod_uid; });
}

std::optional<CpuSet> CpuLedger::find(std::string_view pod_uid, std::string_view container) const {
  const auto it = assigned_.find(Place{std::string(pod_uid), std::string(container)});
  return it == assigned_.end() ? std::nullopt : std::optional(it->second);
}

std::vector<CpuAssignment> CpuLedger::all() const {
  std::vector<CpuAssignment> all;
  for (const auto& [place, cpus] : assigned_) {
    all.push_back({.pod_uid = place.pod_uid, .container = place.container, .cpus = cpus});
  }
  return all;
}

} // namespace berth::topology
