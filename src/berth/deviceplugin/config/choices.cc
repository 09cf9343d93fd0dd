#include "berth/deviceplugin/config/choices.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

namespace berth::deviceplugin {
namespace {

template <class T> using Word = std::pair<std::string_view, T>;

template <class T, std::size_t N>
const T* find(const std::array<Word<T>, N>& words, std::string_view text) {
  const auto it = std::ranges::find(words, text, &Word<T>::first);
  return it == words.end() ? nullptr : &it->second;
}

template <class T, std::size_t N>
Result<T> choose(const std::array<Word<T>, N>& words, std::string_view text,
                 std::string_view complaint) {
  if (const T* found = find(words, text)) {
    return *found;
  }
  std::string known;
  for (const Word<T>& word : words) {
    known += fmt::format("{}{}", known.empty() ? "" : ", ", word.first);
  }
  return fail(Code::Invalid, fmt::format("{} {}; there are {}", complaint, text, known));
}

constexpr std::array kMigStrategies{
    Word<inventory::MigStrategy>{"none", inventory::MigStrategy::None},
    Word<inventory::MigStrategy>{"single", inventory::MigStrategy::Single},
    Word<inventory::MigStrategy>{"mixed", inventory::MigStrategy::Mixed}};
constexpr std::array kListStrategies{
    Word<bool DeviceListStrategies::*>{"envvar", &DeviceListStrategies::envvar},
    Word<bool DeviceListStrategies::*>{"volume-mounts", &DeviceListStrategies::volume_mounts},
    Word<bool DeviceListStrategies::*>{"cdi-annotations", &DeviceListStrategies::cdi_annotations},
    Word<bool DeviceListStrategies::*>{"cdi-cri", &DeviceListStrategies::cdi_cri}};
constexpr std::array kIdStrategies{Word<DeviceIdStrategy>{"uuid", DeviceIdStrategy::Uuid},
                                   Word<DeviceIdStrategy>{"index", DeviceIdStrategy::Index}};
constexpr std::array kDiscoveries{Word<DiscoveryStrategy>{"auto", DiscoveryStrategy::Auto},
                                  Word<DiscoveryStrategy>{"nvml", DiscoveryStrategy::Nvml},
                                  Word<DiscoveryStrategy>{"tegra", DiscoveryStrategy::Tegra}};
constexpr std::array kPolicies{Word<AllocationPolicy>{"distributed", AllocationPolicy::Distributed},
                               Word<AllocationPolicy>{"packed", AllocationPolicy::Packed},
                               Word<AllocationPolicy>{"spread", AllocationPolicy::Spread}};
constexpr std::array kTruths{
    Word<bool>{"1", true},      Word<bool>{"t", true},      Word<bool>{"T", true},
    Word<bool>{"true", true},   Word<bool>{"True", true},   Word<bool>{"TRUE", true},
    Word<bool>{"0", false},     Word<bool>{"f", false},     Word<bool>{"F", false},
    Word<bool>{"false", false}, Word<bool>{"False", false}, Word<bool>{"FALSE", false}};

} // namespace

Result<inventory::MigStrategy> parse_mig_strategy(std::string_view text) {
  return choose(kMigStrategies, text, "unknown MIG strategy:");
}

Result<DeviceListStrategies> parse_device_list_strategies(std::span<const std::string> texts) {
  if (texts.empty()) {
    return fail(Code::Invalid,
                "invalid --device-list-strategy option: no device list strategy specified; at "
                "least one of [envvar volume-mounts cdi-annotations cdi-cri] is required");
  }
  DeviceListStrategies strategies{.envvar = false};
  for (const std::string& text : texts) {
    BERTH_TRY(
        const auto member,
        choose(kListStrategies, text, "invalid --device-list-strategy option: invalid strategy:"));
    strategies.*member = true;
  }
  return strategies;
}

Result<DeviceIdStrategy> parse_device_id_strategy(std::string_view text) {
  return choose(kIdStrategies, text, "invalid --device-id-strategy option:");
}

Result<DiscoveryStrategy> parse_discovery_strategy(std::string_view text) {
  return choose(kDiscoveries, text, "invalid --device-discovery-strategy option");
}

Result<AllocationPolicy> parse_allocation_policy(std::string_view text) {
  return choose(kPolicies, text, "invalid --shared-devices-allocation-policy option:");
}

Result<bool> parse_truth(std::string_view text) {
  return choose(kTruths, text, "not true or false:");
}

std::string_view to_string(AllocationPolicy policy) {
  const auto it = std::ranges::find(kPolicies, policy, &Word<AllocationPolicy>::second);
  return it == kPolicies.end() ? std::string_view() : it->first;
}

} // namespace berth::deviceplugin
