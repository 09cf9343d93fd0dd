#include "berth/topology/numa_book.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace berth::topology {

NumaBook::NumaBook(Rules rules)
    : rules_(std::move(rules)), cpus_(rules_.machine, rules_.cpus),
      memory_(rules_.machine, rules_.memory) {}

Alignment NumaBook::align(const PodAsk& ask, const ContainerAsk& container, Source source,
                          std::vector<ResourceHints> devices) const {
  return topology::align(
      {std::move(devices), cpus_.hints(ask, container, source), memory_.hints(ask, container)},
      rules_.alignment, *rules_.machine);
}

Alignment NumaBook::align_pod(const PodAsk& ask, std::vector<ResourceHints> devices) const {
  return topology::align({std::move(devices), cpus_.pod_hints(ask), memory_.pod_hints(ask)},
                         rules_.alignment, *rules_.machine);
}

Granted<void> NumaBook::assign(const PodAsk& ask, const ContainerAsk& container, const Hint& hint) {
  const bool had_cpus = cpus_.find(ask.pod_uid, container.name).has_value();
  BERTH_CHECK(cpus_.assign(ask, container, hint.affinity));
  auto memory = memory_.assign(ask, container, hint);
  if (!memory && !had_cpus) {
    cpus_.erase(ask.pod_uid, container.name);
  }
  return memory;
}

bool NumaBook::complete(const PodAsk& ask, const ContainerAsk& container) const {
  const auto cpus = cpus_.find(ask.pod_uid, container.name);
  const bool has_cpus =
      !cpus_.active() || container.cpus == 0 || (cpus && cpus->count() == container.cpus);
  return has_cpus && (!memory_.active() || container.memory.empty() ||
                      memory_.find(ask.pod_uid, container.name) != nullptr);
}

bool NumaBook::record(const CpuAssignment& assignment) {
  return cpus_.record(assignment);
}

bool NumaBook::record(const MemoryAssignment& assignment) {
  return memory_.record(assignment);
}

void NumaBook::erase(std::string_view pod_uid, std::string_view container) {
  cpus_.erase(pod_uid, container);
  memory_.erase(pod_uid, container);
}

void NumaBook::erase_pod(std::string_view pod_uid) {
  cpus_.erase_pod(pod_uid);
  memory_.erase_pod(pod_uid);
}

std::vector<std::string> NumaBook::pods() const {
  std::set<std::string> uids;
  for (const CpuAssignment& each : cpus_.all()) {
    uids.insert(each.pod_uid);
  }
  for (const MemoryAssignment& each : memory_.all()) {
    uids.insert(each.pod_uid);
  }
  return {uids.begin(), uids.end()};
}

bool NumaBook::has(std::string_view pod_uid) const {
  if (!active()) {
    return false;
  }
  const std::vector<std::string> uids = pods();
  return std::ranges::binary_search(uids, pod_uid);
}

bool NumaBook::has(std::string_view pod_uid, std::string_view container) const {
  return cpus_.find(pod_uid, container) || memory_.find(pod_uid, container) != nullptr;
}

std::string NumaBook::cpuset_cpus(std::string_view pod_uid, std::string_view container) const {
  if (!cpus_.active()) {
    return "";
  }
  return cpus_.find(pod_uid, container).value_or(cpus_.shared_pool()).to_string();
}

std::string NumaBook::cpuset_mems(std::string_view pod_uid, std::string_view container) const {
  const MemoryAssignment* found = memory_.find(pod_uid, container);
  return found ? fmt::format("{}", fmt::join(found->nodes.ids(), ",")) : "";
}

} // namespace berth::topology
