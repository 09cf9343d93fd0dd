#include "berth/sched/pod_fingerprint.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include <fmt/format.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "berth/model/requests.h"
#include "berth/sched/ids.h"

namespace berth::sched {
namespace {

std::uint64_t hash_of(const api::Key& pod) {
  const std::uint64_t seed = XXH64(pod.ns.data(), pod.ns.size(), 0);
  return XXH64(pod.name.data(), pod.name.size(), seed);
}

bool has_device(const model::Container& container) {
  const auto is_device = [](const auto& item) { return is_extended_resource(item.first); };
  return std::ranges::any_of(container.resources.requests, is_device) ||
         std::ranges::any_of(container.resources.limits, is_device);
}

bool has_whole_cpus(const model::Container& container) {
  const auto cpu = container.resources.limits.find("cpu");
  return cpu != container.resources.limits.end() && cpu->second.milli_value() > 0 &&
         cpu->second.milli_value() % 1000 == 0;
}

} // namespace

std::string pod_fingerprint(const std::vector<api::Key>& pods) {
  std::vector<std::uint64_t> hashes;
  for (const api::Key& pod : pods) {
    hashes.push_back(hash_of(pod));
  }
  std::ranges::sort(hashes);
  std::string bytes;
  for (const std::uint64_t hash : hashes) {
    for (int shift = 0; shift < 64; shift += 8) { // little-endian
      bytes.push_back(static_cast<char>((hash >> shift) & 0xff));
    }
  }
  return fmt::format("pfp0v001{:016x}", XXH64(bytes.data(), bytes.size(), 0));
}

bool has_exclusive_resources(const model::PodSpec& spec) {
  if (std::ranges::any_of(spec.containers, has_device) ||
      std::ranges::any_of(spec.init_containers, has_device)) {
    return true;
  }
  return model::qos_class(spec) == "Guaranteed" &&
         (std::ranges::any_of(spec.containers, has_whole_cpus) ||
          std::ranges::any_of(spec.init_containers, has_whole_cpus));
}

} // namespace berth::sched
