#include "berth/hardware/identity.h"

#include <charconv>

#include <fmt/format.h>

#include "berth/hardware/platform.h"

namespace berth::hardware {

std::uint64_t mix(std::string_view text, std::uint64_t salt) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const unsigned char c : text) {
    hash = (hash ^ c) * 0x100000001b3U;
  }
  hash += (salt + 1) * 0x9e3779b97f4a7c15U;
  hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9U;
  hash = (hash ^ (hash >> 27)) * 0x94d049bb133111ebU;
  return hash ^ (hash >> 31);
}

std::string stable_uuid(std::string_view text, std::uint64_t salt) {
  const auto high = mix(text, 2 * salt);
  const auto low = mix(text, 2 * salt + 1);
  return fmt::format("{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}", high >> 32, (high >> 16) & 0xffff,
                     high & 0xfff, 0x8000 | ((low >> 48) & 0x3fff), low & 0xffffffffffff);
}

NumberedName split_number(std::string_view name) {
  const auto dash = name.rfind('-');
  if (dash == std::string_view::npos) {
    return {.stem = name};
  }
  const auto digits = name.substr(dash + 1);
  std::int64_t number = -1;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc{} || end != digits.data() + digits.size() || number < 0) {
    return {.stem = name};
  }
  return {.stem = name.substr(0, dash), .number = number};
}

std::string gpu_uuid(std::string_view node_name, int index) {
  return "GPU-" + stable_uuid(node_name, static_cast<std::uint64_t>(index));
}

std::string gpu_clique(const Platform& platform, std::string_view node_name) {
  if (platform.nvlink_domain_gpus == 0) {
    return "";
  }
  const auto [stem, number] = split_number(node_name);
  const auto nodes_per_domain = platform.nvlink_domain_gpus / std::ssize(platform.gpus);
  const auto domain = number < 1 ? 0 : (number - 1) / nodes_per_domain;
  // One partition of the domain: clique 1 of the cluster that its NVLink switches form.
  return fmt::format("{}.1", stable_uuid(fmt::format("nvlink-domain/{}", stem),
                                         static_cast<std::uint64_t>(domain)));
}

} // namespace berth::hardware
