// FragmentMeter's two ways to measure against each other, on random targets and nodes.
#include "berth/sched/fragmentation.h"

#include <map>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "berth/base/rng.h"

namespace berth::sched {
namespace {

constexpr std::int64_t kCpuStep = 500;

TargetWorkload random_target(Rng& rng) {
  TargetWorkload target;
  const std::int64_t kinds = rng.between(1, 20);
  for (std::int64_t i = 0; i < kinds; ++i) {
    const bool shares = rng.chance(1, 2);
    GpuDemand demand{.cpu = rng.between(0, 8) * kCpuStep,
                     .milli = static_cast<std::int32_t>(shares ? rng.between(1, 10) * 100 : 1000),
                     .gpus = static_cast<int>(shares ? rng.between(0, 1) : rng.between(0, 4))};
    if (rng.chance(1, 4)) {
      demand.models = {rng.chance(1, 2) ? "T4" : "V100"};
    }
    target.pods.push_back({.demand = demand, .count = rng.between(1, 9)});
  }
  target.all = target.typical() + rng.between(0, 5);
  return target;
}

TEST(FragmentMeter, CountsInWholeNumbersWhatIsPublishedInFloatingPoint) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Rng rng(seed);
    const FragmentMeter meter(random_target(rng), "T4");
    for (int i = 0; i < 50; ++i) {
      std::vector<std::int32_t> left(static_cast<std::size_t>(rng.between(0, 8)));
      for (std::int32_t& milli : left) {
        milli = static_cast<std::int32_t>(rng.between(0, 10) * 100);
      }
      const IdleNode idle{.cpu = rng.between(-1, 10) * kCpuStep, .milli = left};
      EXPECT_NEAR(meter.published_fragment(idle) * static_cast<double>(meter.weight()),
                  static_cast<double>(meter.fragment(idle)), 1e-6)
          << fmt::format("seed {} node {}", seed, i);
    }
  }
}

TEST(FragmentMeter, MeasuresNodesOfOneCpuStepAlike) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Rng rng(seed);
    const FragmentMeter meter(random_target(rng), "T4");
    const std::vector<std::int32_t> left = {0, 300, 700, 1000};
    std::map<std::size_t, double> by_step;
    for (std::int64_t cpu = -100; cpu < 5000; cpu += 50) {
      const double measured = meter.published_fragment({.cpu = cpu, .milli = left});
      const auto [known, fresh] = by_step.try_emplace(meter.cpu_step(cpu), measured);
      EXPECT_EQ(known->second, measured) << fmt::format("seed {} cpu {}", seed, cpu);
    }
    EXPECT_LE(by_step.size(), 10U) << "as many as there are amounts of cpu, and one";
  }
}

} // namespace
} // namespace berth::sched
