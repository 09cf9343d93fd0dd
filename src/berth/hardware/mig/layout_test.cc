#include "berth/hardware/mig/layout.h"

#include <map>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/api/yaml.h"

namespace berth::hardware {
namespace {

using ::testing::HasSubstr;

const MigCard& card(std::string_view name) {
  return *mig_card(name);
}

/// "3g.20gb@4 1g.5gb@0"; "none" if nothing fits.
std::string laid_out(const MigCard& on, std::string_view wishes) {
  const auto parsed = parse_mig_wishes(wishes, on);
  EXPECT_TRUE(parsed) << to_string(parsed.error());
  const auto layout = lay_out_card(on, *parsed);
  if (!layout) {
    return "none";
  }
  std::vector<std::string> parts;
  for (const MigPlace& place : *layout) {
    parts.push_back(fmt::format("{}@{}", place.profile->name, place.start));
  }
  return fmt::format("{}", fmt::join(parts, " "));
}

TEST(MigCards, AreFoundByNameAndProduct) {
  EXPECT_EQ(card("a100-40gb").name, "A100-40GB");
  EXPECT_EQ(card("NVIDIA-H100-80GB-HBM3").name, "H100-80GB");
  EXPECT_EQ(mig_card("T4"), nullptr);
  std::set<std::string> names;
  for (const MigCard& one : mig_cards()) {
    EXPECT_TRUE(names.insert(one.name).second) << one.name;
    std::set<std::string> profiles;
    for (const MigProfile& profile : one.profiles) {
      EXPECT_TRUE(profiles.insert(profile.name).second) << one.name << " " << profile.name;
      EXPECT_LE(profile.starts.back() + profile.memory_slices, one.memory_slices) << profile.name;
      EXPECT_EQ(room_for(one, {}, profile), profile.most) << one.name << " " << profile.name;
    }
  }
}

struct LayoutCase {
  std::string name;
  std::string card;
  std::string wishes;
  std::string want;
};

void PrintTo(const LayoutCase& value, std::ostream* out) {
  *out << value.name;
}

class Layouts : public ::testing::TestWithParam<LayoutCase> {};

TEST_P(Layouts, AreTheBestThatFit) {
  EXPECT_EQ(laid_out(card(GetParam().card), GetParam().wishes), GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(
    All, Layouts,
    ::testing::Values(
        LayoutCase{"OneSmallKeepsTheRestWhole", "A100-40GB", "1g.5gb=1", "1g.5gb@6"},
        LayoutCase{"ThreeGoesToTheEnd", "A100-40GB", "3g.20gb=1", "3g.20gb@4"},
        LayoutCase{"FiveSmallAndALarge", "A100-40GB", "1g.5gb=5,3g.20gb=1", "none"},
        LayoutCase{"FourSmallAndALarge", "A100-40GB", "1g.5gb=4,3g.20gb=1",
                   "1g.5gb@0 1g.5gb@1 1g.5gb@2 1g.5gb@3 3g.20gb@4"},
        LayoutCase{"ThreeSmallAndAFour", "A100-40GB", "4g.20gb,1g.5gb=3",
                   "4g.20gb@0 1g.5gb@4 1g.5gb@5 1g.5gb@6"},
        LayoutCase{"FourAndThree", "H100-80GB", "4g.40gb,3g.40gb", "4g.40gb@0 3g.40gb@4"},
        LayoutCase{"Balanced", "A100-80GB", "1g.10gb=2,2g.20gb,3g.40gb",
                   "2g.20gb@0 1g.10gb@2 1g.10gb@3 3g.40gb@4"},
        LayoutCase{"Sevens", "H200-141GB", "1g.18gb=7",
                   "1g.18gb@0 1g.18gb@1 1g.18gb@2 1g.18gb@3 1g.18gb@4 1g.18gb@5 1g.18gb@6"},
        LayoutCase{"EightNeverFit", "H200-141GB", "1g.18gb=8", "none"},
        LayoutCase{"OneWithMediaEngines", "A100-40GB", "1g.5gb+me=2", "none"},
        LayoutCase{"TwoOfTwelve", "RTX-PRO-6000-96GB", "2g.48gb,1g.24gb=2",
                   "2g.48gb@0 1g.24gb@6 1g.24gb@9"},
        LayoutCase{"HalfAnA30", "A30-24GB", "2g.12gb,1g.6gb", "2g.12gb@0 1g.6gb@3"}),
    [](const auto& tested) { return tested.param.name; });

/// All ways to place instances one after the other, written out plainly.
bool fits(const MigCard& on, std::vector<const MigProfile*> instances, unsigned memory,
          int compute) {
  if (instances.empty()) {
    return true;
  }
  const MigProfile* profile = instances.back();
  instances.pop_back();
  for (const int start : profile->starts) {
    unsigned mask = 0;
    for (int i = 0; i < profile->memory_slices; ++i) {
      mask |= 1U << (start + i);
    }
    if ((memory & mask) == 0 && compute + profile->compute_slices <= on.compute_slices &&
        fits(on, instances, memory | mask, compute + profile->compute_slices)) {
      return true;
    }
  }
  return false;
}

TEST(MigLayout, FitsWhereverAnyPlacementDoes) {
  const MigCard& on = card("A100-40GB");
  int found = 0;
  // Up to three of each of three profiles, and up to seven of the smallest.
  for (int code = 0; code < 4 * 4 * 4 * 8; ++code) {
    std::vector<MigWish> wishes;
    std::vector<const MigProfile*> instances;
    int rest = code;
    for (const std::string_view name : {"3g.20gb", "2g.10gb", "1g.10gb", "1g.5gb"}) {
      const int count = name == "1g.5gb" ? rest : rest % 4;
      rest /= 4;
      if (count > 0) {
        wishes.push_back({.profile = on.find(name), .count = count});
        instances.insert(instances.end(), static_cast<std::size_t>(count), on.find(name));
      }
    }
    const auto layout = lay_out_card(on, wishes);
    EXPECT_EQ(layout.has_value(), fits(on, instances, 0, 0)) << code;
    if (layout) {
      ++found;
      EXPECT_EQ(layout->size(), instances.size());
    }
  }
  EXPECT_GT(found, 20);
}

TEST(MigLayout, SeveralCardsAreFilledExactly) {
  const MigCard& on = card("A100-40GB");
  const auto wishes = parse_mig_wishes("1g.5gb=5,3g.20gb=1,4g.20gb=1", on);
  ASSERT_TRUE(wishes);
  EXPECT_FALSE(lay_out_cards(on, *wishes, 1));
  const auto two = lay_out_cards(on, *wishes, 2);
  ASSERT_TRUE(two);
  std::size_t placed = 0;
  for (const MigLayout& layout : *two) {
    placed += layout.size();
  }
  EXPECT_EQ(placed, 7U);
  const auto fourteen = parse_mig_wishes("1g.5gb=14", on);
  EXPECT_TRUE(lay_out_cards(on, *fourteen, 2));
  const auto fifteen = parse_mig_wishes("1g.5gb=15", on);
  EXPECT_FALSE(lay_out_cards(on, *fifteen, 2));
}

TEST(MigLayout, AsFewCardsAsItTakes) {
  const MigCard& on = card("A100-40GB");
  const auto cards = [&](std::string_view text) {
    const auto wishes = parse_mig_wishes(text, on);
    EXPECT_TRUE(wishes) << text;
    const std::vector<MigLayout> layouts = lay_out_fewest_cards(on, *wishes);
    std::map<const MigProfile*, int> placed;
    for (const MigLayout& layout : layouts) {
      for (const MigPlace& place : layout) {
        ++placed[place.profile];
      }
    }
    for (const MigWish& wish : *wishes) {
      EXPECT_EQ(placed[wish.profile], wish.count) << text << ": " << wish.profile->name;
    }
    return layouts.size();
  };
  EXPECT_EQ(cards("1g.5gb=7"), 1U);
  EXPECT_EQ(cards("1g.5gb=5,3g.20gb=1"), 2U);
  EXPECT_EQ(cards("7g.40gb=17"), 17U);
  EXPECT_EQ(cards("3g.20gb=100,4g.20gb=100"), 100U) << "a pair on each";
  EXPECT_EQ(cards("1g.5gb=700,2g.10gb=150"), 143U) << "a thousand compute slices, seven a card";
}

struct CardName {
  std::string given;
  std::string card; ///< "" for none
};

void PrintTo(const CardName& name, std::ostream* out) {
  *out << name.given;
}

class CardNames : public ::testing::TestWithParam<CardName> {};

// As labels say it, as nvidia-smi prints it, and as people write it.
TEST_P(CardNames, AreUnderstood) {
  const MigCard* found = mig_card(GetParam().given);
  EXPECT_EQ(found == nullptr ? "" : found->name, GetParam().card);
}

INSTANTIATE_TEST_SUITE_P(
    All, CardNames,
    ::testing::Values(CardName{"A100-40GB", "A100-40GB"}, CardName{"a100-40gb", "A100-40GB"},
                      CardName{"NVIDIA-A800-SXM4-80GB", "A100-80GB"},
                      CardName{"NVIDIA A800 80GB PCIe", "A100-80GB"},
                      CardName{"NVIDIA-A800-SXM4-40GB", "A100-40GB"},
                      CardName{"NVIDIA A800-PCIE-40GB", "A100-40GB"},
                      CardName{"NVIDIA H100 80GB HBM3", "H100-80GB"},
                      CardName{"H100 80GB HBM3", "H100-80GB"}, CardName{"A30", "A30-24GB"},
                      CardName{"NVIDIA A30", "A30-24GB"}, CardName{"NVIDIA-A30-24GB", "A30-24GB"},
                      CardName{"NVIDIA H100 96GB", "H100-96GB"}, CardName{"NVIDIA T4", ""},
                      CardName{"NVIDIA", ""}, CardName{"NVIDIA-", ""}, CardName{"", ""}));

TEST(MigCards, AnH100Of96GigabytesIsCutLikeAnH20) {
  const MigCard& on = card("H100-96GB");
  for (const std::string_view name : {"7g.96gb", "3g.48gb", "1g.24gb", "1g.12gb+me"}) {
    EXPECT_NE(on.find(name), nullptr) << name;
  }
  EXPECT_THAT(on.pci_devices, ::testing::ElementsAre(0x233d));
}

TEST(MigWishes, SayWhatIsWrong) {
  const MigCard& on = card("A100-40GB");
  const auto message = [&](std::string_view text) {
    const auto wishes = parse_mig_wishes(text, on);
    return wishes ? std::string() : wishes.error().message;
  };
  EXPECT_THAT(message("1g.10gbx=1"),
              HasSubstr("A100-40GB has no profile \"1g.10gbx\"; it has 7g.40gb"));
  EXPECT_THAT(message("1g.5gb=0"), HasSubstr("from 1 to 1024: \"1g.5gb=0\""));
  EXPECT_THAT(message("1g.5gb=99999999999"), HasSubstr("not a number"));
  EXPECT_THAT(message("1g.5gb=600,2g.10gb=500"),
              HasSubstr("at most 1024 instances are planned at once, together these are 1100"));
  EXPECT_THAT(message(""), HasSubstr("no profile is named"));
  EXPECT_THAT(message(std::string(5000, 'x')), HasSubstr("too long"));
}

TEST(MigLayout, HoldsEveryPresetOfMigParted) {
  namespace fs = std::filesystem;
  const char* root = std::getenv("BERTH_SHARED");
  std::ifstream in(
      (root != nullptr ? fs::path(root) : fs::path(BERTH_SOURCE_DIR) / ".." / "shared") /
      "inputs/mig/mig-parted-default-config.yaml");
  std::stringstream text;
  text << in.rdbuf();
  if (text.str().empty()) {
    GTEST_SKIP() << "no configuration";
  }
  const auto documents = api::parse_yaml(text.str(), "mig-parted");
  ASSERT_TRUE(documents);
  const auto& configs = documents->front().value.as_object().at("mig-configs").as_object();
  int laid = 0;
  for (const auto& [name, entries] : configs) {
    for (const auto& entry : entries.as_array()) {
      const auto* devices = entry.as_object().if_contains("mig-devices");
      if (devices == nullptr || devices->as_object().empty()) {
        continue;
      }
      // Some card has all these profiles, and then they fit on it.
      std::string wishes;
      for (const auto& [profile, count] : devices->as_object()) {
        wishes += fmt::format("{}{}={}", wishes.empty() ? "" : ",", std::string_view(profile),
                              count.to_number<int>());
      }
      bool known = false;
      bool fitted = false;
      for (const MigCard& one : mig_cards()) {
        if (const auto parsed = parse_mig_wishes(wishes, one)) {
          known = true;
          fitted = fitted || lay_out_card(one, *parsed).has_value();
        }
      }
      EXPECT_TRUE(known) << std::string_view(name) << ": " << wishes;
      EXPECT_TRUE(fitted) << std::string_view(name) << ": " << wishes;
      ++laid;
    }
  }
  EXPECT_GT(laid, 20);
}

} // namespace
} // namespace berth::hardware
