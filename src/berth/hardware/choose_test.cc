#include "berth/hardware/choose.h"

#include <bit>
#include <map>
#include <set>
#include <tuple>

#include <gtest/gtest.h>

#include "berth/base/rng.h"
#include "berth/hardware/bandwidth.h"
#include "berth/testing/synthetic_platforms.h"

namespace berth::hardware {
namespace {

using berth::test::SyntheticPlatform;

const Platform& builtin(std::string_view name) {
  return *Catalogue::builtin().find(name);
}

// ---- the definition, written a second time, slowly
// ------------------------------------------------------------------

/// Criteria are vectors in which the greater wins, entry by entry.
using Criteria = std::vector<std::int64_t>;

class Reference {
 public:
  explicit Reference(const Platform& platform) : p_(platform) {}

  std::optional<GpuMask> choose(GpuMask free, int k, ChoicePolicy policy, GpuMask required) {
    std::optional<GpuMask> best;
    Criteria best_criteria;
    for (GpuMask chosen = 1; chosen < GpuMask{1} << p_.gpus.size(); ++chosen) {
      const bool candidate =
          (chosen & ~free) == 0 && (required & ~chosen) == 0 && std::popcount(chosen) == k;
      if (!candidate) {
        continue;
      }
      const auto criteria = criteria_of(free, chosen, policy);
      if (!best || criteria > best_criteria) {
        best = chosen;
        best_criteria = criteria;
      }
    }
    return best;
  }

 private:
  static void append(Criteria& to, const Criteria& more) {
    to.insert(to.end(), more.begin(), more.end());
  }

  Criteria criteria_of(GpuMask free, GpuMask chosen, ChoicePolicy policy) {
    const Criteria all_reduce{all_reduce_mbps(p_, chosen)};
    const Criteria rest = worth(free & ~chosen);
    Criteria close{-nic_distances(chosen)};
    append(close, compactness(chosen));
    Criteria result;
    const auto in_order = [&](std::initializer_list<Criteria> parts) {
      for (const auto& part : parts) {
        append(result, part);
      }
    };
    switch (policy) {
    case ChoicePolicy::Topology:
      in_order({all_reduce, rest, close});
      break;
    case ChoicePolicy::Binpack:
      in_order({rest, all_reduce, close});
      break;
    case ChoicePolicy::Spread:
      in_order({width(chosen), all_reduce, rest, close});
      break;
    }
    return result;
  }

  template <class F> std::int64_t distinct(GpuMask gpus, F&& property) const {
    std::set<std::pair<int, int>> values;
    for (const auto& gpu : p_.gpus) {
      if ((gpus >> gpu.index & 1) != 0) {
        values.insert(property(gpu));
      }
    }
    return std::ssize(values);
  }
  std::int64_t sockets(GpuMask g) const {
    return distinct(g, [&](const Gpu& gpu) { return std::pair{p_.numa[gpu.numa].socket, 0}; });
  }
  std::int64_t numa_nodes(GpuMask g) const {
    return distinct(g, [](const Gpu& gpu) { return std::pair{gpu.numa, 0}; });
  }
  std::int64_t switches(GpuMask g) const {
    return distinct(g, [](const Gpu& gpu) {
      return gpu.pcie_switch < 0 ? std::pair{gpu.root_complex, 1} : std::pair{gpu.pcie_switch, 0};
    });
  }
  std::int64_t top_switches(GpuMask g) const {
    return distinct(g, [&](const Gpu& gpu) {
      if (gpu.pcie_switch < 0) {
        return std::pair{gpu.root_complex, 1};
      }
      int top = gpu.pcie_switch;
      while (p_.pcie_switches[top].parent >= 0) {
        top = p_.pcie_switches[top].parent;
      }
      return std::pair{top, 0};
    });
  }
  Criteria compactness(GpuMask g) const {
    return {-sockets(g), -numa_nodes(g), -top_switches(g), -switches(g)};
  }
  Criteria width(GpuMask g) const {
    return {numa_nodes(g), sockets(g), top_switches(g), switches(g)};
  }

  std::int64_t nic_distances(GpuMask g) const {
    const bool compute = std::ranges::any_of(p_.nics, [](const Nic& n) { return n.rail >= 0; });
    std::int64_t sum = 0;
    for (const auto& gpu : p_.gpus) {
      std::int64_t nearest = INT64_MAX;
      for (int n = 0; n < std::ssize(p_.nics); ++n) {
        if (!compute || p_.nics[n].rail >= 0) {
          const bool far = p_.numa[gpu.numa].socket != p_.numa[p_.nics[n].numa].socket;
          nearest = std::min<std::int64_t>(nearest, static_cast<int>(p_.nic_link(gpu.index, n)) +
                                                        (far ? 1 : 0));
        }
      }
      sum += (g >> gpu.index & 1) != 0 && nearest != INT64_MAX ? nearest : 0;
    }
    return sum;
  }

