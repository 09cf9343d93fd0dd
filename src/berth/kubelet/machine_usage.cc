#include "berth/kubelet/machine_usage.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <limits>
#include <map>
#include <string_view>
#include <vector>

#include <sys/statvfs.h>
#include <unistd.h>

namespace berth::kubelet {
namespace {

constexpr std::int64_t kKib = 1024;
constexpr std::int64_t kMost = std::int64_t{1} << 52; ///< of any number: it can still be scaled

std::vector<std::string_view> words_of(std::string_view line) {
  constexpr std::string_view kBlank = " \t";
  std::vector<std::string_view> words;
  for (;;) {
    line.remove_prefix(std::min(line.find_first_not_of(kBlank), line.size()));
    if (line.empty()) {
      return words;
    }
    words.push_back(line.substr(0, line.find_first_of(kBlank)));
    line.remove_prefix(words.back().size());
  }
}

std::optional<std::int64_t> number_of(std::string_view text) {
  std::int64_t number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = read.ec == std::errc() && read.ptr == text.data() + text.size();
  return whole && number >= 0 && number <= kMost ? std::optional(number) : std::nullopt;
}

/// The numbers behind each name that begins a line: "MemTotal:", "cpu", "pgfault".
using Lines = std::map<std::string, std::vector<std::int64_t>, std::less<>>;

Lines lines_of(const std::string& path) {
  constexpr std::size_t kMostLines = 4096;
  Lines lines;
  std::ifstream file(path);
  for (std::string line; lines.size() < kMostLines && std::getline(file, line);) {
    const auto words = words_of(line);
    std::vector<std::int64_t> numbers;
    for (std::size_t i = 1; i < words.size(); ++i) {
      const auto number = number_of(words[i]);
      if (!number) {
        break; // a unit
      }
      numbers.push_back(*number);
    }
    if (!words.empty()) {
      lines.emplace(words[0], std::move(numbers));
    }
  }
  return lines;
}

std::optional<std::int64_t> first(const Lines& lines, std::string_view name) {
  const auto found = lines.find(name);
  return found == lines.end() || found->second.empty() ? std::nullopt
                                                       : std::optional(found->second.front());
}

/// Time of all CPUs that was neither idle nor waiting for a disk.
std::optional<std::int64_t> busy_nanos(const Lines& stat) {
  enum Column : std::size_t { kUser, kNice, kSystem, kIdle, kWait, kIrq, kSoftIrq, kSteal };
  const auto cpu = stat.find("cpu");
  const long hertz = sysconf(_SC_CLK_TCK);
  if (cpu == stat.end() || cpu->second.size() <= kSoftIrq || hertz <= 0) {
    return std::nullopt;
  }
  std::int64_t ticks = 0;
  for (const std::size_t column : {kUser, kNice, kSystem, kIrq, kSoftIrq, kSteal}) {
    ticks += column < cpu->second.size() ? cpu->second[column] : 0;
  }
  const std::int64_t tick = 1'000'000'000 / hertz;
  return ticks > std::numeric_limits<std::int64_t>::max() / tick ? std::nullopt
                                                                 : std::optional(ticks * tick);
}

std::optional<DiskUsage> disk_usage(const std::string& path) {
  struct statvfs disk {};
  if (statvfs(path.c_str(), &disk) != 0) {
    return std::nullopt;
  }
  const auto block = static_cast<std::int64_t>(disk.f_frsize);
  return DiskUsage{.capacity_bytes = static_cast<std::int64_t>(disk.f_blocks) * block,
                   .available_bytes = static_cast<std::int64_t>(disk.f_bavail) * block,
                   .used_bytes = static_cast<std::int64_t>(disk.f_blocks - disk.f_bfree) * block,
                   .inodes = static_cast<std::int64_t>(disk.f_files),
                   .inodes_free = static_cast<std::int64_t>(disk.f_ffree)};
}

void add_memory(const Lines& memory, MachineUsage& to) {
  const auto total = first(memory, "MemTotal:");
  const auto free = first(memory, "MemFree:");
  if (!total || !free || *free > *total) {
    return;
  }
  const std::int64_t used = *total - *free;
  const std::int64_t idle = std::min(first(memory, "Inactive(file):").value_or(0), used);
  to.usage.memory_usage_bytes = used * kKib;
  to.usage.memory_bytes = (used - idle) * kKib;
  to.memory_available_bytes = (*total - used + idle) * kKib;
  if (const auto anonymous = first(memory, "AnonPages:")) {
    to.usage.memory_rss_bytes = *anonymous * kKib;
  }
}

} // namespace

MachineUsage read_machine_usage(const MachineSource& source, TimePoint now) {
  MachineUsage read;
  const Lines stat = lines_of(source.procfs + "/stat");
  read.usage.at = now;
  read.usage.cpu_nanos = busy_nanos(stat);
  if (const auto boot = first(stat, "btime")) {
    constexpr std::int64_t kMostSeconds = 9'000'000'000; // what nanoseconds can count
    read.booted_at = TimePoint::from_unix_seconds(std::min(*boot, kMostSeconds));
  }
  add_memory(lines_of(source.procfs + "/meminfo"), read);
  const Lines paging = lines_of(source.procfs + "/vmstat");
  read.usage.page_faults = first(paging, "pgfault");
  read.usage.major_page_faults = first(paging, "pgmajfault");
  read.disk = disk_usage(source.disk);
  return read;
}

} // namespace berth::kubelet
