#include "berth/hardware/bandwidth.h"

#include <bit>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/base/rng.h"
#include "berth/hardware/placement_table.h"
#include "berth/testing/synthetic_platforms.h"

namespace berth::hardware {
namespace {

using berth::test::relabelled;
using berth::test::SyntheticPlatform;

const Platform& builtin(std::string_view name) {
  return *Catalogue::builtin().find(name);
}

GpuMask all_gpus(const Platform& p) {
  return (GpuMask{1} << p.gpus.size()) - 1;
}

std::int64_t among_nodes(const Platform& p, int nodes, GpuMask gpus, std::string_view domain = "") {
  const std::vector<NodePart> parts(
      nodes, NodePart{.platform = &p, .gpus = gpus, .nvlink_domain = domain});
  return group_all_reduce_mbps(parts);
}

// ---- against figures published by others; docs/bandwidth.md has the same table with the sources
// ----------------------

struct Published {
  std::string name;
  double gb_per_s; ///< the middle where a range is published
  std::int64_t predicted_mbps;
};

void PrintTo(const Published& p, std::ostream* out) {
  *out << p.name;
}

/// H800: an H100 whose NVLinks are cut to eight.
Platform h800() {
  Platform p = builtin("dgx-h100");
  p.gpu_model.nvlink_links = 8;
  return *finish_platform(p);
}

/// Eight A100 on four 200G cards, one for every two GPUs.
Platform a100_with_four_cards() {
  SyntheticPlatform s(8, 2, 1);
  s.raw().nvswitch = true;
  s.nic_beside(0, 200).nic_beside(2, 200).nic_beside(4, 200).nic_beside(6, 200);
  return s.finish();
}

Platform gb200_with_two_rails() {
  Platform p = builtin("gb200-nvl72");
  std::erase_if(p.nics, [](const Nic& n) { return n.rail == 1 || n.rail == 3; });
  return *finish_platform(p);
}

std::vector<Published> published_figures() {
  const auto& h100 = builtin("dgx-h100");
  const auto& a100 = builtin("dgx-a100");
  const auto& gb200 = builtin("gb200-nvl72");
  const auto bridged_and_single = SyntheticPlatform(8, 2, 1).nvlink(0, 1, 12).finish();
  const auto one_100g = SyntheticPlatform(2, 1, 1).nic_beside(0, 100).nic_beside(1, 100).finish();
  return {
      {"8 A100 in a DGX", 232.5, all_reduce_mbps(a100, 0xff)},
      {"8 H100 in a DGX", 478, all_reduce_mbps(h100, 0xff)},
      {"8 H200 in a DGX", 475, all_reduce_mbps(builtin("dgx-h200"), 0xff)},
      {"8 H800", 215, all_reduce_mbps(h800(), 0xff)},
      {"8 B200 in a DGX", 830, all_reduce_mbps(builtin("dgx-b200"), 0xff)},
      {"72 GB200 in one rack", 843, among_nodes(gb200, 18, 0xf, "rack")},
      {"8 GB200 in two trays of a rack", 811, among_nodes(gb200, 2, 0xf, "rack")},
      {"8 GB200 in two trays over two 400G rails", 85, among_nodes(gb200_with_two_rails(), 2, 0xf)},
      {"a GPU behind a 400G card", 47, among_nodes(h100, 2, 0x1)},
      {"a GPU behind 200G cards", 24, among_nodes(a100, 2, 0x1)},
      {"a GPU behind a 100G card", 12, among_nodes(one_100g, 2, 0x1)},
      {"2 nodes with 4 rails of 200G", 91, among_nodes(a100, 2, 0xf)},
      {"4 nodes with 4 of 8 GPUs, a 200G card for two", 45,
       among_nodes(a100_with_four_cards(), 4, 0xf)},
      {"4 nodes with 8 of 8 GPUs, a 200G card for two", 90,
       among_nodes(a100_with_four_cards(), 4, 0xff)},
      {"2 nodes with 8 rails of 400G", 376, among_nodes(h100, 2, 0xff)},
      {"3 A100 on PCIe, two of them bridged", 20, all_reduce_mbps(bridged_and_single, 0b0111)},
  };
}

class PublishedFigures : public ::testing::TestWithParam<Published> {};

TEST_P(PublishedFigures, ArePredictedWithinTenPercent) {
  const auto& figure = GetParam();
  const double predicted = static_cast<double>(figure.predicted_mbps) / 1000;
  EXPECT_NEAR(predicted / figure.gb_per_s, 1.0, 0.10)
      << "predicted " << predicted << ", published " << figure.gb_per_s;
}

INSTANTIATE_TEST_SUITE_P(All, PublishedFigures, ::testing::ValuesIn(published_figures()),
                         [](const auto& tested) {
                           std::string name = tested.param.name;
                           std::erase_if(name,
                                         [](unsigned char c) { return std::isalnum(c) == 0; });
                           return name;
                         });

TEST(PublishedRanges, EightCardsOverTwoSocketsFallBetween8And20) {
  const auto mbps = all_reduce_mbps(builtin("l40s-pcie-8"), 0xff);
  EXPECT_GE(mbps, 8000);
  EXPECT_LE(mbps, 20000);
}

// ---- the model's exact values, so that a change of a constant shows
// ---------------------------------------------------

TEST(AllReduce, NvSwitchTakesTheBetterOfRingAndReductionInTheSwitch) {
  const auto& h100 = builtin("dgx-h100");
  EXPECT_EQ(all_reduce_mbps(h100, 0b11), 18 * 20600 * 97 / 100);
  EXPECT_EQ(all_reduce_mbps(h100, 0b1111), 18 * 20600 * 85 / 100 * 6 / 5);
  EXPECT_EQ(all_reduce_mbps(h100, 0xff), 18 * 20600 * 85 / 100 * 14 / 9);
  EXPECT_EQ(all_reduce_mbps(builtin("dgx-a100"), 0b11), 12 * 20000 * 97 / 100);
}

TEST(AllReduce, FewerThanTwoGpusHaveNone) {
  for (const auto& name : Catalogue::builtin().names()) {
    EXPECT_EQ(all_reduce_mbps(builtin(name), 0), 0);
    EXPECT_EQ(all_reduce_mbps(builtin(name), 1), 0);
  }
  EXPECT_EQ(all_reduce_mbps(builtin("t4-pcie-1"), 0xffff), 0)
      << "GPUs the machine does not have do not count";
}

TEST(AllReduce, MeshOfFourUsesTheLinksAmongTheChosen) {
  const auto& hgx = builtin("hgx-a100-4");
  EXPECT_EQ(all_reduce_mbps(hgx, 0b0011), 4 * 20000 * 97 / 100);
  EXPECT_EQ(all_reduce_mbps(hgx, 0b0111), 8 * 20000 * 97 / 100);
  EXPECT_EQ(all_reduce_mbps(hgx, 0b1111), 12 * 20000 * 97 / 100);
}

TEST(AllReduce, PcieFallsFromSwitchToHostToOtherSocket) {
  const auto& l40s = builtin("l40s-pcie-8");
  EXPECT_EQ(all_reduce_mbps(l40s, 0b0000'0011), 24000);
  EXPECT_EQ(all_reduce_mbps(l40s, 0b0000'1111), 24000);
  EXPECT_EQ(all_reduce_mbps(l40s, 0b0001'0001), 16000);
  EXPECT_EQ(all_reduce_mbps(l40s, 0b1111'1111), 16000);
  const auto two_switches_a_socket = SyntheticPlatform(8, 1, 2).finish();
  EXPECT_EQ(all_reduce_mbps(two_switches_a_socket, 0b0000'1111), 20000);
  EXPECT_EQ(all_reduce_mbps(builtin("a10g-pcie-4"), 0b1111), 10000);
}

TEST(Pair, NvLinkCountsOnlyTheLinksBetweenTheTwo) {
  EXPECT_EQ(pair_mbps(builtin("dgx-a100"), 0, 7), 240000);
  EXPECT_EQ(pair_mbps(builtin("dgx-h100"), 3, 4), 370800);
  EXPECT_EQ(pair_mbps(builtin("hgx-a100-4"), 0, 3), 80000);
  EXPECT_EQ(pair_mbps(builtin("l40s-pcie-8"), 0, 1), 24000);
  EXPECT_EQ(pair_mbps(builtin("l40s-pcie-8"), 0, 4), 16000);
  EXPECT_EQ(pair_mbps(builtin("l40s-pcie-8"), 4, 4), 0);
}

// ---- groups
// -----------------------------------------------------------------------------------------------------------

TEST(Group, OfNothingOfOneGpuAndOfEmptyPartsIsZero) {
  EXPECT_EQ(group_all_reduce_mbps({}), 0);
  EXPECT_EQ(among_nodes(builtin("dgx-h100"), 1, 0b1), 0);
  EXPECT_EQ(among_nodes(builtin("dgx-h100"), 3, 0), 0);
  const std::vector<NodePart> parts{{.platform = &builtin("dgx-h100"), .gpus = 0},
                                    {.platform = &builtin("dgx-h100"), .gpus = 1}};
  EXPECT_EQ(group_all_reduce_mbps(parts), 0);
}

TEST(Group, OnOneNodeIsThatNode) {
  for (const auto& name : Catalogue::builtin().names()) {
    const auto& p = builtin(name);
    EXPECT_EQ(among_nodes(p, 1, all_gpus(p), p.nvlink_domain_gpus > 0 ? "rack" : ""),
              all_reduce_mbps(p, all_gpus(p)))
        << name;
  }
}

TEST(Group, RailsFollowTheGpus) {
  const auto& h100 = builtin("dgx-h100");
  for (int k = 1; k <= 7; ++k) {
    EXPECT_EQ(among_nodes(h100, 2, (GpuMask{1} << k) - 1), k * 46000) << k;
  }
  EXPECT_EQ(among_nodes(h100, 16, 0xff), 368000) << "as many nodes as one likes";
}

TEST(Group, SlowestNodeDecidesInAnyOrder) {
  const NodePart h100{.platform = &builtin("dgx-h100"), .gpus = 0xff};
  const NodePart l40s{.platform = &builtin("l40s-pcie-8"), .gpus = 0xff};
  const std::vector<NodePart> one{h100, h100, l40s};
  const std::vector<NodePart> other{l40s, h100, h100};
  EXPECT_EQ(group_all_reduce_mbps(one), 16000);
  EXPECT_EQ(group_all_reduce_mbps(other), 16000);
}

TEST(Group, OutsideADomainOrAcrossTwoTheRailsCount) {
  const auto& tray = builtin("gb200-nvl72");
  EXPECT_EQ(among_nodes(tray, 2, 0xf), 184000);
  const auto part = [&](std::string_view domain) {
    return NodePart{.platform = &tray, .gpus = 0xf, .nvlink_domain = domain};
  };
  const std::vector<NodePart> two_racks{part("a"), part("b")};
  EXPECT_EQ(group_all_reduce_mbps(two_racks), 184000);
  const std::vector<NodePart> two_trays_of_each{part("a"), part("a"), part("b"), part("b")};
  EXPECT_EQ(group_all_reduce_mbps(two_trays_of_each), 368000) << "both trays' rails leave the rack";
}

TEST(Group, ADomainThatClaimsTooManyGpusIsNotBelieved) {
  EXPECT_EQ(among_nodes(builtin("gb200-nvl72"), 19, 0xf, "rack"), 184000);
  EXPECT_EQ(among_nodes(builtin("dgx-h100"), 2, 0xff, "rack"), 368000)
      << "this machine has no domain";
}

TEST(Rails, SharedCardsAreSharedAndLanesLimit) {
  const auto& a100 = builtin("dgx-a100");
  EXPECT_EQ(a100.table->rails(0b01), 24000) << "two cards beside one GPU, but its own lanes limit";
  EXPECT_EQ(a100.table->rails(0b11), 46000);
  EXPECT_EQ(builtin("l40s-pcie-8").table->rails(0x0f), 23000);
  EXPECT_EQ(builtin("l40s-pcie-8").table->rails(0xff), 46000);
  EXPECT_EQ(builtin("gb200-nvl72").table->rails(0b0001), 48000) << "both cards of its Grace";
  EXPECT_EQ(SyntheticPlatform(4, 2, 1).finish().table->rails(0xf), 0) << "no card";
}

// ---- properties
// -------------------------------------------------------------------------------------------------------

std::vector<Platform> many_platforms() {
  std::vector<Platform> list;
  for (const auto& name : Catalogue::builtin().names()) {
    list.push_back(builtin(name));
  }
  list.push_back(SyntheticPlatform(8, 2, 2)
                     .nvlink(0, 1, 4)
                     .nvlink(2, 3, 4)
                     .nvlink(1, 2, 2)
                     .nvlink(5, 6, 12)
                     .finish());
  list.push_back(SyntheticPlatform(10, 1, 5).nvlink(0, 8, 3).nic_beside(4, 200).finish());
  list.push_back(SyntheticPlatform(8, 4, 1).nic_beside(0, 100).nic_beside(7, 400).finish());
  return list;
}

bool on_one_socket(const Platform& p, GpuMask gpus) {
  std::set<int> sockets;
  for (const auto& gpu : p.gpus) {
    if ((gpus >> gpu.index & 1) != 0) {
      sockets.insert(p.socket_of(gpu.numa));
    }
  }
  return sockets.size() == 1;
}

TEST(Properties, WithoutNvLinkOneSocketIsNeverSlowerThanTwo) {
  for (const auto& p : many_platforms()) {
    const bool nvlink = std::ranges::any_of(
        p.nvlinks, [](const auto& row) { return std::accumulate(row.begin(), row.end(), 0) > 0; });
    for (GpuMask near = 1; !nvlink && near <= all_gpus(p); ++near) {
      if (!on_one_socket(p, near)) {
        continue;
      }
      for (GpuMask far = 1; far <= all_gpus(p); ++far) {
        if (std::popcount(far) == std::popcount(near) && !on_one_socket(p, far)) {
          EXPECT_GE(all_reduce_mbps(p, near), all_reduce_mbps(p, far))
              << p.name << ' ' << near << ' ' << far;
        }
      }
    }
  }
}

TEST(Properties, OnASwitchOnlyTheNumberCountsAndMoreGpusAreNotSlower) {
  for (const auto& p : many_platforms()) {
    for (GpuMask gpus = 1; p.nvswitch && gpus <= all_gpus(p); ++gpus) {
      const auto n = std::popcount(gpus);
      EXPECT_EQ(all_reduce_mbps(p, gpus), all_reduce_mbps(p, (GpuMask{1} << n) - 1)) << p.name;
      EXPECT_GE(all_reduce_mbps(p, (GpuMask{2} << n) - 1), n < 2 ? 0 : all_reduce_mbps(p, gpus))
          << p.name;
    }
  }
}

TEST(Properties, AGroupIsNeverFasterThanItsGpusLinks) {
  for (const auto& p : many_platforms()) {
    for (GpuMask gpus = 1; gpus <= all_gpus(p); ++gpus) {
      const auto rate = std::int64_t{p.gpu_model.nvlink_links} * p.gpu_model.nvlink_mbps_per_link;
      EXPECT_LE(all_reduce_mbps(p, gpus), std::max<std::int64_t>(2 * rate, p.gpu_model.pcie_mbps))
          << p.name;
      EXPECT_EQ(all_reduce_mbps(p, gpus) > 0, std::popcount(gpus) > 1) << p.name;
    }
  }
}

TEST(Properties, PairsAreSymmetricAndTheRingOfTwoIsNotFasterThanThePair) {
  for (const auto& p : many_platforms()) {
    for (const auto& a : p.gpus) {
      for (const auto& b : p.gpus) {
        EXPECT_EQ(pair_mbps(p, a.index, b.index), pair_mbps(p, b.index, a.index));
        if (a.index != b.index) {
          EXPECT_LE(all_reduce_mbps(p, GpuMask{1} << a.index | GpuMask{1} << b.index),
                    std::max<std::int64_t>(pair_mbps(p, a.index, b.index), p.gpu_model.pcie_mbps));
        }
      }
    }
  }
}

TEST(Properties, NumbersOfGpusDoNotMatter) {
  Rng rng(11);
  for (const auto& p : many_platforms()) {
    std::vector<int> order(p.gpus.size());
    std::iota(order.begin(), order.end(), 0);
    for (int round = 0; round < 5; ++round) {
      for (std::size_t i = order.size(); i > 1; --i) {
        std::swap(order[i - 1], order[rng.below(i)]);
      }
      const auto other = relabelled(p, order);
      for (GpuMask gpus = 0; gpus <= all_gpus(p); ++gpus) {
        GpuMask original = 0;
        for (std::size_t i = 0; i < order.size(); ++i) {
          original |= (gpus >> i & 1) << order[i];
        }
        EXPECT_EQ(all_reduce_mbps(other, gpus), all_reduce_mbps(p, original)) << p.name;
        EXPECT_EQ(other.table->rails(gpus), p.table->rails(original)) << p.name;
      }
    }
  }
}

TEST(Properties, MoreGpusOnANodeNeverLoseRails) {
  for (const auto& p : many_platforms()) {
    for (GpuMask gpus = 1; gpus <= all_gpus(p); ++gpus) {
      for (const auto& gpu : p.gpus) {
        EXPECT_GE(p.table->rails(gpus | GpuMask{1} << gpu.index), p.table->rails(gpus)) << p.name;
      }
    }
  }
}

TEST(Properties, AddingANodeNeverSpeedsAGroupUp) {
  Rng rng(3);
  const auto platforms = many_platforms();
  for (int round = 0; round < 300; ++round) {
    std::vector<NodePart> parts;
    for (int i = 0; i < 2; ++i) {
      const auto& p = platforms[rng.below(platforms.size())];
      parts.push_back({.platform = &p, .gpus = static_cast<GpuMask>(rng.between(1, all_gpus(p)))});
    }
    const auto before = group_all_reduce_mbps(parts);
    const auto& p = platforms[rng.below(platforms.size())];
    parts.push_back({.platform = &p, .gpus = static_cast<GpuMask>(rng.between(1, all_gpus(p)))});
    EXPECT_LE(group_all_reduce_mbps(parts), before);
  }
}

} // namespace
} // namespace berth::hardware