  /// Best sum of (all-reduce, compactness) over floor(|rest| / size) disjoint groups, by trying
  /// every such cut.
  Criteria best_cut(GpuMask rest, int size, int groups) {
    Criteria best;
    if (groups == 0) {
      return Criteria(5, 0);
    }
    const auto memo = cuts_.find({rest, size, groups});
    if (memo != cuts_.end()) {
      return memo->second;
    }
    // Some group holds the lowest GPU, or no group does.
    const GpuMask lowest = rest & -rest;
    if (std::popcount(rest & ~lowest) >= groups * size) {
      best = best_cut(rest & ~lowest, size, groups);
    }
    for (GpuMask group = rest; group != 0; group = (group - 1) & rest) {
      if (std::popcount(group) != size || (group & lowest) == 0) {
        continue;
      }
      Criteria sum = best_cut(rest & ~group, size, groups - 1);
      sum[0] += all_reduce_mbps(p_, group);
      const auto compact = compactness(group);
      for (std::size_t i = 0; i < compact.size(); ++i) {
        sum[i + 1] += compact[i];
      }
      best = best.empty() ? sum : std::max(best, sum);
    }
    cuts_[{rest, size, groups}] = best;
    return best;
  }

  Criteria worth(GpuMask rest) {
    Criteria all;
    for (const int size : {16, 8, 4, 2}) {
      append(all, best_cut(rest, size, std::popcount(rest) / size));
    }
    return all;
  }

