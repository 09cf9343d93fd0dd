#include <algorithm>
#include <charconv>
#include <vector>

#include <fmt/format.h>

#include "berth/hardware/formats/nccl_xml.h"

namespace berth::hardware {

namespace {

constexpr int kMostCpus = 65'536;
constexpr std::size_t kWordBits = 32;

void set_range(std::vector<std::uint32_t>& words, int first, int last) {
  for (int cpu = first; cpu <= last && cpu < kMostCpus; ++cpu) {
    const auto word = static_cast<std::size_t>(cpu) / kWordBits;
    if (word >= words.size()) {
      words.resize(word + 1);
    }
    words[word] |= 1U << (static_cast<std::size_t>(cpu) % kWordBits);
  }
}

} // namespace

std::string cpu_mask(std::string_view list, int cpus) {
  std::vector<std::uint32_t> words(
      (static_cast<std::size_t>(std::clamp(cpus, 1, kMostCpus)) + kWordBits - 1) / kWordBits);
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(','), list.size());
    const std::string_view part = list.substr(0, end);
    int first = 0;
    const auto parsed = std::from_chars(part.data(), part.data() + part.size(), first);
    int last = first;
    if (parsed.ec == std::errc{} && parsed.ptr != part.data() + part.size()) {
      std::from_chars(parsed.ptr + 1, part.data() + part.size(), last);
    }
    set_range(words, first, last);
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  std::string out;
  for (std::size_t i = words.size(); i-- > 0;) {
    out += fmt::format("{}{:08x}", out.empty() ? "" : ",", words[i]);
  }
  return out;
}

std::string cpus_of_mask(std::string_view mask) {
  std::vector<std::uint32_t> words; // highest first
  while (!mask.empty()) {
    const std::size_t end = std::min(mask.find(','), mask.size());
    const std::string_view part = mask.substr(0, end);
    std::uint32_t word = 0;
    const auto [stop, error] = std::from_chars(part.data(), part.data() + part.size(), word, 16);
    if (error != std::errc{} || stop != part.data() + part.size() || part.size() > 8 ||
        words.size() >= static_cast<std::size_t>(kMostCpus) / kWordBits) {
      return "";
    }
    words.push_back(word);
    mask.remove_prefix(std::min(end + 1, mask.size()));
  }
  std::string out;
  int first = -1;
  const int bits = static_cast<int>(words.size() * kWordBits);
  for (int cpu = 0; cpu <= bits; ++cpu) {
    const auto at = static_cast<std::size_t>(cpu);
    const bool on =
        cpu < bits && ((words[words.size() - 1 - at / kWordBits] >> (at % kWordBits)) & 1U) != 0;
    if (on && first < 0) {
      first = cpu;
    } else if (!on && first >= 0) {
      out += out.empty() ? "" : ",";
      out += cpu - 1 == first ? fmt::to_string(first) : fmt::format("{}-{}", first, cpu - 1);
      first = -1;
    }
  }
  return out;
}

} // namespace berth::hardware
