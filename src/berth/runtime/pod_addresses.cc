#include "berth/runtime/pod_addresses.h"

#include <charconv>

#include <fmt/format.h>

namespace berth::runtime {

std::uint64_t seed_of(std::string_view name) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char c : name) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  }
  return hash;
}

PodAddresses::PodAddresses(std::string_view machine) {
  const std::size_t last = machine.find_last_not_of("0123456789");
  const std::string_view digits = machine.substr(last == std::string_view::npos ? 0 : last + 1);
  std::uint64_t number = 0;
  if (std::from_chars(digits.data(), digits.data() + digits.size(), number).ec != std::errc()) {
    number = seed_of(machine);
  }
  const std::uint64_t group =
      seed_of(machine.substr(0, machine.size() - digits.size())) + number / 256;
  prefix_ = fmt::format("100.{}.{}.", 64 + group % 64, number % 256);
}

std::string PodAddresses::take() {
  constexpr int kLast = 254;
  for (int host = 2; host <= kLast; ++host) {
    std::string address = fmt::format("{}{}", prefix_, host);
    if (used_.insert(address).second) {
      return address;
    }
  }
  return fmt::format("{}{}", prefix_, kLast);
}

void PodAddresses::give_back(std::string_view address) {
  if (const auto it = used_.find(address); it != used_.end()) {
    used_.erase(it);
  }
}

} // namespace berth::runtime
