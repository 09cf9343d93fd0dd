#include "berth/sched/fragmentation.h"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace berth::sched {
namespace {

constexpr std::int64_t kDefaultCpu = 100; // milli
constexpr std::int64_t kTypicalPercent = 95;

bool accepts(const GpuDemand& demand, std::string_view model) {
  return demand.models.empty() || std::ranges::find(demand.models, model) != demand.models.end();
}

/// The published implementation books fragments by why a pod cannot use them, in this order.
enum Class : std::size_t {
  LackBoth,
  LackGpu,
  Satisfied,
  LackCpu,
  NoGpuFits,
  NoGpuLackCpu,
  Refused
};
constexpr std::size_t kClasses = 7;

struct Openings {
  int gpus = 0;            ///< with room for the request
  std::int64_t shards = 0; ///< milli of those without
};

Openings openings(std::span<const std::int32_t> left, std::int32_t milli) {
  Openings out;
  for (const std::int32_t room : left) {
    if (room >= milli) {
      ++out.gpus;
    } else {
      out.shards += room;
    }
  }
  return out;
}

template <class T> void keep_distinct(std::vector<T>& values) {
  std::ranges::sort(values);
  values.erase(std::ranges::unique(values).begin(), values.end());
}

std::int64_t total(std::span<const std::int32_t> left) {
  return std::accumulate(left.begin(), left.end(), std::int64_t{0});
}

} // namespace

std::int64_t TargetWorkload::typical() const {
  return std::accumulate(pods.begin(), pods.end(), std::int64_t{0},
                         [](std::int64_t sum, const TypicalPod& pod) { return sum + pod.count; });
}

TargetWorkload typical_pods(std::span<const GpuDemand> pods) {
  std::map<GpuDemand, std::int64_t> counts;
  for (GpuDemand demand : pods) {
    demand.cpu = demand.cpu == 0 ? kDefaultCpu : demand.cpu;
    ++counts[demand];
  }
  TargetWorkload target{.pods = {}, .all = std::ssize(pods)};
  for (const auto& [demand, count] : counts) {
    target.pods.push_back({.demand = demand, .count = count});
  }
  const auto rank = [](const TypicalPod& pod) {
    return std::tuple(pod.count, pod.demand.cpu, pod.demand.milli, pod.demand.gpus,
                      fmt::format("{}", fmt::join(pod.demand.models, "|")));
  };
  std::ranges::sort(target.pods, std::ranges::greater(), rank);
  std::int64_t covered = 0;
  const auto enough = std::ranges::find_if(target.pods, [&](const TypicalPod& pod) {
    const bool done = covered * 100 >= kTypicalPercent * target.all;
    covered += pod.count;
    return done;
  });
  target.pods.erase(enough, target.pods.end());
  return target;
}

FragmentMeter::FragmentMeter(const TargetWorkload& target, std::string_view model)
    : weight_(target.typical()) {
  const auto all = static_cast<double>(target.all);
  for (const auto& [demand, count] : target.pods) {
    const bool accepted = accepts(demand, model);
    entries_.push_back(
        {.cpu = demand.cpu,
         .milli = demand.milli,
         .gpus = demand.gpus,
         .accepted = accepted,
         // In two steps, as published: of all pods, then of the typical ones.
         .frequency = static_cast<double>(count) / all / (static_cast<double>(weight_) / all)});
    if (demand.gpus == 0 || accepted) {
      cpus_.push_back(demand.cpu);
    }
    if (demand.gpus > 0 && accepted) {
      groups_.push_back({.milli = demand.milli, .gpus = demand.gpus});
    }
  }
  keep_distinct(cpus_);
  keep_distinct(groups_);
  hosted_.resize((cpus_.size() + 1) * groups_.size());
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const Entry& entry = entries_[i];
    if (entry.gpus > 0 && entry.accepted) {
      const auto group =
          std::ranges::lower_bound(groups_, Group{.milli = entry.milli, .gpus = entry.gpus});
      const auto column = static_cast<std::size_t>(group - groups_.begin());
      for (std::size_t step = cpu_step(entry.cpu); step <= cpus_.size(); ++step) {
        hosted_[step * groups_.size() + column] += target.pods[i].count;
      }
    }
  }
}

std::size_t FragmentMeter::cpu_step(std::int64_t cpu) const {
  return static_cast<std::size_t>(std::ranges::upper_bound(cpus_, cpu) - cpus_.begin());
}

std::int64_t FragmentMeter::fragment(const IdleNode& node) const {
  constexpr std::size_t kMost = 32;
  std::array<std::int32_t, kMost> left;
  const std::size_t count = std::min(node.milli.size(), kMost);
  std::int64_t idle = 0;
  for (std::size_t i = 0; i < count; ++i) { // sorted by insertion: a few GPUs, most of them equal
    std::size_t at = i;
    for (; at > 0 && left[at - 1] > node.milli[i]; --at) {
      left[at] = left[at - 1];
    }
    left[at] = node.milli[i];
    idle += node.milli[i];
  }
  // Everything, less what pods that fit find on GPUs with room for them.
  std::int64_t sum = weight_ * idle;
  std::size_t too_full = 0;
  std::int64_t open = idle; // on the others
  const std::int64_t* hosted = hosted_.data() + cpu_step(node.cpu) * groups_.size();
  for (const Group& group : groups_) { // by milli, ascending
    while (too_full < count && left[too_full] < group.milli) {
      open -= left[too_full++];
    }
    if (open == 0) {
      break;
    }
    if (count - too_full >= static_cast<std::size_t>(group.gpus)) {
      sum -= *hosted * open;
    }
    ++hosted;
  }
  return sum;
}

double FragmentMeter::published_fragment(const IdleNode& node) const {
  std::array<double, kClasses> by_class{};
  const auto idle = static_cast<double>(total(node.milli));
  std::int32_t milli = -1;
  Openings open;
  for (const Entry& entry : entries_) {
    const bool enough_cpu = entry.cpu <= node.cpu;
    if (entry.gpus == 0) {
      by_class[enough_cpu ? NoGpuFits : NoGpuLackCpu] += entry.frequency * idle;
      continue;
    }
    if (!entry.accepted) {
      by_class[Refused] += entry.frequency * idle;
      continue;
    }
    if (entry.milli != milli) {
      milli = entry.milli;
      open = openings(node.milli, milli);
    }
    const bool enough_gpus = open.gpus >= entry.gpus;
    if (enough_gpus && enough_cpu) {
      by_class[LackGpu] += entry.frequency * static_cast<double>(open.shards);
    } else {
      by_class[enough_gpus ? LackCpu : enough_cpu ? LackGpu : LackBoth] += entry.frequency * idle;
    }
  }
  double sum = 0;
  for (std::size_t i = 0; i < kClasses; ++i) {
    sum += i == Satisfied ? 0 : by_class[i];
  }
  return sum;
}

} // namespace berth::sched
