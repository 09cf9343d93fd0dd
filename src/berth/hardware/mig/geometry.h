// What instances a GPU can be cut into (MIG), and where on it they may lie. Source: the placements
// that `nvidia-smi mig -lgipp` prints and the profiles of mig-parted's default configuration.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace berth::hardware {

/// A kind of GPU instance. It takes `memory_slices` slices from one of `starts` on.
struct MigProfile {
  std::string name; ///< "1g.10gb", "1g.10gb+me"
  int id = 0;       ///< GPU instance profile id, as nvidia-smi mig -cgi takes it
  int compute_slices = 0;
  int memory_slices = 0;
  std::vector<int> starts; ///< ascending
  int most = 0;            ///< instances on one GPU
};

/// A GPU's geometry. Profiles are ordered from the largest to the smallest.
struct MigCard {
  std::string name;                  ///< "A100-40GB"
  std::vector<std::string> products; ///< values of nvidia.com/gpu.product
  std::vector<int> pci_devices;      ///< as mig-parted's device-filter names them
  int compute_slices = 7;
  int memory_slices = 8;
  std::vector<MigProfile> profiles;

  const MigProfile* find(std::string_view profile) const;
};

/// Every GPU that can be cut, by name.
std::span<const MigCard> mig_cards();
/// By the card's name or a product's, in any case, as a label spells it or as nvidia-smi prints it
/// ("NVIDIA H100 80GB HBM3"), with or without "NVIDIA"; nullptr if there is none.
const MigCard* mig_card(std::string_view name_or_product);

} // namespace berth::hardware
