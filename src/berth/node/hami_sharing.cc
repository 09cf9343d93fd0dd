#include "berth/node/hami_sharing.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "berth/api/quantity.h"
#include "berth/model/requests.h"

namespace berth::node {
namespace {

namespace hami = model::hami;

constexpr std::int64_t kPermille = 1000;
constexpr std::string_view kReported = "Reported_";

/// A scale of HAMi's, "1.5", in thousandths.
Result<int> scale_at(const api::json::value& settings, std::string_view key) {
  const api::json::value* given = api::find(settings, key);
  if (given == nullptr) {
    return static_cast<int>(kPermille);
  }
  const std::string text =
      given->is_string() ? std::string(given->get_string()) : api::to_json(*given);
  const auto quantity = api::Quantity::parse(text);
  constexpr std::int64_t kMost = 100 * kPermille;
  const std::int64_t permille = quantity ? quantity->milli_value() : 0;
  if (permille < 1 || permille > kMost) {
    return fail(Code::Invalid,
                fmt::format("{} must be a number from 0.001 to 100: got {}", key, text));
  }
  return static_cast<int>(permille);
}

/// As the driver says it; HAMi puts its maker before a name that does not.
std::string type_of(const inventory::GpuFacts& gpu) {
  const std::string& name = gpu.name.empty() ? gpu.info.product : gpu.name;
  return name.starts_with("NVIDIA") ? name : fmt::format("NVIDIA-{}", name);
}

std::string_view annotation(const api::Labels& annotations, std::string_view key) {
  const auto it = annotations.find(key);
  return it == annotations.end() ? std::string_view() : std::string_view(it->second);
}

/// Removes what comes before the next comma, and the comma.
std::string_view take_field(std::string_view& text) {
  const std::string_view field = text.substr(0, text.find(','));
  text.remove_prefix(std::min(text.size(), field.size() + 1));
  return field;
}

} // namespace

Result<HamiSettings> read_hami_settings(const api::json::value& settings) {
  HamiSettings out;
  if (!settings.is_object()) {
    return fail(Code::Invalid, "want a mapping: deviceSplitCount, deviceMemoryScaling, "
                               "deviceCoreScaling");
  }
  for (const auto& [key, value] : settings.get_object()) {
    if (key != "deviceSplitCount" && key != "deviceMemoryScaling" && key != "deviceCoreScaling") {
      return fail(Code::Invalid, fmt::format("unknown field \"{}\"; there are deviceSplitCount, "
                                             "deviceMemoryScaling and deviceCoreScaling",
                                             std::string_view(key)));
    }
  }
  if (const api::json::value* count = api::find(settings, "deviceSplitCount")) {
    constexpr std::int64_t kMost = 1000;
    if (!count->is_int64() || count->get_int64() < 1 || count->get_int64() > kMost) {
      return fail(Code::Invalid,
                  fmt::format("deviceSplitCount must be a number from 1 to {}: got {}", kMost,
                              api::to_json(*count)));
    }
    out.split_count = static_cast<int>(count->get_int64());
  }
  BERTH_TRY(out.memory_permille, scale_at(settings, "deviceMemoryScaling"));
  BERTH_TRY(out.cores_permille, scale_at(settings, "deviceCoreScaling"));
  return out;
}

HamiSharing::HamiSharing(const HamiSettings& settings, const inventory::Inventory& inventory)
    : settings_(settings) {
  constexpr std::int64_t kAllCores = 100;
  for (const inventory::GpuFacts& gpu : inventory.survey().gpus) {
    gpus_.push_back({.uuid = gpu.info.uuid,
                     .count = settings.split_count,
                     .memory = gpu.info.memory_mib * settings.memory_permille / kPermille,
                     .cores = static_cast<int>(kAllCores * settings.cores_permille / kPermille),
                     .type = type_of(gpu),
                     .numa = gpu.info.numa.value_or(0),
                     .index = gpu.info.index});
  }
}

std::vector<hami::Device> HamiSharing::registered(const PluginEndpoints& plugins) const {
  std::vector<hami::Device> devices;
  const DevicePool* pool = plugins.pool(model::kGpuResource);
  if (pool == nullptr) {
    return devices;
  }
  for (hami::Device device : gpus_) {
    const auto listed = std::ranges::find(pool->devices(), device.uuid, &deviceplugin::Device::id);
    if (listed != pool->devices().end()) {
      device.healthy = listed->health == deviceplugin::kHealthy;
      devices.push_back(std::move(device));
    }
  }
  return devices;
}

std::map<std::string, std::string> hami_annotations_to_remove(const api::Labels& stored) {
  std::map<std::string, std::string> wanted;
  if (annotation(stored, hami::kRegisteredBy) == "true") {
    for (const std::string_view key :
         {hami::kRegister, hami::kHandshake, hami::kLock, hami::kRegisteredBy}) {
      wanted[std::string(key)] = "";
    }
  }
  return wanted;
}

std::map<std::string, std::string> HamiSharing::annotations(
    const PluginEndpoints& plugins, const api::Labels& stored, TimePoint now,
    const std::function<bool(std::string_view ns, std::string_view name)>& over) const {
  std::map<std::string, std::string> wanted;
  if (!plugins.live(model::kGpuResource)) {
    return wanted;
  }
  const auto devices = registered(plugins);
  wanted[std::string(hami::kRegister)] = devices.empty() ? "" : hami::encode_devices(devices);
  wanted[std::string(hami::kRegisteredBy)] = "true";
  if (!annotation(stored, hami::kHandshake).starts_with(kReported)) {
    wanted[std::string(hami::kHandshake)] = fmt::format("{}{}", kReported, to_rfc3339(now));
  }
  std::string_view lock = annotation(stored, hami::kLock);
  take_field(lock); // the time
  const std::string_view ns = take_field(lock);
  if (!ns.empty() && !lock.empty() && over(ns, lock)) {
    wanted[std::string(hami::kLock)] = "";
  }
  return wanted;
}

} // namespace berth::node
