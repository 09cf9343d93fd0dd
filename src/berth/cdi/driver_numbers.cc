#include "berth/cdi/driver_numbers.h"

#include <charconv>
#include <utility>

#include <fmt/format.h>

namespace berth::cdi {
namespace {

// The driver keeps a number for every instance that a GPU could have; 1 and 2 are config, monitor.
constexpr int kFirstMinor = 3;
constexpr int kGpuInstances = 15;
constexpr int kComputeInstances = 8;

std::string_view next_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return line;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) {
    return {};
  }
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

std::optional<std::int64_t> number(std::string_view text) {
  std::int64_t value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  if (read.ec != std::errc() || read.ptr != text.data() + text.size() || value < 0) {
    return std::nullopt;
  }
  return value;
}

std::pair<std::string_view, std::string_view> two_words(std::string_view line) {
  const std::string_view text = trimmed(line);
  const std::size_t gap = text.find_first_of(" \t");
  return gap == std::string_view::npos ? std::pair(text, std::string_view())
                                       : std::pair(text.substr(0, gap), trimmed(text.substr(gap)));
}

} // namespace

Majors parse_proc_devices(std::string_view text) {
  Majors majors;
  bool characters = false;
  while (!text.empty()) {
    const std::string_view line = next_line(text);
    if (line.ends_with("devices:")) {
      characters = line.starts_with("Character");
      continue;
    }
    const auto [major, name] = two_words(line);
    if (const auto value = number(major); characters && value && !name.empty()) {
      majors.emplace(name, *value);
    }
  }
  return majors;
}

MigMinors MigMinors::parse(std::string_view text) {
  MigMinors minors;
  while (!text.empty()) {
    const auto [name, minor] = two_words(next_line(text));
    if (const auto value = number(minor)) {
      minors.minors_.emplace(name, *value);
    }
  }
  return minors;
}

MigMinors MigMinors::usual(int gpus) {
  MigMinors minors;
  minors.usual_gpus_ = gpus;
  return minors;
}

std::optional<std::int64_t> MigMinors::find(std::string_view name) const {
  const auto it = minors_.find(name);
  return it == minors_.end() ? std::nullopt : std::optional(it->second);
}

std::optional<std::int64_t> MigMinors::gpu_instance(int gpu_minor, int gpu_instance) const {
  if (gpu_minor >= 0 && gpu_minor < usual_gpus_ && gpu_instance >= 0 &&
      gpu_instance < kGpuInstances) {
    return kFirstMinor + (gpu_minor * kGpuInstances + gpu_instance) * (1 + kComputeInstances);
  }
  return find(fmt::format("gpu{}/gi{}/access", gpu_minor, gpu_instance));
}

std::optional<std::int64_t> MigMinors::compute_instance(int gpu_minor, int gpu_instance,
                                                        int compute_instance) const {
  if (gpu_minor >= 0 && gpu_minor < usual_gpus_ && compute_instance >= 0 &&
      compute_instance < kComputeInstances) {
    const auto own = this->gpu_instance(gpu_minor, gpu_instance);
    return own ? std::optional(*own + 1 + compute_instance) : std::nullopt;
  }
  return find(fmt::format("gpu{}/gi{}/ci{}/access", gpu_minor, gpu_instance, compute_instance));
}

std::string capability_path(std::int64_t minor) {
  return fmt::format("/dev/nvidia-caps/nvidia-cap{}", minor);
}

} // namespace berth::cdi