  const Platform& p_;
  std::map<std::tuple<GpuMask, int, int>, Criteria> cuts_;
};

constexpr ChoicePolicy kPolicies[] = {ChoicePolicy::Topology, ChoicePolicy::Binpack,
                                      ChoicePolicy::Spread};

void expect_same_as_reference(const Platform& p, Reference& reference, GpuMask free, int k,
                              ChoicePolicy policy, GpuMask required) {
  EXPECT_EQ(choose_gpus(p, free, k, policy, required), reference.choose(free, k, policy, required))
      << p.name << " free " << format_gpu_indices(free) << " k " << k << " policy "
      << static_cast<int>(policy) << " required " << format_gpu_indices(required);
}

class EveryPlatform : public ::testing::TestWithParam<std::string> {};

TEST_P(EveryPlatform, EveryFreeSetAndSizeAgreesWithTheDefinition) {
  const auto& p = builtin(GetParam());
  Reference reference(p);
  for (GpuMask free = 0; free < GpuMask{1} << p.gpus.size(); ++free) {
    for (int k = 0; k <= std::popcount(free) + 1; ++k) {
      for (const auto policy : kPolicies) {
        expect_same_as_reference(p, reference, free, k, policy, 0);
      }
    }
  }
}

TEST_P(EveryPlatform, RequiredGpusAgreeWithTheDefinition) {
  const auto& p = builtin(GetParam());
  Reference reference(p);
  Rng rng(5);
  const auto all = static_cast<std::int64_t>((GpuMask{1} << p.gpus.size()) - 1);
  for (int round = 0; round < 400; ++round) {
    const auto free = static_cast<GpuMask>(rng.between(0, all));
    const auto required = static_cast<GpuMask>(rng.between(0, all)) & free &
                          static_cast<GpuMask>(rng.between(0, all));
    const auto k = static_cast<int>(rng.between(1, std::ssize(p.gpus)));
    expect_same_as_reference(p, reference, free, k, kPolicies[rng.below(3)], required);
  }
}

INSTANTIATE_TEST_SUITE_P(Catalogue, EveryPlatform,
                         ::testing::ValuesIn(Catalogue::builtin().names()), [](const auto& tested) {
                           std::string name = tested.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

TEST(SyntheticMachines, UnevenLinksAgreeWithTheDefinitionOnEveryFreeSet) {
  const auto p = SyntheticPlatform(8, 2, 2)
                     .nvlink(0, 1, 4)
                     .nvlink(1, 2, 2)
                     .nvlink(2, 3, 4)
                     .nvlink(3, 0, 2)
                     .nvlink(4, 7, 6)
                     .nvlink(5, 6, 1)
                     .nic_beside(2, 200)
                     .nic_beside(5, 100)
                     .finish();
  Reference reference(p);
  for (GpuMask free = 0; free < 256; ++free) {
    for (int k = 1; k <= std::popcount(free); ++k) {
      for (const auto policy : kPolicies) {
        expect_same_as_reference(p, reference, free, k, policy, 0);
      }
    }
  }
}

TEST(SyntheticMachines, SixteenGpusAgreeWithTheDefinitionOnSamples) {
  SyntheticPlatform s(16, 2, 2);
  for (int i = 0; i < 16; i += 4) {
    s.nvlink(i, i + 1, 4).nvlink(i + 1, i + 2, 2);
  }
  const auto p = s.nic_beside(3, 200).nic_beside(12, 200).finish();
  Reference reference(p);
  Rng rng(17);
  for (int round = 0; round < 30; ++round) {
    const auto free = static_cast<GpuMask>(rng.next() & 0xffff);
    const auto k = static_cast<int>(rng.between(1, 16));
    if (k + 8 < std::popcount(free)) {
      continue; // the slow definition cuts at most eight remaining GPUs in reasonable time
    }
    expect_same_as_reference(p, reference, free, k, kPolicies[rng.below(3)],
                             free & static_cast<GpuMask>(rng.next() & rng.next() & rng.next()));
  }
  for (const auto policy : kPolicies) {
    expect_same_as_reference(p, reference, 0xffff, 16, policy, 0);
    expect_same_as_reference(p, reference, 0xffff, 8, policy, 0);
  }
}

// ---- what people expect
// ---------------------------------------------------------------------------------------------

struct Expectation {
  std::string name;
  std::string platform;
  std::string free;
  int k;
  ChoicePolicy policy;
  std::string chosen;
};

void PrintTo(const Expectation& value, std::ostream* out) {
  *out << value.name;
}

class Choices : public ::testing::TestWithParam<Expectation> {};

TEST_P(Choices, AreTheOnesAnOperatorWouldMake) {
  const auto& c = GetParam();
  const auto chosen = choose_gpus(builtin(c.platform), *parse_gpu_indices(c.free), c.k, c.policy);
  ASSERT_TRUE(chosen);
  EXPECT_EQ(format_gpu_indices(*chosen), c.chosen);
}

INSTANTIATE_TEST_SUITE_P(
    All, Choices,
    ::testing::Values(Expectation{"HalfOfADgxIsOneSocket", "dgx-h100", "0,1,2,3,4,5,6,7", 4,
                                  ChoicePolicy::Topology, "0,1,2,3"},
                      Expectation{"ASingleGpuFinishesTheBrokenSocket", "dgx-h100", "1,2,3,4,5,6,7",
                                  1, ChoicePolicy::Topology, "1"},
                      Expectation{"TwoGpusShareAPcieSwitch", "dgx-a100", "1,2,3,4,5,6,7", 2,
                                  ChoicePolicy::Topology, "2,3"},
                      Expectation{"ASingleGpuFinishesTheBrokenPair", "l40s-pcie-8", "0,1,2,4,5,6,7",
                                  1, ChoicePolicy::Topology, "2"},
                      Expectation{"BinpackLikewise", "l40s-pcie-8", "0,1,2,4,5,6,7", 1,
                                  ChoicePolicy::Binpack, "2"},
                      Expectation{"FourCardsStayOnOneSocket", "l40s-pcie-8", "0,1,3,4,5,6,7", 4,
                                  ChoicePolicy::Topology, "4,5,6,7"},
                      Expectation{"BinpackTakesThePiecesThatSpareTheWholeSocket", "l40s-pcie-8",
                                  "0,2,4,5,6,7", 2, ChoicePolicy::Binpack, "0,2"},
                      Expectation{"SpreadTakesOneOfEachSocket", "l40s-pcie-8", "0,1,2,3,4,5,6,7", 2,
                                  ChoicePolicy::Spread, "0,4"},
                      Expectation{"SpreadTakesEveryNumaNode", "dgx-a100", "0,1,2,3,4,5,6,7", 4,
                                  ChoicePolicy::Spread, "0,2,4,6"},
                      Expectation{"AllIsAll", "gb200-nvl72", "0,1,2,3", 4, ChoicePolicy::Topology,
                                  "0,1,2,3"},
                      Expectation{"TheOnlyOne", "t4-pcie-1", "0", 1, ChoicePolicy::Spread, "0"}),
    [](const auto& tested) { return tested.param.name; });

TEST(Choose, RefusesWhatCannotBe) {
  const auto& p = builtin("dgx-h100");
  EXPECT_EQ(choose_gpus(p, 0xff, 0, ChoicePolicy::Topology), std::nullopt);
  EXPECT_EQ(choose_gpus(p, 0xff, -1, ChoicePolicy::Topology), std::nullopt);
  EXPECT_EQ(choose_gpus(p, 0xff, 9, ChoicePolicy::Topology), std::nullopt);
  EXPECT_EQ(choose_gpus(p, 0, 1, ChoicePolicy::Topology), std::nullopt);
  EXPECT_EQ(choose_gpus(p, 0x0f, 2, ChoicePolicy::Topology, 0x10), std::nullopt)
      << "required is not free";
  EXPECT_EQ(choose_gpus(p, 0x0f, 1, ChoicePolicy::Topology, 0x03), std::nullopt)
      << "more required than asked";
  EXPECT_EQ(choose_gpus(p, 0xff00, 1, ChoicePolicy::Topology), std::nullopt)
      << "GPUs the machine does not have";
}

TEST(Choose, RequiredGpusAreChosenWhateverTheyCost) {
  const auto& p = builtin("l40s-pcie-8");
  EXPECT_EQ(choose_gpus(p, 0xff, 2, ChoicePolicy::Topology, 0b1000'0001), GpuMask{0b1000'0001});
  EXPECT_EQ(choose_gpus(p, 0xff, 2, ChoicePolicy::Topology, 0b0000'1000), GpuMask{0b0000'1100});
}

} // namespace
} // namespace berth::hardware
