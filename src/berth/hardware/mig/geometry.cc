#include "berth/hardware/mig/geometry.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "berth/hardware/label_value.h"

namespace berth::hardware {

namespace {

/// Memory in an instance's name, by profile: 1g, 1g with twice the memory, 2g, 3g, 4g, 7g. They are
/// names, not sums: a driver rounds them as it likes.
struct Names {
  int one = 0;
  int one_double = 0;
  int two = 0;
  int three = 0;
  int four = 0;
  int seven = 0;
};

MigProfile profile(std::string name, int id, int compute, int memory, std::vector<int> starts,
                   int most) {
  return {.name = std::move(name),
          .id = id,
          .compute_slices = compute,
          .memory_slices = memory,
          .starts = std::move(starts),
          .most = most};
}

/// Seven compute and eight memory slices: A100 and what came after it.
MigCard seven_slices(std::string name, std::vector<std::string> products,
                     std::vector<int> pci_devices, const Names& gb) {
  return {
      .name = std::move(name),
      .products = std::move(products),
      .pci_devices = std::move(pci_devices),
      .profiles = {profile(fmt::format("7g.{}gb", gb.seven), 0, 7, 8, {0}, 1),
                   profile(fmt::format("4g.{}gb", gb.four), 5, 4, 4, {0}, 1),
                   profile(fmt::format("3g.{}gb", gb.three), 9, 3, 4, {0, 4}, 2),
                   profile(fmt::format("2g.{}gb", gb.two), 14, 2, 2, {0, 2, 4}, 3),
                   profile(fmt::format("1g.{}gb", gb.one_double), 15, 1, 2, {0, 2, 4, 6}, 4),
                   profile(fmt::format("1g.{}gb", gb.one), 19, 1, 1, {0, 1, 2, 3, 4, 5, 6}, 7),
                   profile(fmt::format("1g.{}gb+me", gb.one), 20, 1, 1, {0, 1, 2, 3, 4, 5, 6}, 1)}};
}

MigCard a30() {
  return {.name = "A30-24GB",
          .products = {"NVIDIA-A30"},
          .pci_devices = {0x20b7},
          .compute_slices = 4,
          .memory_slices = 4,
          .profiles = {profile("4g.24gb", 0, 4, 4, {0}, 1), profile("2g.12gb", 5, 2, 2, {0, 2}, 2),
                       profile("2g.12gb+me", 6, 2, 2, {0, 2}, 1),
                       profile("1g.6gb", 14, 1, 1, {0, 1, 2, 3}, 4),
                       profile("1g.6gb+me", 21, 1, 1, {0, 1, 2, 3}, 1)}};
}

MigCard rtx_pro_6000() {
  return {.name = "RTX-PRO-6000-96GB",
          .products = {"NVIDIA-RTX-PRO-6000-Blackwell-Server-Edition"},
          .pci_devices = {0x2bb5},
          .compute_slices = 4,
          .memory_slices = 12,
          .profiles = {
              profile("4g.96gb", 0, 4, 12, {0}, 1), profile("4g.96gb+gfx", 32, 4, 12, {0}, 1),
              profile("2g.48gb", 5, 2, 6, {0, 6}, 2), profile("2g.48gb+gfx", 35, 2, 6, {0, 6}, 2),
              profile("2g.48gb+me.all", 64, 2, 6, {0, 6}, 1),
              profile("2g.48gb-me", 66, 2, 6, {0, 6}, 2),
              profile("1g.24gb", 14, 1, 3, {0, 3, 6, 9}, 4),
              profile("1g.24gb+me", 21, 1, 3, {0, 3, 6, 9}, 1),
              profile("1g.24gb+gfx", 47, 1, 3, {0, 3, 6, 9}, 4),
              profile("1g.24gb+me.all", 65, 1, 3, {0, 3, 6, 9}, 1),
              profile("1g.24gb-me", 67, 1, 3, {0, 3, 6, 9}, 4)}};
}

std::vector<MigCard> make_cards() {
  return {
      a30(),
      seven_slices("A100-40GB",
                   {"NVIDIA-A100-SXM4-40GB", "NVIDIA-A100-PCIE-40GB", "NVIDIA-A800-SXM4-40GB",
                    "NVIDIA-A800-PCIE-40GB", "NVIDIA-A800-40GB-Active"},
                   {0x20b0, 0x20b1, 0x20f1, 0x20f6}, {5, 10, 10, 20, 20, 40}),
      seven_slices("A100-80GB",
                   {"NVIDIA-A100-SXM4-80GB", "NVIDIA-A100-80GB-PCIe", "NVIDIA-A800-SXM4-80GB",
                    "NVIDIA-A800-80GB-PCIe"},
                   {0x20b2, 0x20b5, 0x20f3, 0x20f5}, {10, 20, 20, 40, 40, 80}),
      seven_slices("B200-180GB", {"NVIDIA-B200"}, {0x2901}, {23, 45, 45, 90, 90, 180}),
      seven_slices("B300-288GB", {"NVIDIA-B300"}, {0x3182}, {34, 67, 67, 135, 135, 269}),
      seven_slices("GB200-186GB", {"NVIDIA-GB200"}, {0x2941}, {23, 47, 47, 93, 93, 186}),
      // The same GPU as newer drivers name its parts.
      seven_slices("GB200-189GB", {}, {0x2941}, {24, 47, 47, 95, 95, 189}),
      seven_slices("GB300-288GB", {"NVIDIA-GB300"}, {0x31c2}, {35, 70, 70, 139, 139, 278}),
      seven_slices("GH200-144GB", {"NVIDIA-GH200-144G-HBM3e"}, {0x2348}, {18, 36, 36, 72, 72, 144}),
      seven_slices("GH200-96GB", {"NVIDIA-GH200-480GB"}, {0x2342}, {12, 24, 24, 48, 48, 96}),
      seven_slices("H100-80GB", {"NVIDIA-H100-80GB-HBM3", "NVIDIA-H100-PCIe", "NVIDIA-H800"},
                   {0x2330, 0x2331, 0x2322, 0x2324}, {10, 20, 20, 40, 40, 80}),
      seven_slices("H100-94GB", {"NVIDIA-H100-NVL"}, {0x2321, 0x233a}, {12, 24, 24, 47, 47, 94}),
      seven_slices("H100-96GB", {}, {0x233d}, {12, 24, 24, 48, 48, 96}),
      seven_slices("H20-96GB", {"NVIDIA-H20"}, {0x2329}, {12, 24, 24, 48, 48, 96}),
      seven_slices("H200-141GB", {"NVIDIA-H200", "NVIDIA-H200-NVL"}, {0x2335, 0x233b},
                   {18, 35, 35, 71, 71, 141}),
      rtx_pro_6000()};
}

bool same_letters(std::string_view a, std::string_view b) {
  return std::ranges::equal(
      a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

/// A name as labels spell it, without the maker's: "NVIDIA H100 80GB HBM3" is "H100-80GB-HBM3".
/// Older drivers leave the maker out.
std::string bare_name(std::string_view text) {
  constexpr std::string_view kMaker = "nvidia-";
  const std::string value = label_value(text);
  const bool named = same_letters(std::string_view(value).substr(0, kMaker.size()), kMaker);
  return named ? value.substr(kMaker.size()) : value;
}

} // namespace

const MigProfile* MigCard::find(std::string_view profile_name) const {
  const auto found = std::ranges::find(profiles, profile_name, &MigProfile::name);
  return found == profiles.end() ? nullptr : &*found;
}

std::span<const MigCard> mig_cards() {
  static const std::vector<MigCard> kCards = make_cards();
  return kCards;
}

const MigCard* mig_card(std::string_view name_or_product) {
  const std::string asked = bare_name(name_or_product);
  for (const MigCard& card : mig_cards()) {
    if (same_letters(card.name, asked) ||
        std::ranges::any_of(card.products, [&](const std::string& product) {
          return same_letters(bare_name(product), asked);
        })) {
      return &card;
    }
  }
  return nullptr;
}

} // namespace berth::hardware
